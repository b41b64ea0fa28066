/* SPDX-License-Identifier: BSD-3-Clause */
/* What probes found: problems by priority, as a list and as marks in the fabric. */
import {el, phrases, section, svg} from "./dom.js";
import {count, many} from "./format.js";
import {blamedBy, clock, impactOn, isTraced, placesOf, serviceText, sharedBy} from "./probes_data.js";
import {stands} from "./store.js";
import {tip} from "./tip.js";

const FIRST = 12, IMPACTS = 3, SERVICES = 8, PILL = 24, PILL_HEIGHT = 15;

const problemsOf = (model) => (model.pingmesh ? model.pingmesh.problems.filter((p) => p.finding !== null) : []);
const seenBy = (problem) =>
    problem.seen_by.map((n) => (n === "cluster" ? "the cluster\u2019s monitoring" : "service tracing")).join(" and ");

function impact(model, problem) {
  if (problem.services.length === 0)
    return isTraced(model.pingmesh) ? "No service uses it." : "No service is known to use it.";
  const shown = problem.services.slice(0, IMPACTS).map(impactOn), more = problem.services.length - IMPACTS;
  return [...shown, ...(more > 0 ? [`${many(more, "other job")} use it.`] : []), ...sharedBy(problem)].join(" ");
}

/* When: the run from left to right, and in it the time in which probes were lost or slow. */
function when(model, problem, family) {
  const periods = model.pingmesh.periods, end = periods[periods.length - 1].end_ns;
  const from = Math.min(0.992, problem.start_ns / end), to = Math.max(problem.end_ns / end, from + 0.008);
  const bar = el("i", {class: `span ${family}`});
  bar.style.marginLeft = `${100 * from}%`;
  bar.style.width = `${100 * Math.min(1 - from, to - from)}%`;
  return el("span", {class: "when"}, bar);
}

function problemItem(model, problem) {
  const f = model.findings[problem.finding];
  const twoWay = problem.both_directions && problem.alike === 1 && problem.type !== "rnic-problem";
  return el(
      "li", null,
      stands(
          el("button", {type: "button", class: "finding"},
             el("span", {class: "sentence"}, el("b", {class: `priority ${problem.priority}`}, problem.priority),
                ...phrases(f.sentence), twoWay && ", in both directions"),
             el("span", {class: "evidence"},
                ...phrases(`${f.evidence[0].toUpperCase()}${f.evidence.slice(1)}. ${impact(model, problem)}`)),
             el("span", {class: "evidence"}, `Seen by ${seenBy(problem)}. Blamed by ${blamedBy(problem)}.`),
             el("span", {class: "numbers"}, when(model, problem, f.family),
                el("span", null, `${clock(problem.start_ns)} to ${clock(problem.end_ns)}`),
                el("span", null, many(problem.periods, "period")),
                el("span", null, `confidence ${f.confidence.toFixed(2)}`))),
          "finding", problem.finding));
}

function serviceItems({services, impact: {threshold}}) {
  const more = services.length - SERVICES;
  const shown = services.slice(0, SERVICES).map((s) => el("p", null, serviceText(s, threshold)));
  return el("div", {class: "services"}, ...shown, more > 0 && el("p", null, `${many(more, "more job")}, in verdict.json`));
}

/* A run that ends before agents have uploaded says nothing, and not that all is well. */
function nothingFound({periods, period_ns: period}) {
  return periods.length > 0 ? "No problem was found." :
                              `Agents had no result of a probe to report; a period takes ${clock(period)}.`;
}

export function drawProblems(root, store) {
  const {model} = store, problems = problemsOf(model);
  if (!model.pingmesh)
    return;
  const list = el("ol", {class: "findings"}, ...problems.slice(0, FIRST).map((p) => problemItem(model, p)));
  const more = el("button", {type: "button", class: "more"}, `Show all ${problems.length}`);
  more.addEventListener("click", () => {
    list.append(...problems.slice(FIRST).map((p) => problemItem(model, p)));
    store.mark(list);
    more.remove();
  });
  section(
      root, "problems", "Problems seen by probes",
      el("p", {class: "legend"}, "By probes between RNICs (R-Pingmesh). P0: a service suffers; P1: services use it; ",
         "P2: no service does. What they cost in time is not known."),
      problems.length > 0 ? list : el("p", null, nothingFound(model.pingmesh)), problems.length > FIRST && more,
      model.pingmesh.services.length > 0 && serviceItems(model.pingmesh),
      model.pingmesh.cannot_tell.length > 0 &&
          el("div", {class: "services"},
             ...model.pingmesh.cannot_tell.map((l) => el("p", null, `Cannot judge ${count(l.count)} ${l.text}.`))));
}

/* ---- in the fabric ---- */

function pill(model, problem, sure, [x, y]) {
  const f = model.findings[problem.finding], says = `${problem.priority}: ${f.sentence}`;
  const shape =
      svg("g", {class: `probed ${problem.priority}${sure ? "" : " unsure"}`},
          svg("rect", {x: x - PILL / 2, y: y - PILL_HEIGHT / 2, width: PILL, height: PILL_HEIGHT, rx: 7}),
          svg("text", {x, y: y + 4}, `${problem.priority}${sure ? "" : "?"}`));
  return tip(stands(shape, "finding", problem.finding, says), () => `${says}\n${f.evidence}`);
}

/**
 * A pill with the priority at each port or node that a problem is at; with a question mark, at each of several.
 * @param atPort  (index) => [x, y], or null for what is not drawn  @param atNode  the same of nodes
 */
export function problemMarks(model, atPort, atNode) {
  const taken = new Map(), marks = [];
  const put = (problem, sure, spot) => {
    const name = spot && `${Math.round(spot[0])} ${Math.round(spot[1])}`, below = taken.get(name) || 0;
    if (!spot)
      return;
    taken.set(name, below + 1);
    marks.push(pill(model, problem, sure, [spot[0], spot[1] + below * (PILL_HEIGHT + 2)]));
  };
  for (const problem of problemsOf(model)) {
    const places = placesOf(model, problem), sure = problem.alike <= 1;
    places.ports.forEach((port) => put(problem, sure, atPort(port)));
    if (places.node >= 0)
      put(problem, true, atNode(places.node));
  }
  return marks;
}
