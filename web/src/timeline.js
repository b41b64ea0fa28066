/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Every rank's steps over the run's time, the expected part of a bar plain, the time lost colored, the critical path
 * outlined; above it the whole run with its brush, below it what switches were asked, findings, and tracks of counters.
 * Rows scroll, time zooms: only what is in view is drawn.
 */
import {colorsNow, whenColorsChange} from "./colors.js";
import {action, el, fit, key, onPaper, perFrame, scrolled, section, whenSized} from "./dom.js";
import {many} from "./format.js";
import {
  byLane,
  detectionsOf,
  lanesOfRun,
  litIn,
  markText,
  notificationsIn,
  passesOf,
  placeOf,
  stepAt,
  worstOf
} from "./lanes.js";
import {excessKeys} from "./legends.js";
import {stepIsLit} from "./model.js";
import {overviewOf, paintOverview} from "./overview.js";
import {save} from "./save.js";
import {drawTimeline, placesFor} from "./timeline_draw.js";
import {drawSeen, injectedOf} from "./timeline_seen.js";
import {tip} from "./tip.js";
import {drawTracks} from "./tracks.js";
import {listenForView} from "./view.js";
import {stepTip} from "./words.js";

const MOST_HEIGHT = 460, MOST_NARROW = 300, MOST_PRINTED = 16000, MARK_PX = 5, NEAR_PX = 3, MOST_SEARCHED = 60000,
      MOST_MARKS = 20000;

function legend(t) {
  const {flat} = t.run, left = t.model.collectives.filter((c) => !c.steps).length;
  return [
    ...excessKeys(),
    flat.flow.some((flow) => flow < 0) && key("local", "computation"),
    key("critical", "critical path"),
    t.marks.detections.size > 0 && key("detection", "detection: a poll left"),
    t.model.notifications.count > 0 && key("notification", "detections handed on, where there is room"),
    el("span", {class: "how"}, "Where bars are thinner than a pixel, the worst is seen. "),
    el("span", {class: "how"},
       "Drag above to choose a time; Ctrl and wheel zoom, a drag moves. Keys: arrows, Enter, +, \u2212, 0; ? lists all."),
    left > 0 && el("span", null, `The steps of ${many(left, "collective")} are left out of this page: steps.csv has them.`),
  ].filter(Boolean);
}

/* The timeline's elements, and what it shows: run (lanes), rows (where they stand), cursor (a step). */
function timelineOf(store) {
  const canvas = el("canvas", {"aria-hidden": "true"}), spacer = el("div"), run = lanesOfRun(store.model);
  const label =
      "Steps of all ranks over time. Arrow keys go from step to step, Enter lights up what belongs to one, plus and " +
      "minus zoom; steps.csv holds the same as a table.";
  const t = {
    store,
    model: store.model,
    time: store.time,
    run,
    canvas,
    spacer,
    scroll: el("div", {class: "rows", tabindex: "0", role: "application", "aria-label": label}, canvas, spacer),
    above: el("div", {class: "above"}),
    seen: el("div", {class: "seen"}),
    tracks: el("div", {class: "tracks"}),
    hair: el("div", {class: "hair", hidden: true, "aria-hidden": "true"}),
    keys: el("p", {class: "legend"}),
    spoken: el("p", {class: "hidden", "aria-live": "polite"}),
    note: el("span", {class: "note"}),
    range: el("output", {class: "range"}),
    marks: {detections: new Map(), notifications: new Map()},
    rows: placesFor(run.lanes.length, 1000),
    width: 0,
    passes: passesOf(store.model, run),
    kept: new Map(), /* key of a time or choice -> what is drawn for it */
    cursor: -1,
    font: getComputedStyle(document.body).fontFamily,
    plot: () => [t.rows.label, t.width - t.rows.right],
    scale: () => t.time.scale(...t.plot()),
    shown: () => [t.first(), t.last()],
    first: () => Math.max(0, Math.floor(t.top() / t.rows.row)),
    last: () => Math.min(run.lanes.length - 1, Math.ceil((t.top() + sizes(t).height) / t.rows.row)),
    top: () => (onPaper() ? 0 : t.at.top),
  };
  t.overview = overviewOf(store, run, () => t.rows, t.shown, (share, ns) => goTo(t, share, ns));
  t.above.append(t.overview.canvas);
  /* What a choice scrolls into view is drawn with the choice. */
  let all = false;
  t.redrawRows = perFrame(() => {
    drawAgain(t, all);
    all = false;
  });
  t.redraw = () => {
    all = true;
    t.redrawRows();
  };
  t.at = scrolled(t.scroll, t.redrawRows);
  return t;
}

