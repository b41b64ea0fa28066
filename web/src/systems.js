/* SPDX-License-Identifier: BSD-3-Clause */
/* Systems side by side: what each found, at what cost, and when first, beside the injected faults. */
import {scaleLinear} from "d3-scale";

import {el, image, key, section, svg} from "./dom.js";
import {bytes, change, count, cut, duration, many} from "./format.js";
import {drawShaded} from "./shade.js";
import {stands} from "./store.js";
import {tip} from "./tip.js";

const LABEL = 176, RIGHT = 14, ROW = 22, TOP = 8, AXIS = 24, MARK = 4, FIRST = 12, LONGEST = 26;

const number = (text) => el("td", {class: "number"}, text);
const heads = (...names) =>
    el("thead", null, el("tr", null, ...names.map((n) => el("th", {scope: "col", class: n[1] ? "number" : false}, n[0]))));
const time = (store, ns) => (typeof ns === "number" ? store.model.time.of(ns) : "\u2013");

/* What it had the network carry. */
function ownPackets(own) {
  if (own.probes !== undefined)
    return many(own.probes, "probe");
  return own.packets !== undefined ? `${many(own.packets, "packet")}, ${bytes(own.bytes)}` : "none";
}

/* ---- a row each ---- */

function systemRow(store, s) {
  const name = el("th", {scope: "row"}, s.title);
  if (!s.report)
    return el("tr", null, name, el("td", {colspan: 7}, `${s.available ? "no verdict" : "cannot be had"}: ${s.why}`));
  return el(
      "tr", null, name, el("td", null, s.run === "." ? "shared" : "its own"), number(count(s.findings.length)),
      number(time(store, s.first_detected_ns)), el("td", null, s.word || "\u2013"), number(bytes(s.telemetry_bytes)),
      el("td", null, ownPackets(s.own_packets)), number(duration(s.diagnosis_cpu_ns)));
}

const systemTable = (store, systems) =>
    el("table", null,
       heads(
           ["System"], ["Run"], ["Findings", 1], ["First reported at", 1], ["Network"], ["Telemetry", 1],
           ["In the network"], ["CPU of diagnosis", 1]),
       el("tbody", null, ...systems.map((s) => systemRow(store, s))));

/* ---- when it was times ---- */

function faultRows(truth) {
  const faults = truth ? truth.faults : [], flows = truth ? truth.background_flows : [];
  return [
    ...faults.map(
        (f) =>
            ({name: `${f.kind} ${f.target}`, from: f.start_ns, to: f.duration_ns > 0 ? f.start_ns + f.duration_ns : null})),
    ...flows.slice(0, FIRST).map((f) => ({name: f.flow, from: f.start_ns, to: f.start_ns}))
  ];
}

function faultShapes(store, fault, y, x, end) {
  const to = fault.to === null ? end : fault.to, width = Math.max(3, x(to) - x(fault.from));
  return [
    svg("text", {class: "label", x: LABEL - 8, y: y + ROW / 2 + 4}, cut(fault.name, LONGEST)),
    tip(svg("rect", {class: "truth", x: x(fault.from), y: y + 6, width, height: ROW - 12}),
        () => `${fault.name}, from ${time(store, fault.from)}${fault.to === null ? " to the end" : ""}`)
  ];
}

function mark(store, system, finding, y, x) {
  const at = x(finding.detected_ns), middle = y + ROW / 2;
  const explained = finding.explained_ns > 0 ? `, explains ${time(store, finding.explained_ns)}` : "";
  return tip(
      svg("path", {
        class: "reported",
        d: `M${at} ${middle - MARK - 2}L${at + MARK} ${middle}L${at} ${middle + MARK + 2}L${at - MARK} ${middle}Z`
      }),
      () => `${system.title}: ${finding.type} at ${finding.root}, reported at ${time(store, finding.detected_ns)}${
          explained}`);
}

const systemShapes = (store, system, y, x) =>
    [svg("text", {class: "label", x: LABEL - 8, y: y + ROW / 2 + 4}, system.title),
     svg("path", {class: "grid", d: `M${x.range()[0]} ${y + ROW / 2}H${x.range()[1]}`}),
     ...system.findings.map((f) => mark(store, system, f, y, x))];

