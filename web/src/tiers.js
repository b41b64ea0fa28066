/* SPDX-License-Identifier: BSD-3-Clause */
/* Where the nodes of a fabric stand: hosts at the bottom, each tier of switches above what it serves. */

/* Breadth first from all hosts at once: hops to the nearest host. Switches that no host reaches count as serving hosts. */
function layers(model, neighbours) {
  const layer = model.nodes.map((node) => (node.host ? 0 : -1));
  const queue = model.nodes.flatMap((node, i) => (node.host ? [i] : []));
  for (let at = 0; at < queue.length; at++) {
    for (const peer of neighbours[queue[at]]) {
      if (layer[peer] >= 0)
        continue;
      layer[peer] = layer[queue[at]] + 1;
      queue.push(peer);
    }
  }
  return layer.map((l) => (l < 0 ? 1 : l));
}

/* The most telling first: what findings name, then what reported, then paths. */
function chosen(model, limit) {
  const shown = new Set();
  const show = (port) => port >= 0 && shown.size < limit && shown.add(model.ports[port].node);
  if (model.nodes.length <= limit)
    return new Set(model.nodes.keys());
  model.findings.forEach((f) => f.ports_at.forEach(show));
  model.ports.forEach((port, i) => port.reported && show(i));
  model.flows.forEach((flow) => flow.path.forEach(show));
  return shown;
}

/*
 * Layers by distance from the hosts; within a layer nodes stand above the mean place of what they serve, so that a pod
 * stays together and few links cross.
 * @return {tiers: [[node]] from the hosts up, place: Map node -> {tier, share 0..1}, hidden: nodes left out}
 */
export function tiersOf(model, limit) {
  const neighbours = model.nodes.map(() => []), shown = chosen(model, limit);
  model.ports.forEach((port) => port.peer_node >= 0 && port.node >= 0 && neighbours[port.node].push(port.peer_node));
  const layer = layers(model, neighbours), place = new Map(), tiers = [];
  for (const node of shown)
    (tiers[layer[node]] ||= []).push(node);
  for (let t = 0; t < tiers.length; t++) {
    const key = new Map();
    tiers[t] ||= [];
    for (const node of tiers[t]) {
      const below = neighbours[node].filter((n) => layer[n] + 1 === t && place.has(n));
      key.set(
          node,
          t === 0              ? Math.min(Infinity, ...neighbours[node]) :
              below.length > 0 ? below.reduce((sum, n) => sum + place.get(n).share, 0) / below.length :
                                 1);
    }
    tiers[t].sort((a, b) => key.get(a) - key.get(b) || a - b);
    tiers[t].forEach((node, i) => place.set(node, {tier: t, share: (i + 0.5) / tiers[t].length}));
  }
  return {tiers, place, hidden: model.nodes.length - shown.size};
}
