/* SPDX-License-Identifier: BSD-3-Clause */
/* Provenance graphs: the collective's flows above, ports in the middle, flows from outside below. */
import {el, image, key, section, svg, whenSized} from "./dom.js";
import {cut, many, percent, score} from "./format.js";
import {EDGE, rootFinding, stepName} from "./model.js";
import {planesOf, ROWS} from "./planes.js";
import {save} from "./save.js";
import {roving, stands} from "./store.js";
import {tip} from "./tip.js";
import {flowTip, stepChange} from "./words.js";

const LEAST_WIDTH = 620, SHAPE = 112, PORT_HALF = 38, FLOW_HALF = 62, ROW = 112, TOP = 26, SCORES = 6, LABEL_WIDTH = 40,
      LABEL_HEIGHT = 12, MOST_ROW = 14, MOST_LISTED = 200;
const names = {
  [EDGE.WAITS]: "waits",
  [EDGE.GIVES]: "gives",
  [EDGE.PAUSES]: "pauses"
};

function edgeTip(model, graph, edge) {
  const a = graph.vertices[edge.from], b = graph.vertices[edge.to];
  if (edge.kind === EDGE.WAITS)
    return `w(f,p): ${model.flows[a.flow].name} waited at ${model.ports[b.port].name} for ${
        score(edge.weight)} packets ahead of its`;
  if (edge.kind === EDGE.GIVES)
    return `w(p,f): ${model.flows[b.flow].name} contributed ${score(edge.weight)} packet-waits to ${
        model.ports[a.port].name}`;
  return `w(pi,pj): ${percent(edge.weight, 1)} of the traffic of paused ${model.ports[a.port].name} is sent to ${
      model.ports[b.port].name}`;
}

/* Ends on the shapes' borders; the two edges between a flow and a port lie beside each other. */
function lineOf(edge, from, to) {
  const side = edge.kind === EDGE.GIVES ? 9 : -9, right = to[0] > from[0] ? 1 : -1, down = to[1] > from[1] ? 1 : -1;
  if (edge.kind === EDGE.PAUSES)
    return [[from[0] + right * PORT_HALF, from[1]], [to[0] - right * (PORT_HALF + 3), to[1]]];
  return [[from[0] + side, from[1] + 14 * down], [to[0] + side, to[1] - 17 * down]];
}

/* Labels stand nearer to an edge's start, or further along where others are in the way: at best clear of all. */
function labelPlace([a, b], bend, pauses, taken) {
  const along = (share) => [a[0] + (b[0] - a[0]) * share, a[1] + (b[1] - a[1]) * share + (pauses ? -4 - bend / 2 : 4)];
  const clear = ([x, y]) =>
      Math.min(1, ...taken.map(([u, v]) => Math.max(Math.abs(u - x) / LABEL_WIDTH, Math.abs(v - y) / LABEL_HEIGHT)));
  const places = (pauses ? [0.5, 0.4, 0.6] : [0.36, 0.26, 0.5, 0.62, 0.72, 0.82, 0.18]).map(along);
  const place = places.reduce((best, other) => (clear(other) > clear(best) ? other : best));
  taken.push(place);
  return place;
}

function edgeShapes(model, graph, edge, spot, pitch, taken) {
  const [a, b] = lineOf(edge, spot(edge.from), spot(edge.to)), pauses = edge.kind === EDGE.PAUSES, name = names[edge.kind];
  const bend = pauses && Math.abs(b[0] - a[0]) > pitch ? 42 : 0, [x, y] = labelPlace([a, b], bend, pauses, taken);
  const tell = () => edgeTip(model, graph, edge);
  return [
    tip(svg("path", {
          class: name,
          d: `M${a}Q${(a[0] + b[0]) / 2} ${(a[1] + b[1]) / 2 - bend} ${b}`,
          "stroke-width": (1.2 + 3.3 * Math.sqrt(edge.share)).toFixed(1),
          "marker-end": `url(#arrow-${name})`
        }),
        tell),
    tip(svg("text", {class: name, x, y}, pauses ? percent(edge.weight) : score(edge.weight)), tell),
  ];
}

function portTipOf(model, vertex, isRoot) {
  return `port ${model.ports[vertex.port].name}${isRoot ? " (root cause)" : ""}: ${
             score(vertex.packets)} packets, summed depth ` +
      `${score(vertex.depth_sum)}, paused ${model.time.of(vertex.pause_ns)}${vertex.pausing ? "; it paused its peer" : ""}`;
}

function vertexShape(model, vertex, [x, y]) {
  const root = rootFinding(model), isRoot = !!root && root.root_at === vertex.port, isPort = vertex.port !== undefined;
  const half = isPort ? PORT_HALF : FLOW_HALF;
  const name = isPort ? `port${vertex.paused ? " paused" : ""}${isRoot ? " isroot" : ""}` :
                        `flow${vertex.collective ? " own" : " other"}${vertex.victim ? " victim" : ""}`;
  const text = isPort ? model.ports[vertex.port].name : model.flows[vertex.flow].short;
  const shape =
      svg("g", {class: name}, svg("rect", {x: x - half, y: y - 13, width: 2 * half, height: 26, rx: isPort ? 3 : 13}),
          svg("text", {x, y: y + 4}, cut(text, isPort ? 10 : 17)));
  stands(shape, isPort ? "port" : "flow", isPort ? vertex.port : vertex.flow, `${isPort ? "port" : "flow"} ${text}`);
  return tip(shape, () => (isPort ? portTipOf(model, vertex, isRoot) : flowTip(model, vertex.flow)));
}

