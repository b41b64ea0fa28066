/* SPDX-License-Identifier: BSD-3-Clause */
/* The answer first: what happened, why, and the numbers. */
import {drawBudget, lossOf} from "./budget.js";
import {el, parted, phrases} from "./dom.js";
import {bytes, change, count, gigabytes, many, percent, readable} from "./format.js";
import {leadOf} from "./lead.js";
import {largest, SLOW_SHARE} from "./model.js";
import {stands} from "./store.js";
import {contributorWords} from "./words.js";

function fact(name, value, note, mood, stand) {
  const shown = stand ?
      [stands(el("button", {type: "button", class: "plain"}, ...parted(String(value))), stand.kind, stand.index)] :
      parted(String(value));
  return el(
      "div", {class: mood || false}, el("dt", null, name),
      el("dd", null, el("b", {class: String(value).length > 12 && "long"}, ...shown), el("small", null, note)));
}

/* Flows without a collective: how slow, against an idle fabric. */
function flowTimes(model) {
  const {all, slowest} = model.generated, whole = all.slowdown[all.slowdown.length - 1], worst = slowest[0];
  return [
    fact(
        "Flows slowed", `${count(all.slow)} of ${count(all.flows)}`,
        "longer than on an idle fabric by over 1 % and a base RTT", all.slow > 0 ? "bad" : "good"),
    fact(
        "Slowdown, 99th percentile", whole.p99.toFixed(2),
        `${whole.p50.toFixed(2)} at the median, ${whole.max.toFixed(2)} at most`, whole.p99 > 2 ? "bad" : "good"),
    worst ? fact(
                "Slowest flow", model.flows[worst.flow_at].short,
                `${model.time.of(worst.fct_ns)} for ${bytes(worst.bytes)}, idle ${model.time.of(worst.ideal_ns)}`, "bad",
                {kind: "step", index: worst.step_at}) :
            false,
    lost(model),
  ];
}

/* What was lost, by its parts: they add up. */
function lost(model) {
  const n = model.network, t = model.time;
  if (n.lost_ns <= 0)
    return fact("Lost", t.of(0), "no step lost time", "good");
  const parts = [
    [n.explained_ns, "by root causes"], [n.without_effect_ns, "by what would regain nothing alone"],
    [n.late_little_ns, "by hosts late by too little to be named"], [n.unexplained_ns, "unexplained"]
  ];
  const shares = lossOf(model, n.lost_ns / 100, 1);
  return fact(
      model.collectives.length > 1 ? "Lost in all" : "Lost", t.of(n.lost_ns),
      parts.map(([ns, by], i) => ns > 0 && `${shares[i]} % ${by}`).filter(Boolean).join(", "), n.innocent ? false : "bad");
}

/* An iteration of several collectives, as the headline speaks of it. */
function iterationTimes(model, worst, mates) {
  const t = model.time, took = largest(mates, (c) => c.end_ns, 0) - Math.min(...mates.map((c) => c.start_ns));
  const job = model.jobs.find((one) => one.job === worst.job), lost_ns = mates.reduce((sum, c) => sum + c.lost_ns, 0);
  return [
    fact(
        "Iteration time", t.of(took),
        `job ${job ? job.name : worst.job}, iteration ${worst.iteration}: ${
            many(mates.length, "collective")}, of which it lost ${t.of(lost_ns)}`),
    lost(model)
  ];
}

/* Its size and bandwidths, as nccl-tests has them. */
function bandwidths(worst) {
  if (worst.bytes === 0 || worst.algbw === null)
    return false;
  return fact(
      "Bus bandwidth", `${gigabytes(worst.busbw)} GB/s`,
      `${bytes(worst.bytes)} by ${many(worst.group_ranks, "rank")}; algorithm bandwidth ${gigabytes(worst.algbw)} GB/s`);
}

