/* SPDX-License-Identifier: BSD-3-Clause */
/* What the scenario injected, behind a toggle: the truth, which no diagnosis saw. */
import {el, section} from "./dom.js";
import {bytes} from "./format.js";

/* "rate 0.02, known": what of a fault is neither its kind, place nor time. */
function more(model, fault) {
  const listed = new Set(["kind", "target", "start_ns", "duration_ns", "period_ns", "acted"]);
  const others =
      Object.entries(fault).filter(([key, value]) => !listed.has(key) && value !== null && typeof value !== "object");
  const words = others.map(
      ([key, value]) =>
          (value === true ?
               key :
               `${key.replace(/_ns$/, "").replaceAll("_", " ")} ${key.endsWith("_ns") ? model.time.of(value) : value}`));
  return [...words, fault.acted === false && "never acted"].filter(Boolean).join(", ");
}

function span(model, fault) {
  const t = model.time, until = fault.duration_ns > 0 ? ` for ${t.of(fault.duration_ns)}` : " on";
  return `from ${t.of(fault.start_ns)}${until}${fault.period_ns > 0 ? `, every ${t.of(fault.period_ns)}` : ""}`;
}

function table(heads, rows) {
  return el(
      "div", {class: "scroll"},
      el("table", null, el("thead", null, el("tr", null, ...heads.map((head) => el("th", {scope: "col"}, head)))),
         el("tbody", null,
            ...rows.map(
                ([name, ...cells]) =>
                    el("tr", null, el("th", {scope: "row"}, name), ...cells.map((cell) => el("td", null, cell)))))));
}

export function drawInjected(root, store) {
  const {model, scenario} = store;
  if (!scenario || !scenario.faults)
    return;
  const {faults, background_flows: flows} = scenario;
  const nothing = faults.length + flows.length === 0;
  const node = section(
      root, "injected", "Injected faults",
      el("details", null, el("summary", null, "Show the truth: what the scenario did to this run"),
         el("p", {class: "legend"},
            "From the scenario (truth.json), put here after the verdict was written. No diagnosis saw any of it."),
         nothing && el("p", null, "Nothing: no faults, and no background flows."),
         faults.length > 0 &&
             table(["fault", "at", "when", "how"], faults.map((f) => [f.kind, f.target, span(model, f), more(model, f)])),
         flows.length > 0 &&
             table(
                 ["background flow", "bytes", "start", ""],
                 flows.map(
                     (f) => [f.flow, bytes(f.bytes), model.time.of(f.start_ns), f.repeat ? "again and again" : ""]))));
  const shown = node.querySelector("details");
  shown.addEventListener("toggle", () => shown.open !== store.truth && store.reveal(shown.open));
  store.on((changed) => changed.truth && (shown.open = store.truth));
}
