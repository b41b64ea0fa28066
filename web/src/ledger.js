/* SPDX-License-Identifier: BSD-3-Clause */
/* Where senders' time went, by entries of the sender's ledger: in the slowest step, and on its job's critical paths. */
import {el, section} from "./dom.js";
import {percent} from "./format.js";
import {stepName} from "./model.js";
import {stands} from "./store.js";

const all = (rows, key) => rows.reduce((sum, row) => sum + row[key], 0);

/* Each entry's times, and a last row of their sums: they are whole steps of the last decimal. Pure. */
export const withSums =
    (rows) => [...rows, {entry: "all", title: "", step_ns: all(rows, "step_ns"), paths_ns: all(rows, "paths_ns")}];

function rowOf(model, row, whole) {
  const t = model.time, bar = el("i"), share = whole.step_ns > 0 ? row.step_ns / whole.step_ns : 0;
  bar.style.width = `${100 * share}%`;
  return el(
      "tr", null, el("th", {scope: "row"}, row.entry), el("td", {class: "number"}, t.bare(row.step_ns)),
      el("td", {class: "bar"}, row !== whole && bar), el("td", {class: "number"}, t.bare(row.paths_ns)),
      el("td", {class: "number"}, percent(whole.paths_ns > 0 ? row.paths_ns / whole.paths_ns : 0, 1)),
      el("td", null, row.title));
}

function headOf(model, step) {
  const button = stands(el("button", {type: "button", class: "plain"}, stepName(model, step)), "step", step.index);
  const paths = model.generated ? "slow flows" : "critical paths";
  return el(
      "tr", null, el("th", {scope: "col"}, "entry"), el("th", {scope: "col", class: "number"}, button), el("th"),
      el("th", {scope: "col", class: "number"}, paths), el("th", {scope: "col", class: "number"}, "share"),
      el("th", {scope: "col"}, "meaning"));
}

export function drawLedger(root, store) {
  const {model} = store, {ledger} = model;
  if (!ledger)
    return;
  const rows = withSums(ledger.rows), whole = rows[rows.length - 1], step = model.step(ledger.step);
  const job =
      model.jobs.length > 1 ? ` of ${model.jobs.find((j) => j.job === model.collectives[step.collective].job).name}` : "";
  section(
      root, "ledger", "Where senders' time went",
      el("p", {class: "legend"},
         `The sender's ledger of the step that lost most, and of all steps on the critical paths${job}, in ${
             model.time.unit}. Entries add up.`),
      el("div", {class: "scroll"},
         el("table", {class: "ledger"}, el("thead", null, headOf(model, step)),
            el("tbody", null, ...rows.map((row) => rowOf(model, row, whole))))));
}
