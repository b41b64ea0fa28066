/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * All steps of the run on one time axis: a row a rank of a job, lanes where steps of a rank overlap. Arrays, so that two
 * million steps cost little; pure.
 */
import {duration, many} from "./format.js";
import {largest, SLOW_SHARE, stepName} from "./model.js";

const STARTED = 2, OPEN = 4, CRITICAL = 8;      /* of a step's state */
const MOST_IN_LANES = 150000, MOST_LANES = 400; /* beyond: a lane a rank, the worst of what overlaps is seen */

/* Rows by job: its first one, and how many. */
function placesOf(model) {
  const places = new Map();
  let rows = 0;
  model.collectives.forEach((c, i) => {
    const times = model.timesOf(i);
    if (!times)
      return;
    times.schedule.ranks ??= 1 + times.schedule.rank.reduce((most, rank) => Math.max(most, rank), -1);
    const place = places.get(c.job) || {job: c.job, ranks: 0};
    place.ranks = Math.max(place.ranks, times.schedule.ranks);
    places.set(c.job, place);
  });
  const sorted = [...places.values()].sort((a, b) => a.job - b.job);
  for (const place of sorted) {
    place.first = rows;
    rows += place.ranks;
  }
  return {places, jobs: sorted, rows};
}

function levelOf(state, took, expect) {
  const excess = expect > 0 ? took / expect - 1 : 0;
  if (state & OPEN)
    return 4;
  return excess <= SLOW_SHARE ? 0 : excess <= 0.1 ? 1 : excess <= 0.5 ? 2 : 3;
}

/* @return {start, plain (the end of what was expected), end, row, level, state, flow, index} of each step, as arrays */
function stepsOf(model, places) {
  let count = 0, at = 0;
  model.collectives.forEach((c, i) => count += model.timesOf(i) ? c.nsteps : 0);
  const make = (Type) => new Type(count);
  const flat = {
    count,
    start: make(Float64Array),
    plain: make(Float64Array),
    end: make(Float64Array),
    row: make(Uint32Array),
    level: make(Uint8Array),
    state: make(Uint8Array),
    flow: make(Int32Array),
    host: make(Int32Array),
    index: make(Uint32Array), /* ascends */
    lane: make(Int32Array).fill(-1),
  };
  model.collectives.forEach((c, collective) => {
    const times = model.timesOf(collective), first = times ? places.get(c.job).first : 0;
    for (let i = 0; times && i < c.nsteps; i++, at++) {
      const start = c.start_ns + times.start[i], took = times.took[i], expect = times.schedule.expect[i];
      flat.start[at] = start;
      flat.plain[at] = start + Math.min(took, expect);
      flat.end[at] = start + took;
      flat.row[at] = first + times.schedule.rank[i];
      flat.level[at] = levelOf(times.state[i], took, expect);
      flat.state[at] = times.state[i];
      flat.flow[at] = times.schedule.flow[i];
      flat.host[at] = times.schedule.host[i];
      flat.index[at] = c.first_step + i;
    }
  });
  return flat;
}

/* Steps of each row, in order of time. */
function byRow(flat, rows) {
  const first = new Uint32Array(rows + 1), next = new Uint32Array(rows), order = new Uint32Array(flat.count);
  for (let i = 0; i < flat.count; i++)
    first[flat.row[i] + 1]++;
  for (let row = 0; row < rows; row++)
    first[row + 1] += first[row];
  next.set(first.subarray(0, rows));
  for (let i = 0; i < flat.count; i++)
    order[next[flat.row[i]]++] = i;
  return Array.from({length: rows}, (_, row) => {
    const own = order.subarray(first[row], first[row + 1]);
    for (let i = 1; i < own.length; i++) {
      if (flat.start[own[i]] < flat.start[own[i - 1]])
        return own.sort((a, b) => flat.start[a] - flat.start[b] || a - b);
    }
    return own;
  });
}

/* Steps that overlap stand in lanes; a step goes to the first that is free when it starts. */
export function lanesOf(flat, own) {
  const lanes = [[]], free = [-Infinity];
  for (const i of own) {
    if (!(flat.state[i] & STARTED))
      continue;
    let lane = free.findIndex((from) => from <= flat.start[i]);
    if (lane < 0)
      lane = lanes.push([]) - 1;
    lanes[lane].push(i);
    free[lane] = flat.end[i];
  }
  return lanes;
}

