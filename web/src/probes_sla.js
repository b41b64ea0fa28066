/* SPDX-License-Identifier: BSD-3-Clause */
/* SLAs by probes: drawings by period of the cluster's network and of services', numbers of the whole run. */
import {scaleLinear, scaleLog} from "d3-scale";

import {el, image, key, section, svg} from "./dom.js";
import {count, percent} from "./format.js";
import {binsOf, CAUSES, clock, delay, NETWORKS, QUANTILES, stacked} from "./probes_data.js";
import {drawShaded} from "./shade.js";
import {tip} from "./tip.js";

const LABEL = 62, RIGHT = 8, PANEL = 76, TITLE = 24, LEAST_PX = 3, AXIS = 22;
const LEAST_RANGE = 2; /* of delays: noise is no mountain */
const TITLES = {
  cluster: "Cluster monitoring (ToR-mesh and inter-ToR probes)",
  service: "Service tracing (by the jobs\u2019 own 5-tuples)"
};

const shareText = (share) => percent(share, share > 0 && share < 0.001 ? 4 : 2);

/* ---- drawings ---- */

const ground = (y, x, title) =>
    [svg("text", {class: "panel", x: LABEL, y: y - 7}, title),
     svg("rect", {class: "plot", x: x.range()[0], y, width: x.range()[1] - x.range()[0], height: PANEL})];

const tick = (at, text) => svg("text", {class: "label", x: LABEL - 6, y: at + 4}, text);

/* Shares of probes without ACKs, stacked by what was blamed. */
function lossPanel(bins, x, y) {
  const most = Math.max(1e-6, ...bins.map((bin) => Math.max(0, ...stacked(bin).map(([, , to]) => to))));
  const scale = scaleLinear().domain([0, most]).range([y + PANEL, y + 8]), paths = new Map();
  for (const bin of bins) {
    const left = x(bin.start), right = Math.max(left + 1, x(bin.end) - 0.5);
    for (const [cause, from, to] of stacked(bin))
      paths.set(
          cause,
          `${paths.get(cause) || ""}M${left} ${scale(from)}H${right}V${Math.min(scale(from) - 0.8, scale(to))}H${left}Z`);
  }
  const none = paths.size === 0;
  return [
    ...ground(y, x, "probes without ACKs, by cause"), tick(y + PANEL - 4, "0"), !none && tick(y + 8, shareText(most)),
    none && svg("text", {class: "none", x: LABEL + 8, y: y + PANEL / 2 + 4}, "none"),
    ...[...paths].map(([cause, d]) => svg("path", {class: `lost ${cause}`, d}))
  ].filter(Boolean);
}

/* A step line over the periods that have a value. */
function stepLine(bins, x, y, of) {
  let d = "", open = false;
  for (const bin of bins) {
    const value = of(bin);
    if (value === null) {
      open = false;
      continue;
    }
    d += `${open ? "L" : "M"}${x(bin.start)} ${y(value)}H${x(bin.end)}`;
    open = true;
  }
  return d;
}

/* @param lines  [class, (bin) => ns or null] */
function delayPanel(bins, x, top, title, lines) {
  const values = bins.flatMap((bin) => lines.map(([, of]) => of(bin))).filter((ns) => ns !== null && ns > 0);
  if (values.length === 0)
    return [...ground(top, x, title), svg("text", {class: "none", x: LABEL + 8, y: top + PANEL / 2 + 4}, "none returned")];
  const low = Math.min(...values), high = Math.max(...values);
  const y = scaleLog().domain([low, Math.max(high, LEAST_RANGE * low)]).range([top + PANEL - 7, top + 7]);
  return [
    ...ground(top, x, title), tick(y(low), delay(low)), y(low) - y(high) > 14 && tick(y(high), delay(high)),
    ...lines.map(([name, of]) => svg("path", {class: `sla ${name}`, d: stepLine(bins, x, y, (bin) => of(bin) || null)}))
  ].filter(Boolean);
}

function axis(x, y, narrow) {
  return x.ticks(narrow ? 3 : 6)
      .map(
          (ns) =>
              svg("g", null, svg("path", {class: "grid", d: `M${x(ns)} ${TITLE}V${y - 4}`}),
                  svg("text", {class: "tick", x: Math.min(x(ns), x.range()[1] - 14), y: y + 12},
                      ns >= 1e9 ? `${ns / 1e9} s` : `${ns / 1e6} ms`)));
}

const all = (bin, name) => QUANTILES.map((q, i) => `${q.toUpperCase()} ${delay(bin[name][i])}`).join(", ");

function binTip(bin) {
  const lost = CAUSES.filter(([cause]) => bin.lost[cause] > 0).map(([cause, name]) => `${name}: ${count(bin.lost[cause])}`);
  return [
    `${clock(bin.start)} to ${clock(bin.end)}${bin.periods > 1 ? `, ${bin.periods} periods` : ""}${
        bin.complete ? "" : ", cut short by the end"}`,
    `${count(bin.probes)} probes; without ACKs, put down to ${lost.join(", ") || "nothing: none"}`,
    `network RTT ${all(bin, "network_rtt_ns")}`, `prober ${all(bin, "prober_delay_ns")}`,
    `responder ${all(bin, "responder_delay_ns")}`
  ].join("\n");
}

