/* SPDX-License-Identifier: BSD-3-Clause */
/* All collectives of the run, a bar each: how long against what was expected. Choosing one shows its steps below. */
import {colorsNow, whenColorsChange} from "./colors.js";
import {el, fit, perFrame, section, whenSized} from "./dom.js";
import {change} from "./format.js";
import {largest, level} from "./model.js";
import {save} from "./save.js";
import {tip} from "./tip.js";

const HEIGHT = 64, MOST_PITCH = 44, MOST = 3; /* of what was expected: bars end there */

const excess = (c) => (c.expect_ns > 0 ? c.took_ns / c.expect_ns - 1 : 0);
const colorOf = (c) => `x${level({open: !c.complete, excess: excess(c)})}`;

function title(model, index) {
  const c = model.collectives[index];
  return `${c.algorithm_title} ${c.op_title}, ${c.name}, iteration ${c.iteration}: ${model.time.of(c.took_ns)} ` +
      `(${c.complete ? change(excess(c)) : "unfinished"})`;
}

/* Bars narrower than a pixel share it: the worst is seen, and chosen. */
function barsOf(model, width) {
  const n = model.collectives.length, shown = Math.min(n, Math.floor(width));
  const worse = (a, b) => (a.complete === b.complete ? excess(a) > excess(b) : !a.complete);
  return Array.from({length: shown}, (_, i) => {
    const first = Math.floor(i * n / shown), last = Math.max(first, Math.floor((i + 1) * n / shown) - 1);
    let worst = first;
    for (let at = first + 1; at <= last; at++)
      worst = worse(model.collectives[at], model.collectives[worst]) ? at : worst;
    return {first, last, worst};
  });
}

/* @param g  a canvas's context, or what records one */
function paint(g, store, bars, pitch) {
  const {model} = store, colors = colorsNow(), most = Math.min(MOST, largest(model.collectives, (c) => 1 + excess(c), 1.2));
  const y = (share) => HEIGHT - 4 - (HEIGHT - 10) * Math.min(1, share / most), gap = pitch > 4 ? 1.5 : 0;
  bars.forEach(({first, last, worst}, i) => {
    const c = model.collectives[worst];
    g.fillStyle = colors[colorOf(c)];
    g.fillRect(i * pitch, y(1 + excess(c)), pitch - gap, HEIGHT - 4 - y(1 + excess(c)));
    g.fillStyle = colors.ink;
    if (first <= store.collective && store.collective <= last)
      g.fillRect(i * pitch, HEIGHT - 3, Math.max(3, pitch - gap), 3);
  });
  g.fillStyle = colors.soft;
  g.fillRect(0, Math.round(y(1)), bars.length * pitch, 0.5);
}

/* Which is shown, by number and one by one. @return {line, fill()} */
function tools(store) {
  const {model} = store, n = model.collectives.length, show = (index) => store.show(Math.max(0, Math.min(n - 1, index)));
  const name = el("span", {class: "note", "aria-live": "polite"});
  const which = el("input", {type: "number", min: 1, max: n, "aria-label": `Collective shown, 1 to ${n}`});
  const button = (text, label, index) => {
    const node = el("button", {type: "button", "aria-label": label, title: label}, text);
    node.addEventListener("click", () => show(index()));
    return node;
  };
  which.addEventListener("change", () => show(Number(which.value) - 1 || 0));
  return {
    line:
        el("p", {class: "tools"}, name, button("\u2039", "Previous", () => store.collective - 1), which,
           el("span", null, ` of ${n} `), button("\u203a", "Next", () => store.collective + 1),
           button("slowest", "The slowest", () => Math.max(0, model.run.worst))),
    fill() {
      which.value = store.collective + 1;
      name.textContent = title(model, store.collective);
    },
  };
}

function csv(model) {
  const keys = [
    "job", "collective", "iteration", "name", "op", "algorithm", "bytes", "start_ns", "took_ns", "expect_ns", "ideal_ns",
    "lost_ns", "algbw", "busbw"
  ];
  return [[...keys, "complete"], ...model.collectives.map((c) => [...keys.map((key) => c[key]), c.complete ? 1 : 0])];
}

export function drawIterations(root, store) {
  const {model} = store;
  if (model.collectives.length < 2)
    return;
  const canvas = el("canvas", {height: HEIGHT, "aria-hidden": "true"}), strip = el("div", {class: "iterations"}, canvas);
  const {line, fill} = tools(store);
  let bars = [], pitch = 1, width = 0;
  const redraw = perFrame(() => {
    const g = fit(canvas, width, HEIGHT);
    fill();
    g.clearRect(0, 0, width, HEIGHT);
    paint(g, store, bars, pitch);
  });
  const at = (event) => bars[Math.floor((event.clientX - strip.getBoundingClientRect().left) / pitch)];
  const part = section(
      root, "iterations", "Collectives", line, strip,
      el("p", {class: "legend"},
         "A bar is one collective; its height is its time, relative to the expected time (the line)."));
  save(part, {
    csv: () => csv(model),
    pictures: () => [{width, height: HEIGHT, paint: (g) => paint(g, store, bars, pitch)}],
  });
  strip.addEventListener("click", (event) => at(event) && store.show(at(event).worst));
  tip(strip, (event) => (event && at(event) ? title(model, at(event).worst) : null));
  whenSized(strip, (now) => {
    width = now;
    bars = barsOf(model, width);
    pitch = Math.min(MOST_PITCH, width / bars.length);
    redraw();
  });
  whenColorsChange(redraw);
  store.on((changed) => changed.collective && redraw());
}
