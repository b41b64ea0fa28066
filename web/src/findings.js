/* SPDX-License-Identifier: BSD-3-Clause */
/* Root causes: what each explains, where and when it was seen. */
import {el, phrases, section} from "./dom.js";
import {count, many, percent, score} from "./format.js";
import {stands} from "./store.js";

const FOLDED = 0.3; /* FACTS_FOLDED */
const MOST = 12;    /* open at first */

/* When: the run from left to right, the time seen in it. */
function when(model, f) {
  const end = model.evidence.end_ns || 1, from = f.start_ns / end, to = Math.max(f.end_ns / end, from + 0.008);
  const bar = el("i", {class: `span ${f.family}`});
  bar.style.marginLeft = `${100 * Math.min(from, 0.992)}%`;
  bar.style.width = `${100 * Math.min(1 - from, to - from)}%`;
  return el("span", {class: "when", title: `seen from ${model.time.of(f.start_ns)} to ${model.time.of(f.end_ns)}`}, bar);
}

function finding(model, f) {
  const t = model.time;
  const button =
      el("button", {type: "button", class: "finding"}, el("span", {class: `badge ${f.family}`}, f.title),
         el("span", {class: "sentence"}, ...phrases(f.sentence)), el("span", {class: "evidence"}, ...phrases(f.evidence)),
         el("span", {class: "numbers"}, when(model, f), el("span", null, `${t.bare(f.start_ns)} to ${t.of(f.end_ns)}`),
            el("span", null, f.explained_ns > 0 ? `cost ${f.cost}` : "cost nothing"),
            el("span", null, `confidence ${f.confidence.toFixed(2)}`), el("span", null, `score ${score(f.score)}`)),
         f.parts !== "" && el("span", {class: "parts"}, ...phrases(f.parts)));
  return el("li", null, stands(button, "finding", f.index));
}

/* What nobody explains of the time that was lost. */
function unexplained(model) {
  const {lost_ns: lost, unexplained_ns: left} = model.network, t = model.time;
  return lost > 0 ? `Of the ${t.of(lost)} lost, ${t.of(left)} (${percent(left / lost, 1)}) is unexplained. ` : "";
}

const ordered = (model, of) => el("ol", {class: "findings", start: of[0].index + 1}, ...of.map((f) => finding(model, f)));

/* A group, opened where something in it is chosen. */
function folded(store, summary, of) {
  const node = el("details", null, el("summary", null, summary), ordered(store.model, of)),
        own = new Set(of.map((f) => f.index));
  store.on(() => {
    if (store.lit && [...store.lit.findings].some((index) => own.has(index)) && store.chosen.kind === "finding")
      node.open = true;
  });
  return node;
}

/* Those that can be trusted, then the others: closed. */
function group(store, title, of, whole_ns) {
  const {model} = store, sure = of.filter((f) => f.confidence >= FOLDED), unsure = of.filter((f) => f.confidence < FOLDED);
  const shown = sure.slice(0, MOST), more = sure.slice(MOST);
  const cost = (list) => model.time.of(list.reduce((sum, f) => sum + f.explained_ns, 0));
  if (of.length === 0)
    return [];
  return [
    el("h3", null, `${title}: ${model.time.of(whole_ns)}`), shown.length > 0 && ordered(model, shown),
    more.length > 0 && folded(store, `${count(more.length)} more: ${cost(more)}`, more),
    unsure.length > 0 &&
        folded(store, `${many(unsure.length, "finding")} below ${FOLDED} confidence: ${cost(unsure)}`, unsure)
  ];
}

export function drawFindings(root, store) {
  const {model} = store, costly = model.findings.filter((f) => !f.without_effect && !f.untimed);
  const others = model.findings.filter((f) => f.without_effect && !f.untimed);
  if (costly.length + others.length === 0)
    return;
  section(
      root, "findings", "Root causes", ...group(store, "By the time that they cost", costly, model.network.explained_ns),
      ...group(
          store, "Seen as well; leaving any one of these out alone would regain nothing", others,
          model.network.without_effect_ns),
      el("p", {class: "legend"}, unexplained(model),
         "No time is counted twice: costs and the unexplained time add up to the lost time. ",
         "Score: packet-waits caused to the collective\u2019s flows. Choose one, and what belongs to it lights up below."));
}
