/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Every rank's steps over time, the expected part of a bar plain, the time lost colored, the critical path outlined; below
 * it what switches were asked and saw. Rows scroll, time zooms: of a large collective only what is in view is drawn.
 */
import {colorsNow, whenColorsChange} from "./colors.js";
import {el, key, perFrame, section, svg, whenSized} from "./dom.js";
import {cut, duration, many, percent} from "./format.js";
import {SLOW_SHARE, stepName} from "./model.js";
import {stands} from "./store.js";
import {drawTimeline, rowsFor} from "./timeline_draw.js";
import {tip} from "./tip.js";
import {listenForView, viewOf} from "./view.js";
import {stepTip} from "./words.js";

const MOST_HEIGHT = 640, SEEN_ROW = 22, POLL_PX = 3;

/* A rank that always sends to the same peer is named by its flow. */
function rankNames(model, byRank) {
  return byRank.map((steps, rank) => {
    const flow = steps.length > 0 && steps.every((s) => s.flow === steps[0].flow) ? steps[0].flow : -1;
    if (flow >= 0)
      return {text: model.flows[flow].short, flow};
    const host = steps.length > 0 ? model.nodes[steps[0].host] : null;
    return {text: `rank ${rank}${host ? `: ${host.name}` : ""}`};
  });
}

/* What the drawing of a collective needs, looked up once. */
function collectiveOf(model, index) {
  const c = model.collectives[index], steps = model.stepsOf(index), byRank = [], rankOfHost = new Map();
  for (const step of steps) {
    (byRank[step.rank] ||= []).push(step);
    if (!rankOfHost.has(step.host))
      rankOfHost.set(step.host, step.rank);
  }
  for (let rank = 0; rank < c.ranks; rank++)
    byRank[rank] ||= [];
  const end = Math.max(
      c.start_ns + Math.max(1, c.took_ns), ...byRank.map((list) => (list.length > 0 ? list[list.length - 1].end : 0)));
  const mine = (time) => time >= c.start_ns && time <= end;
  return {
    index,
    c,
    byRank,
    names: rankNames(model, byRank),
    path: c.steps ? c.steps.path.map((i) => model.step(i)) : [],
    from: c.start_ns,
    to: end,
    polls: model.polls.filter((p) => mine(p.time)),
    detections: model.detections.filter((d) => d.step >= c.first_step && d.step < c.first_step + c.nsteps)
                    .map((d) => ({...d, rank: model.step(d.step).rank})),
    notifications: model.notifications.filter((n) => mine(n.time) && rankOfHost.has(n.from))
                       .map((n) => ({...n, rank: rankOfHost.get(n.from)})),
    findings: model.findings.filter((f) => f.collective === index),
  };
}

const excessKeys = () =>
    [key("x0", `as expected (within ${percent(SLOW_SHARE)})`),
     key("x1", "time lost: step up to 10 % longer"),
     key("x2", "up to 50 %"),
     key("x3", "more"),
     key("x4", "still open"),
];

/* Polls closer than a mark's width share it. */
function pollMarks(polls, scale) {
  const marks = [], [left, right] = scale.range();
  for (const poll of polls) {
    const x = scale(poll.time), last = marks[marks.length - 1];
    if (x < left || x > right)
      continue;
    if (last && x - last.x < POLL_PX) {
      last.polls.push(poll);
      continue;
    }
    marks.push({x, polls: [poll]});
  }
  return marks;
}

function seenLabel(model, f) {
  const flow = f.flows_at.length > 0 ? `${model.flows[f.flows_at[0]].short} at ` : "";
  return f.family === "pfc" ? `${f.title} ${f.root}` : `${flow}${f.root}`;
}

function drawSeen(box, store, now, scale, rows, width) {
  const {model} = store, kids = [], narrow = rows.label < 100;
  const label = (text, y) => svg("text", {class: "label", x: rows.label - 8, y: y + 13}, cut(text, narrow ? 9 : 21));
  let y = 4;
  if (now.polls.length > 0) {
    kids.push(label("polls at switches", y), ...pollMarks(now.polls, scale).map((mark) => {
      const paused = mark.polls.filter((p) => p.paused).length;
      return tip(
          svg("rect", {class: paused > 0 ? "pfc" : "poll", x: mark.x, y, width: 2, height: 15}),
          () => `${model.time.of(mark.polls[0].time)}: ${many(mark.polls.length, "answer")} to polls, ${
              paused} of them from paused ports`);
    }));
    y += SEEN_ROW;
  }
  for (const f of now.findings) {
    const [left, right] = scale.range(), x0 = Math.max(left, scale(f.start_ns)), x1 = Math.min(right, scale(f.end_ns));
    const shown = stands(
        svg("g", null, svg("rect", {class: "row", x: 0, y, width, height: SEEN_ROW}), label(seenLabel(model, f), y)),
        "finding", f.index, f.sentence);
    if (x0 <= right && x1 >= left)
      shown.append(
          svg("rect", {class: `span ${f.family}`, x: x0, y: y + 5, width: Math.max(2, x1 - x0), height: 9, rx: 2}));
    kids.push(tip(shown, () => `${f.sentence}\n${f.evidence}`));
    y += SEEN_ROW;
  }
  box.replaceChildren(
      svg("svg", {width, height: y + 4, role: "group", "aria-label": "When polls and findings were seen"}, ...kids));
  store.mark(box);
  const first = box.querySelector("[data-kind]");
  if (first)
    first.setAttribute("tabindex", "0");
}

