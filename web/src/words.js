/* SPDX-License-Identifier: BSD-3-Clause */
/* What tips and the inspector say of steps, ports, flows: the data's own numbers in words. */
import {bytes, change, count, many, rate, score} from "./format.js";
import {stepName} from "./model.js";

export function stepChange(step) {
  if (!step.open)
    return change(step.excess);
  return step.excess > 0 ? `${change(step.excess)} so far` : "open";
}

export function stepLines(model, step) {
  const t = model.time, lines = [];
  if (!step.started)
    return ["not started"];
  lines.push(`${t.of(step.start)} to ${t.of(step.end)}${step.open ? ", still open" : ""}`);
  lines.push(`took ${t.of(step.took)}, expected ${t.of(step.expect)} (${stepChange(step)})`);
  if (step.waitedFor >= 0)
    lines.push(`waited for ${stepName(model, model.step(step.waitedFor))}`);
  if (step.late_ns > 0)
    lines.push(`started ${t.of(step.late_ns)} later than all it depends on`);
  if (step.long_ns > 0)
    lines.push(`computed ${t.of(step.long_ns)} longer than configured`);
  const detections = model.detectionsOfStep.get(step.index).length;
  if (detections > 0 || step.retransmits > 0)
    lines.push(`${many(detections, "detection")}, ${many(step.retransmits || 0, "packet")} sent again`);
  if (step.completeness < 1)
    lines.push(`${(100 * step.completeness).toFixed(1)} % of its telemetry arrived`);
  for (const f of model.findingsOfStep.get(step.index))
    lines.push(`${model.findings[f].title} ${model.findings[f].root}`);
  return lines;
}

export const stepTip =
    (model, step) => [`${stepName(model, step)}${step.critical ? ", on the critical path" : ""}`, ...stepLines(model, step)]
                         .join("\n");

export function portLines(model, port) {
  const p = model.ports[port], r = p.reported, lines = [];
  if (!r)
    return ["no telemetry arrived from it"];
  lines.push(`reported: ${bytes(r.bytes)} in ${many(r.packets, "packet")}`, `deepest queue ${many(r.depth_max, "packet")}`);
  lines.push(
      `paused ${model.time.of(r.pause_ns)}; PAUSE ${count(r.pauses_received)} received, ${count(r.pauses_sent)} sent`);
  if (r.drops > 0)
    lines.push(`dropped ${many(r.drops, "packet")}`);
  return lines;
}

export function portName(model, port) {
  const p = model.ports[port];
  return p.peer_port < 0 ? p.name : `${p.name} to ${model.ports[p.peer_port].name}`;
}

export const portTip =
    (model,
     port) => [`${portName(model, port)}, ${rate(model.ports[port].rate_bps)}`, ...portLines(model, port)].join("\n");

/* Of contributors: what a run of flows has where others have a collective. */
const OF_FLOWS = {
  flows: "all flows",
  slowed: "slow flows",
  victim: "flow"
};
const OF_COLLECTIVE = {
  flows: "flows that are not of the collective",
  slowed: "steps of the critical path",
  victim: "step",
};
export const contributorWords = (model) => model.generated ? OF_FLOWS : OF_COLLECTIVE;

export function flowLines(model, flow) {
  const f = model.flows[flow], contributor = model.contributors.find((c) => c.flow_at === flow), lines = [];
  if (!model.generated)
    lines.push(f.collective ? "of the collective" : "not of the collective");
  if (f.path.length > 0)
    lines.push(`by ${f.path.map((port) => model.ports[port].name).join(", ")}`);
  if (contributor)
    lines.push(`score ${score(contributor.score)} of what others did to ${contributorWords(model).slowed}`);
  return lines;
}

export const flowTip = (model, flow) => [model.flows[flow].name, ...flowLines(model, flow)].join("\n");
