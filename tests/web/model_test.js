/* SPDX-License-Identifier: BSD-3-Clause */
/* What belongs together, where things stand, how numbers look: the page's pure parts, without a browser. */
import assert from "node:assert";
import {readFileSync} from "node:fs";

import {betweenOf} from "../../web/src/between.js";
import {partsOf, shownOf} from "../../web/src/budget.js";
import {addUp, bytes, change, count, cut, duration, readable, score, timeIn} from "../../web/src/format.js";
import {hashOf, readHash} from "../../web/src/hash.js";
import {byLane, lanesOf, lanesOfRun, litIn, placeOf, seenIn, stepAt, worstOf} from "../../web/src/lanes.js";
import {leadOf} from "../../web/src/lead.js";
import {withSums} from "../../web/src/ledger.js";
import {belonging, column, eventsOf, level, modelOf, rows, stepIsLit, stepName, victimFlow} from "../../web/src/model.js";
import {planesOf, ROWS} from "../../web/src/planes.js";
import {countersIn} from "../../web/src/ports.js";
import {binsOf, blamedBy, BY, CAUSES, clock, delay, placesOf, stacked} from "../../web/src/probes_data.js";
import {remediesOf} from "../../web/src/remedies.js";
import {csvText} from "../../web/src/save.js";
import {entriesOf, found} from "../../web/src/search.js";
import {seriesOf} from "../../web/src/series.js";
import {tiersOf} from "../../web/src/tiers.js";

/* Two hosts below each of two leaves, one spine; flow 0 from h0 to h2, flow 1 from h1 to h2 in its way at the last hop. */
function data() {
  const names = ["leaf0", "leaf1", "spine", "h0", "h1", "h2", "h3"];
  const cables = [[3, 0], [4, 0], [5, 1], [6, 1], [0, 2], [1, 2]];
  const ports = cables.flatMap(
      ([a, b], i) =>
          [{name: `${names[a]}:${i}`, node: a, peer_node: b, peer_port: 2 * i + 1, rate_bps: 1e11},
           {name: `${names[b]}:${i}`, node: b, peer_node: a, peer_port: 2 * i, rate_bps: 1e11},
  ]);
  const path = [0, 8, 11, 5]; /* h0, leaf0, spine, leaf1 */
  return {
    run: {unit: "us", unit_ns: 1000, worst: 0, root: 0},
    nodes: names.map((name, i) => ({name, host: i > 2})),
    ports,
    flows: [{name: "h0->h2/1", short: "h0->h2", path}, {name: "h1->h2/1", short: "h1->h2", path: []}],
    schedules: [{
      count: 3,
      rank: {steps: [0, 0, 1]},
      step: {steps: [1, 1, -1]},
      flow: [0, 0, 1],
      host: [3, 3, 4],
      own: [0, 1, 0],
      depends: {steps: [-1, [0, 2]]},
      further: [[2, 0]],
      expect_ns: [[1000, 3]]
    }],
    collectives: [0, 1].map((i) => ({
                              id: 0,
                              iteration: i,
                              ranks: 2,
                              start_ns: 5000 * i,
                              first_step: 3 * i,
                              nsteps: 3,
                              took_ns: 3000,
                              steps: {
                                count: 3,
                                schedule: 0,
                                start: {steps: [0, 2000, -2000]},
                                took: [2000, 1000, 1000],
                                state: [1 + 2 + 8 + 16, 1 + 2 + 8 + 64, 3 + 32],
                                rare: [{step: 0, late_ns: 7, waited: -1}, {step: 2, late_ns: 0, waited: 3 * i + 1}],
                                path: [3 * i, 3 * i + 1]
                              },
                            })),
    findings: [{
      type: "flow-contention",
      root: "leaf1:2",
      root_at: 5,
      ports_at: [5],
      flows_at: [1],
      victims_at: [0],
      steps_at: [0],
      collective_at: 0
    }],
    contributors: [],
    overhead: {},
    network: {},
    evidence: {},
    graphs: {
      all: 1,
      list: [{
        step: 0,
        vertices: [{port: 5}, {flow: 0, collective: true, victim: true}, {flow: 1}, {port: 11}, {flow: 1}],
        edges: [[0, 1, 0, 100], [1, 0, 2, 90], [2, 3, 0, 1], [1, 0, 4, 0.01]],
        scores: [[1, 90]]
      }]
    },
    detections: {count: 1, time: {steps: [100]}, step: [0]},
    notifications: {count: 3, time: {steps: [10, 20, 0]}, from: [3, 4, 9], detections: [1, 2, 3]},
    polls: {count: 0},
  };
}

