/* SPDX-License-Identifier: BSD-3-Clause */
/* The timeline's canvas: bars of steps, the critical path over them, detections and notifications between lanes. */
import {cut} from "./format.js";
import {countIn, isCritical, isOpen, seenIn, worstOf} from "./lanes.js";

const DIM = 0.16, NOTIFICATION_PX = 16, DETECTION_PX = 1, THIN_PX = 2, HALF_LETTER = 3.4;

/* Where lanes stand. */
export function placesFor(count, width) {
  const many = count > 24;
  return {top: 22, row: many ? 16 : 26, bar: many ? 10 : 15, label: width < 600 ? 66 : 148, right: 10};
}

/* @param d  {scale: ns -> px, unit, unitNs, colors, width}  @param height  of the grid's lines */
export function drawAxis(g, d, height, y = 0) {
  const {scale, colors, unit, unitNs} = d, least = d.rows.label < 100 ? 70 : 110;
  const per = scale.copy().domain(scale.domain().map((ns) => ns / unitNs)), many = Math.max(2, Math.floor(d.width / least)),
        format = per.tickFormat(many);
  g.textAlign = "center";
  for (const tick of per.ticks(many)) {
    g.fillStyle = colors.grid;
    g.fillRect(Math.round(per(tick)), y + 16, 1, height - 16);
    g.fillStyle = colors.soft;
    const text = `${format(tick)} ${unit}`;
    g.fillText(text, Math.min(per(tick), d.width - text.length * HALF_LETTER), y + 11);
  }
}

/* Computation is no load on the network: an outline with a line in it. */
function drawComputation(g, {rows, colors}, x0, x1, y) {
  g.strokeStyle = colors.x0;
  g.lineWidth = 1;
  g.strokeRect(x0 + 0.5, y + 0.5, Math.max(0, x1 - x0 - 1), rows.bar - 1);
  g.fillRect(x0, y + rows.bar / 2 - 1, x1 - x0, 2);
}

const isLit = (lit, flat, i) => lit.steps.has(flat.index[i]) || lit.stepFlows.has(flat.flow[i]);

function drawText(g, d, i, y, x0, x1, dark) {
  const step = d.model.step(d.run.flat.index[i]);
  g.fillStyle = d.colors[dark];
  g.textAlign = "left";
  g.fillText(`${step.number}${step.open && x1 - x0 > 50 ? " open" : ""}`, x0 + 4, y + d.rows.bar / 2 + 4);
}

function outline(g, d, i, x0, x1, y) {
  const index = d.run.flat.index[i], held = d.cursor === index || d.chosen === index;
  if (!held && !isCritical(d.run.flat, i))
    return;
  g.strokeStyle = held ? d.colors.own : d.colors.ink;
  g.lineWidth = d.chosen === index ? 3 : 1.6;
  g.strokeRect(x0, y, x1 - x0, d.rows.bar);
}

function drawBar(g, d, i, y) {
  const {scale, rows, colors} = d, {flat} = d.run, [left, right] = scale.range(), level = flat.level[i];
  const x = scale(flat.start[i]), end = scale(flat.end[i]), x0 = Math.max(x, left),
        x1 = Math.min(Math.max(end, x + 0.7), right);
  if (x1 <= left || x0 >= right)
    return;
  const plain = Math.min(scale(flat.plain[i]), x1), local = flat.flow[i] < 0;
  g.globalAlpha = d.lit && !isLit(d.lit, flat, i) ? DIM : 1;
  g.fillStyle = colors.x0;
  if (plain > x0 && local)
    drawComputation(g, d, x0, plain, y);
  else if (plain > x0)
    g.fillRect(x0, y, plain - x0, rows.bar);
  if (level > 0 && x1 > plain) {
    g.fillStyle = colors[`x${level}`];
    g.fillRect(Math.max(x0, plain), y, x1 - Math.max(x0, plain), rows.bar);
  }
  if (x1 - x0 > 3 && end <= right) {
    g.fillStyle = colors.page;
    g.fillRect(x1 - 0.5, y, 0.5, rows.bar);
  }
  if (x1 - x0 > 18 && rows.bar > 12)
    drawText(g, d, i, y, x0, x1, plain - x0 > 14 ? "on-x0" : `on-x${level}`);
  outline(g, d, i, x0, x1, y);
  g.globalAlpha = 1;
}

/* Runs of pixels of the same level. */
export function drawWorst(g, worst, x, y, height, colors) {
  for (let at = 0, n; at < worst.length; at += n) {
    for (n = 1; at + n < worst.length && worst[at + n] === worst[at]; n++)
      ;
    if (worst[at] === 0)
      continue;
    g.fillStyle = colors[`x${worst[at] - 1}`];
    g.fillRect(x + at, y, n, height);
  }
}

