/* SPDX-License-Identifier: BSD-3-Clause */
/* Where the vertices of a provenance graph stand: three rows, ports in the order in which they halt each other. */
import {EDGE} from "./model.js";

const LEAST_SHARE = 0.002; /* of the heaviest edge of its kind: lighter ones are left out */
export const ROWS = {
  OWN: 0,
  PORTS: 1,
  OTHER: 2
};

const rowOf = (vertex) => (vertex.port !== undefined ? ROWS.PORTS : vertex.collective ? ROWS.OWN : ROWS.OTHER);

/* The step's own flow, the ports it met and those that paused them go before all others. */
function weigh(graph, edges) {
  const weight = graph.vertices.map((vertex) => (vertex.victim ? 1e30 : 0));
  for (const edge of edges) {
    for (const end of [edge.from, edge.to])
      weight[end] +=
          edge.kind === EDGE.PAUSES ? 1e20 * edge.weight : edge.weight + (graph.vertices[edge.from].victim ? 1e25 : 0);
  }
  return weight;
}

/* The hop of the step's own path, then further away by paused port. */
function portKey(path, graph, vertex) {
  let at = vertex;
  for (let round = 0; round < 8; round++) {
    const hop = path.indexOf(graph.vertices[at].port),
          paused = graph.edges.find(([kind, , to]) => kind === EDGE.PAUSES && to === at);
    if (hop >= 0)
      return hop + 0.1 * round;
    if (paused)
      at = paused[1];
  }
  return 1000;
}

/*
 * @param path  ports of the step's flow
 * @param most  shapes in a row
 * @return {spots: Map vertex -> {row, x 0..1}, edges: [{kind, from, to, weight, share}] that are shown, rows: [[vertex]],
 *          hidden: vertices left out}
 */
export function planesOf(graph, path, most) {
  const heaviest = [0, 0, 0], spots = new Map(), rows = [[], [], []];
  for (const [kind, , , weight] of graph.edges)
    heaviest[kind] = Math.max(heaviest[kind], weight);
  const edges =
      graph.edges.map(([kind, from, to, weight]) => ({kind, from, to, weight, share: weight / (heaviest[kind] || 1)}))
          .filter((edge) => edge.share >= LEAST_SHARE);
  const weight = weigh(graph, edges);
  graph.vertices.forEach((vertex, i) => weight[i] > 0 && rows[rowOf(vertex)].push(i));
  for (const row of [ROWS.PORTS, ROWS.OWN, ROWS.OTHER]) {
    const key = new Map();
    rows[row].sort((a, b) => weight[b] - weight[a] || a - b).splice(most);
    for (const vertex of rows[row])
      key.set(vertex, row === ROWS.PORTS ? portKey(path, graph, vertex) : flowKey(edges, spots, vertex));
    rows[row].sort((a, b) => key.get(a) - key.get(b) || a - b);
    rows[row].forEach((vertex, i) => spots.set(vertex, {row, x: (i + 0.5) / rows[row].length}));
  }
  return {
    spots,
    rows,
    edges: edges.filter((e) => spots.has(e.from) && spots.has(e.to)),
    hidden: graph.vertices.length - spots.size
  };
}

/* The mean place of the ports a flow is tied to, by weight. */
function flowKey(edges, spots, vertex) {
  let sum = 0, weights = 0;
  for (const edge of edges) {
    const port = edge.from === vertex ? edge.to : edge.to === vertex ? edge.from : -1;
    if (port < 0 || !spots.has(port))
      continue;
    sum += spots.get(port).x * (edge.weight + 1e-9);
    weights += edge.weight + 1e-9;
  }
  return weights > 0 ? sum / weights : 0.5;
}