function whenDrawing(store, comparison, width) {
  const systems = comparison.systems.filter((s) => s.report), faults = faultRows(comparison.truth),
        rows = faults.length + systems.length;
  const jobs = (comparison.runs[0].jobs || []).map((job) => job.took_ns || 0),
        base = Math.max(...jobs, 0) || comparison.runs[0].virtual_ns || 1;
  const times = systems.flatMap((s) => s.findings.map((f) => f.detected_ns));
  const end = Math.max(base, ...times, ...faults.map((f) => f.to || f.from)), unit = store.model.time;
  const x = scaleLinear().domain([0, end]).range([LABEL, width - RIGHT]), height = TOP + rows * ROW + AXIS;
  const drawn = image(
      "systems", width, height, "Earliest time of each finding",
      ...x.ticks(Math.max(2, Math.floor(width / 150)))
          .flatMap(
              (t) =>
                  [svg("path", {class: "grid", d: `M${x(t)} ${TOP}V${TOP + rows * ROW}`}),
                   svg("text", {class: "tick", x: x(t), y: height - 8}, `${+ (t / unit.unitNs).toFixed(3)} ${unit.unit}`)]),
      ...faults.flatMap((f, i) => faultShapes(store, f, TOP + i * ROW, x, end)),
      ...systems.flatMap((s, i) => systemShapes(store, s, TOP + (faults.length + i) * ROW, x)));
  return {image: drawn, x, top: TOP, height: rows * ROW};
}

/* ---- findings, and what runs changed ---- */

/* One of the run that the page is of lights up what belongs to it. */
function findingName(store, system, finding) {
  const text = `${finding.type} ${finding.root}`;
  const own =
      system.run === "." ? store.model.findings.find((f) => f.type === finding.type && f.root === finding.root) : null;
  return own ? stands(el("button", {type: "button", class: "plain"}, text), "finding", store.model.findings.indexOf(own)) :
               text;
}

const findingRow = (store, system, finding, first) =>
    el("tr", null, el("th", {scope: "row"}, first ? system.title : ""), el("td", null, findingName(store, system, finding)),
       number(finding.explained_ns > 0 ? time(store, finding.explained_ns) : "\u2013"),
       number(time(store, finding.detected_ns)), number(finding.confidence.toFixed(2)));

function findingRows(store, system) {
  const rows = system.findings.slice(0, FIRST).map((f, i) => findingRow(store, system, f, i === 0)),
        left = system.findings.length - FIRST;
  if (rows.length === 0)
    return [el("tr", null, el("th", {scope: "row"}, system.title), el("td", {colspan: 4}, "none"))];
  if (left > 0)
    rows.push(el("tr", null, el("th"), el("td", {colspan: 4}, `and ${count(left)} more, in ${system.report}/report.html`)));
  return rows;
}

const findingTable = (store, systems) =>
    el("details", null, el("summary", null, "Findings of each"),
       el("div", {class: "scroll"},
          el("table", null, heads(["System"], ["Finding"], ["Explains", 1], ["Reported at", 1], ["Confidence", 1]),
             el("tbody", null, ...systems.filter((s) => s.report).flatMap((s) => findingRows(store, s))))));

function runRow(store, run) {
  const name = el("th", {scope: "row"}, run.systems.join(", ") || "none"), job = run.jobs && run.jobs[0],
        steps = run.sent_nothing ? null : run.steps;
  if (!run.made)
    return el("tr", null, name, el("td", {colspan: 5}, run.why || "no results"));
  return el(
      "tr", null, name, el("td", null, run.why || run.end_reason),
      number(run.quiet || run.more_bytes === undefined ? "\u2013" : bytes(run.more_bytes)),
      number(steps ? `${count(steps.changed)} of ${count(steps.steps)}` : "\u2013"),
      number(job ? time(store, job.took_ns) : "\u2013"),
      number(
          !run.quiet && !run.sent_nothing && job && job.quiet_ns > 0 && job.took_ns !== null ?
              change(job.took_ns / job.quiet_ns - 1) :
              "\u2013"));
}

const runTable = (store, runs) => el(
    "details", null, el("summary", null, "Runs, and what diagnosing changed"),
    el("div", {class: "scroll"},
       el("table", null,
          heads(["At work"], ["Ended"], ["Bytes more", 1], ["Steps changed", 1], ["First job", 1], ["Change", 1]),
          el("tbody", null, ...runs.map((run) => runRow(store, run))))),
    ...runs.filter((run) => run.sent_nothing)
        .map(
            (run) => el(
                "p", {class: "legend"},
                `${run.systems.join(", ")}: sent nothing into the network, so that it changes nothing by construction.`)));

/* @param comparison  comparison.json; null: the run is of no comparison */
export function drawSystems(root, store, comparison) {
  if (!comparison)
    return;
  const when = el("div", {class: "scroll"});
  section(
      root, "systems", "Systems side by side", el("div", {class: "scroll"}, systemTable(store, comparison.systems)),
      el("p", {class: "legend"}, key("truth", "injected: the truth, which no diagnoser sees"),
         key("reported", "a finding, at its earliest time")),
      when, findingTable(store, comparison.systems), runTable(store, comparison.runs));
  drawShaded(store, when, (width) => whenDrawing(store, comparison, Math.max(width, 560)));
}
