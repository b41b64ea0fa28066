/* SPDX-License-Identifier: BSD-3-Clause */
/* What belongs together, where things stand, how numbers look: the page's pure parts, without a browser. */
import assert from "node:assert";
import {readFileSync} from "node:fs";

import {bytes, change, count, cut, duration, score, timeIn} from "../../web/src/format.js";
import {belonging, column, level, modelOf, rows, stepIsLit, stepName, victimFlow} from "../../web/src/model.js";
import {planesOf, ROWS} from "../../web/src/planes.js";
import {binsOf, blamedBy, BY, CAUSES, clock, delay, placesOf, stacked} from "../../web/src/probes_data.js";
import {tiersOf} from "../../web/src/tiers.js";
import {lanesOf} from "../../web/src/timeline_data.js";

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
    notifications: {count: 0},
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

const tests = {
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
    const bar = (number, start, end) => ({number, start, end, started: end > start});
    const numbers = (steps) => lanesOf(steps).map((lane) => lane.map((s) => s.number));
    assert.deepEqual(numbers([bar(1, 0, 5), bar(2, 5, 9), bar(3, 9, 12)]), [[1, 2, 3]]);
    assert.deepEqual(
        numbers([bar(1, 0, 5), bar(2, 0, 9), bar(3, 5, 7), bar(4, 6, 8), bar(5, 0, 0)]), [[1, 3, 5], [2], [4]]);
    assert.deepEqual(numbers([]), [[]]);
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
