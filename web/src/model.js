/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The run's data with what belongs together: nothing is concluded here, only looked up. Findings, steps, ports and flows
 * are numbers, as in the data.
 */
import {timeIn} from "./format.js";

/* Bits of a step's state: enum step_state of diag/report/page.c. */
const REPORTED = 1, STARTED = 2, OPEN = 4, CRITICAL = 8, SLOW = 16, PRUNED = 32, WAITED_OWN = 64, WAITED_DATA = 128;

export const SLOW_SHARE = 0.01; /* VERDICT_SLOW_PERCENT */
export const EDGE = {
  WAITS: 0,
  GIVES: 1,
  PAUSES: 2
}; /* enum verdict_pedge_kind */

/* A column of numbers: [n, ...], [n, times] for several equal ones, {steps: numbers} for differences to the row before. */
export function column(columns, key) {
  const packed = columns[key], values = new Array(columns.count);
  let at = 0;
  for (const item of packed.steps || packed) {
    const [value, times] = Array.isArray(item) ? item : [item, 1];
    values.fill(value, at, at += times);
  }
  for (let i = 1; packed.steps && i < values.length; i++)
    values[i] += values[i - 1];
  return (i) => values[i];
}

/* {count, key: column...} -> [{key: value...}] */
export function rows(columns) {
  const keys = Object.keys(columns).filter((key) => key !== "count");
  const get = keys.map((key) => column(columns, key));
  return Array.from({length: columns.count}, (_, i) => Object.fromEntries(keys.map((key, k) => [key, get[k](i)])));
}

/* Rows in order of time, of which there may be millions: {count, time, row(i), between(from, to)}. */
export function eventsOf(columns) {
  const keys = Object.keys(columns).filter((key) => key !== "count");
  const of = Object.fromEntries(keys.map((key) => [key, unpacked(columns, key, Float64Array)]));
  const time = of.time || new Float64Array(0), first = (ns) => {
    let low = 0, high = time.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (time[middle] < ns)
        low = middle + 1;
      else
        high = middle;
    }
    return low;
  };
  return {
    count: columns.count,
    time,
    row: (i) => Object.fromEntries(keys.map((key) => [key, of[key][i]])),
    /* @return [first, behind the last] */
    between: (from, to) => [first(from), first(to + 1)],
  };
}

/* The largest of a list that may be too long for Math.max. */
export const largest = (list, of, least) => list.reduce((most, item) => Math.max(most, of(item)), least);

/* How much longer than expected, as one of the page's colors: 0 (as expected) to 3, 4: still open. */
export function level(step) {
  if (step.open)
    return 4;
  if (step.excess <= SLOW_SHARE)
    return 0;
  return step.excess <= 0.1 ? 1 : step.excess <= 0.5 ? 2 : 3;
}

/* A column as an array of numbers, for what has hundreds of thousands of rows. */
export function unpacked(columns, key, Type) {
  const packed = columns[key], values = new Type(columns.count);
  let at = 0;
  for (const item of packed.steps || packed) {
    if (typeof item === "number")
      values[at++] = item;
    else
      values.fill(item[0], at, at += item[1]);
  }
  for (let i = 1; packed.steps && i < values.length; i++)
    values[i] += values[i - 1];
  return values;
}

/* What iterations have in common. */
function scheduleOf(columns) {
  const further = new Map(), of = (key) => unpacked(columns, key, Int32Array);
  for (const [i, on] of columns.further)
    further.set(i, [...(further.get(i) || []), on]);
  return {
    rank: of("rank"),
    number: of("step"),
    flow: of("flow"),
    host: of("host"),
    own: of("own"),
    depends: of("depends"),
    expect: unpacked(columns, "expect_ns", Float64Array),
    further,
  };
}

/* The steps of a collective as arrays; null: the page has no room for them. */
function timesOf(data, schedules, index) {
  const c = data.collectives[index];
  if (!c.steps)
    return null;
  schedules[c.steps.schedule] ||= scheduleOf(data.schedules[c.steps.schedule]);
  return {
    schedule: schedules[c.steps.schedule],
    start: unpacked(c.steps, "start", Float64Array),
    took: unpacked(c.steps, "took", Float64Array),
    state: unpacked(c.steps, "state", Uint8Array),
    rare: new Map(c.steps.rare.map((rare) => [rare.step, rare])),
  };
}

