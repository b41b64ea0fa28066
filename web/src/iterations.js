/* SPDX-License-Identifier: BSD-3-Clause */
/* All collectives of the run, a bar each: how long against what was expected. Choosing one shows its steps below. */
import {colorsNow, whenColorsChange} from "./colors.js";
import {el, perFrame, section, whenSized} from "./dom.js";
import {change} from "./format.js";
import {level} from "./model.js";
import {tip} from "./tip.js";

const HEIGHT = 64, MOST = 3; /* of what was expected: bars end there */

const excess = (c) => (c.expect_ns > 0 ? c.took_ns / c.expect_ns - 1 : 0);
const colorOf = (c) => `x${level({open: !c.complete, excess: excess(c)})}`;

function title(model, index) {
  const c = model.collectives[index];
  return `${c.algorithm_title} ${c.op_title}, collective ${c.id}, iteration ${c.iteration}: ${model.time.of(c.took_ns)} ` +
      `(${c.complete ? change(excess(c)) : "unfinished"})`;
}

/* Bars narrower than a pixel share it: the worst is seen, and chosen. */
function worstOf(model, first, last) {
  let worst = first;
  for (let i = first + 1; i <= last; i++) {
    const a = model.collectives[i], b = model.collectives[worst];
    if ((b.complete && !a.complete) || (a.complete === b.complete && excess(a) > excess(b)))
      worst = i;
  }
  return worst;
}

function draw(canvas, store, hosts) {
  const {model} = store, colors = colorsNow(), n = model.collectives.length, width = canvas.parentNode.clientWidth;
  const g = canvas.getContext("2d"), ratio = devicePixelRatio || 1, pitch = width / n, columns = Math.min(n, width);
  const most = Math.min(MOST, Math.max(1.2, ...hosts.map((c) => 1 + excess(c))));
  const y = (share) => HEIGHT - 4 - (HEIGHT - 10) * Math.min(1, share / most);
  canvas.width = Math.round(width * ratio);
  canvas.height = HEIGHT * ratio;
  canvas.style.width = `${width}px`;
  g.setTransform(ratio, 0, 0, ratio, 0, 0);
  for (let i = 0; i < columns; i++) {
    const first = Math.floor(i * n / columns),
          index = worstOf(model, first, Math.max(first, Math.floor((i + 1) * n / columns) - 1));
    const c = model.collectives[index], x = i * width / columns,
          w = Math.max(1, Math.min(40, width / columns - (pitch > 4 ? 1.5 : 0)));
    g.fillStyle = colors[colorOf(c)];
    g.fillRect(x, y(1 + excess(c)), w, HEIGHT - 4 - y(1 + excess(c)));
    if (index === store.collective) {
      g.fillStyle = colors.ink;
      g.fillRect(x, HEIGHT - 3, Math.max(3, w), 3);
    }
  }
  g.fillStyle = colors.soft;
  g.fillRect(0, Math.round(y(1)), width, 0.5);
}

export function drawIterations(root, store) {
  const {model} = store, n = model.collectives.length;
  if (n < 2)
    return;
  const canvas = el("canvas", {height: HEIGHT, "aria-hidden": "true"}), strip = el("div", {class: "iterations"}, canvas);
  const name = el("span", {class: "note", "aria-live": "polite"});
  const which = el("input", {type: "number", min: 1, max: n, "aria-label": `Collective shown, 1 to ${n}`});
  const show = (index) => store.show(Math.max(0, Math.min(n - 1, index)));
  const button = (text, label, by) => {
    const node = el("button", {type: "button", "aria-label": label, title: label}, text);
    node.addEventListener("click", () => show(by()));
    return node;
  };
  const worst = () => Math.max(0, model.run.worst);
  const fill = () => {
    which.value = store.collective + 1;
    name.textContent = title(model, store.collective);
    draw(canvas, store, model.collectives);
  };
  const redraw = perFrame(fill);
  const at = (event) => {
    const columns = Math.min(n, strip.clientWidth),
          i = Math.floor(columns * (event.clientX - strip.getBoundingClientRect().left) / strip.clientWidth);
    const first = Math.floor(i * n / columns);
    return i >= 0 && i < columns ? worstOf(model, first, Math.max(first, Math.floor((i + 1) * n / columns) - 1)) : -1;
  };
  section(
      root, "iterations", "Collectives",
      el("p", {class: "tools"}, name, button("\u2039", "Previous", () => store.collective - 1), which,
         el("span", null, ` of ${n} `), button("\u203a", "Next", () => store.collective + 1),
         button("slowest", "The slowest", worst)),
      strip,
      el("p", {class: "legend"}, "A bar is one collective, as high as it took against what was expected (the line)."));
  which.addEventListener("change", () => show(Number(which.value) - 1 || 0));
  strip.addEventListener("click", (event) => at(event) >= 0 && show(at(event)));
  tip(strip, (event) => (event && at(event) >= 0 ? title(model, at(event)) : null));
  whenSized(strip, redraw);
  whenColorsChange(redraw);
  store.on(redraw);
}
