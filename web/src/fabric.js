/* SPDX-License-Identifier: BSD-3-Clause */
/* The fabric: each half of a link has the color of what its port sent; PFC and the root cause are marked at ports. */
import {el, image, key, section, svg, whenSized} from "./dom.js";
import {silentMark, silentPorts, unmeasuredOf, unmeasuredText} from "./flowpulse.js";
import {bytes, cut, percent} from "./format.js";
import {largest, rootFinding, victimFlow} from "./model.js";
import {problemMarks} from "./probes.js";
import {save} from "./save.js";
import {roving, stands} from "./store.js";
import {tiersOf} from "./tiers.js";
import {tip} from "./tip.js";
import {portName, portTip} from "./words.js";

const MOST_NODES = 2500, TIER = 108, MARGIN = 30, LEAST_PITCH = 6, PORT_OUT = 28, PARALLEL = 7, PILL_OUT = 48;
const PAUSED_SHARE = 0.01; /* of the collective's time: less is PFC at its ordinary work */

const middle = (a, b) => [(a[0] + b[0]) / 2, (a[1] + b[1]) / 2];

/* Both ends of each port's link, [from, to]; links between the same two nodes stand beside each other. */
function linesOf(model, spot) {
  const between = new Map();
  const pair = (p) => `${Math.min(p.node, p.peer_node)} ${Math.max(p.node, p.peer_node)}`;
  model.ports.forEach((p, i) => {
    if (p.peer_node >= 0 && p.node < p.peer_node)
      between.set(pair(p), [...(between.get(pair(p)) || []), i]);
  });
  return model.ports.map((p, i) => {
    const from = spot.get(p.node), to = spot.get(p.peer_node), same = between.get(pair(p)) || [];
    if (!from || !to || p.peer_port < 0)
      return null;
    const lower = p.node < p.peer_node, at = same.indexOf(lower ? i : p.peer_port), side = lower ? 1 : -1;
    const dx = to[0] - from[0], dy = to[1] - from[1], length = Math.hypot(dx, dy) || 1;
    const shift = at < 0 ? 0 : side * PARALLEL * (at - (same.length - 1) / 2) / length;
    const moved = ([x, y]) => [x - dy * shift, y + dx * shift];
    return [moved(from), moved(to)];
  });
}

/* A spot on a port's half of its link. */
function markAt([from, to], out = PORT_OUT) {
  const dx = to[0] - from[0], dy = to[1] - from[1], length = Math.hypot(dx, dy),
        share = length > 2 * out ? out / length : 0.35;
  return [from[0] + dx * share, from[1] + dy * share];
}

const lineOf = (name, a, b) => svg("line", {class: name, x1: a[0], y1: a[1], x2: b[0], y2: b[1]});

function loadOf(port, most) {
  const share = port.reported && most > 0 ? port.reported.bytes / most : 0;
  if (!port.reported || port.reported.packets === 0)
    return port.reported ? "l0" : "none";
  return levelName(share);
}

const FULL = 0.75, HALF = 0.5, SOME = 0.25; /* of what the color stands for */
const levelName = (share) => (share > FULL ? "l4" : share > HALF ? "l3" : share > SOME ? "l2" : "l1");

/* The mean utilization of ports in the time shown, from their counters; null: the page has none. */
function usedIn({series, time, model}) {
  const used = new Map();
  for (const one of series.list()) {
    if (one.kind === "utilization" && one.at >= 0)
      used.set(one.at, series.seen(one, time.from, time.to).of);
  }
  return used.size > 0 ? (port) => used.get(port) ?? (model.ports[port].reported ? 0 : null) : null;
}

/* How long a port was paused in the time shown, as a share of it; null: unknown. */
function pausedIn({series, time}, port) {
  const own =
      series.ofPort(port).filter((one) => one.kind === "paused").map((one) => series.seen(one, time.from, time.to).of);
  return own.length > 0 ? Math.max(...own) : null;
}

/* Colors of the time shown: the brush moves, and what is drawn stays. */
function recolor(store, box) {
  const used = usedIn(store);
  for (const link of used ? box.querySelectorAll(".link") : []) {
    const share = used(Number(link.getAttribute("data-index")));
    link.lastChild.setAttribute("class", share === null ? "none" : share < 0.005 ? "l0" : levelName(share));
  }
  markAway(store, box);
}

