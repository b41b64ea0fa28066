/* SPDX-License-Identifier: BSD-3-Clause */
/* What each job did to each: the lost time of every job by the owner of what caused it. Rows and columns add up. */
import {el, section} from "./dom.js";
import {addUp} from "./format.js";
import {save} from "./save.js";
import {stands} from "./store.js";

/* Owners of causes that are no job's flows; they follow the jobs. */
export const OTHERS = {
  flows: "flows of no job",
  places: "links, switches and hosts",
  little: "late by too little to be named",
  unexplained: "unexplained",
};

/*
 * Pure. @return {rows: [{name, job}], columns: jobs, cells: [row][column] {ns, finding}}: finding: the strongest of the
 * cell's, -1: none
 */
export function betweenOf(model) {
  const columns = model.jobs.filter((job) => model.collectives.some((c) => c.job === job.job));
  const rows = [
    ...columns.map((job) => ({name: job.name, job: job.job})), ...Object.entries(OTHERS).map(([key, name]) => ({name, key}))
  ];
  const cells = rows.map(() => columns.map(() => ({ns: 0, finding: -1, most: 0})));
  const rowOf = (key) => rows.findIndex((row) => row.key === key), column = new Map(columns.map((job, i) => [job.job, i]));
  const rowOfFlow = (flow) =>
      (model.jobOfFlow(flow) < 0 ? rowOf("flows") : rows.findIndex((row) => row.job === model.jobOfFlow(flow)));
  const add = (row, job, ns, finding) => {
    const cell = column.has(job) ? cells[row][column.get(job)] : null;
    if (!cell || !(ns > 0))
      return;
    cell.ns += ns;
    if (ns > cell.most && finding >= 0)
      Object.assign(cell, {most: ns, finding});
  };
  for (const f of model.findings) {
    for (const part of f.iterations || []) {
      let left = part.explained_ns;
      (part.flows_explained_ns || []).forEach((ns, i) => {
        add(rowOfFlow(f.flows_at[i]), part.job, ns, f.index);
        left -= ns;
      });
      add(rowOf("places"), part.job, left, f.index);
    }
  }
  columns.forEach((job, i) => {
    const unexplained = model.collectives.filter((c) => c.job === job.job).reduce((sum, c) => sum + c.unexplained_ns, 0);
    cells[rowOf("unexplained")][i].ns = unexplained;
    const rest = job.lost_ns - cells.reduce((sum, row) => sum + row[i].ns, 0);
    cells[rowOf("little")][i].ns = Math.max(0, rest);
  });
  return {rows, columns, cells};
}

function cellOf(row, column, cell, text, most) {
  const td = el("td", {class: "number"});
  if (cell.ns > 0) {
    td.style.background = `color-mix(in srgb, var(--heat) ${Math.round(45 * cell.ns / most)}%, transparent)`;
    td.append(
        cell.finding < 0 ?
            text :
            stands(
                el("button", {type: "button", class: "plain", title: `what ${row.name} did to ${column.name}`}, text),
                "finding", cell.finding));
  }
  return td;
}

export function drawBetween(root, store) {
  const {model} = store, t = model.time;
  if (model.generated || model.jobs.length === 0 || !(model.network.lost_ns > 0))
    return;
  const {rows, columns, cells} = betweenOf(model),
                        lost = columns.map((job, i) => cells.reduce((sum, row) => sum + row[i].ns, 0));
  const most = Math.max(1, ...cells.flat().map((cell) => cell.ns));
  const shown = rows.map((row, r) => r).filter((r) => cells[r].some((cell) => cell.ns > 0.0005 * t.unitNs));
  if (shown.length === 0)
    return;
  const texts = columns.map((job, i) => addUp(shown.map((r) => cells[r][i].ns / t.unitNs), lost[i] / t.unitNs, 3));
  const node = section(
      root, "between", columns.length > 1 ? "What job did what to which" : "What did what to the job",
      el("div", {class: "scroll"},
         el("table", {class: "between"},
            el("thead", null,
               el("tr", null, el("th", {scope: "col"}, "caused by \u2193 lost by \u2192"),
                  ...columns.map((job) => el("th", {scope: "col", class: "number"}, job.name)))),
            el("tbody", null,
               ...shown.map(
                   (r, at) =>
                       el("tr", null,
                          el("th", {scope: "row"}, rows[r].job === undefined ? rows[r].name : `flows of ${rows[r].name}`),
                          ...columns.map((job, i) => cellOf(rows[r], job, cells[r][i], texts[i][at], most)))),
               el("tr", {class: "sum"}, el("th", {scope: "row"}, "lost"),
                  ...columns.map((job, i) => el("td", {class: "number"}, (lost[i] / t.unitNs).toFixed(3))))))),
      el("p", {class: "legend"},
         `Times in ${t.unit}; columns add up. A job\u2019s own flows stand in its own row. Choose a number: its `,
         "strongest finding lights up."));
  save(node);
  store.on((changed) => changed.chosen && store.mark(node));
}