function drawing(model, graph, width) {
  const step = model.step(graph.step), wide = Math.max(width, LEAST_WIDTH),
        path = step.flow >= 0 ? model.flows[step.flow].path : [];
  const plane = planesOf(graph, path, Math.min(MOST_ROW, Math.floor(wide / (SHAPE + 16))));
  const pitch = Math.min(250, wide / Math.max(1, plane.rows[ROWS.PORTS].length)),
        height = 2 * TOP + ROW * (plane.rows[ROWS.OTHER].length > 0 ? 2 : 1);
  const centred = (row, x) => {
    const span = Math.min(wide, 250 * Math.max(1, plane.rows[row].length));
    return (wide - span) / 2 + span * x;
  };
  const spot = (vertex) =>
      [centred(plane.spots.get(vertex).row, plane.spots.get(vertex).x), TOP + ROW * plane.spots.get(vertex).row];
  const taken = [];
  const edges = plane.edges.map((edge) => edgeShapes(model, graph, edge, spot, pitch, taken));
  const victim = [...plane.spots.keys()].find((v) => graph.vertices[v].victim);
  return {
    victim: victim === undefined ? wide / 2 : spot(victim)[0],
    wide,
    plane,
    image: image(
        "provenance", wide, height, `Provenance of ${stepName(model, step)}`, ...edges.map(([line]) => line),
        ...edges.map(([, text]) => text),
        ...[...plane.spots.keys()].map((v) => vertexShape(model, graph.vertices[v], spot(v)))),
  };
}

function scores(model, graph, plane) {
  return [
    el("span", null, `What each flow did to this step, R(f, cf) of Eq. 2:${graph.scores.length === 0 ? " nothing" : ""}`),
    ...graph.scores.slice(0, SCORES).map(
        ([flow, value]) =>
            el("span", null, stands(el("button", {type: "button", class: "plain"}, model.flows[flow].short), "flow", flow),
               ` ${score(value)}`)),
    graph.cyclic && el("span", {class: "warn"}, "Ports wait for each other in a circle: a deadlock."),
    graph.present && el("span", null, "Some weights are from momentary queues: the kept epochs were empty."),
    plane.hidden > 0 && el("span", null, `${plane.hidden} weaker ports and flows are in provenance.dot.`),
  ].filter(Boolean);
}

/* Edges of the shown graph. */
function csv({model, graph}) {
  const {edges, vertices} = model.graphs[graph];
  const name = (vertex) =>
      (vertices[vertex].port === undefined ? model.flows[vertices[vertex].flow].name :
                                             model.ports[vertices[vertex].port].name);
  return [
    ["edge", "from", "to", "weight"],
    ...edges.map(([kind, from, to, weight]) => [names[kind], name(from), name(to), weight])
  ];
}

export function drawProvenance(root, store) {
  const {model} = store;
  if (model.graphs.length === 0)
    return;
  const option = (i) => {
    const step = model.step(model.graphs[i].step), c = model.collectives[step.collective];
    return el(
        "option", {value: i},
        `${stepName(model, step)}${model.collectives.length > 1 ? `, ${c.name}, iteration ${c.iteration}` : ""}, ` +
            `${stepChange(step)}${step.critical ? ", critical" : ""}`);
  };
  const choose = el("select", {id: "choose"}, ...model.graphs.slice(0, MOST_LISTED).map((g, i) => option(i)));
  const title = el("h3"), box = el("div", {class: "scroll"}), legend = el("p", {class: "legend"});
  const part = section(
      root, "provenance", "Provenance graph",
      el("p", {class: "tools"},
         el("label",
            { for: "choose"
            },
            "Step "),
         choose,
         el("span", {class: "note"},
            `${model.graphs.length} of ${many(model.allGraphs, "slow step")} with telemetry${
                model.graphs.length < model.allGraphs ? "; all are in provenance.dot" : ""}`)),
      title, box, legend,
      el("p", {class: "legend"}, key("line waits", "a flow waits at a port: packets ahead of its own"),
         key("line gives", "a port\u2019s queue is due to a flow: packet-waits"),
         key("line pauses", "a paused port waits for another: share of its traffic")));
  const again = roving(box);
  let width = 0; /* of the box: asked once, since asking costs a layout of the page */
  const draw = () => {
    const graph = model.graphs[store.graph], step = model.step(graph.step), t = model.time,
          made = drawing(model, graph, width);
    if (!choose.querySelector(`[value="${store.graph}"]`))
      choose.append(option(store.graph));
    choose.value = store.graph;
    title.textContent = `${stepName(model, step)}: ${t.of(step.took)} instead of ${t.of(step.expect)}${
        step.critical ? ", on the critical path" : ""}`;
    box.replaceChildren(made.image);
    legend.replaceChildren(...scores(model, graph, made.plane));
    store.mark(box);
    store.mark(legend);
    again();
    if (made.wide > width)
      box.scrollLeft = made.victim - width / 2;
  };
  choose.addEventListener("change", () => store.open(Number(choose.value)));
  whenSized(box, (now) => {
    width = now;
    draw();
  });
  save(part, {csv: () => csv(store)});
  store.later(part, (changed) => (changed.graph ? draw() : changed.chosen && (store.mark(box), store.mark(legend))));
}