function legend(now) {
  return [
    ...excessKeys(), key("critical", "critical path"),
    now.detections.length > 0 && key("detection", "detection: a poll left"),
    now.notifications.length > 0 && key("notification", "detections handed on"),
    el("span", null, "Numbers in bars are steps."),
    el("span", null, "Ctrl and wheel zoom, a drag moves; with the keyboard: arrows, Enter, +, \u2212 and 0.")
  ].filter(Boolean);
}

/* The step under the pointer; where bars are thin, the nearest of its row. */
function stepAt(now, scale, rows, scroll, x, y) {
  const rank = Math.floor((y + scroll - rows.top) / rows.row), time = scale.invert(x);
  const near = (s) => (time < s.start ? s.start - time : time > s.end ? time - s.end : 0);
  if (y < rows.top || x < rows.label || !now.byRank[rank])
    return null;
  const found =
      now.byRank[rank].filter((s) => s.started).reduce((best, s) => (!best || near(s) < near(best) ? s : best), null);
  return found && scale(found.start) - 3 <= x && x <= scale(found.end) + 3 ? found : null;
}

/* Notes above a step's own: what lies under the pointer between the rows. */
function markAt(model, now, scale, rows, scroll, x, y) {
  const rank = Math.floor((y + scroll - rows.top) / rows.row), below = (y + scroll - rows.top) % rows.row > rows.bar;
  const near = (mark) => mark.rank === rank && Math.abs(scale(mark.time) - x) < 5;
  const d = below && now.detections.find(near), n = below && now.notifications.find(near);
  if (d)
    return `detection at ${model.time.of(d.time)} by ${stepName(model, model.step(d.step))}\n${
               d.stall ? "unacknowledged for" : "RTT"} ` +
        `${duration(d.rtt)}, threshold ${duration(d.threshold)}; ${d.left} left`;
  return n &&
      `${model.nodes[n.from].name} hands ${many(n.detections, "detection")} to ${
          n.to >= 0 ? model.nodes[n.to].name : "?"} after its step ` +
      `${n.step}, at ${model.time.of(n.time)}`;
}

