/* SPDX-License-Identifier: BSD-3-Clause */
/* Below the timeline: polls at switches, and when the findings were seen. */
import {image, svg} from "./dom.js";
import {cut, many} from "./format.js";
import {stands} from "./store.js";
import {tip} from "./tip.js";

const ROW = 22, POLL_PX = 3;

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

export function drawSeen(box, store, now, scale, rows, width) {
  const {model} = store, kids = [], narrow = rows.label < 100;
  const label = (text, y) => svg("text", {class: "label", x: rows.label - 8, y: y + 13}, cut(text, narrow ? 8 : 19));
  let y = 4;
  if (now.polls.length > 0) {
    kids.push(label(narrow ? "polls" : "polls at switches", y), ...pollMarks(now.polls, scale).map((mark) => {
      const paused = mark.polls.filter((p) => p.paused).length;
      return tip(
          svg("rect", {class: paused > 0 ? "pfc" : "poll", x: mark.x, y, width: 2, height: 15}),
          () => `${model.time.of(mark.polls[0].time)}: ${many(mark.polls.length, "answer")} to polls, ${
              paused} of them from paused ports`);
    }));
    y += ROW;
  }
  for (const f of now.findings) {
    const [left, right] = scale.range(), x0 = Math.max(left, scale(f.start_ns)), x1 = Math.min(right, scale(f.end_ns));
    const shown = stands(
        svg("g", null, svg("rect", {class: "row", x: 0, y, width, height: ROW}), label(seenLabel(model, f, narrow), y)),
        "finding", f.index, f.sentence);
    if (x0 <= right && x1 >= left)
      shown.append(
          svg("rect", {class: `span ${f.family}`, x: x0, y: y + 5, width: Math.max(2, x1 - x0), height: 9, rx: 2}));
    kids.push(tip(shown, () => `${f.sentence}\n${f.evidence}`));
    y += ROW;
  }
  box.replaceChildren(image("", width, y + 4, "When polls and findings were seen", ...kids));
  store.mark(box);
  const first = box.querySelector("[data-kind]");
  if (first)
    first.setAttribute("tabindex", "0");
}
