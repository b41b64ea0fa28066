/* SPDX-License-Identifier: BSD-3-Clause */
/* The run's jobs by name: when they ran, what they lost, and what their critical paths are made of. */
import {el, section} from "./dom.js";
import {percent} from "./format.js";

const SHOWN = 4; /* parts of a job's critical paths */

function parts(job) {
  const all = job.collectives.filter((c) => c.share > 0).sort((a, b) => b.share - a.share);
  const shares = all.slice(0, SHOWN).map((c) => `${c.name} ${percent(c.share)}`);
  if (job.compute_share > 0)
    shares.unshift(`computation ${percent(job.compute_share)}`);
  if (all.length > SHOWN)
    shares.push(`${all.length - SHOWN} more ${percent(all.slice(SHOWN).reduce((sum, c) => sum + c.share, 0))}`);
  return shares.join(", ");
}

function row(model, job) {
  const t = model.time, end = job.end_ns === null ? model.evidence.end_ns : job.end_ns;
  const done = job.unfinished > 0 ? `${job.iterations - job.unfinished} of ${job.iterations}` : String(job.iterations);
  const first = model.collectives.findIndex((c) => c.job === job.job);
  return el(
      "tr", null, el("th", {scope: "row"}, job.name), el("td", {class: "number"}, done),
      el("td", {class: "number"}, t.bare(job.start_ns)), el("td", {class: "number"}, t.bare(end - job.start_ns)),
      el("td", {class: "number"}, t.bare(job.lost_ns)), el("td", null, first < 0 ? "" : parts(job)));
}

export function drawJobs(root, store) {
  const {model} = store, heads = ["job", "iterations", "start", "took", "lost", "on its critical paths"];
  if (model.jobs.length === 0 || model.generated)
    return;
  section(
      root, "jobs", "Jobs",
      el("div", {class: "scroll"},
         el("table", null,
            el("thead", null,
               el("tr", null,
                  ...heads.map((head, i) => el("th", {scope: "col", class: i > 0 && i < 5 ? "number" : false}, head)))),
            el("tbody", null, ...model.jobs.map((job) => row(model, job))))),
      el("p", {class: "legend"}, `Times in ${model.time.unit}. The lost times of jobs add up to the total.`));
}
