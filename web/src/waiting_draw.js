/* SPDX-License-Identifier: BSD-3-Clause */
/* The waiting graph's drawing: where steps stand, and what of them is in view. */
import {linkHorizontal} from "d3-shape";

import {svg} from "./dom.js";
import {cut} from "./format.js";
import {largest, level, stepName} from "./model.js";
import {stands} from "./store.js";
import {tip} from "./tip.js";
import {stepTip} from "./words.js";

const LABEL = 58, TOP = 24, ROW = 34, BOX = 22, LEAST_COLUMN = 84, MOST_COLUMN = 150, MARGIN = 1;
const REPORTED = 1, OPEN = 4; /* of a step's state */
const FAR = 128;              /* ranks: arrows from farther away are not looked for */

const link = linkHorizontal().source((d) => d[0]).target((d) => d[1]);

/* Where each rank's steps begin, and how many there are: steps stand by rank, then by number. */
function ranksOf(model, index) {
  const c = model.collectives[index], times = model.timesOf(index), first = [];
  for (let i = 0; times && i < c.nsteps; i++)
    (first[times.schedule.rank[i]] ||= []).push(i);
  return first;
}

/* Where steps stand: by rank and number. Of large collectives each is looked up when it comes into view. */
export function gridOf(model, index, width) {
  const c = model.collectives[index], times = model.timesOf(index), places = ranksOf(model, index);
  const numbers = places.map((list) => new Map(list.map((i) => [times.schedule.number[i], i])));
  const at = (rank, number) => {
    const i = numbers[rank] ? numbers[rank].get(number) : undefined;
    return i === undefined ? null : model.step(c.first_step + i);
  };
  const columns = largest(numbers, (of) => (of ? largest([...of.keys()], (number) => number, 0) : 0), 1);
  const column = Math.max(LEAST_COLUMN, Math.min(MOST_COLUMN, (width - LABEL - 60) / columns)), box = column * 0.64;
  const last = Array.from(places, (list) => lastOf(times, list || []))
                   .filter((i) => i >= 0)
                   .map((i) => model.step(c.first_step + i));
  const path = c.steps ? c.steps.path : [];
  return {
    model,
    at,
    columns,
    column,
    box,
    last,
    end: path.length > 0 ? path[path.length - 1] : -1,
    ranks: places.length,
    width: LABEL + column * columns + 56,
    height: TOP + ROW * places.length + 6,
    x: (step) => LABEL + column * (step.number - 1),
    y: (step) => TOP + ROW * step.rank,
    endAt: [LABEL + column * columns + 30, TOP + BOX / 2 + ROW * (places.length - 1) / 2],
  };
}

/* A rank's step that ended last: of those that are open the one with the highest number. */
function lastOf(times, list) {
  const open = (i) => !!(times.state[i] & OPEN), end = (i) => times.start[i] + times.took[i];
  const later = (a, b) =>
      (open(b) ? !open(a) || times.schedule.number[b] > times.schedule.number[a] : !open(a) && end(b) >= end(a));
  return list.filter((i) => times.state[i] & REPORTED).reduce((best, i) => (best < 0 || later(best, i) ? i : best), -1);
}

/* All arrows of a kind in two paths, lines and heads: hundreds of elements would cost more than what they show. */
function arrows(list, kind) {
  const own = list.filter((one) => one.kind === kind), heads = own.map(({from: [start], to: [x, y]}) => {
    const by = x >= start ? 1 : -1;
    return `M${x - 7 * by} ${y - 4}l${8 * by} 4l${- 8 * by} 4z`;
  });
  return own.length > 0 ?
      [
        svg("path", {class: `wait ${kind}`, d: own.map(({from, to}) => link([from, to])).join("")}),
        svg("path", {class: `head ${kind}`, d: heads.join("")})
      ] :
      [];
}

/* From a step to the end of the one it waited for. */
const arrow = (g, kind, from, on) => ({kind, from, to: [g.x(on) + g.box + 4, g.y(on) + BOX / 2]});