function times(model) {
  if (model.generated)
    return flowTimes(model);
  const worst = model.collectives[model.run.worst], t = model.time;
  if (!worst)
    return [];
  const mates = model.collectives.filter((c) => c.job === worst.job && c.iteration === worst.iteration);
  if (mates.length > 1 && mates.every((c) => c.complete))
    return iterationTimes(model, worst, mates);
  const excess = worst.expect_ns > 0 ? worst.took_ns / worst.expect_ns - 1 : 0;
  const first = fact(
      worst.complete ? "Collective time" : "Unfinished after", t.of(worst.took_ns),
      `${worst.name}: expected ${t.of(worst.expect_ns)}, ideal ${t.of(worst.ideal_ns)}`);
  if (!worst.complete)
    return [first, fact("Steps done", count(worst.done), `of ${many(worst.nsteps, "step")}`, "bad"), lost(model)];
  return [
    first,
    fact(
        "Against expected", change(excess), "from its first rank's start to its last rank's end",
        excess <= SLOW_SHARE ? "good" : "bad"),
    lost(model), bandwidths(worst)
  ];
}

function causes(model) {
  const root = model.findings[model.run.first], top = model.contributors[0], o = model.overhead, facts = [];
  const all = model.contributors.reduce((sum, c) => sum + c.score, 0), words = contributorWords(model);
  if (root)
    facts.push(fact("Root cause at", root.root, root.title, "bad", {kind: "finding", index: model.run.first}));
  else
    facts.push(fact(
        "Root cause", "none", model.network.innocent ? "the network is innocent" : "unknown",
        model.network.innocent && "good"));
  if (top)
    facts.push(fact(
        "Top contributor", model.flows[top.flow_at].short,
        `${percent(all > 0 ? top.score / all : 0, 1)} of the score of ${words.flows}, by the paper\u2019s rating`, "bad",
        {kind: "flow", index: top.flow_at}));
  facts.push(fact(
      "Evidence complete", o.completeness === null ? "not known" : percent(o.completeness, 1),
      `${many(o.records, "record")}, ${bytes(o.row_bytes)} of telemetry`, model.evidence.missing && "bad"));
  return facts;
}

function runLines({model, scenario}) {
  const {run} = model;
  return [
    el("p", {class: "run"},
       `${run.name} / ${model.jobs.length > 0 ? `${model.jobs.map((job) => job.name).join(", ")} / ` : ""}` +
           `${scenario ? `seed ${scenario.seed} / ` : ""}detection: ${run.policy}, ${run.detections} a step, threshold ${
               run.rtt_percent} % of the base RTT`),
    scenario && scenario.overrides.length > 0 &&
        el("p", {class: "run"}, "set: ", ...scenario.overrides.flatMap((set) => [el("code", null, set), " "])),
  ];
}

/* A system's own finding before what the collectives say. */
function leading(lead, headline) {
  const text = lead.finding < 0 ?
      lead.text :
      stands(el("button", {type: "button", class: "plain"}, lead.text), "finding", lead.finding);
  return [
    el("h1", {class: "lead"}, el("span", {class: "system"}, lead.system), text),
    el("p", {class: "why"}, ...phrases(lead.why)), el("p", {class: "second"}, ...phrases(headline))
  ];
}

/*
 * The verdict itself.
 * @param tools  what stands beside the run's name
 * @param compared  several systems stand side by side: none of them leads
 */
export function drawHead(root, store, tools, compared) {
  const {model} = store, {run} = model, good = model.network.innocent && model.findings.length === 0,
        lead = compared ? null : leadOf(model);
  const headline = readable(run.headline, model.time), why = readable(run.conclusion, model.time);
  root.append(
      el("header", {class: good ? "good" : "bad"},
         el("div", {class: "top"}, el("div", null, ...runLines(store).filter(Boolean)), tools),
         ...(lead ? leading(lead, headline) : [el("h1", null, headline)]),
         el("p", {class: lead ? "second" : "why"}, ...phrases(why)),
         model.evidence.missing && el("p", {class: "warn"}, `Incomplete evidence: ${model.evidence.missing}`),
         run.lateness && el("p", {class: "why"}, run.lateness), run.twins && el("p", {class: "why"}, run.twins),
         run.recording_lost && el("p", {class: "warn"}, run.recording_lost)));
  document.title = `${run.name}: verdict`;
}

/* Numbers, and the lost time by cause. */
export function drawFacts(root, store) {
  const {model} = store, box = el("div", {id: "facts"}, el("dl", {class: "facts"}, ...times(model), ...causes(model)));
  root.append(box);
  drawBudget(box, store);
}
