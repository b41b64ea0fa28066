/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Every rank's steps over time, the expected part of a bar plain, the time lost colored, the critical path outlined; below
 * it what switches were asked and saw. Rows scroll, time zooms: of a large collective only what is in view is drawn.
 */
import {colorsNow, whenColorsChange} from "./colors.js";
import {el, key, perFrame, section, whenSized} from "./dom.js";
import {many} from "./format.js";
import {excessKeys} from "./legends.js";
import {stepIsLit} from "./model.js";
import {collectiveOf, markAt, stepAt} from "./timeline_data.js";
import {drawTimeline, rowsFor} from "./timeline_draw.js";
import {drawSeen} from "./timeline_seen.js";
import {tip} from "./tip.js";
import {listenForView, viewOf} from "./view.js";
import {stepTip} from "./words.js";

const MOST_HEIGHT = 640, MOST_PRINTED = 16000,
      LEFT_OUT = "The steps of this one are left out of this page: steps.csv has them.";

function legend(now) {
  return [
    ...excessKeys(), now.byRank.some((list) => list.some((s) => s.local)) && key("local", "computation"),
    key("critical", "critical path"), now.detections.length > 0 && key("detection", "detection: a poll left"),
    now.notifications.length > 0 && key("notification", "detections handed on, where there is room"),
    el("span", null, "Numbers in bars are steps; lines lead to a chosen one from all that it depends on."),
    el("span", null, "Ctrl and wheel zoom, a drag moves; with the keyboard: arrows, Enter, +, \u2212 and 0.")
  ].filter(Boolean);
}


const onPaper = () => document.documentElement.classList.contains("print");

/* The timeline's elements, and what it shows: now (collective), view (time), rows (where they stand), cursor (a step). */
function timelineOf(store) {
  const canvas = el("canvas", {"aria-hidden": "true"}), spacer = el("div");
  const label =
      "Steps of all ranks over time. Arrow keys go from step to step, Enter lights up what belongs to one, plus and " +
      "minus zoom; steps.csv holds the same as a table.";
  const t = {
    store,
    model: store.model,
    canvas,
    spacer,
    scroll: el("div", {class: "rows", tabindex: "0", role: "application", "aria-label": label}, canvas, spacer),
    seen: el("div", {class: "seen"}),
    keys: el("p", {class: "legend"}),
    spoken: el("p", {class: "hidden", "aria-live": "polite"}),
    note: el("span", {class: "note"}),
    now: null,
    view: null,
    rows: null,
    cursor: -1,
    plot: () => [t.rows.label, t.scroll.clientWidth - t.rows.right],
    scale: () => t.view.scale(...t.plot()),
  };
  t.redrawRows = perFrame(() => drawRows(t));
  t.redraw = perFrame(() => draw(t));
  return t;
}

/* As large as what is in view, sharp on dense screens. @return its context, in px */
function fit(canvas, width, height, ratio) {
  if (canvas.width !== Math.round(width * ratio) || canvas.height !== Math.round(height * ratio)) {
    canvas.width = Math.round(width * ratio);
    canvas.height = Math.round(height * ratio);
    canvas.style.width = `${width}px`;
    canvas.style.height = `${height}px`;
  }
  const g = canvas.getContext("2d");
  g.setTransform(ratio, 0, 0, ratio, 0, 0);
  return g;
}

/* [what it depends on, step] of the step under the cursor, or chosen; within the collective. */
function needsOf({store, model, now, cursor}) {
  const index = cursor >= 0 ? cursor : store.chosen && store.chosen.kind === "step" ? store.chosen.index : -1;
  const step = index >= 0 ? model.step(index) : null;
  if (!step || step.collective !== now.index)
    return [];
  return step.needs.map((i) => model.step(i))
      .filter((on) => on.collective === now.index && on.started)
      .map((on) => [on, step]);
}

function drawRows(t) {
  const {rows, now, store, model} = t, width = t.scroll.clientWidth, total = rows.top + now.lanes.length * rows.row + 6;
  const height = Math.min(total, onPaper() ? MOST_PRINTED : MOST_HEIGHT), top = onPaper() ? 0 : t.scroll.scrollTop;
  t.scroll.style.height = `${height}px`;
  t.spacer.style.height = `${onPaper() ? 0 : total - height}px`;
  drawTimeline(fit(t.canvas, width, height, onPaper() ? 1 : devicePixelRatio || 1), {
    ...now,
    width,
    height,
    rows,
    scale: t.scale(),
    colors: colorsNow(),
    unit: model.run.unit,
    unitNs: model.run.unit_ns,
    y: (row) => rows.top + row * rows.row - top,
    first: Math.max(0, Math.floor(top / rows.row) - 1),
    last: Math.min(now.lanes.length - 1, Math.ceil((top + height) / rows.row)),
    lit: store.lit,
    needs: needsOf(t),
    cursor: t.cursor,
    chosen: store.chosen && store.chosen.kind === "step" ? store.chosen.index : -1,
  });
}

function draw(t) {
  drawRows(t);
  drawSeen(t.seen, t.store, t.now, t.scale(), t.rows, t.scroll.clientWidth);
}

