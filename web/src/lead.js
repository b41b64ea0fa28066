/* SPDX-License-Identifier: BSD-3-Clause */
/* The first sentence of a run that FlowPulse, R-Pingmesh or FlowTracer watched: its own finding. Pure. */
import {many, percent, readable} from "./format.js";

const sentence = (text) => (/[.!]$/.test(text) ? text : `${text}.`);

function ofFlowpulse(model) {
  const fault = model.flowpulse && model.flowpulse.faults[0], at = fault ? fault.links : [];
  const root = at.map((link) => (link.port === null ? `${link.from} to ${link.to}` : link.port)).join(" or ");
  const finding = model.findings.findIndex((f) => f.untimed && f.root === root),
        more = fault ? model.flowpulse.faults.length - 1 : 0;
  return finding < 0 ? null : {
    system: "FlowPulse",
    text: `The link ${
        at.map((link) => `from ${link.from} to ${link.to}${link.port === null ? "" : ` (${link.port})`}`)
            .join(", or the one ")} loses ${percent(fault.drop_rate, 2)} of its packets silently.`,
    why: `By ${many(fault.alarms, "alarm")} of ${fault.switches} switch${fault.switches === 1 ? "" : "es"} in iterations ${
        fault.first_iteration} to ${fault.last_iteration}${
        more > 0 ? `; ${many(more, "further link")}` : ""}. What it costs in time is not known.`,
    finding,
  };
}

function ofPingmesh(model) {
  const problems = (model.pingmesh ? model.pingmesh.problems : []).filter((p) => p.finding !== null), first = problems[0];
  const rest = problems.length - 1;
  return !first ? null : {
    system: `R-Pingmesh ${first.priority}`,
    text: sentence(readable(model.findings[first.finding].sentence, model.time)),
    why: sentence(
        readable(model.findings[first.finding].evidence, model.time) +
        (rest > 0 ? `; ${many(rest, "further problem")}` : "")),
    finding: first.finding,
  };
}

function ofFlowtracer(model) {
  const tracer = model.flowtracer, all = tracer ? tracer.collisions : [], first = all[0];
  if (!first)
    return null;
  return {
    system: "FlowTracer",
    text: `Up to ${many(first.flows_at_once, "flow")} at once share ${first.port}, while ${first.other} of equal cost has ${
        first.flows_on_other > 0 ? first.flows_on_other : "none"}.`,
    why: `It costs ${model.time.of(first.cost_ns)}. Imbalance of links (FIM) ${tracer.fim_percent.toFixed(1)} %${
        tracer.fim_by_chance_percent === null ? "" : `, ${tracer.fim_by_chance_percent.toFixed(1)} % by chance`}${
        all.length > 1 ? `; flows share ${many(all.length - 1, "further link")}` : ""}.`,
    finding: model.findings.findIndex((f) => f.type === "path-imbalance" && f.root === first.port),
  };
}

/* @return {system, text, why, finding: -1: none of the verdict's}; null: none of them found anything */
export const leadOf = (model) => ofFlowpulse(model) || ofPingmesh(model) || ofFlowtracer(model);
