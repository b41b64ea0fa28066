/* SPDX-License-Identifier: BSD-3-Clause */
/* Root causes: what each explains, where and when it was seen. */
import {el, phrases, section} from "./dom.js";
import {percent, score} from "./format.js";
import {stands} from "./store.js";

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
         el("span", {class: "said"}, ...phrases(f.sentence)), el("span", {class: "evidence"}, ...phrases(f.evidence)),
         el("span", {class: "numbers"}, when(model, f), el("span", null, `${t.bare(f.start_ns)} to ${t.of(f.end_ns)}`),
            el("span", null,
               !f.without_effect ? `cost ${f.cost}` :
                   f.everywhere_ns > 0 ? `alone it would regain nothing; ${t.of(f.everywhere_ns)} of its steps' time` :
                                         "alone it would regain nothing"),
            el("span", null, `confidence ${f.confidence.toFixed(2)}`), el("span", null, `score ${score(f.score)}`)),
         f.parts !== "" && el("span", {class: "parts"}, ...phrases(f.parts)));
  return el("li", null, stands(button, "finding", f.index));
}

/* What nobody explains of the time that the critical paths lost. */
function unexplained(model) {
  const {lost_ns: lost, unexplained_ns: left} = model.network, t = model.time;
  return lost > 0 ? `Of the ${t.of(lost)} lost, ${t.of(left)} (${percent(left / lost, 1)}) is unexplained. ` : "";
}

export function drawFindings(root, store) {
  const {model} = store, costly = model.findings.filter((f) => !f.without_effect && !f.untimed);
  const others = model.findings.filter((f) => f.without_effect && !f.untimed);
  const list = (title, of) => of.length > 0 &&
      [el("h3", null, title), el("ol", {class: "findings", start: of[0].index + 1}, ...of.map((f) => finding(model, f)))];
  if (costly.length + others.length === 0)
    return;
  section(
      root, "findings", "Root causes", ...(list("By the time that they cost", costly) || []),
      ...(list("Seen as well; leaving any one of these out alone would regain nothing", others) || []),
      el("p", {class: "legend"}, unexplained(model),
         "No time is counted twice: costs and what is unexplained add up to what was lost. ",
         "Score: packet-waits caused to the collective\u2019s flows. Choose one, and what belongs to it lights up below."));
}
