/* SPDX-License-Identifier: BSD-3-Clause */
/* What the diagnosis rests on, what it cost, and what is missing. */
import {el, phrases, section} from "./dom.js";
import {bytes, count, duration} from "./format.js";

function table(head, body) {
  return el(
      "div", {class: "scroll"},
      el("table", null,
         el("thead", null,
            el("tr", null,
               ...head.map((name, i) => el("th", {scope: "col", class: i > 0 && name ? "number" : false}, name)))),
         el("tbody", null,
            ...body.map(
                ([name, ...cells]) =>
                    el("tr", null, el("th", {scope: "row"}, name),
                       ...cells.map((cell, i) => el("td", {class: head[i + 1] || i === 0 ? "number" : false}, cell)))))));
}

const overhead = (o) => table(["overhead", "", ""], [
  ["records received", count(o.records), "of all kinds"],
  ["telemetry", bytes(o.row_bytes), "received from switches and NICs, as sent"],
  ["reported", bytes(o.telemetry_bytes), "by switches and NICs, before the budget"],
  ["collected", bytes(o.telemetry_bytes_collected), "reports not kept included"],
  ["sent by the exporter", bytes(o.report_bytes), ""],
  ["polling packets", count(o.polling_packets), bytes(o.polling_bytes)],
  ["notification packets", count(o.notification_packets), bytes(o.notification_bytes)],
  ["deferred by the budget", count(o.deferred), "records that arrived late"],
  ["dropped by the budget", count(o.dropped), "records"],
]);

export function drawEvidence(root, store) {
  const {network, evidence, overhead: o} = store.model;
  const arrived = evidence.missing || "Everything that was offered arrived.";
  const contention = evidence.contention === "exact" ?
      "Who waited behind whom was counted exactly: more than hardware reports." :
      "Who waited behind whom is estimated by replaying flow rows, as hardware reports them.";
  const clocks = evidence.clock_error_ns > 0 ?
      ` Hosts used their own clocks, which are known to within ${duration(evidence.clock_error_ns)}; ` +
          "between two hosts, to within twice that." :
      "";
  section(
      root, "evidence", "Evidence", el("p", null, ...phrases(network.reason)),
      el("p", null, `${arrived} ${contention}${clocks}`),
      el("div", {class: "columns"}, overhead(o),
         o.kinds.length > 0 &&
             table(["record", "received", "dropped"], o.kinds.map((k) => [k.kind, count(k.records), count(k.dropped)]))));
}
