/* SPDX-License-Identifier: BSD-3-Clause */
/* The timeline's canvas: bars of steps, the critical path over them, detections and notifications between rows. */
import {cut} from "./format.js";
import {level, stepIsLit} from "./model.js";

const DIM = 0.16, NOTIFICATION_PX = 16, DETECTION_PX = 1;

/* Where rows stand. */
export function rowsFor(count, width) {
  const many = count > 24;
  return {top: 22, row: many ? 16 : 26, bar: many ? 10 : 15, label: width < 600 ? 66 : 148, right: 10};
}

function axis(g, d) {
  const {scale, rows, colors, height, unit, unitNs} = d;
  const per = scale.copy().domain(scale.domain().map((ns) => ns / unitNs)), format = per.tickFormat(8);
  g.fillStyle = colors.page;
  g.fillRect(0, 0, d.width, rows.top);
  g.textAlign = "center";
  for (const tick of per.ticks(Math.max(2, Math.min(10, d.width / 110)))) {
    g.fillStyle = colors.grid;
    g.fillRect(Math.round(per(tick)), rows.top - 6, 1, height);
    g.fillStyle = colors.soft;
    g.fillText(`${format(tick)} ${unit}`, Math.min(per(tick), d.width - 24), 11);
  }
}

/* Computation is no load on the network: an outline with a line in it. */
function drawComputation(g, {rows, colors}, x0, x1, y) {
  g.strokeStyle = colors.x0;
  g.lineWidth = 1;
  g.strokeRect(x0 + 0.5, y + 0.5, Math.max(0, x1 - x0 - 1), rows.bar - 1);
  g.fillRect(x0, y + rows.bar / 2 - 1, x1 - x0, 2);
}

/* Bars narrower than a pixel share it: the worst is seen. */
function drawBar(g, d, step, y) {
  const {scale, rows, colors} = d, [left, right] = scale.range();
  const x = scale(step.start), end = scale(step.end), x0 = Math.max(x, left), x1 = Math.min(Math.max(end, x + 0.7), right);
  if (x1 <= left || x0 >= right)
    return;
  const plain = Math.min(scale(Math.min(step.start + step.expect, step.end)), x1), worst = level(step);
  g.globalAlpha = d.lit && !stepIsLit(d.lit, step) ? DIM : 1;
  g.fillStyle = colors.x0;
  if (plain > x0 && step.local)
    drawComputation(g, d, x0, plain, y);
  else if (plain > x0)
    g.fillRect(x0, y, plain - x0, rows.bar);
  if (worst > 0 && x1 > plain) {
    g.fillStyle = colors[`x${worst}`];
    g.fillRect(Math.max(x0, plain), y, x1 - Math.max(x0, plain), rows.bar);
  }
  if (x1 - x0 > 3 && end <= right) {
    g.fillStyle = colors.page;
    g.fillRect(x1 - 0.5, y, 0.5, rows.bar);
  }
  if (x1 - x0 > 18 && rows.bar > 12) {
    g.fillStyle = colors[plain - x0 > 14 ? "on-x0" : `on-x${worst}`];
    g.textAlign = "left";
    g.fillText(`${step.number}${step.open && x1 - x0 > 50 ? " open" : ""}`, x0 + 4, y + rows.bar / 2 + 4);
  }
  if (step.critical || d.cursor === step.index || d.chosen === step.index) {
    g.strokeStyle = d.cursor === step.index || d.chosen === step.index ? colors.own : colors.ink;
    g.lineWidth = d.chosen === step.index ? 3 : 1.6;
    g.strokeRect(x0, y, x1 - x0, rows.bar);
  }
  g.globalAlpha = 1;
}

/* From the end of one step to the start of another, in other rows. */
function between(g, {scale, rows, y, rowOf}, a, b) {
  const from = rowOf(a), to = rowOf(b), down = from < to;
  if (from === to)
    return;
  g.moveTo(scale(a.end), y(from) + (down ? rows.bar : 0));
  g.lineTo(scale(b.start), y(to) + (down ? 0 : rows.bar));
}

/* Where the critical path passes from row to row; and from all that the chosen step depends on to it. */
function drawPath(g, d) {
  const {colors, path} = d;
  g.strokeStyle = colors.ink;
  g.lineWidth = 1.6;
  g.globalAlpha = d.lit ? 0.35 : 1;
  g.beginPath();
  for (let i = 0; i + 1 < path.length; i++)
    between(g, d, path[i], path[i + 1]);
  g.stroke();
  g.globalAlpha = 1;
  g.strokeStyle = colors.own;
  g.beginPath();
  for (const [on, step] of d.needs)
    between(g, d, on, step);
  g.stroke();
}

/* Marks in view, with their places; none on a row where they would stand closer than least px in the mean. */
function* roomy(d, marks, least) {
  const {scale} = d, [left, right] = scale.range(), counts = new Map();
  const seen = marks.filter(
      (mark) => mark.row >= d.first && mark.row <= d.last && scale(mark.time) > left - 1 && scale(mark.time) < right + 1);
  for (const mark of seen)
    counts.set(mark.row, (counts.get(mark.row) || 0) + 1);
  for (const mark of seen) {
    if (counts.get(mark.row) * least <= right - left)
      yield [scale(mark.time), d.y(mark.row) + d.rows.bar];
  }
}

function drawMarks(g, d) {
  g.fillStyle = d.colors.own;
  for (const [x, y] of roomy(d, d.notifications, NOTIFICATION_PX))
    g.fill(new Path2D(`M${x} ${y}l3 4l-3 4l-3 -4z`));
  g.fillStyle = d.colors.other;
  for (const [x, y] of roomy(d, d.detections, DETECTION_PX))
    g.fill(new Path2D(`M${x} ${y + 1}l4 7h-8z`));
}

function drawLabels(g, d) {
  g.textAlign = "right";
  for (let row = d.first; row <= d.last; row++) {
    const own = d.lanes[row].name;
    g.globalAlpha = d.lit && own.flow !== undefined && !d.lit.flows.has(own.flow) ? 0.45 : 1;
    g.fillStyle = d.colors.ink;
    g.fillText(cut(own.text, d.rows.label < 100 ? 9 : 20), d.rows.label - 8, d.y(row) + d.rows.bar / 2 + 4);
  }
  g.globalAlpha = 1;
}

/*
 * @param d  {width, height, rows, scale: ns -> px, colors, unit, unitNs, y: row -> px, first, last: rows in view, lanes:
 *           what is in rows, rowOf: step -> row, path: steps, needs: [step, who depends on it], notifications, detections:
 *           with their row, lit, cursor, chosen}
 */
export function drawTimeline(g, d) {
  g.clearRect(0, 0, d.width, d.height);
  g.font = `11px ${getComputedStyle(document.body).fontFamily}`;
  axis(g, d);
  g.save();
  g.beginPath();
  g.rect(0, d.rows.top - 2, d.width, d.height);
  g.clip();
  drawLabels(g, d);
  for (let row = d.first; row <= d.last; row++) {
    for (const step of d.lanes[row].steps) {
      if (step.started)
        drawBar(g, d, step, d.y(row));
    }
  }
  g.beginPath();
  g.rect(d.rows.label, d.rows.top - 2, d.width - d.rows.label, d.height);
  g.clip();
  drawPath(g, d);
  drawMarks(g, d);
  g.restore();
}
