/* SPDX-License-Identifier: BSD-3-Clause */
/* What programs from outside reported: a list of each one's findings, and why it was left out. */
import {el, phrases, section} from "./dom.js";
import {many} from "./format.js";
import {stands} from "./store.js";

const FIRST = 12;

function item(model, reported) {
  const f = model.findings[reported.finding], t = model.time;
  return el(
      "li", null,
      stands(
          el("button", {type: "button", class: "finding"},
             el("span", {class: "sentence"}, el("span", {class: `badge ${f.family}`}, f.title), ` at ${f.root}`),
             el("span", {class: "evidence"}, ...phrases(reported.evidence)),
             el("span", {class: "numbers"}, el("span", null, `${t.bare(f.start_ns)} to ${t.of(f.end_ns)}`),
                el("span", null, `found at ${t.of(reported.reported_ns)}`),
                el("span", null, `confidence ${f.confidence.toFixed(2)}`))),
          "finding", reported.finding));
}

function dealings(model, program) {
  const parts = [`${program.path}: ${many(program.turns, "turn")}, ${many(program.polls, "poll")} and ${
      many(program.probes, "probe")} asked for.`];
  if (program.findings.length === 0)
    parts.push("It found nothing.");
  if (program.refused > 0)
    parts.push(`Refused: ${program.refused}, the first a ${program.refused_why}.`);
  if (program.dropped_records + program.missed_turns > 0)
    parts.push(`It did not keep up: it lacks ${many(program.dropped_records, "record")} and ${
        many(program.missed_turns, "turn")}.`);
  if (program.left_out)
    parts.push(`Left out at ${model.time.of(program.left_ns)}: ${program.why}.`);
  return parts.join(" ");
}

function drawProgram(root, store, program, index) {
  const {model} = store, found = program.findings;
  const list = el("ol", {class: "findings"}, ...found.slice(0, FIRST).map((reported) => item(model, reported)));
  const more = el("button", {type: "button", class: "more"}, `Show all ${found.length}`);
  more.addEventListener("click", () => {
    list.append(...found.slice(FIRST).map((reported) => item(model, reported)));
    store.mark(list);
    more.remove();
  });
  section(
      root, `plugin-${index}`, `Findings of ${program.name}`,
      el("p", {class: "legend"}, ...phrases(dealings(model, program))), found.length > 0 && list,
      found.length > FIRST && more);
}

export function drawOutside(root, store) {
  (store.model.plugins || []).forEach((program, index) => drawProgram(root, store, program, index));
}