/* A rank that always sends to the same peer is named by its flow. */
function nameOf(model, flat, own, rank, job) {
  const flow = own.length > 0 && own.every((i) => flat.flow[i] === flat.flow[own[0]]) ? flat.flow[own[0]] : -1;
  const host = own.length > 0 ? model.nodes[flat.host[own[0]]] : null;
  if (flow >= 0)
    return {text: model.flows[flow].short, narrow: host.name, flow};
  if (model.generated && host)
    return {text: host.name};
  return {
    text: `${job === null ? "rank " : `${job} `}${rank}${host ? `: ${host.name}` : ""}`,
    narrow: host ? host.name : undefined
  };
}

/* Lanes from the top down: {row, name, steps} each, a row's first one with its name. */
function allLanes(model, flat, rows, jobs) {
  const named = (job) => (jobs.length > 1 ? (model.jobs.find((j) => j.job === job) || {name: job}).name : null);
  const lanes = [], one = (own) => [own.filter((i) => flat.state[i] & STARTED)];
  for (const fit of flat.count <= MOST_IN_LANES ? [lanesOf, null] : [null]) {
    lanes.length = 0;
    for (const {job, first, ranks} of jobs) {
      for (let rank = 0; rank < ranks; rank++) {
        const own = rows[first + rank];
        (fit ? fit(flat, own) : one(own)).forEach((steps, i) => lanes.push({
          row: first + rank,
          name: i === 0 ? nameOf(model, flat, own, rank, named(job)) : {text: ""},
          steps,
        }));
      }
    }
    if (lanes.length <= Math.max(MOST_LANES, 2 * rows.length))
      break;
  }
  for (const lane of lanes)
    lane.longest = lane.steps.reduce((most, i) => Math.max(most, flat.end[i] - flat.start[i]), 0);
  return lanes;
}

/* A step's place in the arrays; -1: the page has no room for it. */
export function placeOf(flat, index) {
  let low = 0, high = flat.count - 1;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (flat.index[middle] < index)
      low = middle + 1;
    else
      high = middle;
  }
  return flat.count > 0 && flat.index[low] === index ? low : -1;
}

/* What of a choice lights up: {mask: by step, byLane: lane -> its steps}; null: nothing is chosen. */
export function litIn(flat, lit) {
  if (!lit)
    return null;
  const mask = new Uint8Array(flat.count), byLane = new Map(), light = (i) => {
    if (i < 0 || mask[i])
      return;
    mask[i] = 1;
    if (!byLane.has(flat.lane[i]))
      byLane.set(flat.lane[i], []);
    byLane.get(flat.lane[i]).push(i);
  };
  for (const index of lit.steps)
    light(placeOf(flat, index));
  for (let i = 0; lit.stepFlows.size > 0 && i < flat.count; i++)
    lit.stepFlows.has(flat.flow[i]) && light(i);
  return {mask, byLane};
}

/* What the timeline draws, looked up once. */
export function lanesOfRun(model) {
  const {places, jobs, rows: count} = placesOf(model), flat = stepsOf(model, places), rows = byRow(flat, count);
  const lanes = allLanes(model, flat, rows, jobs), rowOfHost = new Map(), firstLane = [];
  lanes.forEach((lane, i) => firstLane[lane.row] ??= i);
  lanes.forEach((lane, i) => lane.steps.forEach((at) => flat.lane[at] = i));
  rows.forEach((own, row) => own.length > 0 && !rowOfHost.has(flat.host[own[0]]) && rowOfHost.set(flat.host[own[0]], row));
  const rowOf = (step) => (step.rank < 0 ? -1 : places.get(model.collectives[step.collective].job).first + step.rank);
  return {
    flat,
    lanes,
    rows,
    jobs,
    firstLane,
    laneOf(step) {
      const at = placeOf(flat, step.index);
      return at >= 0 && flat.lane[at] >= 0 ? flat.lane[at] : firstLane[rowOf(step)] ?? 0;
    },
    laneOfHost: (host) => (rowOfHost.has(host) ? firstLane[rowOfHost.get(host)] : -1),
  };
}

/* Where critical paths pass from lane to lane: [lane, when its step ends, lane, when its step starts] each. */
export function passesOf(model, run) {
  const passes = [];
  for (const {steps} of model.generated ? [] : model.collectives) {
    const path = steps ? steps.path.map((index) => model.step(index)) : [];
    for (let i = 0; i + 1 < path.length; i++)
      passes.push([run.laneOf(path[i]), path[i].end, run.laneOf(path[i + 1]), path[i + 1].start]);
  }
  return passes.filter(([from, , to]) => from !== to);
}