/* Scrolls the rows. Their canvas stands still: it is drawn for the new place; the box follows once the layout stands. */
function scrollRows(t, top) {
  const {total, height} = sizes(t);
  t.at.top = Math.round(Math.max(0, Math.min(top, total - height)));
  t.redrawRows();
  requestAnimationFrame(() => setTimeout(() => t.at.go(0, t.at.top)));
}

/* A click on the whole run: its ranks and its time come into view. */
function goTo(t, share, ns) {
  const half = (t.time.to - t.time.from) / 2;
  if (share >= 0 && share <= 1)
    scrollRows(t, share * t.run.lanes.length * t.rows.row - sizes(t).height / 2);
  if (!t.time.isWhole()) {
    t.time.set(ns - half, ns + half);
    t.store.moved();
  }
}

/* From what the step under the cursor, or the chosen one, depends on to it: as passesOf(). */
function needsOf({store, model, run, cursor}) {
  const index = cursor >= 0 ? cursor : store.chosen && store.chosen.kind === "step" ? store.chosen.index : -1;
  const step = index >= 0 ? model.step(index) : null, lane = step ? run.laneOf(step) : -1;
  return (step ? step.needs : [])
      .map((i) => model.step(i))
      .filter((on) => on.started && run.laneOf(on) !== lane)
      .map((on) => [run.laneOf(on), on.end, lane, step.start]);
}

/* What make() makes, kept for as long as it is asked for the same. */
function kept(t, name, of, make) {
  const last = t.kept.get(name);
  if (last && last.of.every((one, i) => one === of[i]))
    return last.made;
  const made = make();
  t.kept.set(name, {of, made});
  return made;
}

/* The worst of each pixel of a lane. */
function worstIn(t, lane) {
  const {from, to} = t.time, [left, right] = t.plot(), px = Math.max(1, Math.round(right - left));
  const lanes = kept(t, "worst", [from, to, px], () => new Map());
  if (!lanes.has(lane)) {
    lanes.set(lane, new Uint8Array(px));
    worstOf(t.run.flat, t.run.lanes[lane], from, to, lanes.get(lane));
  }
  return lanes.get(lane);
}

function sizes(t) {
  const total = t.rows.top + t.run.lanes.length * t.rows.row + 6;
  const most = onPaper() ? MOST_PRINTED : t.rows.label < 100 ? MOST_NARROW : MOST_HEIGHT;
  return {total, height: Math.min(total, most)};
}

/* What drawTimeline() needs. */
function drawn(t, width, height) {
  const top = t.top(), {store, time: {from, to}} = t, [left, right] = t.plot(), perNs = (right - left) / (to - from);
  const chosen = store.chosen && store.chosen.kind === "step" ? store.chosen.index : -1;
  return {
    ...t.marks,
    left,
    right,
    perNs,
    x: (ns) => left + (ns - from) * perNs,
    model: t.model,
    run: t.run,
    width,
    height,
    rows: t.rows,
    scale: t.scale(),
    from,
    to,
    colors: colorsNow(),
    font: t.font,
    unit: t.model.time.unit,
    unitNs: t.model.time.unitNs,
    y: (lane) => t.rows.top + lane * t.rows.row - top,
    first: Math.max(0, Math.floor(top / t.rows.row) - 1),
    last: Math.min(t.run.lanes.length - 1, Math.ceil((top + height) / t.rows.row)),
    lit: kept(t, "lit", [store.lit], () => litIn(t.run.flat, store.lit)),
    flows: store.lit ? store.lit.flows : null,
    worstOf: (lane) => worstIn(t, lane),
    passes: t.passes,
    needs: needsOf(t),
    cursor: t.cursor,
    chosen,
    held: t.cursor >= 0 || chosen >= 0 ? placeOf(t.run.flat, t.cursor >= 0 ? t.cursor : chosen) : -1,
  };
}

function drawRows(t) {
  const {width, time: {from, to}} = t, {total, height} = sizes(t);
  t.marks.notifications =
      kept(t, "notifications", [from, to], () => byLane(notificationsIn(t.model, t.run, from, to, MOST_MARKS)));
  t.scroll.style.height = `${height}px`;
  t.spacer.style.height = `${onPaper() ? 0 : total - height}px`;
  drawTimeline(fit(t.canvas, width, height), drawn(t, width, height));
}

/* @param all  what is below the rows, too */
function drawAgain(t, all) {
  if (all)
    return draw(t);
  drawRows(t);
  return t.overview.draw();
}

