/* SPDX-License-Identifier: BSD-3-Clause */
/* Flows without a collective: slowdown and completion time by size, the slowest, and who was ahead of them. */
import {el, phrases, section} from "./dom.js";
import {bytes, count, many, score} from "./format.js";
import {stands} from "./store.js";

const number = (text) => el("td", {class: "number"}, text);

/* From 1 (idle) to the worst of all, by logarithm: the median as a bar, 99 % and most as marks. */
function spread(bucket, worst) {
  const at = (value) => `${(100 * Math.log(Math.max(1, value)) / Math.log(Math.max(1.01, worst))).toFixed(2)}%`;
  const place = (name, value) => {
    const mark = el("i", {class: name});
    mark.style.left = at(value);
    return mark;
  };
  const bar = el("i", {class: "upto"});
  bar.style.width = at(bucket.p99);
  return el(
      "span", {class: "slowdowns", "aria-hidden": "true"}, bar, place("median", bucket.p50), place("most", bucket.max));
}

function sizes(model) {
  const t = model.time, all = model.generated.all.slowdown, worst = all[all.length - 1].max;
  const heads = ["size", "flows", "slowdown 50 %", "99 %", "most", "", `FCT 50 %, ${t.unit}`, "99 %", "most"];
  return el(
      "div", {class: "scroll"},
      el("table", {class: "sizes"},
         el("thead", null,
            el("tr", null,
               ...heads.map((head, i) => el("th", {scope: "col", class: i > 0 && head ? "number" : false}, head)))),
         el("tbody", null,
            ...all.filter((b) => b.flows > 0)
                .map(
                    (b) =>
                        el("tr", {class: b.size === "all" ? "sum" : false}, el("th", {scope: "row"}, b.size),
                           number(count(b.flows)), number(b.p50.toFixed(2)), number(b.p99.toFixed(2)),
                           number(b.max.toFixed(2)), el("td", null, spread(b, worst)), number(t.bare(b.fct_p50_ns)),
                           number(t.bare(b.fct_p99_ns)), number(t.bare(b.fct_max_ns)))))));
}

function generators(model) {
  const list = model.generated.generators;
  if (list.length < 2)
    return false;
  return el(
      "p", {class: "note"},
      list.map((g) => {
            const whole = g.slowdown[g.slowdown.length - 1];
            return `${g.name}: ${many(g.flows, "flow")}, ${count(g.slow)} slowed, ${whole.p50.toFixed(2)} at the median, ` +
                `${whole.p99.toFixed(2)} at 99 %${g.open > 0 ? `, ${count(g.open)} open` : ""}`;
          })
          .join("; "));
}

function slow(model, f) {
  const name = model.flows[f.flow_at].short;
  const ahead = f.ahead.map(
      ({flow_at: at, waits}) => el(
          "span", {class: "ahead"},
          stands(el("button", {type: "button", class: "plain"}, model.flows[at].short), "flow", at), ` ${score(waits)}`));
  return el(
      "tr", null,
      el("th", {scope: "row"},
         stands(el("button", {type: "button", class: "plain"}, name), "step", f.step_at, null, f.flow_at)),
      el("td", null, f.generator), number(bytes(f.bytes)), number(model.time.bare(f.start_ns)),
      number(`${model.time.bare(f.fct_ns)}${f.open ? " so far" : ""}`), number(model.time.bare(f.ideal_ns)),
      number(f.slowdown.toFixed(2)), el("td", null, ...phrases(f.causes || "not explained")),
      el("td", null, ...(ahead.length > 0 ? ahead : [f.causes ? "as its cause states" : "none was reported"])));
}

export function drawFlows(root, store) {
  const {model} = store;
  if (!model.generated)
    return;
  section(
      root, "flows", "Flows by size", sizes(model), generators(model),
      el("p", {class: "legend"},
         "Slowdown: a flow\u2019s completion time (FCT) by that on an idle fabric. Bars reach to 99 % on a logarithmic " +
             "scale from 1, with the median and the most as marks."));
}

export function drawSlowest(root, store) {
  const {model} = store, t = model.time, list = model.generated ? model.generated.slowest : [];
  const heads =
      ["flow", "generator", "bytes", `start, ${t.unit}`, "FCT", "idle", "slowdown", "cause", "ahead of it, packet-waits"];
  if (list.length === 0)
    return;
  const node = section(
      root, "slowest", "The slowest flows, and who was ahead of them",
      el("div", {class: "scroll slowest"},
         el("table", null,
            el("thead", null,
               el("tr", null,
                  ...heads.map((head, i) => el("th", {scope: "col", class: i > 1 && i < 7 ? "number" : false}, head)))),
            el("tbody", null, ...list.map((f) => slow(model, f))))),
      el("p", {class: "legend"},
         "Ahead of it: packets of the other flow that its packets waited behind (Eq. 2 of the paper), where its " +
             "provenance graph is kept: of those that lost most time. Choose a flow, and what belongs to it lights up."));
  store.on((changed) => changed.chosen && store.mark(node));
}
