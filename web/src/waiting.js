/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The waiting graph: a row a rank, a column a step. A box is a step's dark edge, an arrow a light one. What is in view is
 * drawn, the rest when it scrolls into it.
 */
import {whenColorsChange} from "./colors.js";
import {el, image, key, onPaper, perFrame, scrolled, section, whenSized} from "./dom.js";
import {excessKeys} from "./legends.js";
import {stepName} from "./model.js";
import {save} from "./save.js";
import {drawing, gridOf} from "./waiting_draw.js";

const MOST_HEIGHT = 620, MOST_PRINTED = 12000, SCROLL_BAR = 16, MOST_SAVED = 5000; /* boxes */
const ARROWS = {
  ArrowRight: [0, 1],
  ArrowLeft: [0, -1],
  ArrowDown: [1, 0],
  ArrowUp: [-1, 0]
};

const boxOf = (w, index) => w.image.querySelector(`[data-index="${Number(index)}"]`);

/* What of the drawing is in view; on paper all of it. */
function inView({at, grid, whole, width}) {
  if (whole || onPaper())
    return {left: 0, top: 0, width: grid.width, height: Math.min(grid.height, MOST_PRINTED)};
  return {left: at.left, top: at.top, width, height: Math.min(MOST_HEIGHT, grid.height)};
}

/* Shapes are made anew: the one that had the focus keeps it. */
function draw(w) {
  const held = document.activeElement, index = w.image.contains(held) ? held.getAttribute("data-index") : null;
  w.drawn = inView(w);
  w.image.replaceChildren(...drawing(w.grid, w.drawn));
  w.store.mark(w.image);
  markAway(w);
  const focus = index === null ? null : boxOf(w, index);
  const stop = focus || w.image.querySelector(".critical") || w.image.querySelector("[data-kind]");
  if (stop)
    stop.setAttribute("tabindex", "0");
  if (focus)
    focus.focus({preventScroll: true});
}

/* A scroll that a drawing itself has made is drawn already. */
const isDrawn = (w) => Object.entries(inView(w)).every(([side, px]) => w.drawn && w.drawn[side] === px);

/* Steps outside the time shown stand back. */
function markAway({image: drawn, store: {model, time}}) {
  for (const box of drawn.querySelectorAll(".box")) {
    const step = model.step(Number(box.getAttribute("data-index")));
    box.classList.toggle("away", step.started && (step.end < time.from || step.start > time.to));
  }
}

/* Draws what is in view with a step in it. The box is scrolled to it behind the drawing: for both, one layout is enough. */
function drawAt(w, step) {
  const {at, grid, width} = w, within = (px, most) => Math.round(Math.max(0, Math.min(px, most)));
  at.left = within(grid.x(step) - width / 3, grid.width - width);
  at.top = within(grid.y(step) - Math.min(MOST_HEIGHT, grid.height) / 2, grid.height - MOST_HEIGHT);
  draw(w);
  at.go(at.left, at.top);
}

/* Another collective, or another width: from the slow part of its critical path on. */
function show(w) {
  const {store, scroll, width} = w, {model, collective} = store, label = "The waiting graph: steps by rank and number";
  const grid = w.grid = gridOf(model, collective, width), wide = grid.width > width;
  const path = (model.collectives[collective].steps || {path: []}).path.map((i) => model.step(i));
  w.part.hidden = grid.ranks === 0;
  w.image = image("waiting", Math.max(grid.width, 1), grid.height, label);
  scroll.replaceChildren(w.image);
  scroll.style.height = `${Math.min(MOST_HEIGHT, grid.height + (wide ? SCROLL_BAR : 0))}px`;
  const scrolls = wide || grid.height > MOST_HEIGHT;
  if (path.length > 0 && scrolls)
    return drawAt(w, path.find((s) => s.slow) || path[0]);
  Object.assign(w.at, {left: 0, top: 0});
  draw(w);
  return scrolls && w.at.go(0, 0);
}

/* Arrows follow the grid: what lies beyond the view is scrolled to. */
function follow(w, event) {
  const by = ARROWS[event.key], from = by && event.target.getAttribute("data-index");
  if (!from)
    return;
  event.preventDefault();
  const at = w.store.model.step(Number(from)), to = w.grid.at(at.rank + by[0], at.number + by[1]);
  if (!to)
    return;
  if (!boxOf(w, to.index))
    drawAt(w, to);
  event.target.setAttribute("tabindex", "-1");
  boxOf(w, to.index).setAttribute("tabindex", "0");
  boxOf(w, to.index).focus();
}

/* Steps of the shown collective, and what each waited for. */
function csv({model, collective}) {
  const c = model.collectives[collective],
        heads = ["step", "start_ns", "took_ns", "expect_ns", "waited_for", "critical", "pruned"];
  return [
    heads,
    ...Array.from({length: c.nsteps}, (_, i) => model.step(c.first_step + i))
        .map(
            (s) =>
                [stepName(model, s), s.start, s.took, s.expect,
                 s.waitedFor >= 0 ? stepName(model, model.step(s.waitedFor)) : "", s.critical ? 1 : 0, s.pruned ? 1 : 0])
  ];
}

/* To be saved: all of it where that is no more than a browser can draw at once. */
function pictures(w) {
  if (w.grid.ranks * w.grid.columns <= MOST_SAVED) {
    w.whole = true;
    draw(w);
    setTimeout(() => {
      w.whole = false;
      draw(w);
    });
  }
  return [{node: w.image}];
}

export function drawWaiting(root, store) {
  if (store.model.collectives.length === 0)
    return;
  const scroll = el("div", {class: "rows"}),
        words = `A box is a step with its time (${store.model.time.unit}), an arrow points at what it waited for.`;
  const part = section(
      root, "waiting", "Waiting graph", scroll,
      el("p", {class: "legend"}, ...excessKeys(), key("critical", "critical path"),
         key("pruned", "pruned: no step waited for it"), el("span", null, words)));
  const w = {store, scroll, part, grid: null, image: null, drawn: null, whole: false, width: 0};
  w.at = scrolled(scroll, perFrame(() => isDrawn(w) || draw(w)));
  save(part, {csv: () => csv(store), pictures: () => pictures(w)});
  scroll.addEventListener("keydown", (event) => follow(w, event));
  whenSized(scroll, (width) => {
    w.width = width;
    show(w);
  });
  whenColorsChange(() => draw(w));
  store.later(part, (changed) => {
    if (changed.collective)
      return show(w);
    if (changed.chosen && store.chosen && store.chosen.kind === "step" && !boxOf(w, store.chosen.index))
      return drawAt(w, store.model.step(store.chosen.index));
    if (changed.chosen)
      store.mark(w.image);
    if (changed.time)
      markAway(w);
    return undefined;
  });
}
