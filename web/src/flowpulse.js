/* SPDX-License-Identifier: BSD-3-Clause */
/* Silent faults: links that lose packets, and predicted and seen volumes of every port of switches with an alarm. */
import {el, section} from "./dom.js";
import {percent} from "./format.js";

const MOST = 0.05; /* of what was predicted: the deepest color */

const linkName = (link) => `from ${link.from} to ${link.to}${link.port === null ? "" : ` (${link.port})`}`;

function faultItem(fault) {
  const [low, high] = fault.drop_rate_95.map((share) => percent(share, 2));
  const where = fault.links.map(linkName).join(", or the one ");
  return el(
      "li", null, el("strong", null, `The link ${where}`),
      ` loses ${percent(fault.drop_rate, 2)} of its packets (${low} to ${high} at 95 %), `,
      `first in iteration ${fault.first_iteration}, at last in ${fault.last_iteration}: ${fault.alarms} alarms of `,
      `${fault.switches} switches.`,
      fault.place === "pair" && " With one sender at the switch the two cannot be told apart.");
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
  const told = store.model.flowpulse;
  if (!told || told.faults.length + told.unmeasured.length === 0)
    return;
  section(
      root, "flowpulse", "Silent faults", el("p", {class: "legend"}, `${COUNTED} What they cost in time is not known.`),
      el("ol", null, ...told.faults.map(faultItem)),
      told.unmeasured.length > 0 &&
          el("p", {class: "legend"}, `${told.unmeasured.length} times volumes were not compared: verdict.json says why.`));
}

export function drawVolumes(root, store) {
  const told = store.model.flowpulse;
  if (!told || told.volumes.length === 0)
    return;
  const groups = grouped(told.volumes), widest = groups.reduce((a, b) => (b.ports.length > a.ports.length ? b : a));
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