/* @param times  of its collective  @param i  its place in it */
function stepOf(data, collective, times, i) {
  const c = data.collectives[collective], of = times.schedule, bits = times.state[i], expect = of.expect[i];
  const start = c.start_ns + times.start[i], took = times.took[i], own = of.own[i] ? i - of.own[i] : -1;
  const on = bits & WAITED_OWN ? own : bits & WAITED_DATA ? of.depends[i] : -1;
  const needs = [own, of.depends[i]].filter((d) => d >= 0).concat(of.further.get(i) || []);
  const step = {
    index: c.first_step + i,
    collective,
    rank: of.rank[i],
    number: of.number[i],
    flow: of.flow[i],
    local: of.flow[i] < 0, /* computes, and sends nothing */
    host: of.host[i],
    start,
    took,
    end: start + took,
    expect,
    excess: expect > 0 ? took / expect - 1 : 0,
    reported: !!(bits & REPORTED),
    started: !!(bits & STARTED),
    open: !!(bits & OPEN),
    critical: !!(bits & CRITICAL),
    slow: !!(bits & SLOW),
    pruned: !!(bits & PRUNED),
    waitedFor: on < 0 ? -1 : c.first_step + on,
    needs: needs.map((d) => c.first_step + d), /* all that it depends on */
  };
  const {waited = -1, ...more} = times.rare.get(i) || {};
  Object.assign(step, more);
  delete step.step;
  if (waited >= 0)
    step.waitedFor = waited;
  return step;
}

/* A step that the page has no room for. */
const leftOut = (collective, index) => ({
  index,
  collective,
  rank: -1,
  number: "?",
  flow: -1,
  host: -1,
  start: 0,
  took: 0,
  end: 0,
  expect: 0,
  excess: 0,
  waitedFor: -1,
  needs: [],
});

/* key -> [values], in the order of calls */
function multimap() {
  const lists = new Map();
  return {
    add(key, value) {
      const list = lists.get(key);
      if (!list)
        lists.set(key, [value]);
      else if (list[list.length - 1] !== value)
        list.push(value);
    },
    get: (key) => lists.get(key) || [],
  };
}

function indexFindings(model) {
  model.findings.forEach((f, i) => {
    f.index = i;
    for (const port of new Set([f.root_at, ...f.ports_at]))
      model.findingsOfPort.add(port, i);
    for (const flow of [...f.flows_at, ...f.victims_at])
      model.findingsOfFlow.add(flow, i);
    for (const step of f.steps_at)
      model.findingsOfStep.add(step, i);
  });
}

function indexGraphs(model) {
  model.graphs.forEach((g, i) => {
    g.index = i;
    model.graphOfStep.set(g.step, i);
    for (const [kind, from, to] of g.edges) {
      const a = g.vertices[from], b = g.vertices[to];
      if (kind === EDGE.PAUSES)
        continue;
      const port = kind === EDGE.WAITS ? b.port : a.port, flow = kind === EDGE.WAITS ? a.flow : b.flow;
      model.portsSeenOfFlow.add(flow, port);
      model.flowsSeenAtPort.add(port, flow);
      model.graphsOfPort.add(port, i);
      model.graphsOfFlow.add(flow, i);
    }
  });
}

function collectiveOfStep(model, step) {
  let low = 0, high = model.collectives.length - 1;
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    if (model.collectives[middle].first_step <= step)
      low = middle;
    else
      high = middle - 1;
  }
  return low;
}

const MOST_KEPT = 60000; /* steps as objects, of one collective and of all that are looked at */

/* Steps by their number in the run; those of a collective are looked up when they are wanted. */
function stepsOfRun(data) {
  const times = new Map(), schedules = [], lists = new Map(), kept = new Map();
  const of = {
    times(collective) {
      if (!times.has(collective))
        times.set(collective, timesOf(data, schedules, collective));
      return times.get(collective);
    },
    step(index) {
      const c = collectiveOfStep(data, index), all = of.times(c);
      if (!all)
        return leftOut(c, index);
      if (!kept.has(index)) {
        if (kept.size > MOST_KEPT)
          kept.clear();
        kept.set(index, stepOf(data, c, all, index - data.collectives[c].first_step));
      }
      return kept.get(index);
    },
    /* All of a collective. */
    list(collective) {
      const c = data.collectives[collective];
      if (!lists.has(collective)) {
        if (lists.size > 8)
          lists.clear();
        lists.set(
            collective, of.times(collective) ? Array.from({length: c.nsteps}, (_, i) => of.step(c.first_step + i)) : []);
      }
      return lists.get(collective);
    },
  };
  return of;
}

/* The job whose collectives a flow is of; -1: of none. */
function jobsOfFlows(data, steps) {
  const jobs = new Int32Array(data.flows.length).fill(-1), seen = new Set();
  data.collectives.forEach((c, i) => {
    const schedule = c.steps && data.generated === null ? `${c.steps.schedule} ${c.job}` : null;
    if (schedule === null || seen.has(schedule))
      return;
    seen.add(schedule);
    for (const flow of steps.times(i).schedule.flow) {
      if (flow >= 0 && jobs[flow] < 0)
        jobs[flow] = c.job;
    }
  });
  return jobs;
}