/* R-Pingmesh's. */
function periodOf(start, probes, lost, rtt) {
  const none = {p50: null, p90: null, p99: null, p999: null};
  const sla = {
    "rpingmesh.probe_total": probes,
    "rpingmesh.probe_failed_total":
        {"host-down": 0, "qpn-reset": 0, "cpu-overload": 0, "rnic-problem": 0, "switch-problem": 0, undecided: 0, ...lost},
    "rpingmesh.network_rtt_ns": rtt ? {p50: rtt, p90: rtt, p99: rtt, p999: 2 * rtt} : none,
    "rpingmesh.prober_delay_ns": none,
    "rpingmesh.responder_delay_ns": none
  };
  return {start_ns: start, end_ns: start + 10, complete: start < 20, cluster: sla};
}

/* Of jobs that lost time: 100 us of job 1, of which flows of job 2 explain 60. */
function losing() {
  const jobs = [{job: 1, name: "a", lost_ns: 100e3}, {job: 2, name: "b", lost_ns: 0}];
  return {
    jobs,
    jobOfFlow: (flow) => [1, 2, -1][flow],
    collectives: [{job: 1, unexplained_ns: 15e3}, {job: 2, unexplained_ns: 0}],
    findings: [{
      index: 0,
      title: "incast",
      root: "l0:1",
      family: "queue",
      explained_ns: 80e3,
      flows_at: [1, 2],
      iterations: [{job: 1, explained_ns: 80e3, flows_explained_ns: [60e3, 15e3]}]
    }],
    network: {lost_ns: 100e3, explained_ns: 80e3, without_effect_ns: 0, late_little_ns: 5e3, unexplained_ns: 15e3},
    time: timeIn("us", 1e3),
  };
}

/* Two ports, one with a queue, in bins of 10, 10 and 20 ns. */
const counters = () => ({
  queue_unit: 256,
  times: [10, 10, 20],
  all: {ports: 3, queues: 1},
  config: {},
  ports: [{port: "l0:1", class: -1, utilization: [1000, 500, 0]}, {port: "l0:2", class: -1}],
  queues: [{port: "l0:1", class: 3, queue: [0, 4, 8], marks: [[2, 3]], paused: [0, 0, 500]}],
});

