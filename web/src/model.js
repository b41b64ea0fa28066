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

function stepsOf(data, index) {
  const c = data.collectives[index];
  if (!c.steps)
    return [];
  const schedule = data.schedules[c.steps.schedule];
  const at = (columns, key) => column(columns, key);
  const rank = at(schedule, "rank"), number = at(schedule, "step"), flow = at(schedule, "flow"),
        host = at(schedule, "host");
  const own = at(schedule, "own"), depends = at(schedule, "depends"), expect = at(schedule, "expect_ns");
  const start = at(c.steps, "start"), took = at(c.steps, "took"), state = at(c.steps, "state");
  const steps = Array.from({length: c.nsteps}, (_, i) => {
    const bits = state(i), expected = expect(i), from = c.start_ns + start(i);
    const on = bits & WAITED_OWN ? i - own(i) : bits & WAITED_DATA ? depends(i) : -1;
    const needs = [own(i) ? i - own(i) : -1, depends(i)].filter((d) => d >= 0);
    return {
      index: c.first_step + i,
      collective: index,
      rank: rank(i),
      number: number(i),
      flow: flow(i),
      local: flow(i) < 0, /* computes, and sends nothing */
      host: host(i),
      start: from,
      took: took(i),
      end: from + took(i),
      expect: expected,
      excess: expected > 0 ? took(i) / expected - 1 : 0,
      reported: !!(bits & REPORTED),
      started: !!(bits & STARTED),
      open: !!(bits & OPEN),
      critical: !!(bits & CRITICAL),
      slow: !!(bits & SLOW),
      pruned: !!(bits & PRUNED),
      waitedFor: on < 0 ? -1 : c.first_step + on,
      needs: needs.map((d) => c.first_step + d), /* all that it depends on */
    };
  });
  for (const [i, on] of schedule.further)
    steps[i].needs.push(c.first_step + on);
  for (const {step, waited, ...more} of c.steps.rare) {
    Object.assign(steps[step], more);
    if (waited >= 0)
      steps[step].waitedFor = waited;
  }
  return steps;
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

export function modelOf(data) {
  const cache = new Map();
  const model = {
    ...data,
    graphs: data.graphs.list,
    allGraphs: data.graphs.all,
    time: timeIn(data.run.unit, data.run.unit_ns),
    detections: rows(data.detections),
    notifications: rows(data.notifications),
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
    stepsOf(collective) {
      if (!cache.has(collective)) {
        if (cache.size > 8)
          cache.delete(cache.keys().next().value);
        cache.set(collective, stepsOf(data, collective));
      }
      return cache.get(collective);
    },
    step(index) {
      const c = collectiveOfStep(model, index);
      return model.stepsOf(c)[index - data.collectives[c].first_step] || leftOut(c, index);
    },
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
  const root = rootFinding(model);
  const mine =
      model.stepsOf(collective)
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
