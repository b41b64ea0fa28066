/* SPDX-License-Identifier: BSD-3-Clause */
/* Ways of flows: how many flows each link carries beside the ideal, layer by layer, and links on which flows met. */
import {scaleLinear} from "d3-scale";

import {el, image, key, section, svg, whenSized} from "./dom.js";
import {count, many} from "./format.js";
import {stands} from "./store.js";
import {tip} from "./tip.js";

const LABEL = 34, RIGHT = 6, PANEL = 84, TITLE = 24, LEAST_BAR = 2, MOST_BAR = 22, FIRST = 8;
const HEAVY = 1.5; /* of the ideal: drawn as too many */

const round = (value, places) => value.toFixed(places);

/* ---- collisions, in the list of causes ---- */

const findingOf = (model, collision) =>
    model.findings.find((f) => f.untimed && f.type === "path-imbalance" && f.root === collision.port);

function collisionItem(model, c) {
  const finding = findingOf(model, c), time = (ns) => model.time.of(ns);
  const content = [
    el("span", {class: "sentence"}, el("strong", null, c.port),
       ` ${many(c.flows_at_once, "flow")} at once, where ${c.other} of equal `, `cost had ${c.flows_on_other}`),
    el("span", {class: "evidence"},
       `${many(c.steps, "step")} lost ${time(c.steps_cost_ns)}; by itself it cost jobs ${
           c.cost_ns > 0 ? time(c.cost_ns) : "nothing"}.`)
  ];
  return el(
      "li", null,
      finding ? stands(el("button", {type: "button", class: "finding"}, ...content), "finding", finding.index) :
                el("div", {class: "finding"}, ...content));
}

export function drawCollisions(root, store) {
  const {model} = store, tracer = model.flowtracer;
  if (!tracer || tracer.collisions.length === 0)
    return;
  const list = el("ol", {class: "findings"}, ...tracer.collisions.slice(0, FIRST).map((c) => collisionItem(model, c)));
  const more = el("button", {type: "button", class: "more"}, `Show all ${tracer.collisions.length}`);
  more.addEventListener("click", () => {
    list.append(...tracer.collisions.slice(FIRST).map((c) => collisionItem(model, c)));
    store.mark(list);
    more.remove();
  });
  section(
      root, "collisions", "Flows that share links",
      el("p", {class: "legend"},
         `By their paths (FlowTracer), on ${
             many(tracer.collisions.length, "link")} while others of equal cost had room. With an even `,
         `spread, jobs would have taken about ${model.time.of(tracer.cost_ns)} less: an estimate by rates alone.`),
      list, tracer.collisions.length > FIRST && more);
}

/* ---- flows on links, as in the paper's Fig. 3 ---- */

const linksOf = (tracer, layer) => tracer.links.filter((link) => link.layer === layer);

function panel(tracer, layer, index, top, width) {
  const links = linksOf(tracer, index), most = Math.max(layer.most, layer.ideal, 1);
  const y = scaleLinear().domain([0, most]).range([top + PANEL, top + 6]);
  const step = Math.max(LEAST_BAR, Math.min(MOST_BAR, (width - LABEL - RIGHT) / links.length));
  const chance = layer.fim_by_chance_percent === null ? "" : `, ${round(layer.fim_by_chance_percent, 1)} % by chance`;
  const bars = links.map((link, i) => {
    const heavy = link.flows > HEAVY * link.ideal, x = LABEL + i * step;
    return tip(
        svg("g", null, svg("rect", {
              class: heavy ? "load heavy" : "load",
              x,
              y: y(link.flows),
              width: Math.max(1, step - 1),
              height: y(0) - y(link.flows)
            }),
            svg("rect", {class: "hit", x, y: top, width: step, height: PANEL})),
        () => `${link.port} to ${link.to}: ${many(link.flows, "flow")}, ideal ${round(link.ideal, 2)}`);
  });
  const right = LABEL + links.length * step;
  return [
    svg("text", {class: "panel", x: LABEL, y: top - 7},
        `${layer.layer}: ${many(layer.links, "link")}, FIM ${round(layer.fim_percent, 1)} %${chance}`),
    svg("rect", {class: "plot", x: LABEL, y: top, width: right - LABEL, height: PANEL}), ...bars,
    svg("path", {class: "ideal", d: `M${LABEL} ${y(layer.ideal)}H${right}`}),
    svg("text", {class: "label", x: LABEL - 6, y: top + PANEL}, "0"),
    svg("text", {class: "label", x: LABEL - 6, y: y(most) + 8}, count(most))
  ];
}

function layersDrawing(tracer, width) {
  const tops = tracer.layers.map((_, i) => TITLE + i * (PANEL + TITLE));
  const widest =
      Math.max(LABEL + RIGHT + LEAST_BAR * Math.max(...tracer.layers.map((_, i) => linksOf(tracer, i).length)), width);
  return image(
      "flow-paths", widest, tops.length * (PANEL + TITLE) + 4, "Flows on each link, layer by layer",
      ...tracer.layers.flatMap((layer, i) => panel(tracer, layer, i, tops[i], widest)));
}

/* Fig. 3(a): a mark a pair of hosts. */
function pairsDrawing(tracer, width) {
  const most = Math.max(...tracer.pairs.map((p) => p.gbps)), middle = TITLE + 22;
  const x = scaleLinear().domain([0, most]).nice(4).range([LABEL, width - RIGHT - 12]);
  return image(
      "flow-paths", width, middle + 44, "Throughput of each pair of hosts",
      svg("text", {class: "panel", x: LABEL, y: TITLE - 7},
          `throughput of ${many(tracer.pairs.length, "pair")} of hosts, Gbps`),
      svg("path", {class: "grid", d: `M${LABEL} ${middle}H${width - RIGHT - 12}`}),
      ...x.ticks(5).map((g) => svg("text", {class: "tick", x: x(g), y: middle + 30}, g)),
      ...tracer.pairs.map(
          (p) =>
              tip(svg("path", {class: "pair", d: `M${x(p.gbps)} ${middle - 12}V${middle + 12}`}),
                  () => `${p.from} to ${p.to}: ${round(p.gbps, 1)} Gbps by ${many(p.flows, "flow")}`)));
}

export function drawWays(root, store) {
  const tracer = store.model.flowtracer;
  if (!tracer || tracer.links.length === 0)
    return;
  const layers = el("div", {class: "scroll"}), pairs = el("div", {class: "scroll"});
  const traced = tracer.rounds.length > 0 ? tracer.rounds[tracer.rounds.length - 1] : null;
  section(
      root, "flow-paths", "Paths of flows",
      el("p", {class: "legend"}, key("load", "flows on a link"), key("load heavy", "more than half above the ideal"),
         key("ideal", "ideal"),
         `Imbalance (FIM) of links that switches load: ${round(tracer.fim_percent, 1)} %, of all links: ${
             round(tracer.fim_all_percent, 1)} %.`,
         traced && !traced.complete ? " The last round of traces did not end." : "",
         tracer.sprayed > 0 ? ` ${many(tracer.sprayed, "flow")} sprayed: counted up to the switch that sprays.` : ""),
      layers, pairs);
  whenSized(layers, (width) => layers.replaceChildren(layersDrawing(tracer, width)));
  if (tracer.pairs.length > 0)
    whenSized(pairs, (width) => pairs.replaceChildren(pairsDrawing(tracer, width)));
}
