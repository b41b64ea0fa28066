/* SPDX-License-Identifier: BSD-3-Clause */
/* Below the timeline: polls at switches, and when the findings were seen. */
import {image, svg} from "./dom.js";
import {cut, many} from "./format.js";
import {stands} from "./store.js";
import {tip} from "./tip.js";

const ROW = 22, POLL_PX = 3, MOST = 10;

/* Polls closer than a mark's width share it. */
function pollMarks(polls, scale) {
  const marks = [], [left, right] = scale.range();
  for (const poll of polls) {
    const x = scale(poll.time), last = marks[marks.length - 1];
    if (x < left || x > right)
      continue;
    if (last && x - last.x < POLL_PX) {
      last.polls.push(poll);
      continue;
    }
    marks.push({x, polls: [poll]});
  }
  return marks;
}

function seenLabel(model, f, narrow) {
  if (narrow)
    return f.root;
  const flow = f.flows_at.length > 0 ? `${model.flows[f.flows_at[0]].short} at ` : "";
  return f.family === "pfc" ? `${f.title} ${f.root}` : `${flow}${f.root}`;
}

/* The first findings that have a time and can be trusted, and the chosen one. */
function shownFindings({model, chosen}) {
  const timed = model.findings.filter((f) => !f.untimed && f.confidence >= 0.3 && !f.without_effect).slice(0, MOST);
  const also = chosen && chosen.kind === "finding" ? model.findings[chosen.index] : null;
  return also && !also.untimed && !timed.includes(also) ? [...timed, also] : timed;
}

/* What the scenario injected: {name, from, to} of faults and background flows. */
export function injectedOf({scenario, model}) {
  const end = model.evidence.end_ns || 1, {faults = [], background_flows: flows = []} = scenario || {};
  return [
    ...faults.map(
        (f) =>
            ({name: `${f.kind} ${f.target}`, from: f.start_ns, to: f.duration_ns > 0 ? f.start_ns + f.duration_ns : end})),
    ...flows.map((f) => ({name: f.flow.replace(/\/.*/, ""), from: f.start_ns, to: f.start_ns, flow: true})),
  ].slice(0, MOST);
}

function injectedRow(model, fault, scale, y, label) {
  const [left, right] = scale.range(), x0 = Math.max(left, scale(fault.from)), x1 = Math.min(right, scale(fault.to));
  const bar = x0 <= right && x1 >= left &&
      svg("rect", {class: "truth", x: x0, y: y + 4, width: Math.max(fault.flow ? 4 : 2, x1 - x0), height: 11, rx: 2});
  return tip(
      svg("g", {class: "injected"}, label(fault.name, y), bar),
      () => `injected: ${fault.name}, from ${model.time.of(fault.from)}${
          fault.flow ? "" : ` to ${model.time.of(fault.to)}`}`);
}

/* The marks of all polls: two paths, and one shape under the pointer that says what is near it. */
function pollRow(model, scale, y, label, narrow) {
  const marks = pollMarks(model.polls, scale), [left, right] = scale.range();
  const isPaused = (mark) => mark.polls.some((p) => p.paused);
  const path = (name, list) => svg("path", {class: name, d: list.map(({x}) => `M${x.toFixed(1)} ${y}h2v15h-2z`).join("")});
  const hit = svg("rect", {class: "hit", x: left, y, width: right - left, height: 15});
  tip(hit, (event) => {
    const at = event ? event.clientX - hit.ownerSVGElement.getBoundingClientRect().left : -Infinity;
    const mark = marks.find(({x}) => x - POLL_PX / 2 <= at && at <= x + POLL_PX + 1);
    return mark ? `${model.time.of(mark.polls[0].time)}: ${many(mark.polls.length, "answer")} to polls, ${
                      mark.polls.filter((p) => p.paused).length} of them from paused ports` :
                  null;
  });
  return [
    label(narrow ? "polls" : "polls at switches", y), path("poll", marks.filter((mark) => !isPaused(mark))),
    path("pfc", marks.filter(isPaused)), hit
  ];
}

/* @param kept  (name, of, make): makes again what depends on other values than before */
export function drawSeen(box, store, scale, rows, width, kept) {
  const {model} = store, kids = [], narrow = rows.label < 100, [left, right] = scale.range();
  const label = (text, y) => svg("text", {class: "label", x: rows.label - 8, y: y + 13}, cut(text, narrow ? 8 : 19));
  const held = box.contains(document.activeElement) ? document.activeElement.getAttribute("data-index") : null;
  let y = 4;
  if (model.polls.length > 0) {
    const at = y;
    kids.push(...kept("polls", [...scale.domain(), left, right], () => pollRow(model, scale, at, label, narrow)));
    y += ROW;
  }
  for (const fault of store.truth ? injectedOf(store) : []) {
    kids.push(injectedRow(model, fault, scale, y, label));
    y += ROW;
  }
  for (const f of shownFindings(store)) {
    const x0 = Math.max(left, scale(f.start_ns)), x1 = Math.min(right, scale(f.end_ns));
    const shown = stands(
        svg("g", null, svg("rect", {class: "row", x: 0, y, width, height: ROW}), label(seenLabel(model, f, narrow), y)),
        "finding", f.index, f.sentence);
    if (x0 <= right && x1 >= left)
      shown.append(
          svg("rect", {class: `span ${f.family}`, x: x0, y: y + 5, width: Math.max(2, x1 - x0), height: 9, rx: 2}));
    kids.push(tip(shown, () => `${f.sentence}\n${f.evidence}`));
    y += ROW;
  }
  const hidden = kids.length === 0;
  if (box.hidden !== hidden)
    box.hidden = hidden;
  box.replaceChildren(image("", width, y + 4, "When polls and findings were seen", ...kids));
  store.mark(box);
  const first = held === null ? box.querySelector("[data-kind]") : box.querySelector(`[data-index="${Number(held)}"]`);
  if (first)
    first.setAttribute("tabindex", "0");
  if (first && held !== null)
    first.focus({preventScroll: true});
}
