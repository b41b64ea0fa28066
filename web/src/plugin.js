/* SPDX-License-Identifier: BSD-3-Clause */
/* What programs from outside said: a list of each one's findings, and why it was left out. */
import {el, phrases, section} from "./dom.js";
import {many} from "./format.js";
import {stands} from "./store.js";

const FIRST = 12;

function item(model, said) {
  const f = model.findings[said.finding], t = model.time;
  return el(
      "li", null,
      stands(
          el("button", {type: "button", class: "finding"},
             el("span", {class: "said"}, el("span", {class: `badge ${f.family}`}, f.title), ` at ${f.root}`),
             el("span", {class: "evidence"}, ...phrases(said.evidence)),
             el("span", {class: "numbers"}, el("span", null, `${t.bare(f.start_ns)} to ${t.of(f.end_ns)}`),
                el("span", null, `told at ${t.of(said.reported_ns)}`),
                el("span", null, `confidence ${f.confidence.toFixed(2)}`))),
          "finding", said.finding));
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
  const {model} = store, told = program.findings;
  const list = el("ol", {class: "findings"}, ...told.slice(0, FIRST).map((said) => item(model, said)));
  const more = el("button", {type: "button", class: "more"}, `Show all ${told.length}`);
  more.addEventListener("click", () => {
    list.append(...told.slice(FIRST).map((said) => item(model, said)));
    store.mark(list);
    more.remove();
  });
  section(
      root, `outside-${index}`, `As ${program.name} says`, el("p", {class: "legend"}, ...phrases(dealings(model, program))),
      told.length > 0 && list, told.length > FIRST && more);
}

export function drawOutside(root, store) {
  (store.model.plugins || []).forEach((program, index) => drawProgram(root, store, program, index));
}
