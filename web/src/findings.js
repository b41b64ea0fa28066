/* SPDX-License-Identifier: BSD-3-Clause */
/* Root causes: what each explains, where and when it was seen, and what to try against it. */
import {lossOf} from "./budget.js";
import {el, phrases, section} from "./dom.js";
import {count, many, readable, score} from "./format.js";
import {remedies} from "./remedies.js";
import {save} from "./save.js";
import {stands} from "./store.js";

const FOLDED = 0.3; /* FINDING_FOLDED */
const MOST = 10;    /* open at first, of all groups together */

/* When: the run from left to right, the time seen in it. */
function when(model, f) {
  const end = model.evidence.end_ns || 1, from = f.start_ns / end, to = Math.max(f.end_ns / end, from + 0.008);
  const bar = el("i", {class: `span ${f.family}`});
  bar.style.marginLeft = `${100 * Math.min(from, 0.992)}%`;
  bar.style.width = `${100 * Math.min(1 - from, to - from)}%`;
  return el("span", {class: "when", title: `seen from ${model.time.of(f.start_ns)} to ${model.time.of(f.end_ns)}`}, bar);
}

function costOf(f) {
  return f.explained_ns > 0 || f.cost_unknown ? `cost ${f.cost}` : "cost nothing";
}

/* Findings that it follows from, by their numbers; the data has one, several or none. */
function consequence(f) {
  const of = [f.consequence_of ?? []].flat().filter((index) => typeof index === "number");
  return of.length > 0 &&
      el("span", {class: "parts"}, `A consequence of ${of.map((index) => `cause ${index + 1}`).join(", ")}.`);
}

function finding(store, f) {
  const {model} = store, t = model.time;
  const button = el(
      "button", {type: "button", class: "finding"}, el("span", {class: `badge ${f.family}`}, `${f.index + 1}. ${f.title}`),
      el("span", {class: "sentence"}, ...phrases(readable(f.sentence, t))),
      el("span", {class: "evidence"}, ...phrases(readable(f.evidence, t))),
      el("span", {class: "numbers"}, when(model, f), el("span", null, `${t.bare(f.start_ns)} to ${t.of(f.end_ns)}`),
         el("span", null, costOf(f)), el("span", null, `confidence ${f.confidence.toFixed(2)}`),
         el("span", null, `score ${score(f.score)}`)),
      f.parts !== "" && el("span", {class: "parts"}, ...phrases(readable(f.parts, t))), consequence(f));
  return el("li", null, stands(button, "finding", f.index), remedies(store, f, store.tried));
}

/* What nobody explains of the time that was lost. */
function unexplained(model) {
  const {lost_ns: lost} = model.network, t = model.time;
  if (!(lost > 0))
    return "";
  return `Of the ${t.of(lost)} lost, ${lossOf(model, t.unitNs, 3)[3]} ${t.unit} (${
      lossOf(model, lost / 100, 1)[3]} %) is unexplained. `;
}

const ordered = (store, of) => el("ol", {class: "findings", start: of[0].index + 1}, ...of.map((f) => finding(store, f)));

/* A group that is made when it is opened: by hand, or as something in it is chosen. */
function folded(store, summary, of) {
  const node = el("details", {class: "fold"}, el("summary", null, summary)), own = new Set(of.map((f) => f.index));
  const fill = () => {
    if (node.childNodes.length > 1)
      return;
    node.append(ordered(store, of));
    store.mark(node);
    lookAt(node, store);
  };
  node.addEventListener("toggle", () => node.open && fill());
  node.setAttribute("data-count", of.length);
  store.on((changed) => {
    if (!changed.chosen || !store.chosen || store.chosen.kind !== "finding" || !own.has(store.chosen.index))
      return;
    fill();
    node.open = true;
  });
  return node;
}

/* Those that can be trusted, then the others: closed. @param whole  their time @param room  how many may be open */
function group(store, title, of, whole, room) {
  const {model} = store, sure = of.filter((f) => f.confidence >= FOLDED), unsure = of.filter((f) => f.confidence < FOLDED);
  const shown = sure.slice(0, room), more = sure.slice(room);
  const cost = (list) => model.time.of(list.reduce((sum, f) => sum + f.explained_ns, 0));
  if (of.length === 0)
    return {shown: 0, nodes: []};
  return {
    shown: shown.length,
    nodes: [
      el("h3", null, `${title}: ${whole} ${model.time.unit}`), shown.length > 0 && ordered(store, shown),
      more.length > 0 && folded(store, `${count(more.length)} more: ${cost(more)}`, more),
      unsure.length > 0 &&
          folded(store, `${many(unsure.length, "finding")} below ${FOLDED} confidence: ${cost(unsure)}`, unsure)
    ]
  };
}

/* Findings that no part of the time shown has: they stand back. */
function lookAt(root, {model, time}) {
  for (const node of root.querySelectorAll(".finding[data-kind=finding]")) {
    const f = model.findings[Number(node.getAttribute("data-index"))];
    node.classList.toggle("away", !f.untimed && (f.start_ns > time.to || f.end_ns < time.from));
  }
}

function csv(model) {
  const keys =
      ["type", "root", "sentence", "evidence", "explained_ns", "regained_ns", "confidence", "start_ns", "end_ns", "score"];
  return [["finding", ...keys], ...model.findings.map((f) => [f.index + 1, ...keys.map((key) => f[key])])];
}

export function drawFindings(root, store) {
  const {model} = store, costly = model.findings.filter((f) => !f.without_effect && !f.untimed);
  const others = model.findings.filter((f) => f.without_effect && !f.untimed);
  if (costly.length + others.length === 0)
    return;
  store.tried = new Set(); /* lines of remedies */
  const [explained, alone] = lossOf(model, model.time.unitNs, 3);
  const first = group(store, "By the time that they cost", costly, explained, MOST);
  const second = group(
      store, "Seen as well; leaving any one of these out alone would regain nothing", others, alone, MOST - first.shown);
  const node = section(
      root, "findings", "Root causes", ...first.nodes.filter(Boolean), ...second.nodes.filter(Boolean),
      el("p", {class: "legend"}, unexplained(model),
         "No time is counted twice: costs and the unexplained time add up to the lost time. ",
         "Score: packet-waits caused to the collective\u2019s flows. Choose one, and what belongs to it lights up.",
         store.tried.size > 0 &&
             " Lines with --set are to be tried: rocelab blame DIR --with KEY=VALUE reports what one would regain."));
  save(node, {csv: () => csv(model)});
  store.on((changed) => changed.time && lookAt(node, store));
}