function draw(t) {
  const {model, time} = t;
  drawRows(t);
  t.overview.draw();
  drawSeen(t.seen, t.store, t.scale(), t.rows, t.width, (...of) => kept(t, ...of));
  t.range.textContent = `${model.time.bare(time.from)} to ${model.time.of(time.to)}${
      time.isWhole() ? ", the whole run" : ` (${model.time.of(time.to - time.from)})`}`;
}

function intoView(t, step) {
  const {rows, time} = t, y = rows.top + t.run.laneOf(step) * rows.row, half = (time.to - time.from) / 2,
               {height} = sizes(t);
  if (y < t.at.top + rows.top || y + rows.row > t.at.top + height)
    scrollRows(t, y - height / 2);
  if (!time.isWhole() && (step.end < time.from || step.start > time.to)) {
    time.set(step.start - half, step.start + half);
    t.store.moved();
  }
}

/* Steps that light up: those that the choice names, then those of the shown collective. */
function litSteps({model, store}) {
  const named = [...store.lit.steps].map((index) => model.step(index)).filter((step) => step.started);
  if (named.length > 0 || model.collectives[store.collective].nsteps > MOST_SEARCHED)
    return named;
  return model.stepsOf(store.collective).filter((step) => stepIsLit(store.lit, step));
}

/* The first step that lights up, unless one is in view. */
function litIntoView(t) {
  const {rows, time} = t, lit = litSteps(t), {height} = sizes(t);
  const isSeen = (step) => {
    const y = rows.top + t.run.laneOf(step) * rows.row - t.at.top;
    return y >= rows.top && y + rows.bar <= height && step.end >= time.from && step.start <= time.to;
  };
  if (lit.length > 0 && !lit.some(isSeen))
    intoView(t, lit[0]);
}

function go(t, step) {
  if (!step || step.rank < 0)
    return;
  t.cursor = step.index;
  t.spoken.textContent = stepTip(t.model, step);
  intoView(t, step);
}

/* The step of another rank, or of another number, of the same collective. */
function neighbour({model}, at, by, ranks) {
  const c = model.collectives[at.collective], {rank, number} = model.timesOf(at.collective).schedule;
  for (let i = 0; i < c.nsteps; i++) {
    if (rank[i] === at.rank + ranks && number[i] === at.number + by)
      return model.step(c.first_step + i);
  }
  return null;
}

/* From the step under the cursor to a neighbour; the first time to where the shown collective's critical path begins. */
function move(t, by, ranks) {
  const {model, store} = t, c = model.collectives[store.collective];
  if (t.cursor >= 0)
    return go(t, neighbour(t, model.step(t.cursor), by, ranks));
  return go(t, model.step(c.steps && c.steps.path.length > 0 ? c.steps.path[0] : c.first_step));
}