export function modelOf(data) {
  let jobs = null;
  const steps = stepsOfRun(data);
  const model = {
    ...data,
    graphs: data.graphs.list,
    allGraphs: data.graphs.all,
    time: timeIn(data.run.unit, data.run.unit_ns),
    detections: rows(data.detections),
    notifications: eventsOf(data.notifications),
    polls: rows(data.polls),
    findingsOfPort: multimap(),
    findingsOfFlow: multimap(),
    findingsOfStep: multimap(),
    graphOfStep: new Map(),
    portsSeenOfFlow: multimap(),
    flowsSeenAtPort: multimap(),
    graphsOfPort: multimap(),
    graphsOfFlow: multimap(),
    pathsOfPort: multimap(),
    detectionsOfStep: multimap(),
    portNamed: new Map(data.ports.map((port, i) => [port.name, i])),
    jobOfFlow: (flow) => (jobs ||= jobsOfFlows(data, steps))[flow],
    timesOf: steps.times,
    stepsOf: steps.list,
    step: steps.step,
    collectiveOf: (step) => collectiveOfStep(data, step),
  };
  indexFindings(model);
  indexGraphs(model);
  model.detections.forEach((d, i) => model.detectionsOfStep.add(d.step, i));
  data.flows.forEach((flow, i) => flow.path.forEach((port) => model.pathsOfPort.add(port, i)));
  return model;
}

function doerOf(model, step) {
  if (step.local)
    return `${model.nodes[step.host].name} computes,`;
  return step.flow < 0 ? `rank ${step.rank}` : model.flows[step.flow].short;
}

/* "17->18 step 2" */
export const stepName = (model, step) => `${doerOf(model, step)} step ${step.number}`;

/* The finding that the network answers for, first in the list. */
export const rootFinding = (model) => model.findings[model.run.root];

/* The flow whose delay matters most: of the slowest critical step that the root cause explains. */
export function victimFlow(model, collective) {
  const root = rootFinding(model), {steps} = model.collectives[collective];
  const mine =
      (steps ? steps.path : [])
          .map((index) => model.step(index))
          .filter((s) => s.critical && s.slow && (!root || model.findingsOfStep.get(s.index).includes(root.index)));
  if (mine.length > 0)
    return mine.reduce((a, b) => (b.excess > a.excess ? b : a)).flow;
  return root && root.victims_at.length > 0 ? root.victims_at[0] : -1;
}

const nothing = () => ({findings: new Set(), steps: new Set(), stepFlows: new Set(), ports: new Set(), flows: new Set()});

const belongsTo = {
  finding(model, lit, index) {
    const f = model.findings[index];
    lit.findings.add(index);
    for (const port of [f.root_at, ...f.ports_at])
      lit.ports.add(port);
    for (const flow of [...f.flows_at, ...f.victims_at])
      lit.flows.add(flow);
    for (const step of f.steps_at)
      lit.steps.add(step);
  },
  step(model, lit, index) {
    const step = model.step(index), graph = model.graphs[model.graphOfStep.get(index)];
    lit.steps.add(index);
    if (step && step.flow >= 0) {
      lit.flows.add(step.flow);
      model.flows[step.flow].path.forEach((port) => lit.ports.add(port));
    }
    model.findingsOfStep.get(index).forEach((f) => lit.findings.add(f));
    if (graph)
      graph.scores.forEach(([flow]) => lit.flows.add(flow));
  },
  port(model, lit, index) {
    lit.ports.add(index);
    model.findingsOfPort.get(index).forEach((f) => lit.findings.add(f));
    for (const flow of [...model.pathsOfPort.get(index), ...model.flowsSeenAtPort.get(index)])
      lit.flows.add(flow);
    model.graphsOfPort.get(index).forEach((g) => lit.steps.add(model.graphs[g].step));
  },
  flow(model, lit, index) {
    lit.flows.add(index);
    lit.stepFlows.add(index);
    model.findingsOfFlow.get(index).forEach((f) => lit.findings.add(f));
    for (const port of [...model.flows[index].path, ...model.portsSeenOfFlow.get(index)])
      lit.ports.add(port);
    for (const f of model.findingsOfFlow.get(index)) {
      if (model.findings[f].flows_at.includes(index))
        model.findings[f].steps_at.forEach((step) => lit.steps.add(step));
    }
  },
};

/* What lights up with {kind, index}; null: nothing is chosen. */
export function belonging(model, chosen) {
  if (!chosen)
    return null;
  const lit = nothing();
  belongsTo[chosen.kind](model, lit, chosen.index);
  lit.ports.delete(-1);
  return lit;
}

export const stepIsLit = (lit, step) => lit.steps.has(step.index) || lit.stepFlows.has(step.flow);