/* The first of a lane's steps that may be seen from this time on. */
function firstIn(flat, lane, from) {
  let low = 0, high = lane.steps.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (flat.start[lane.steps[middle]] < from - lane.longest)
      low = middle + 1;
    else
      high = middle;
  }
  return low;
}

/* Calls see(i) for each step of a lane between two times. */
export function seenIn(flat, lane, from, to, see) {
  for (let k = firstIn(flat, lane, from); k < lane.steps.length && flat.start[lane.steps[k]] <= to; k++) {
    if (flat.end[lane.steps[k]] >= from)
      see(lane.steps[k]);
  }
}

/* How many steps of a lane lie between two times, about. */
export const countIn = (flat, lane, from, to) => firstIn(flat, lane, to + lane.longest) - firstIn(flat, lane, from);

/*
 * The worst that a lane shows in each pixel: 0 nothing, 1 a step as expected, 2 to 5 its levels 1 to 4.
 * @param[in,out] worst  [px] what is there already
 */
export function worstOf(flat, lane, from, to, worst) {
  seenIn(flat, lane, from, to, (i) => worsen(flat, i, from, to, worst));
}

/* The same of one step. */
export function worsen(flat, i, from, to, worst) {
  const px = worst.length, per = px / (to - from);
  const first = Math.max(0, Math.floor((flat.start[i] - from) * per)),
        last = Math.min(px - 1, Math.floor((flat.end[i] - from) * per));
  const plain = flat.level[i] > 0 ? Math.floor((flat.plain[i] - from) * per) : px;
  for (let x = first; x <= last; x++) {
    const level = x >= Math.min(plain, last) && flat.level[i] > 0 ? 1 + flat.level[i] : 1;
    if (worst[x] < level)
      worst[x] = level;
  }
}

/* The step of a lane at a time; where bars are thin, the nearest. @param slack  in ns */
export function stepAt(flat, lane, time, slack) {
  let best = -1, least = slack;
  seenIn(flat, lane, time - slack, time + slack, (i) => {
    const far = time < flat.start[i] ? flat.start[i] - time : time > flat.end[i] ? time - flat.end[i] : 0;
    if (far < least || (best < 0 && far <= least)) {
      least = far;
      best = i;
    }
  });
  return best < 0 ? -1 : flat.index[best];
}

export const isStarted = (flat, i) => !!(flat.state[i] & STARTED);
export const isOpen = (flat, i) => !!(flat.state[i] & OPEN);
export const isCritical = (flat, i) => !!(flat.state[i] & CRITICAL);

/* Marks between lanes, each with its lane. */
export const detectionsOf = (model, run) =>
    model.detections.filter((d) => d.step >= 0).map((d) => ({...d, lane: run.laneOf(model.step(d.step))}));

/* Marks by lane, in order of time. */
export function byLane(marks) {
  const lanes = new Map();
  for (const mark of marks)
    lanes.has(mark.lane) ? lanes.get(mark.lane).push(mark) : lanes.set(mark.lane, [mark]);
  lanes.forEach((list) => list.sort((a, b) => a.time - b.time));
  return lanes;
}

/* The same of notifications between two times; none where there are more than most of them. */
export function notificationsIn(model, run, from, to, most) {
  const [first, behind] = model.notifications.between(from, to), found = [];
  for (let i = first; i < behind && behind - first <= most; i++) {
    const row = model.notifications.row(i), lane = run.laneOfHost(row.from);
    if (lane >= 0)
      found.push({...row, lane});
  }
  return found;
}

/* What a mark says. */
export function markText(model, {detection, notification}) {
  if (detection)
    return `detection at ${model.time.of(detection.time)} by ${stepName(model, model.step(detection.step))}\n${
               detection.stall ? "unacknowledged for" : "RTT"} ` +
        `${duration(detection.rtt)}, threshold ${duration(detection.threshold)}; ${detection.left} left`;
  return `${model.nodes[notification.from].name} hands on ${many(notification.detections, "detection")}, at ${
      model.time.of(notification.time)}`;
}

/* The end of what is known of the run. */
export const endOf = (model) =>
    largest(model.collectives, (c) => c.start_ns + c.took_ns, Math.max(1, model.evidence.end_ns || 0));
