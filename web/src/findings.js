/* SPDX-License-Identifier: BSD-3-Clause */
/* Root causes: what each explains, where and when it was seen. */
import {el, phrases, section} from "./dom.js";
import {score} from "./format.js";
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
               f.critical_ns > 0 ? `explains ${t.of(f.critical_ns)} of the critical path` :
                   f.explained_ns > 0 ? `explains ${t.of(f.explained_ns)}, none of it on the critical path` :
                                        "explains no time"),
            el("span", null, `score ${score(f.score)}`)));
  return el("li", null, stands(button, "finding", f.index));
}

export function drawFindings(root, store) {
  const {model} = store;
  if (model.findings.length === 0)
    return;
  section(
      root, "findings", "Root causes", el("ol", {class: "findings"}, ...model.findings.map((f) => finding(model, f))),
      el("p", {class: "legend"},
         "Ordered by the time that they explain on the critical path; several may explain the same time. ",
         "Score: packet-waits caused to the collective\u2019s flows. Choose one, and what belongs to it lights up below."));
}