/* Ports that were not paused in the time shown. */
function markAway(store, box) {
  const {time} = store;
  for (const mark of box.querySelectorAll(".paused")) {
    const port = Number(mark.getAttribute("data-index")), share = time.isWhole() ? null : pausedIn(store, port);
    mark.classList.toggle("away", share !== null && share < PAUSED_SHARE);
  }
}

function node(model, index, [x, y], pitch, unmeasured) {
  const n = model.nodes[index], half = Math.min(n.host ? 15 : 19, pitch * 0.42), tiny = pitch < 26;
  const shape =
      svg("g",
          {class: n.host  ? "host" :
               unmeasured ? "switch unmeasured" :
                            "switch"},
          svg("rect", {
            x: x - half,
            y: y - (tiny ? Math.min(11, 2 * half) : 11),
            width: 2 * half,
            height: tiny ? Math.min(22, 4 * half) : 22,
            rx: n.host ? Math.min(11, half) : 3
          }));
  if (!tiny)
    shape.append(svg("text", {x, y: y + 4}, cut(n.name, Math.max(3, Math.floor(half / 3.6)))));
  else if (pitch >= 11 && n.host)
    shape.append(
        svg("text", {class: "turned", x: 0, y: 0, transform: `translate(${x + 4} ${y + 16}) rotate(90)`}, cut(n.name, 6)));
  const lines =
      [`${n.host ? "host" : "switch"} ${n.name}`, ...(unmeasured ? unmeasuredText(model, n.name, unmeasured) : [])];
  return tip(shape, () => lines.join("\n"));
}

/* What depends on the shown collective: the path of its slowest flow, where the culprit was seen, and who was paused. */
function drawCollective({model, collective}, {lines, halos, pauses}) {
  const worst = model.collectives[collective], victim = worst ? victimFlow(model, collective) : -1;
  const culprit = model.contributors.length > 0 ? model.contributors[0].flow_at : -1;
  const least = PAUSED_SHARE * (worst ? worst.took_ns : 0);
  const others = culprit >= 0 ? [...new Set(model.portsSeenOfFlow.get(culprit))] : [],
        own = victim >= 0 ? model.flows[victim].path : [];
  halos.replaceChildren(
      ...others.filter((port) => lines[port]).map((port) => lineOf("halo other", lines[port][0], middle(...lines[port]))),
      ...own.filter((port) => lines[port]).map((port) => lineOf("halo own", ...lines[port])));
  pauses.replaceChildren();
  model.ports.forEach((p, i) => {
    if (!p.reported || p.reported.pause_ns <= least || !lines[i])
      return;
    const [x, y] = markAt(lines[i]);
    pauses.append(
        tip(stands(
                svg("g", {class: "paused"}, svg("circle", {cx: x, cy: y, r: 6.5}),
                    svg("path", {d: `M${x - 2} ${y - 3}v6m4 0v-6`})),
                "port", i, `paused port ${p.name}`),
            () => portTip(model, i)));
  });
  return {victim, culprit};
}

function drawing(store, tiers, width) {
  const {model} = store, widest = Math.max(1, ...tiers.tiers.map((t) => t.length));
  const wide = Math.max(width, LEAST_PITCH * widest), spot = new Map(), shapes = [],
        turned = wide / (tiers.tiers[0] || [0]).length < 26;
  for (const [index, at] of tiers.place)
    spot.set(index, [wide * at.share, MARGIN + TIER * (tiers.tiers.length - 1 - at.tier)]);
  const lines = linesOf(model, spot), most = largest(model.ports, (p) => (p.reported ? p.reported.bytes : 0), 0);
  const halos = svg("g"), pauses = svg("g");
  shapes.push(halos);
  lines.forEach(
      (line, i) => line &&
          shapes.push(
              tip(stands(
                      svg("g", {class: "link"}, lineOf("hit", line[0], middle(...line)),
                          lineOf(loadOf(model.ports[i], most), line[0], middle(...line))),
                      "port", i, `port ${portName(model, i)}`),
                  () => portTip(model, i))));
  const unmeasured = unmeasuredOf(model);
  for (const [index, at] of spot)
    shapes.push(node(
        model, index, at, wide / tiers.tiers[tiers.place.get(index).tier].length, unmeasured.get(model.nodes[index].name)));
  shapes.push(pauses);
  const silents = silentPorts(model).filter((silent) => lines[silent.port]);
  for (const silent of silents) {
    const line = lines[silent.port], spotted = markAt(line);
    shapes.push(
        silentMark(model, silent, spotted, spotted[0] > wide - 90 || (spotted[0] < line[0][0] - 4 && spotted[0] > 90)));
  }
  const probed = problemMarks(model, (port) => lines[port] && markAt(lines[port], PILL_OUT), (index) => {
    const at = spot.get(index);
    return at ? [at[0], at[1] - 19] : null;
  });
  shapes.push(...probed);
  const root = rootFinding(model), at = root && root.root_at >= 0 && lines[root.root_at];
  if (at) {
    const [x, y] = markAt(at), left = x > wide - 90 || (x < at[0][0] - 4 && x > 90);
    shapes.push(
        svg("g", {class: "root"}, svg("circle", {cx: x, cy: y, r: 10}),
            svg("text", {x: x + (left ? -15 : 15), y: y + 4, "text-anchor": left ? "end" : "start"},
                `root ${model.ports[root.root_at].name}`)));
  }
  const height = 2 * MARGIN + TIER * Math.max(0, tiers.tiers.length - 1) + (turned && wide / widest >= 11 ? 34 : 0);
  return {
    image: image("fabric", wide, height, "The fabric and its ports", ...shapes),
    lines,
    halos,
    pauses,
    most,
    silents,
    unmeasured,
    probed
  };
}