/* Another collective. */
function show(t) {
  t.now = collectiveOf(t.model, t.store.collective);
  t.view = viewOf(t.now.from, t.now.to);
  t.rows = rowsFor(t.now.lanes.length, t.scroll.clientWidth);
  t.cursor = -1;
  t.keys.replaceChildren(...legend(t.now));
  t.note.textContent = t.now.c.steps ? `${t.now.c.ranks} ranks, ${many(t.now.c.nsteps, "step")}` : LEFT_OUT;
  t.redraw();
}

function intoView(t, step) {
  const {scroll, rows, view} = t, y = rows.top + t.now.rowOf(step) * rows.row, half = (view.to - view.from) / 2;
  if (y < scroll.scrollTop + rows.top || y + rows.row > scroll.scrollTop + scroll.clientHeight)
    scroll.scrollTop = y - scroll.clientHeight / 2;
  if (!view.isWhole() && (step.end < view.from || step.start > view.to))
    view.set(step.start - half, step.start + half);
}

/* The first step that lights up, unless one is in view. */
function litIntoView(t) {
  const {store, scroll, rows, view} = t,
                              lit = t.model.stepsOf(store.collective).filter((step) => stepIsLit(store.lit, step));
  const isSeen = (step) => {
    const y = rows.top + t.now.rowOf(step) * rows.row - scroll.scrollTop;
    return y >= rows.top && y + rows.bar <= scroll.clientHeight && step.end >= view.from && step.start <= view.to;
  };
  if (lit.length > 0 && !lit.some(isSeen))
    intoView(t, lit[0]);
}

function go(t, step) {
  if (!step)
    return;
  t.cursor = step.index;
  t.spoken.textContent = stepTip(t.model, step);
  intoView(t, step);
}

/* From the step under the cursor to a neighbour; the first time to where the critical path begins. */
function move(t, by, ranks) {
  const at = t.cursor >= 0 ? t.model.step(t.cursor) : null;
  go(t,
     at ? (t.now.byRank[at.rank + ranks] || []).find((s) => s.number === at.number + by) :
          t.now.path[0] || (t.now.byRank[0] || [])[0]);
}

function listenForKeys(t) {
  const choose = () => t.cursor >= 0 && t.store.choose("step", t.cursor);
  const does = {
    ArrowRight: () => move(t, 1, 0),
    ArrowLeft: () => move(t, -1, 0),
    ArrowDown: () => move(t, 0, 1),
    ArrowUp: () => move(t, 0, -1),
    "+": () => t.view.zoom(2),
    "=": () => t.view.zoom(2),
    "-": () => t.view.zoom(0.5),
    0: () => t.view.reset(),
    Enter: choose,
    " ": choose,
  };
  t.scroll.addEventListener("keydown", (event) => {
    if (!does[event.key] || event.ctrlKey || event.metaKey || event.altKey)
      return;
    event.preventDefault();
    does[event.key]();
    t.redraw();
  });
}

function listenForPointer(t) {
  const at = (event) => {
    const box = t.canvas.getBoundingClientRect();
    return [t.now, t.scale(), t.rows, t.scroll.scrollTop, event.clientX - box.left, event.clientY - box.top];
  };
  listenForView(t.scroll, () => t.view, t.plot, t.redraw);
  t.scroll.addEventListener("scroll", t.redrawRows);
  t.scroll.addEventListener("click", (event) => {
    const [now, , rows, top, x, y] = at(event), step = stepAt(...at(event)),
                                lane = now.lanes[Math.floor((y + top - rows.top) / rows.row)], name = lane && lane.name;
    if (step)
      t.store.choose("step", step.index);
    else if (x < rows.label && y > rows.top && name && name.flow !== undefined)
      t.store.choose("flow", name.flow);
  });
  tip(t.scroll, (event) => {
    const step = event ? stepAt(...at(event)) : null;
    return (event && markAt(t.model, ...at(event))) || (step && stepTip(t.model, step)) || null;
  });
}

function tools(t) {
  const button = (text, label, act) => {
    const node = el("button", {type: "button", "aria-label": label, title: label}, text);
    node.addEventListener("click", () => {
      act();
      t.redraw();
    });
    return node;
  };
  return el(
      "p", {class: "tools"}, t.note, button("\u2212", "Zoom out", () => t.view.zoom(0.5)),
      button("+", "Zoom in", () => t.view.zoom(2)), button("whole", "Show the whole time", () => t.view.reset()));
}

export function drawTimelineSection(root, store) {
  if (store.model.collectives.length === 0)
    return;
  const t = timelineOf(store);
  section(root, "timeline", "Timeline", tools(t), t.scroll, t.seen, t.spoken, t.keys);
  listenForKeys(t);
  listenForPointer(t);
  whenSized(t.scroll, (width) => {
    if (!t.now)
      return show(t);
    t.rows = rowsFor(t.now.lanes.length, width);
    return t.redraw();
  });
  whenColorsChange(() => draw(t));
  store.on((changed) => {
    if (changed.collective)
      show(t);
    if (changed.chosen && store.chosen)
      litIntoView(t);
    t.redraw();
  });
}
