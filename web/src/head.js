/* SPDX-License-Identifier: BSD-3-Clause */
/* The answer first: what happened, why, and five numbers. */
import {el, phrases} from "./dom.js";
import {bytes, change, count, many, percent} from "./format.js";
import {SLOW_SHARE} from "./model.js";
import {stands} from "./store.js";

function fact(name, value, note, mood, stand) {
  const shown = stand ? stands(el("button", {type: "button", class: "plain"}, value), stand.kind, stand.index) : value;
  return el(
      "div", {class: mood || false}, el("dt", null, name), el("dd", null, el("b", null, shown), el("small", null, note)));
}

function times(model) {
  const worst = model.collectives[model.run.worst], t = model.time;
  if (!worst)
    return [];
  const excess = worst.expect_ns > 0 ? worst.took_ns / worst.expect_ns - 1 : 0, path = worst.steps.path.length;
  const first = fact(
      worst.complete ? "Collective time" : "Unfinished after", t.of(worst.took_ns),
      `expected ${t.of(worst.expect_ns)}, ideal ${t.of(worst.ideal_ns)}`);
  if (!worst.complete)
    return [first, fact("Steps done", count(worst.done), `of ${many(worst.nsteps, "step")}`, "bad")];
  if (excess <= SLOW_SHARE)
    return [
      first,
      fact("Against expected", change(excess), `no time lost over ${many(path, "step")} of the critical path`, "good")
    ];
  return [
    first,
    fact(
        "Against expected", change(excess),
        `${t.of(worst.took_ns - worst.expect_ns)} lost over ${many(path, "step")} of the critical path`, "bad")
  ];
}

function causes(model) {
  const root = model.findings[0], top = model.contributors[0], o = model.overhead, facts = [];
  const all = model.contributors.reduce((sum, c) => sum + c.score, 0);
  if (root)
    facts.push(fact("Root cause at", root.root, root.title, "bad", {kind: "finding", index: 0}));
  else
    facts.push(fact(
        "Root cause", "none", model.network.innocent ? "the network is innocent" : "unknown",
        model.network.innocent && "good"));
  if (top)
    facts.push(fact(
        "Top contributor", model.flows[top.flow_at].short,
        `${
            percent(
                all > 0 ? top.score / all : 0,
                1)} of the score of flows outside the collective, by the paper\u2019s rating`,
        "bad", {kind: "flow", index: top.flow_at}));
  facts.push(fact(
      "Evidence complete", o.completeness === null ? "not known" : percent(o.completeness, 1),
      `${many(o.records, "record")}, ${bytes(o.row_bytes)} of telemetry`, model.evidence.missing && "bad"));
  return facts;
}

export function drawHead(root, store) {
  const {model} = store, {run} = model, good = model.network.innocent && model.findings.length === 0;
  const header =
      el("header", {class: good ? "good" : "bad"},
         el("p", {class: "run"},
            `${run.name} / detection: ${run.policy}, ${run.detections} a step, threshold ${
                run.rtt_percent} % of the base RTT`),
         el("h1", null, run.headline), el("p", {class: "why"}, ...phrases(run.conclusion)),
         model.evidence.missing && el("p", {class: "warn"}, `Incomplete evidence: ${model.evidence.missing}`),
         run.lateness && el("p", {class: "why"}, run.lateness),
         run.recording_lost && el("p", {class: "warn"}, run.recording_lost),
         el("dl", {class: "facts"}, ...times(model), ...causes(model)));
  document.title = `${run.name}: verdict`;
  root.append(header);
}
