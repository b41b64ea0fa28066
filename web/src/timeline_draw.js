/* SPDX-License-Identifier: BSD-3-Clause */
/* The timeline's canvas: bars of steps, the critical path over them, detections and notifications between lanes. */
import {cut} from "./format.js";
import {countIn, isCritical, isOpen, seenIn, worsen} from "./lanes.js";

const DIM = 0.16, NOTIFICATION_PX = 16, DETECTION_PX = 1, THIN_PX = 2, WIDE_PX = 3, HALF_LETTER = 3.4;

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

const isHeld = (d, i) => d.cursor === d.run.flat.index[i] || d.chosen === d.run.flat.index[i];

function drawText(g, d, i, y, x0, x1, dark) {
  const step = d.model.step(d.run.flat.index[i]);
  g.fillStyle = d.colors[dark];
  g.textAlign = "left";
  g.fillText(`${step.number}${step.open && x1 - x0 > 50 ? " open" : ""}`, x0 + 4, y + d.rows.bar / 2 + 4);
}

function outline(g, d, i, x0, x1, y) {
  const held = isHeld(d, i);
  if (!held && !isCritical(d.run.flat, i))
    return;
  g.strokeStyle = held ? d.colors.own : d.colors.ink;
  g.lineWidth = d.chosen === d.run.flat.index[i] ? 3 : 1.6;
  g.strokeRect(x0, y, x1 - x0, d.rows.bar);
}

function drawBar(g, d, i, y) {
  const {rows, colors, left, right} = d, {flat} = d.run, level = flat.level[i];
  const x = d.x(flat.start[i]), end = d.x(flat.end[i]), x0 = Math.max(x, left),
        x1 = Math.min(Math.max(end, x + 0.7), right);
  if (x1 <= left || x0 >= right)
    return;
  const plain = Math.min(d.x(flat.plain[i]), x1), local = flat.flow[i] < 0;
  g.globalAlpha = d.lit && !d.lit.mask[i] ? DIM : 1;
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

/* Many steps share a pixel: the worst is seen; those that light up are drawn on top, narrow ones by the same rule. */
function drawThin(g, d, lane, y) {
  const {flat} = d.run, worst = d.worstOf(lane);
  g.globalAlpha = d.lit ? DIM : 1;
  drawWorst(g, worst, d.left, y, d.rows.bar, d.colors);
  g.globalAlpha = 1;
  const top = (d.lit && d.lit.byLane.get(lane)) || [], own = new Uint8Array(worst.length), bars = [];
  for (const i of top) {
    if (flat.end[i] < d.from || flat.start[i] > d.to)
      continue;
    if (d.x(flat.end[i]) - d.x(flat.start[i]) > WIDE_PX || isCritical(flat, i) || isHeld(d, i))
      bars.push(i);
    else
      worsen(flat, i, d.from, d.to, own);
  }
  drawWorst(g, own, d.left, y, d.rows.bar, d.colors);
  bars.forEach((i) => drawBar(g, d, i, y));
  if (d.held >= 0 && flat.lane[d.held] === lane)
    drawBar(g, d, d.held, y);
}

function drawLane(g, d, lane, y) {
  const {flat, lanes} = d.run;
  if (countIn(flat, lanes[lane], d.from, d.to) * THIN_PX > d.right - d.left)
    return drawThin(g, d, lane, y);
  return seenIn(flat, lanes[lane], d.from, d.to, (i) => drawBar(g, d, i, y));
}

/* From the end of one step to the start of another, in other lanes: all in one path. */
function drawPasses(g, d, passes) {
  g.beginPath();
  for (const [from, end, to, start] of passes) {
    const unseen = (from < d.first && to < d.first) || (from > d.last && to > d.last), down = from < to;
    if (end < d.from || start > d.to || unseen)
      continue;
    g.moveTo(d.x(end), d.y(from) + (down ? d.rows.bar : 0));
    g.lineTo(d.x(start), d.y(to) + (down ? 0 : d.rows.bar));
  }
  g.stroke();
}

/* Where critical paths pass from lane to lane; and from all that the chosen step depends on to it. */
function drawPaths(g, d) {
  g.strokeStyle = d.colors.ink;
  g.lineWidth = 1.6;
  g.globalAlpha = d.lit ? 0.35 : 1;
  drawPasses(g, d, d.passes);
  g.globalAlpha = 1;
  g.strokeStyle = d.colors.own;
  drawPasses(g, d, d.needs);
}

/* A lane's marks in view; none where they would stand closer than least px in the mean. */
function roomy(d, lane, marks, least) {
  const slack = 1 / d.perNs, list = marks.get(lane) || [];
  const seen = list.slice(behind(list, d.from - slack), behind(list, d.to + slack));
  return seen.length * least <= d.right - d.left ? seen : [];
}

/* How many of a lane's marks are before a time. */
function behind(list, time) {
  let low = 0, high = list.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (list[middle].time < time)
      low = middle + 1;
    else
      high = middle;
  }
  return low;
}

/* All of a kind in one path; those on one pixel are one. */
function drawShapes(g, d, marks, least, points) {
  g.beginPath();
  for (let lane = d.first; lane <= d.last; lane++) {
    const y = d.y(lane) + d.rows.bar;
    let last = -Infinity;
    for (const {time} of roomy(d, lane, marks, least)) {
      const x = d.x(time);
      if (x - last < 1)
        continue;
      last = x;
      points.forEach(([dx, dy], i) => (i === 0 ? g.moveTo(x + dx, y + dy) : g.lineTo(x + dx, y + dy)));
    }
  }
  g.fill(); /* closes each */
}

function drawMarks(g, d) {
  g.fillStyle = d.colors.own;
  drawShapes(g, d, d.notifications, NOTIFICATION_PX, [[0, 0], [3, 4], [0, 8], [-3, 4]]);
  g.fillStyle = d.colors.other;
  drawShapes(g, d, d.detections, DETECTION_PX, [[0, 1], [4, 8], [-4, 8]]);
}

function drawLabels(g, d) {
  g.textAlign = "right";
  for (let lane = d.first; lane <= d.last; lane++) {
    const own = d.run.lanes[lane].name;
    g.globalAlpha = d.flows && own.flow !== undefined && !d.flows.has(own.flow) ? 0.45 : 1;
    g.fillStyle = d.colors.ink;
    g.fillText(
        cut(d.rows.label < 100 ? own.narrow || own.text : own.text, d.rows.label < 100 ? 9 : 20), d.rows.label - 8,
        d.y(lane) + d.rows.bar / 2 + 4);
  }
  g.globalAlpha = 1;
}

/*
 * @param d  {model, run: lanesOfRun(), width, height, rows: placesFor(), scale and x: ns -> px, left, right: of the plot,
 *           perNs: px, from, to: ns in view, colors, unit, unitNs, y: lane -> px, first, last: lanes in view, worstOf:
 *           lane -> worst level by pixel, passes: passesOf(), needs: the same of the chosen step, notifications,
 *           detections: byLane(), lit: litIn(), flows: that light up, cursor, chosen: steps, held: the place of either}
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
    drawLane(g, d, lane, d.y(lane));
  drawPaths(g, d);
  drawMarks(g, d);
  g.restore();
}