export function drawTimelineSection(root, store) {
  const {model} = store;
  if (model.collectives.length === 0)
    return;
  const canvas = el("canvas", {"aria-hidden": "true"}), spacer = el("div");
  const scroll =
      el("div", {
        class: "rows",
        tabindex: "0",
        role: "application",
        "aria-label": "Steps of all ranks over time. Arrow keys go from step to step, " +
            "Enter lights up what belongs to one, plus and minus zoom; steps.csv holds the same as a table."
      },
         canvas, spacer);
  const seen = el("div", {class: "seen"}), keys = el("p", {class: "legend"}),
        said = el("p", {class: "hidden", "aria-live": "polite"});
  const note = el("span", {class: "note"});
  const button = (text, label, act) => {
    const node = el("button", {type: "button", "aria-label": label, title: label}, text);
    node.addEventListener("click", () => {
      act();
      redraw();
    });
    return node;
  };
  let now, view, rows, cursor = -1;
  section(
      root, "timeline", "Timeline",
      el("p", {class: "tools"}, note, button("\u2212", "Less of a zoom", () => view.zoom(0.5)),
         button("+", "Zoom in", () => view.zoom(2)), button("all", "Show the whole time", () => view.reset())),
      scroll, seen, said, keys);

  const plot = () => [rows.label, scroll.clientWidth - rows.right];
  const draw = () => {
    const width = scroll.clientWidth, total = rows.top + now.c.ranks * rows.row + 6;
    const whole = document.documentElement.classList.contains("print");
    const height = whole ? Math.min(total, 16000) : Math.min(total, MOST_HEIGHT), ratio = whole ? 1 : devicePixelRatio || 1,
          top = whole ? 0 : scroll.scrollTop;
    scroll.style.height = `${height}px`;
    spacer.style.height = `${total - height}px`;
    if (canvas.width !== Math.round(width * ratio) || canvas.height !== Math.round(height * ratio)) {
      canvas.width = Math.round(width * ratio);
      canvas.height = Math.round(height * ratio);
      canvas.style.width = `${width}px`;
      canvas.style.height = `${height}px`;
    }
    const g = canvas.getContext("2d"), scale = view.scale(...plot());
    g.setTransform(ratio, 0, 0, ratio, 0, 0);
    drawTimeline(g, {
      ...now,
      width,
      height,
      rows,
      scale,
      colors: colorsNow(),
      unit: model.run.unit,
      unitNs: model.run.unit_ns,
      y: (rank) => rows.top + rank * rows.row - top,
      first: Math.max(0, Math.floor(top / rows.row) - 1),
      last: Math.min(now.c.ranks - 1, Math.ceil((top + height) / rows.row)),
      lit: store.lit,
      cursor,
      chosen: store.chosen && store.chosen.kind === "step" ? store.chosen.index : -1,
    });
    drawSeen(seen, store, now, scale, rows, width);
  };
  const redraw = perFrame(draw);
  const show = () => {
    const c = model.collectives[store.collective];
    now = collectiveOf(model, store.collective);
    view = viewOf(now.from, now.to);
    rows = rowsFor(c.ranks, scroll.clientWidth);
    cursor = -1;
    keys.replaceChildren(...legend(now));
    note.textContent = c.steps ? `${c.ranks} ranks, ${many(c.nsteps, "step")}` :
                                 "The steps of this one are left out of this page: steps.csv has them.";
    redraw();
  };
  const intoView = (step) => {
    const y = rows.top + step.rank * rows.row;
    if (y < scroll.scrollTop + rows.top || y + rows.row > scroll.scrollTop + scroll.clientHeight)
      scroll.scrollTop = y - scroll.clientHeight / 2;
    if (!view.isWhole() && (step.end < view.from || step.start > view.to))
      view.set(...[step.start - (view.to - view.from) / 2, step.start + (view.to - view.from) / 2]);
  };
  const go = (step) => {
    if (!step)
      return;
    cursor = step.index;
    said.textContent = stepTip(model, step);
    intoView(step);
    redraw();
  };
  const move = (by, rank) => {
    const at = cursor >= 0 ? model.step(cursor) : now.path[0] || (now.byRank[0] || [])[0];
    if (!at || cursor < 0)
      return go(at);
    return go((now.byRank[at.rank + rank] || []).find((s) => s.number === at.number + by));
  };
  const keysDo = {
    ArrowRight: () => move(1, 0),
    ArrowLeft: () => move(-1, 0),
    ArrowDown: () => move(0, 1),
    ArrowUp: () => move(0, -1),
    "+": () => view.zoom(2),
    "=": () => view.zoom(2),
    "-": () => view.zoom(0.5),
    0: () => view.reset(),
    Enter: () => cursor >= 0 && store.choose("step", cursor),
    " ": () => cursor >= 0 && store.choose("step", cursor),
  };
  const at = (event) => {
    const box = canvas.getBoundingClientRect();
    return [now, view.scale(...plot()), rows, scroll.scrollTop, event.clientX - box.left, event.clientY - box.top];
  };

  listenForView(scroll, () => view, plot, redraw);
  scroll.addEventListener("scroll", redraw);
  scroll.addEventListener("keydown", (event) => {
    if (!keysDo[event.key] || event.ctrlKey || event.metaKey || event.altKey)
      return;
    event.preventDefault();
    keysDo[event.key]();
    redraw();
  });
  scroll.addEventListener("click", (event) => {
    const [, scale, , top, x, y] = at(event), step = stepAt(now, scale, rows, top, x, y),
                              rank = Math.floor((y + top - rows.top) / rows.row);
    if (step)
      store.choose("step", step.index);
    else if (x < rows.label && y > rows.top && now.names[rank] && now.names[rank].flow !== undefined)
      store.choose("flow", now.names[rank].flow);
  });
  tip(scroll, (event) => {
    const mark = event && markAt(model, ...at(event)), step = event ? stepAt(...at(event)) : null;
    return mark || (step && stepTip(model, step)) || null;
  });
  whenSized(scroll, (width) => {
    rows = rowsFor(now ? now.c.ranks : 1, width);
    if (now)
      redraw();
    else
      show();
  });
  whenColorsChange(draw);
  store.on((changed) => {
    if (changed.collective)
      show();
    if (changed.chosen && store.chosen && store.chosen.kind === "step" && now.index === store.collective)
      intoView(model.step(store.chosen.index));
    redraw();
  });
}

export {excessKeys};