/* Many steps share a pixel: the worst is seen; those that light up are drawn on top. */
function drawThin(g, d, lane, y) {
  const {flat} = d.run, [left, right] = d.scale.range(), worst = new Uint8Array(Math.max(1, Math.round(right - left)));
  worstOf(flat, lane, d.from, d.to, worst);
  g.globalAlpha = d.lit ? DIM : 1;
  drawWorst(g, worst, left, y, d.rows.bar, d.colors);
  g.globalAlpha = 1;
  if (d.lit || d.cursor >= 0)
    seenIn(
        flat, lane, d.from, d.to,
        (i) => ((d.lit && isLit(d.lit, flat, i)) || flat.index[i] === d.cursor) && drawBar(g, d, i, y));
}

function drawLane(g, d, lane, y) {
  const {flat} = d.run, px = d.scale.range()[1] - d.scale.range()[0];
  if (countIn(flat, lane, d.from, d.to) * THIN_PX > px)
    return drawThin(g, d, lane, y);
  return seenIn(flat, lane, d.from, d.to, (i) => drawBar(g, d, i, y));
}

/* From the end of one step to the start of another, in other lanes. */
function between(g, d, a, b) {
  const from = d.run.laneOf(a), to = d.run.laneOf(b), down = from < to;
  if (from === to || a.end < d.from || b.start > d.to)
    return;
  g.moveTo(d.scale(a.end), d.y(from) + (down ? d.rows.bar : 0));
  g.lineTo(d.scale(b.start), d.y(to) + (down ? 0 : d.rows.bar));
}

/* Where critical paths pass from lane to lane; and from all that the chosen step depends on to it. */
function drawPaths(g, d) {
  g.strokeStyle = d.colors.ink;
  g.lineWidth = 1.6;
  g.globalAlpha = d.lit ? 0.35 : 1;
  g.beginPath();
  for (const path of d.model.generated ? [] : d.run.paths) {
    for (let i = 0; i + 1 < path.length; i++)
      between(g, d, d.model.step(path[i]), d.model.step(path[i + 1]));
  }
  g.stroke();
  g.globalAlpha = 1;
  g.strokeStyle = d.colors.own;
  g.beginPath();
  for (const [on, step] of d.needs)
    between(g, d, on, step);
  g.stroke();
}

/* Marks in view, with their places; none on a lane where they would stand closer than least px in the mean. */
function* roomy(d, marks, least) {
  const {scale} = d, [left, right] = scale.range(), counts = new Map();
  const seen = marks.filter(
      (mark) => mark.lane >= d.first && mark.lane <= d.last && scale(mark.time) > left - 1 && scale(mark.time) < right + 1);
  for (const mark of seen)
    counts.set(mark.lane, (counts.get(mark.lane) || 0) + 1);
  for (const mark of seen) {
    if (counts.get(mark.lane) * least <= right - left)
      yield [scale(mark.time), d.y(mark.lane) + d.rows.bar];
  }
}

function shape(g, x, y, ...points) {
  g.beginPath();
  points.forEach(([dx, dy], i) => (i === 0 ? g.moveTo(x + dx, y + dy) : g.lineTo(x + dx, y + dy)));
  g.closePath();
  g.fill();
}

function drawMarks(g, d) {
  g.fillStyle = d.colors.own;
  for (const [x, y] of roomy(d, d.notifications, NOTIFICATION_PX))
    shape(g, x, y, [0, 0], [3, 4], [0, 8], [-3, 4]);
  g.fillStyle = d.colors.other;
  for (const [x, y] of roomy(d, d.detections, DETECTION_PX))
    shape(g, x, y, [0, 1], [4, 8], [-4, 8]);
}

function drawLabels(g, d) {
  g.textAlign = "right";
  for (let lane = d.first; lane <= d.last; lane++) {
    const own = d.run.lanes[lane].name;
    g.globalAlpha = d.lit && own.flow !== undefined && !d.lit.flows.has(own.flow) ? 0.45 : 1;
    g.fillStyle = d.colors.ink;
    g.fillText(
        cut(d.rows.label < 100 ? own.narrow || own.text : own.text, d.rows.label < 100 ? 9 : 20), d.rows.label - 8,
        d.y(lane) + d.rows.bar / 2 + 4);
  }
  g.globalAlpha = 1;
}

/*
 * @param d  {model, run: lanesOfRun(), width, height, rows: placesFor(), scale: ns -> px, from, to: ns in view, colors,
 *           unit, unitNs, y: lane -> px, first, last: lanes in view, needs: [step, who depends on it], notifications,
 *           detections: with their lane, lit, cursor, chosen}
 */
export function drawTimeline(g, d) {
  g.clearRect(0, 0, d.width, d.height);
  g.font = `11px ${d.font}`;
  g.fillStyle = d.colors.page;
  g.fillRect(0, 0, d.width, d.rows.top);
  drawAxis(g, d, d.height);
  g.save();
  g.beginPath();
  g.rect(0, d.rows.top - 2, d.width, d.height);
  g.clip();
  drawLabels(g, d);
  g.beginPath();
  g.rect(d.rows.label, d.rows.top - 2, d.width - d.rows.label, d.height);
  g.clip();
  for (let lane = d.first; lane <= d.last; lane++)
    drawLane(g, d, d.run.lanes[lane], d.y(lane));
  drawPaths(g, d);
  drawMarks(g, d);
  g.restore();
}
