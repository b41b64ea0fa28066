/* SPDX-License-Identifier: BSD-3-Clause */
/* What R-Pingmesh's analyzer made of probes, as drawings want it: pure. */

import {change, many, percent} from "./format.js";

export const QUANTILES = ["p50", "p90", "p99", "p999"];
export const NETWORKS = ["cluster", "service"];

/* What lost probes are put down to, as verdict.json names it. */
export const CAUSES = [
  ["switch-problem", "switches"],
  ["rnic-problem", "RNICs"],
  ["cpu-overload", "overloaded CPUs"],
  ["host-down", "hosts that are down"],
  ["qpn-reset", "agents that started again"],
  ["undecided", "not known at the end"],
];

/* Ways to find a problem, as verdict.json names them. */
export const BY = {
  "silence": "its agent fell silent",
  "tor-mesh": "ToR-mesh probes to and from it",
  "votes": "votes of lost or slow probes over their paths",
  "several-rnics": "several RNICs of a host at once",
  "delay": "processing delay",
  "agent": "its agent, late for its own timers",
};

/* "by votes of ... and ...": how a problem was blamed on its place. */
export const blamedBy = (problem) => problem.by.map((way) => BY[way]).join(", and ");

/* What a problem is to one service that uses its place. */
export function impactOn({job, priority, degradation, flows, crossing_flows: crossing}) {
  const slower = degradation === null ? "there is no iteration to compare with" :
      degradation > 0                 ? `an iteration took ${change(degradation)} meanwhile` :
                                        "it got no slower";
  const named = flows.slice(0, 2), more = crossing - named.length;
  const names = named.concat(more > 0 ? [many(more, "other connection")] : []);
  const last = names.length > 1 ? `${names.slice(0, -1).join(", ")} and ${names[names.length - 1]}` : names[0];
  return `${priority} for job ${job}: ${slower}${
      named.length > 0 ? `; ${last} cross${crossing === 1 ? "es" : ""} it` : ""}.`;
}

/* Services that share a place where probes wait interfere there: a sentence, or none. */
export function sharedBy({type, services}) {
  const jobs = services.filter((s) => s.crossing_flows > 0).map((s) => s.job);
  return type === "high-rtt" && jobs.length > 1 ? [`Jobs ${jobs.join(", ")} share it.`] : [];
}

const isTracedService = (s) => s.connections > 0 && s.traced_connections === s.connections;

/* Are the paths of all services known? */
export const isTraced = (pingmesh) => pingmesh.services.every(isTracedService);

export function serviceText(s, threshold) {
  const slower = !s.known ? "cannot determine whether it is slower, because fewer than two of its iterations ended." :
      s.degraded === 0    ? `no iteration took ${percent(threshold)} longer than usual.` :
                            `${s.degraded} of ${many(s.iterations, "iteration")} took ${
                             percent(threshold)} longer than usual or more, the slowest ${change(s.worst)}.`;
  const word = s.network_innocent ?
      " No problem of the network on its paths overlaps these: by the paper\u2019s rule its " +
          "network is innocent." :
      "";
  const lost = s.connections - s.traced_connections;
  const unknown = s.connections === 0 ?
      " Cannot determine which problems are on its paths, because service tracing saw no " +
          "connection of it." :
      lost > 0 ? ` Cannot determine all problems on its paths, because ${lost} of its ${
                     many(s.connections, "connection")} ${lost === 1 ? "was" : "were"} not traced.` :
                 "";
  return `Job ${s.job}: ${slower}${word}${unknown}`;
}

/* "31.037 s": periods last for seconds, whatever the unit of steps is. */
export const clock = (ns) => (ns >= 1e9 ? `${(ns / 1e9).toFixed(3)} s` : `${(ns / 1e6).toFixed(3)} ms`);

/* "12.9 us" */
export function delay(ns) {
  if (ns === null)
    return "-";
  return ns >= 1e6 ? `${(ns / 1e6).toFixed(1)} ms` : `${(ns / 1e3).toFixed(1)} us`;
}

const SPREADS = ["network_rtt_ns", "prober_delay_ns", "responder_delay_ns"];

const spreadsOf = (sla) =>
    Object.fromEntries(SPREADS.map((name) => [name, QUANTILES.map((q) => sla[`rpingmesh.${name}`][q])]));

const larger = (a, b) => (a === null ? b : b === null ? a : Math.max(a, b));

/* Several periods as one: probes add up, of quantiles the largest counts. */
function merged(a, b) {
  const lost = Object.fromEntries(CAUSES.map(([cause]) => [cause, a.lost[cause] + b.lost[cause]]));
  const spreads = Object.fromEntries(SPREADS.map((name) => [name, a[name].map((ns, i) => larger(ns, b[name][i]))]));
  return {
    ...spreads,
    start: a.start,
    end: b.end,
    complete: a.complete && b.complete,
    probes: a.probes + b.probes,
    lost,
    periods: a.periods + b.periods
  };
}

/* Periods of a network in order of time, at most so many. */
export function binsOf(periods, network, most) {
  const each = Math.ceil(periods.length / Math.max(1, most)), bins = [];
  periods.forEach((p, i) => {
    const sla = p[network], one = {
      ...spreadsOf(sla),
      start: p.start_ns,
      end: p.end_ns,
      complete: p.complete,
      probes: sla["rpingmesh.probe_total"],
      lost: sla["rpingmesh.probe_failed_total"],
      periods: 1
    };
    if (i % each === 0)
      bins.push(one);
    else
      bins.push(merged(bins.pop(), one));
  });
  return bins;
}

/* [cause, share from, share to] of a bin's probes, one upon the other. */
export function stacked(bin) {
  let low = 0;
  return CAUSES
      .map(([cause]) => {
        const from = low;
        low += bin.probes > 0 ? bin.lost[cause] / bin.probes : 0;
        return [cause, from, low];
      })
      .filter(([, from, to]) => to > from);
}

/* Where a problem is, by index: {ports, node}; none of either: nobody knows. */
export function placesOf(model, problem) {
  return {
    ports: problem.ports.map((name) => model.ports.findIndex((p) => p.name === name)).filter((at) => at >= 0),
    node: problem.node === null ? -1 : model.nodes.findIndex((n) => n.name === problem.node),
  };
}