function waits(g, step) {
  const on = step.waitedFor >= 0 ? g.model.step(step.waitedFor) : null;
  if (!on || on.collective !== step.collective) /* a step of the collective before: the tip says which */
    return null;
  return arrow(g, step.critical ? "bold" : step.pruned ? "pruned" : "plain", [g.x(step), g.y(step) + BOX / 2], on);
}

function boxOf(g, step) {
  const {model} = g, state = step.pruned ? "pruned" : step.started ? `x${level(step)}` : "unstarted";
  const shape =
      svg("g", {class: `box ${state}${step.local ? " local" : ""}${step.critical ? " critical" : ""}`},
          svg("rect", {x: g.x(step), y: g.y(step), width: g.box, height: BOX, rx: 3}),
          svg("text", {x: g.x(step) + g.box / 2, y: g.y(step) + 15}, step.started ? model.time.bare(step.took) : "-"));
  return tip(stands(shape, "step", step.index, `${stepName(model, step)}`, step.flow), () => stepTip(model, step));
}

/* @param seen  {left, top, width, height} of the scrolled box */
export function drawing(g, seen) {
  const first = Math.max(0, Math.floor((seen.left - LABEL) / g.column) - MARGIN),
        lastColumn = Math.min(g.columns - 1, Math.ceil((seen.left + seen.width - LABEL) / g.column) + MARGIN);
  const top = Math.max(0, Math.floor((seen.top - TOP) / ROW) - MARGIN),
        bottom = Math.min(g.ranks - 1, Math.ceil((seen.top + seen.height - TOP) / ROW) + MARGIN);
  const edges = [], boxes = [], labels = [], sticky = seen.left;
  for (let rank = Math.max(0, top - FAR); rank < Math.min(g.ranks, bottom + FAR); rank++) {
    const inView = rank >= top && rank <= bottom;
    for (let i = first; i <= lastColumn; i++) {
      const step = g.at(rank, i + 1), on = step && step.waitedFor >= 0 ? g.model.step(step.waitedFor).rank : rank;
      if (!step || (!inView && (on < top || on > bottom)))
        continue;
      edges.push(waits(g, step));
      if (inView)
        boxes.push(boxOf(g, step));
    }
    if (inView && g.at(rank, 1))
      labels.push(
          svg("text", {class: "label", x: sticky + LABEL - 8, y: TOP + ROW * rank + 15},
              cut(g.model.nodes[g.at(rank, 1).host].name, 8)));
  }
  if (lastColumn >= g.columns - 1 - MARGIN)
    g.last.forEach((s) => edges.push(arrow(g, s.index === g.end ? "bold" : "plain", [g.endAt[0] - 16, g.endAt[1]], s)));
  const ticks = [];
  for (let i = first; i <= lastColumn; i++)
    ticks.push(
        svg("text", {class: "tick", x: LABEL + g.column * i + g.box / 2, y: seen.top + 13},
            `${i === 0 ? "step " : ""}${i + 1}`));
  return [
    ...["pruned", "plain", "bold"].flatMap((kind) => arrows(edges.filter(Boolean), kind)),
    ...boxes,
    svg("g", {class: "end"}, svg("circle", {cx: g.endAt[0], cy: g.endAt[1], r: 15}),
        svg("text", {x: g.endAt[0], y: g.endAt[1] + 4}, "end")),
    svg("rect", {class: "ground", x: sticky, y: 0, width: LABEL - 4, height: g.height}),
    ...labels,
    svg("rect", {class: "ground", x: sticky, y: seen.top, width: seen.width, height: TOP - 4}),
    ...ticks,
  ];
}

export function arrowHeads() {
  const head = (name) =>
      svg("marker", {
        id: `arrow-${name}`,
        viewBox: "0 0 8 8",
        refX: 7,
        refY: 4,
        markerWidth: 8,
        markerHeight: 8,
        markerUnits: "userSpaceOnUse",
        orient: "auto"
      },
          svg("path", {d: "M0 0L8 4L0 8z"}));
  return svg(
      "svg", {class: "heads", width: 0, height: 0, "aria-hidden": "true"},
      svg("defs", null, ...["waits", "gives", "pauses"].map(head)));
}