function drawing(pingmesh, network, width) {
  const bins = binsOf(pingmesh.periods, network, Math.floor((width - LABEL - RIGHT) / LEAST_PX));
  const x = scaleLinear().domain([0, bins[bins.length - 1].end]).range([LABEL, width - RIGHT]);
  const tops = [0, 1, 2].map((i) => TITLE + i * (PANEL + TITLE)), bottom = tops[2] + PANEL + 4;
  const hit = svg("rect", {class: "hit", x: LABEL, y: 0, width: width - LABEL - RIGHT, height: bottom});
  const shapes = image(
      "slas", width, bottom + AXIS, `${TITLES[network]}: lost probes, network RTT and processing delay by period`,
      ...axis(x, bottom, width < 420), ...lossPanel(bins, x, tops[0]),
      ...delayPanel(bins, x, tops[1], "network RTT", QUANTILES.map((q, i) => [q, (bin) => bin.network_rtt_ns[i]])),
      ...delayPanel(
          bins, x, tops[2], "processing delay, P99",
          [
            ["prober", (bin) => bin.prober_delay_ns[2]],
            ["responder", (bin) => bin.responder_delay_ns[2]],
          ]),
      hit);
  tip(hit, (event) => {
    const box = shapes.getBoundingClientRect(), ns = event ? x.invert((event.clientX - box.left) * width / box.width) : -1;
    const bin = bins.find((b) => b.start <= ns && ns < b.end);
    return bin ? binTip(bin) : null;
  });
  return {image: shapes, x, top: 0, height: bottom};
}

function chart(store, network) {
  const box = el("div", {class: "chart"});
  const figure = el("div", null, el("h3", null, TITLES[network]), box);
  return {
    figure,
    size: () => drawShaded(store, box, (width) => drawing(store.model.pingmesh, network, Math.max(240, width)))
  };
}

/* ---- numbers ---- */

const HEAD = [
  "", "probes", "RNIC loss", "switch loss", "other loss", "RTT P50", "P90", "P99", "P999", "prober P99", "responder P99"
];

function numbers(name, sla) {
  const total = sla["rpingmesh.probe_total"], lost = total - sla["rpingmesh.probe_success_total"];
  const share = (part) => (total > 0 ? shareText(part / total) : "-");
  const failed = sla["rpingmesh.probe_failed_total"], rtt = sla["rpingmesh.network_rtt_ns"];
  return [
    name, count(total), share(failed["rnic-problem"]), share(failed["switch-problem"]),
    share(lost - failed["rnic-problem"] - failed["switch-problem"]), ...QUANTILES.map((q) => delay(rtt[q])),
    delay(sla["rpingmesh.prober_delay_ns"].p99), delay(sla["rpingmesh.responder_delay_ns"].p99)
  ];
}

function table(rows) {
  const cell = (tag, scope) => (text, i) =>
      el(i === 0 ? "th" : tag, {class: i === 0 ? false : "number", scope: i === 0 ? "row" : scope}, text);
  return el(
      "div", {class: "scroll"},
      el("table", null, el("thead", null, el("tr", null, ...HEAD.map(cell("th", "col")))),
         el("tbody", null, ...rows.map((row) => el("tr", null, ...row.map(cell("td", false)))))));
}

const legend = (pingmesh, shown) =>
    el("p", {class: "legend"},
       ...CAUSES.filter(([cause]) => shown.some((n) => pingmesh[n]["rpingmesh.probe_failed_total"][cause] > 0))
           .map(([cause, name]) => key(`lost ${cause}`, name)),
       ...QUANTILES.map((q) => key(`line ${q}`, `RTT ${q.toUpperCase()}`)), key("line prober", "prober"),
       key("line responder", "responder"));

export function drawSlas(root, store) {
  const pingmesh = store.model.pingmesh;
  if (!pingmesh || pingmesh.periods.length === 0)
    return;
  const shown = NETWORKS.filter((n) => pingmesh[n]["rpingmesh.probe_total"] > 0),
        charts = shown.map((n) => chart(store, n));
  const jobs = pingmesh.services.length < 2 ? [] : pingmesh.services.map((s) => numbers(`job ${s.job}`, s.service));
  const servers = pingmesh.servers.map((server) => numbers(server.host, server.service));
  const factor =
      pingmesh.time_factor === 1 ? "" : ` All of the protocol\u2019s times are multiplied by ${pingmesh.time_factor}.`;
  const kernels =
      pingmesh.software_times ? " Kernels measured the RTTs, when they were scheduled: none is reported as high." : "";
  const spread = pingmesh.analysis.sprayed ? ` Switches choose a path for each packet: between ToRs, ${
                                                 pingmesh.analysis.inband ?
                                                     "a link is named if the evidence is significant, else its switch" :
                                                     "switches are named, and seldom links"}.` :
                                             "";
  section(
      root, "slas", "What probes measured",
      el("p", {class: "legend"}, `SLAs of periods of ${clock(pingmesh.period_ns)}.${factor}${kernels}${spread}`),
      el("div", {class: "columns"}, ...charts.map((c) => c.figure)), legend(pingmesh, shown),
      el("h3", null, "The whole run"), table([...shown.map((n) => numbers(n, pingmesh[n])), ...jobs]),
      servers.length > 0 &&
          el("details", null, el("summary", null, `Service tracing by server (${servers.length})`), table(servers)));
  charts.forEach((c) => c.size());
}