function listenForKeys(t) {
  const choose = () => t.cursor >= 0 && t.store.choose("step", t.cursor);
  const does = {
    ArrowRight: () => move(t, 1, 0),
    ArrowLeft: () => move(t, -1, 0),
    ArrowDown: () => move(t, 0, 1),
    ArrowUp: () => move(t, 0, -1),
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

/* What lies under the pointer: {lane, step, mark}. */
function under(t, event) {
  const box = t.canvas.getBoundingClientRect(), x = event.clientX - box.left, y = event.clientY - box.top;
  const {rows, run} = t, scale = t.scale(), at = y + t.at.top - rows.top, lane = Math.floor(at / rows.row);
  const perPx = (t.time.to - t.time.from) / (t.plot()[1] - t.plot()[0]);
  if (y < rows.top || !run.lanes[lane])
    return {lane: -1, step: -1, mark: null};
  if (x < rows.label)
    return {lane, step: -1, mark: null};
  const near = (mark) => Math.abs(scale(mark.time) - x)<MARK_PX, below = at % rows.row>rows.bar;
  const of = (marks) => below && (marks.get(lane) || []).find(near);
  const detection = of(t.marks.detections), notification = of(t.marks.notifications);
  return {
    lane,
    step: stepAt(run.flat, run.lanes[lane], scale.invert(x), NEAR_PX * perPx),
    mark: detection  ? {detection} :
        notification ? {notification} :
                       null,
  };
}

function listenForPointer(t) {
  listenForView(t.scroll, t.time, t.plot, t.store.moved);
  t.scroll.addEventListener("click", (event) => {
    const {lane, step} = under(t, event), name = lane >= 0 ? t.run.lanes[lane].name : {};
    if (step >= 0)
      t.store.choose("step", step);
    else if (name.flow !== undefined && event.clientX - t.canvas.getBoundingClientRect().left < t.rows.label)
      t.store.choose("flow", name.flow);
  });
  tip(t.scroll, (event) => {
    const {step, mark} = event ? under(t, event) : {step: -1};
    return mark ? markText(t.model, mark) : step >= 0 ? stepTip(t.model, t.model.step(step)) : null;
  });
}

/* A line through all that shares the time axis, where the pointer is. */
function listenForHair(t, stack) {
  stack.addEventListener("pointermove", (event) => {
    const x = event.clientX - stack.getBoundingClientRect().left, [left, right] = t.plot();
    t.hair.hidden = x < left || x > right || event.pointerType === "touch";
    t.hair.style.transform = `translateX(${Math.round(x)}px)`;
  });
  stack.addEventListener("pointerleave", () => t.hair.hidden = true);
}

/* Steps in view as a table. */
function csv(t) {
  const rows = [["collective", "iteration", "rank", "step", "flow", "start_ns", "took_ns", "expect_ns", "critical"]];
  for (const {steps} of t.run.lanes) {
    for (const i of steps) {
      const {flat} = t.run;
      if (flat.end[i] < t.time.from || flat.start[i] > t.time.to)
        continue;
      const s = t.model.step(flat.index[i]), c = t.model.collectives[s.collective];
      rows.push([
        c.name, c.iteration, s.rank, s.number, s.flow >= 0 ? t.model.flows[s.flow].name : "", s.start, s.took, s.expect,
        s.critical ? 1 : 0
      ]);
    }
  }
  return rows;
}

/* The whole run, what is in view of its ranks, and the tracks, one below the other. */
function pictures(t) {
  const {width} = t, {height} = sizes(t);
  return [
    {width, height: t.overview.sizes.height, paint: (g) => paintOverview(g, t.overview, width, colorsNow())},
    {width, height, paint: (g) => drawTimeline(g, drawn(t, width, height))},
    ...[...t.seen.querySelectorAll("svg"), ...t.tracks.querySelectorAll("svg")].map((node) => ({node})),
  ];
}

/* What was injected, beside what was found: on demand, since no diagnosis saw it. */
function truth(store) {
  if (!injectedOf(store).length)
    return false;
  const node = action("truth", "Show what the scenario injected, beside the findings", () => store.reveal(!store.truth));
  node.setAttribute("aria-pressed", "false");
  store.on((changed) => changed.truth && node.setAttribute("aria-pressed", String(store.truth)));
  return node;
}

function tools(t) {
  const button = (text, label, act) => {
    const node = el("button", {type: "button", "aria-label": label, title: label}, text);
    node.addEventListener("click", () => {
      act();
      t.store.moved();
    });
    return node;
  };
  return el(
      "p", {class: "tools"}, t.note, t.range, truth(t.store), button("\u2212", "Zoom out", () => t.time.zoom(0.5)),
      button("+", "Zoom in", () => t.time.zoom(2)), button("whole", "Show the whole time", () => t.time.reset()));
}

export function drawTimelineSection(root, store) {
  const {model} = store;
  if (model.collectives.length === 0)
    return;
  const t = timelineOf(store), stack = el("div", {class: "stack"}, t.above, t.scroll, t.seen, t.tracks, t.hair);
  const node = section(root, "timeline", "Timeline", tools(t), stack, t.spoken, t.keys);
  t.note.textContent = `${many(t.run.rows.length, model.generated ? "host" : "rank")}, ${
      many(t.run.flat.count, model.generated ? "flow" : "step")}`;
  save(node, {csv: () => csv(t), pictures: () => pictures(t)});
  listenForKeys(t);
  listenForPointer(t);
  listenForHair(t, stack);
  t.overview.listen();
  drawTracks(t.tracks, store, () => t.rows);
  whenSized(t.scroll, (width) => {
    t.width = width;
    t.rows = placesFor(t.run.lanes.length, width);
    draw(t);
  });
  t.keys.replaceChildren(...legend(t));
  /* Thousands of marks need their steps: not before the page stands. */
  setTimeout(() => {
    t.marks.detections = byLane(detectionsOf(model, t.run));
    t.keys.replaceChildren(...legend(t));
    t.redraw();
  });
  whenColorsChange(() => draw(t));
  store.on((changed) => {
    if (changed.chosen && store.chosen)
      litIntoView(t);
    t.redraw();
  });
}
