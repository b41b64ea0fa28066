/* SPDX-License-Identifier: BSD-3-Clause */
/* Silent faults: links that lose packets, and predicted and seen volumes of every port of switches with an alarm. */
import {el, section, svg} from "./dom.js";
import {many, percent} from "./format.js";
import {stands} from "./store.js";
import {tip} from "./tip.js";

const MOST = 0.05; /* of what was predicted: the deepest color */

const linkName = (link) => `from ${link.from} to ${link.to}${link.port === null ? "" : ` (${link.port})`}`;

/* Its finding has the same links for a root. */
function findingOf(model, fault) {
  const root = fault.links.map((link) => (link.port === null ? `${link.from} to ${link.to}` : link.port)).join(" or ");
  return model.findings.find((f) => f.untimed && f.root === root);
}

function faultItem(model, fault) {
  const [low, high] = fault.drop_rate_95.map((share) => percent(share, 2));
  const where = fault.links.map(linkName).join(", or the one "), finding = findingOf(model, fault);
  const content = [
    el("strong", null, `The link ${where}`),
    ` loses ${percent(fault.drop_rate, 2)} of its packets (${low} to ${high} at 95 %), `,
    `first in iteration ${fault.first_iteration}, at last in ${fault.last_iteration}: ${many(fault.alarms, "alarm")} of `,
    `${fault.switches} switch${fault.switches === 1 ? "" : "es"}.`,
    fault.place === "pair" && " With one sender at the switch the two cannot be distinguished.",
    fault.links.some((link) => link.known) && " Operators knew of a fault there before the run."
  ];
  return el(
      "li", null,
      finding ? stands(el("button", {type: "button", class: "finding"}, ...content), "finding", finding.index) :
                el("span", null, ...content));
}

/* Ports that send into links which lost packets silently, each with its fault: {port, finding, fault, sure}. */
export function silentPorts(model) {
  const faults = model.flowpulse ? model.flowpulse.faults : [], at = new Map(model.ports.map((p, i) => [p.name, i]));
  return faults.flatMap((fault) => fault.links.filter((link) => at.has(link.port)).map((link) => ({
                                                                                         port: at.get(link.port),
                                                                                         finding: findingOf(model, fault),
                                                                                         fault,
                                                                                         sure: fault.links.length === 1,
                                                                                       })));
}

/* A cross where packets are lost; with a question mark, at one of several places. */
export function silentMark(model, silent, [x, y], left) {
  const name = model.ports[silent.port].name, r = 5;
  const says = `${name}: the link${silent.sure ? "" : ", or another,"} loses ${
      percent(silent.fault.drop_rate, 2)} of its packets silently`;
  const shape =
      svg("g", {class: silent.sure ? "silent" : "silent unsure"}, svg("circle", {cx: x, cy: y, r: r + 3}),
          svg("path", {d: `M${x - r} ${y - r}L${x + r} ${y + r}M${x - r} ${y + r}L${x + r} ${y - r}`}),
          svg("text", {x: x + (left ? -13 : 13), y: y + 4, "text-anchor": left ? "end" : "start"},
              silent.sure ? `silent ${name}` : `${name}?`));
  return tip(silent.finding ? stands(shape, "finding", silent.finding.index, says) : shape, () => says);
}

/* What switches could not compare: {by name of the switch: {by reason: times}}. */
export function unmeasuredOf(model) {
  const found = new Map();
  for (const flaw of model.flowpulse ? model.flowpulse.unmeasured : []) {
    const of = found.get(flaw.switch) || new Map();
    of.set(flaw.why, (of.get(flaw.why) || 0) + 1);
    found.set(flaw.switch, of);
  }
  return found;
}

export const unmeasuredText = (model, name, reasons) => [...reasons].map(
    ([why, times]) => `${name} did not compare volumes ${many(times, "time")}: ${model.flowpulse.reasons[why]}`);

/* Each reason once: how often, and at which switches. */
function notJudgedItems(notJudged) {
  return notJudged.map(
      (reason) =>
          el("li", null,
             el("strong", null,
                `${reason.nothing_lost ? "Nothing was lost at" : "Cannot judge"} ${reason.switches.join(", ")}`),
             `, because ${reason.because}: ${many(reason.count, reason.of)}${reason.nothing_lost ? "" : " not judged"}.`));
}

/* Switches and iterations with an alarm, each with its ports, in order of time. */
function grouped(volumes) {
  const groups = [];
  for (const v of volumes) {
    const name = v.port.slice(0, v.port.lastIndexOf(":")), last = groups[groups.length - 1];
    if (last && last.name === name && last.iteration === v.iteration && last.time === v.time_ns)
      last.ports.push(v);
    else
      groups.push({name, iteration: v.iteration, time: v.time_ns, ports: [v]});
  }
  return groups;
}

/* A cell is red for what is missing, and darker for more. */
function cell(v) {
  const change = v.predicted_bytes > 0 ? v.seen_bytes / v.predicted_bytes - 1 : 0;
  const td =
      el("td",
         {class: "number", title: `${v.port} from ${v.from}: ${v.seen_bytes} B seen of ${v.predicted_bytes} B predicted`},
         `${change < 0 ? "" : "+"}${percent(change, 2)}${v.alarm ? " !" : ""}`);
  const heat = Math.round(100 * Math.min(1, Math.abs(change) / MOST));
  td.style.background = `color-mix(in srgb, var(${change < 0 ? "--bad" : "--other"}) ${heat}%, transparent)`;
  return td;
}

const COUNTED = "By volumes of a measured collective at ingress ports from the tier above (FlowPulse).";

export function drawFlowpulse(root, store) {
  const flowpulse = store.model.flowpulse;
  if (!flowpulse || flowpulse.faults.length + flowpulse.not_judged.length === 0)
    return;
  section(
      root, "flowpulse", "Silent faults", el("p", {class: "legend"}, `${COUNTED} What they cost in time is not known.`),
      flowpulse.faults.length > 0 &&
          el("ol", {class: "findings"}, ...flowpulse.faults.map((fault) => faultItem(store.model, fault))),
      flowpulse.not_judged.length > 0 && el("ul", {class: "unmeasured"}, ...notJudgedItems(flowpulse.not_judged)));
}

export function drawVolumes(root, store) {
  const flowpulse = store.model.flowpulse;
  if (!flowpulse || flowpulse.volumes.length === 0)
    return;
  const groups = grouped(flowpulse.volumes), widest = groups.reduce((a, b) => (b.ports.length > a.ports.length ? b : a));
  const row = (g) => el("tr", null, el("th", {scope: "row"}, `${g.name}, iteration ${g.iteration}`), ...g.ports.map(cell));
  section(
      root, "volumes", "Volumes", el("p", {class: "legend"}, `${COUNTED} Seen against predicted; ! is an alarm.`),
      el("div", {class: "scroll"},
         el("table", {class: "volumes"},
            el("thead", null,
               el("tr", null, el("th", {scope: "col"}, "switch"),
                  ...widest.ports.map((port) => el("th", {scope: "col", class: "number"}, `from ${port.from}`)))),
            el("tbody", null, ...groups.map(row)))));
}