function legend(store, tiers, {most, victim, culprit, silents, unmeasured, probed}) {
  const {model} = store;
  const loads = [key("line none", "nothing"), key("line l1"), key("line l2"), key("line l3"), key("line l4")];
  return [
    store.series.some ?
        el("span", null, "Each half of a link is a port, its color its mean utilization in the time shown: ", ...loads,
           "to 25, 50, 75 and 100 %") :
        most > 0 ?
        el("span", null,
           "Each half of a link is a port, its color what telemetry reported of it: ", key("line none", "nothing"),
           key("line l1"), key("line l2"), key("line l3"), key("line l4", `few to most bytes (${bytes(most)})`)) :
        el("span", null, "No telemetry arrived from any port: none was polled."),
    most > 0 && key("pause", `paused by PFC for ${percent(PAUSED_SHARE)} of the time or more`),
    silents.length > 0 && key("silent", "loses packets silently; with ? one of several does"),
    probed.length > 0 && key("probed", "priority of what probes saw; ?: at one of several"),
    unmeasured.size > 0 && key("unmeasured", "could not compare volumes"),
    victim >= 0 && key("halo own", `path of ${model.flows[victim].short}`),
    culprit >= 0 && key("halo other", `where ${model.flows[culprit].short} was seen`),
    tiers.hidden > 0 && el("span", null, `${tiers.hidden} nodes without telemetry are left out.`),
  ].filter(Boolean);
}

/* Ports: what telemetry reported of each, and their use in the time shown. */
function csv(store) {
  const {model} = store, used = usedIn(store),
        keys = ["bytes", "packets", "depth_max", "pause_ns", "pauses_received", "pauses_sent", "drops"];
  return [
    ["port", "peer", "rate_bps", ...keys.map((key) => `reported_${key}`), "utilization"],
    ...model.ports.map(
        (p, i) =>
            [p.name, p.peer_port >= 0 ? model.ports[p.peer_port].name : "", p.rate_bps,
             ...keys.map((key) => (p.reported ? p.reported[key] : "")), used ? used(i) : ""])
  ];
}

export function drawFabric(root, store) {
  if (store.model.nodes.length === 0)
    return;
  const tiers = tiersOf(store.model, MOST_NODES), box = el("div", {class: "scroll"}), keys = el("p", {class: "legend"});
  const part = section(root, "fabric", "Fabric", box, keys);
  const again = roving(box);
  let made = null;
  const show = () => {
    const flows = drawCollective(store, made);
    keys.replaceChildren(...legend(store, tiers, {...made, ...flows}));
    store.mark(box);
    markAway(store, box);
  };
  whenSized(box, (width) => {
    made = drawing(store, tiers, width);
    box.replaceChildren(made.image);
    show();
    recolor(store, box);
    again();
  });
  save(part, {csv: () => csv(store)});
  store.later(part, (changed) => {
    if (changed.collective && made)
      show();
    else if (changed.chosen)
      store.mark(box);
    if (changed.time)
      recolor(store, box);
  });
}
