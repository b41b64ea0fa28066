/* SPDX-License-Identifier: BSD-3-Clause */
/* What the timeline shows of a collective, looked up once, and what of it lies under the pointer. */
import {duration, many} from "./format.js";
import {largest, stepName} from "./model.js";

/* A rank that always sends to the same peer is named by its flow. */
function nameOf(model, steps, rank) {
  const flow = steps.length > 0 && steps.every((s) => s.flow === steps[0].flow) ? steps[0].flow : -1;
  if (flow >= 0)
    return {text: model.flows[flow].short, flow};
  const host = steps.length > 0 ? model.nodes[steps[0].host] : null;
  return {text: `rank ${rank}${host ? `: ${host.name}` : ""}`};
}

/* Steps of a rank that overlap stand in lanes of their own; a step goes to the first that is free when it starts. */
export function lanesOf(steps) {
  const lanes = [[]], free = [-Infinity];
  for (const step of steps.filter((s) => s.started).sort((a, b) => a.start - b.start || a.number - b.number)) {
    let lane = free.findIndex((from) => from <= step.start);
    if (lane < 0)
      lane = lanes.push([]) - 1;
    lanes[lane].push(step);
    free[lane] = step.end;
  }
  lanes[0].push(...steps.filter((s) => !s.started));
  return lanes;
}

/* Rows of the timeline: {rank, name, steps} of each lane, a rank's first one with its name. */
function rowsOf(model, byRank) {
  return byRank.flatMap((steps, rank) => lanesOf(steps).map((lane, i) => ({
                                                              rank,
                                                              name: i === 0 ? nameOf(model, steps, rank) : {text: ""},
                                                              steps: lane,
                                                            })));
}

/* What the drawing of a collective needs, looked up once. */
export function collectiveOf(model, index) {
  const c = model.collectives[index], steps = model.stepsOf(index), byRank = [], rankOfHost = new Map();
  for (const step of steps) {
    (byRank[step.rank] ||= []).push(step);
    if (!rankOfHost.has(step.host))
      rankOfHost.set(step.host, step.rank);
  }
  for (let rank = 0; rank < c.ranks; rank++)
    byRank[rank] ||= [];
  const lanes = rowsOf(model, byRank), rowOfStep = new Map(), rowOfRank = [];
  lanes.forEach(({rank, steps: own}, row) => {
    rowOfRank[rank] ??= row;
    own.forEach((step) => rowOfStep.set(step.index, row));
  });
  const end = largest(steps, (step) => step.end, c.start_ns + Math.max(1, c.took_ns));
  const mine = (time) => time >= c.start_ns && time <= end;
  return {
    index,
    c,
    byRank,
    lanes,
    rowOf: (step) => rowOfStep.get(step.index) ?? 0,
    path: c.steps ? c.steps.path.map((i) => model.step(i)) : [],
    from: c.start_ns,
    to: end,
    polls: model.polls.filter((p) => mine(p.time)),
    detections: model.detections.filter((d) => d.step >= c.first_step && d.step < c.first_step + c.nsteps)
                    .map((d) => ({...d, row: rowOfStep.get(d.step) ?? 0})),
    notifications: model.notifications.filter((n) => mine(n.time) && rankOfHost.has(n.from))
                       .map((n) => ({...n, row: rowOfRank[rankOfHost.get(n.from)]})),
    findings: model.findings.filter((f) => f.collectives_at.includes(index)),
  };
}

/* The step under the pointer; where bars are thin, the nearest of its row. */
export function stepAt(now, scale, rows, scroll, x, y) {
  const row = Math.floor((y + scroll - rows.top) / rows.row), time = scale.invert(x);
  const near = (s) => (time < s.start ? s.start - time : time > s.end ? time - s.end : 0);
  if (y < rows.top || x < rows.label || !now.lanes[row])
    return null;
  const found =
      now.lanes[row].steps.filter((s) => s.started).reduce((best, s) => (!best || near(s) < near(best) ? s : best), null);
  return found && scale(found.start) - 3 <= x && x <= scale(found.end) + 3 ? found : null;
}

/* Notes above a step's own: what lies under the pointer between the rows. */
export function markAt(model, now, scale, rows, scroll, x, y) {
  const row = Math.floor((y + scroll - rows.top) / rows.row), below = (y + scroll - rows.top) % rows.row > rows.bar;
  const near = (mark) => mark.row === row && Math.abs(scale(mark.time) - x) < 5;
  const d = below && now.detections.find(near), n = below && now.notifications.find(near);
  if (d)
    return `detection at ${model.time.of(d.time)} by ${stepName(model, model.step(d.step))}\n${
               d.stall ? "unacknowledged for" : "RTT"} ` +
        `${duration(d.rtt)}, threshold ${duration(d.threshold)}; ${d.left} left`;
  return n && `${model.nodes[n.from].name} hands on ${many(n.detections, "detection")}, at ${model.time.of(n.time)}`;
}