const tests = {
  what_adds_up() {
    assert.deepEqual(addUp([1 / 3, 1 / 3, 1 / 3], 1, 3), ["0.334", "0.333", "0.333"]);
    assert.deepEqual(addUp([0.0006, 0.0006], 0.0012, 3), ["0.001", "0.000"]);
    assert.deepEqual(addUp([2.9584, 0.2164, 0.0264], 3.2012, 3), ["2.959", "0.216", "0.026"]);
    assert.deepEqual(addUp([2.5, 0], 2.5, 1), ["2.5", "0.0"]);
    assert.deepEqual(addUp([5, 1], 1, 0), ["5", "1"], "no parts of it");
    /* In the page's unit, as its cards are: a headline and the card of the same cause agree. */
    const ms = timeIn("ms", 1e6);
    assert.equal(readable("took 6181.263 us, of 900.000 us, 1234567 ns", ms), "took 6.181 ms, of 900.000 us, 1.235 ms");
    assert.equal(readable("took 1336.115 us, 1234567 ns", timeIn("us", 1e3)), "took 1336.115 us, 1234.567 us");
    assert.equal(readable("after 4200 ns", timeIn("s", 1e9)), "after 4200 ns");
    assert.equal(readable("h1024->h33/49152>4791 usable", ms), "h1024->h33/49152>4791 usable");
    assert.deepEqual(partsOf(losing()).map(({ns}) => ns), [80e3, 5e3, 15e3], "parts of the lost time");
    const thirds = losing();
    Object.assign(
        thirds.network,
        {lost_ns: 1000, explained_ns: 666.8, without_effect_ns: 0, late_little_ns: 0, unexplained_ns: 333.2});
    thirds.findings = [333.4, 333.4].map((ns, index) => ({...thirds.findings[0], index, explained_ns: ns}));
    assert.deepEqual(shownOf(thirds, partsOf(thirds), 1e3, 2), ["0.34", "0.33", "0.33"], "and what is shown of them");
  },

  ledger_has_sums() {
    const row = (entry, step_ns, paths_ns) => ({entry, title: "", step_ns, paths_ns}), wire = row("wire", 1000, 3000);
    assert.deepEqual(withSums([wire, row("late", 500, 0)]), [wire, row("late", 500, 0), row("all", 1500, 3000)]);
  },

  what_jobs_did() {
    const {rows: owners, columns, cells} = betweenOf(losing());
    assert.deepEqual(columns.map((job) => job.name), ["a", "b"]);
    assert.deepEqual(owners.map(({name}, i) => [name, cells[i][0].ns]).filter(([, ns]) => ns > 0), [
      ["b", 60e3], ["flows of no job", 15e3], ["links, switches and hosts", 5e3], ["late by too little to be named", 5e3],
      ["unexplained", 15e3]
    ]);
    assert.equal(cells.reduce((sum, row) => sum + row[0].ns, 0), 100e3, "the whole loss");
    assert.equal(cells[1][0].finding, 0, "what did most can be chosen");
  },

  counters_over_time() {
    const series = seriesOf(counters(), new Map([["l0:1", 7]]));
    assert.deepEqual(
        series.list().map((one) => one.key), ["queue:l0:1/3", "paused:l0:1/3", "marks:l0:1/3", "utilization:l0:1"]);
    assert.deepEqual([...series.values(series.get("queue:l0:1/3"))], [0, 1024, 2048]);
    assert.deepEqual(series.seen(series.get("utilization:l0:1"), 0, 40), {most: 1, of: 0.375}, "the mean is by time");
    assert.deepEqual(series.seen(series.get("marks:l0:1/3"), 12, 15), {most: 2, of: 2});
    assert.deepEqual(series.left, {ports: 1, queues: 0});
    assert.equal(series.get("queue:l0:1/3").at, 7);
    const [row] = countersIn(series, 0, 40);
    assert.deepEqual([row.port, row.class, row.of.queue.value, row.of.utilization.value], ["l0:1", 3, 2048, 0.375]);
    assert.equal(seriesOf(null, new Map()).some, false);
  },

  links() {
    const model = modelOf(data()), time = {from: 0, to: 10};
    const store =
        {model, chosen: {kind: "port", index: 5}, time: {...time, from: 2.4}, first: [0, 10], tracks: ["queue:l0:1/3"]};
    const hash = hashOf(store, []);
    assert.equal(hash, "port=leaf1%3A2&t=2-10&tracks=queue%3Al0%3A1%2F3");
    assert.deepEqual(readHash(`#${hash}`, model), {kind: "port", index: 5, from: 2, to: 10, tracks: ["queue:l0:1/3"]});
    assert.deepEqual(readHash("#finding=1", model), {kind: "finding", index: 0});
    for (const wrong of ["finding=0", "finding=2", "flow=2", "port=none", "t=5-5", "step=-1", "step=1.5", "a=b", ""])
      assert.deepEqual(readHash(wrong, model), {}, wrong);
  },

  search() {
    const model = modelOf({...data(), jobs: [{job: 0, name: "train"}]}),
          texts = (sought) => found(entriesOf(model), sought).map(({text}) => text);
    model.findings.forEach((f) => f.sentence = "Flow contention at leaf1:2");
    const all = (sought) => found(entriesOf(model), sought).map(({kind, text}) => `${kind} ${text}`);
    assert.equal(all("leaf1:2")[0], "port leaf1:2", "the name itself is first");
    assert.deepEqual(all("contention leaf1"), ["finding Flow contention at leaf1:2"]);
    assert.deepEqual(texts("h0->h2"), ["h0->h2/1"]);
    assert.deepEqual(texts("  "), []);
    assert.deepEqual(texts("none"), []);
  },

  remedies() {
    const model = {
      flows: [{name: "13->19/10001>4791"}],
      jobOfFlow: () => -1,
      jobs: [],
      collectives: [{job: 0}],
      ports: [{node: 0, peer_node: 1}],
      nodes: [{host: false}, {host: false}]
    };
    const config = {
      "flows.[0].src": "\"1\"",
      "flows.[0].dst": "\"2\"",
      "flows.[0].sport": "1",
      "flows.[1].src": "\"13\"",
      "flows.[1].dst": "\"19\"",
      "flows.[1].sport": "10001",
      "host.cc": "\"none\"",
      "load_balancing.kind": "\"adaptive\""
    };
    const f = {type: "flow-contention", flows_at: [0], collectives_at: [0], root_at: 0, evidence: ""};
    assert.deepEqual(remediesOf(model, config, f).map(({set}) => set), ["flows.[1].enabled=false", "host.cc=dcqcn"]);
    assert.deepEqual(remediesOf(model, {}, f), [], "nothing is known of the scenario");
  },

  who_leads() {
    const fault =
        {links: [{from: "l2", to: "s1", port: "l2:3"}], drop_rate: 0.02, alarms: 7, first_iteration: 1, last_iteration: 3};
    const model = {
      flowpulse: {faults: [fault]},
      findings: [{}, {untimed: true, root: "l2:3", sentence: "Silent fault at l2:3"}]
    };
    assert.deepEqual([leadOf(model).system, leadOf(model).finding], ["FlowPulse", 1]);
    assert.equal(leadOf({findings: []}), null);
  },

  files() {
    assert.equal(csvText([["a,b", 1], ["say \"no\"", null]]), "\"a,b\",1\n\"say \"\"no\"\"\",\n");
  },

  events_in_order() {
    const events = eventsOf({count: 4, time: {steps: [10, 5, 0, 5]}, from: [[3, 4]]});
    assert.deepEqual([events.between(0, 9), events.between(10, 15), events.between(16, 30)], [[0, 0], [0, 3], [3, 4]]);
    assert.deepEqual(events.row(3), {time: 20, from: 3});
    assert.deepEqual(eventsOf({count: 0}).between(0, 1), [0, 0]);
  },

  numbers() {
    assert.equal(timeIn("ms", 1e6).of(46973092), "46.973 ms");
    assert.equal(duration(46973), "46.973 us");
    assert.equal(count(1234567), "1,234,567");
    assert.deepEqual(
        [0, 0.416, 37.06, 412, 999.6, 99960, 7.41e7].map(score), ["0", "0.42", "37.1", "412", "1.00 k", "100 k", "74.1 M"]);
    assert.deepEqual([512, 56340].map(bytes), ["512 B", "56.3 kB"]);
    assert.deepEqual([0.5278, -0.0001, -0.25].map(change), ["+52.8 %", "+0.0 %", "-25.0 %"]);
    assert.equal(cut("abcdef", 4), "abc\u2026");
  },

  columns() {
    const columns = {count: 5, a: [1, [2, 3], 4], b: {steps: [10, [1, 4]]}};
    assert.deepEqual([0, 1, 2, 3, 4].map(column(columns, "a")), [1, 2, 2, 2, 4]);
    assert.deepEqual([0, 1, 2, 3, 4].map(column(columns, "b")), [10, 11, 12, 13, 14]);
    assert.deepEqual(rows({count: 2, a: [1, 2], b: [3, 3]}), [{a: 1, b: 3}, {a: 2, b: 3}]);
  },

  steps() {
    const model = modelOf(data()), first = model.step(0), later = model.step(4);
    assert.deepEqual([first.flow, first.number, first.critical, first.slow, first.waitedFor], [0, 1, true, true, -1]);
    assert.equal(first.late_ns, 7);
    assert.deepEqual([later.collective, later.start, later.waitedFor], [1, 7000, 3]);
    assert.equal(stepName(model, later), "h0->h2 step 2");
    assert.equal(victimFlow(model, 0), 0);
    assert.deepEqual([0, 0.05, 0.3, 2].map((excess) => level({excess})), [0, 1, 2, 3]);
    assert.equal(level({open: true, excess: 0}), 4);
    assert.deepEqual([model.step(1).needs, model.step(5).needs, model.step(5).waitedFor], [[0], [3], 4]);
    assert.equal(stepName(model, {flow: -1, local: true, host: 3, number: 4}), "h0 computes, step 4");
  },

  steps_at_once_have_lanes() {
    const numbers = (...bars) => {
      const of = (at) => bars.map((bar) => bar[at]), state = bars.map(([start, end]) => (end > start ? 2 : 0));
      return lanesOf({start: of(0), end: of(1), state}, bars.map((_, i) => i));
    };
    assert.deepEqual(numbers([0, 5], [5, 9], [9, 12]), [[0, 1, 2]]);
    assert.deepEqual(numbers([0, 5], [0, 9], [5, 7], [6, 8], [0, 0]), [[0, 2], [1], [3]]);
    assert.deepEqual(numbers(), [[]]);
  },

  one_axis() {
    const model = modelOf(data()), run = lanesOfRun(model), {flat, lanes} = run;
    assert.equal(flat.count, 6);
    assert.deepEqual(
        lanes.map((lane) => [...lane.steps].map((i) => flat.index[i])), [[0, 1, 3, 4], [2, 5]], "a lane a rank");
    assert.deepEqual(lanes.map((lane) => lane.name.text), ["h0->h2", "h1->h2"]);
    const seen = [];
    seenIn(flat, lanes[0], 2100, 5000, (i) => seen.push(flat.index[i]));
    assert.deepEqual(seen, [1, 3], "what is in view");
    assert.equal(stepAt(flat, lanes[0], 5100, 0), 3);
    assert.equal(stepAt(flat, lanes[0], 4000, 100), -1);
    const worst = new Uint8Array(8);
    worstOf(flat, lanes[0], 0, 8000, worst);
    assert.deepEqual([...worst], [1, 4, 4, 1, 0, 1, 4, 4], "as expected, the lost part, nothing");
    assert.deepEqual(run.laneOf(model.step(5)), 1);
    assert.deepEqual([0, 3, 5, 6].map((index) => placeOf(flat, index)), [0, 3, 5, -1], "the page has no seventh step");
  },

  a_choice_in_its_lanes() {
    const {flat} = lanesOfRun(modelOf(data())), of = (steps, flows) => ({steps: new Set(steps), stepFlows: new Set(flows)});
    assert.equal(litIn(flat, null), null);
    const lit = litIn(flat, of([5, 0, 99], []));
    assert.deepEqual([...lit.mask], [1, 0, 0, 0, 0, 1]);
    assert.deepEqual([...lit.byLane], [[1, [5]], [0, [0]]], "each in its own, and none for a step that is not there");
    const byFlow = litIn(flat, of([0], [flat.flow[0]]));
    assert.deepEqual(
        [...byFlow.mask], [...flat.flow].map((flow) => (flow === flat.flow[0] ? 1 : 0)), "all of a flow, once each");
    assert.equal(byFlow.byLane.get(0).length, new Set(byFlow.byLane.get(0)).size);
    const marks = byLane([{lane: 2, time: 9}, {lane: 0, time: 1}, {lane: 2, time: 3}]);
    assert.deepEqual(marks.get(2).map((mark) => mark.time), [3, 9], "in order of time");
  },

  what_belongs_together() {
    const model = modelOf(data()), lit = (kind, index) => belonging(model, {kind, index});
    assert.equal(belonging(model, null), null);
    assert.deepEqual([...lit("finding", 0).steps], [0]);
    assert.deepEqual([...lit("finding", 0).flows].sort(), [0, 1]);
    assert.deepEqual([...lit("port", 5).findings], [0]);
    assert.deepEqual([...lit("port", 5).steps], [0]);
    assert.deepEqual([...lit("port", 2).findings], []);
    assert.deepEqual([...lit("step", 0).ports].sort((a, b) => a - b), [0, 5, 8, 11]);
    assert.deepEqual([...lit("step", 1).findings], []);
    assert.ok(stepIsLit(lit("flow", 0), model.step(4)) && stepIsLit(lit("flow", 1), model.step(0)));
    assert.ok(!stepIsLit(lit("flow", 1), model.step(1)));
  },

  fabric_stands_in_tiers() {
    const model = modelOf(data()), {tiers, place, hidden} = tiersOf(model, 100);
    assert.deepEqual(tiers, [[3, 4, 5, 6], [0, 1], [2]]);
    assert.equal(place.get(2).share, 0.5);
    assert.equal(hidden, 0);
    /* With room for two only: what findings name, then what lies on paths. */
    assert.deepEqual([...tiersOf(model, 2).place.keys()].sort(), [1, 3]);
  },

  provenance_stands_in_order() {
    const model = modelOf(data()), {spots, edges, rows: lines, hidden} = planesOf(model.graphs[0], model.flows[0].path, 8);
    assert.deepEqual(lines[ROWS.PORTS], [3, 0]); /* the spine's port is met before the leaf's */
    assert.deepEqual([lines[ROWS.OWN], lines[ROWS.OTHER]], [[1], [2]]);
    assert.ok(spots.get(3).x < spots.get(0).x);
    assert.equal(edges.length, 3); /* the light one is left out, */
    assert.equal(hidden, 1);       /* and what it alone led to */
  },

  words_of_the_analyzer() {
    const text = readFileSync(new URL("../../diag/pingmesh/section.h", import.meta.url), "utf8");
    const named = (table) => {
      const rows = text.slice(text.indexOf(`#define ${table}(ROW)`)).split(/\n\n/)[0];
      return [...rows.matchAll(/"([a-z-]+)"/g)].map((match) => match[1]).sort();
    };
    assert.deepEqual(Object.keys(BY).sort(), named("PINGMESH_BASES"), "every way to find a problem has words");
    assert.deepEqual(
        [...CAUSES.map(([cause]) => cause), "answered"].sort(), named("PINGMESH_CAUSES"),
        "and every cause of a loss a color");
  },

  probes() {
    const periods = [
      periodOf(0, 100, {"rnic-problem": 10}, 7), periodOf(10, 300, {"switch-problem": 30, "rnic-problem": 10}, null),
      periodOf(20, 0, {}, 5)
    ];
    const all = binsOf(periods, "cluster", 8), two = binsOf(periods, "cluster", 2);
    assert.deepEqual(
        all.map((b) => [b.start, b.end, b.probes, b.periods]), [[0, 10, 100, 1], [10, 20, 300, 1], [20, 30, 0, 1]]);
    assert.deepEqual(
        stacked(all[1]), [["switch-problem", 0, 0.1], ["rnic-problem", 0.1, 0.1 + 10 / 300]], "one upon the other");
    assert.deepEqual(stacked(all[2]), [], "nobody probed");
    assert.deepEqual(
        two.map((b) => [b.start, b.end, b.probes, b.periods, b.complete]), [[0, 20, 400, 2, true], [20, 30, 0, 1, false]]);
    assert.equal(two[0].lost["rnic-problem"], 20, "losses add up");
    assert.deepEqual(two[0].network_rtt_ns, [7, 7, 7, 14], "a period without ACKs takes nothing away");
    assert.deepEqual(binsOf(periods, "cluster", 0).length, 1, "however narrow");
    assert.deepEqual(
        [clock(31e9), clock(2.5e6), delay(12868.16), delay(92494299), delay(null)],
        ["31.000 s", "2.500 ms", "12.9 us", "92.5 ms", "-"]);
    assert.equal(blamedBy({by: ["several-rnics", "delay"]}), "several RNICs of a host at once, and processing delay");
    const model = {ports: [{name: "h0:0"}, {name: "l0:1"}], nodes: [{name: "h0"}, {name: "l0"}]};
    assert.deepEqual(placesOf(model, {ports: ["l0:1", "h0:0"], node: null}), {ports: [1, 0], node: -1});
    assert.deepEqual(placesOf(model, {ports: [], node: "l0"}), {ports: [], node: 1});
  },
};

for (const [name, test] of Object.entries(tests)) {
  test();
  console.log(`ok ${name}`);
}
