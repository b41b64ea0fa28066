/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What to try against a finding: keys of the scenario, as --set takes them. A key comes from the type of the finding and
 * from what the scenario sets; whether it helps is for a run to say. Pure, but for the list that shows them.
 */
import {action, el} from "./dom.js";

const MOST = 4;

const shared = ["flow-contention", "incast", "pfc-backpressure", "strict-priority", "load-imbalance", "tail-drop"];

/* {types, key, to, why, when(config, at)} */
const RULES = [
  {
    types: shared,
    key: "host.cc",
    to: "dcqcn",
    why: "senders slow down before the queue is full",
    when: (c) => c["host.cc"] === "none"
  },
  {
    types: ["incast", "flow-contention", "pfc-backpressure"],
    key: "host.cc",
    to: "hpcc",
    why: "senders react to the queue itself",
    when: (c) => c["host.cc"] === "dcqcn"
  },
  {
    types: shared,
    key: "switch.ecn.enabled",
    to: "true",
    why: "without marks congestion control does not act",
    when: (c) => c["switch.ecn.enabled"] === "false"
  },
  {
    types: ["flow-contention", "load-imbalance", "pfc-backpressure"],
    key: "load_balancing.kind",
    to: "adaptive",
    why: "packets take the port with the shortest queue",
    when: (c, at) => at.between && c["load_balancing.kind"] !== "adaptive"
  },
  {
    types: ["pfc-backpressure"],
    key: "switch.pfc.alpha",
    to: (c) => String(2 * Number(c["switch.pfc.alpha"])),
    why: "a port may hold more of the buffer before it pauses its peer",
    when: (c) => c["switch.pfc.model"] === "dynamic"
  },
  {
    types: ["pfc-storm", "pfc-deadlock"],
    key: "switch.watchdog.enabled",
    to: "true",
    why: "a queue that is paused for too long is drained",
    when: (c) => c["switch.watchdog.enabled"] === "false"
  },
  {
    types: ["no-pfc", "tail-drop"],
    key: "switch.pfc.enabled",
    to: "true",
    why: "a queue that fills pauses its senders, and drops nothing",
    when: (c) => c["switch.pfc.enabled"] === "false"
  },
  {
    types: ["tail-drop", "packet-loss", "reordering"],
    key: "host.transport",
    to: "selective",
    why: "senders repeat lost packets only",
    when: (c) => c["host.transport"] === "go-back-n"
  },
  {
    types: ["timer-too-short"],
    key: "host.timeout",
    to: (c, at) => (/host\.timeout=(\S+)/.exec(at.evidence) || [])[1],
    why: "leaves time for round trips",
    when: (c, at) => /host\.timeout=/.test(at.evidence)
  },
];

const bare = (value) => (value === undefined ? value : value.replace(/^"|"$/g, ""));

/* Indices of a list in the configuration: "flows.[1].src" -> 1. */
function indices(config, list) {
  const found = new Set();
  for (const key of Object.keys(config)) {
    const match = key.startsWith(`${list}.[`) && /^\w+\.\[(\d+)\]/.exec(key);
    if (match)
      found.add(Number(match[1]));
  }
  return [...found];
}

/* Flows and jobs of the scenario that a finding names as culprits: left out, what remains is theirs. */
function culprits(model, config, f) {
  const names = f.flows_at.map((flow) => model.flows[flow].name),
        jobs = new Set(f.flows_at.map((flow) => model.jobOfFlow(flow)));
  const flow = (i) =>
      `${bare(config[`flows.[${i}].src`])}->${bare(config[`flows.[${i}].dst`])}/${config[`flows.[${i}].sport`]}>`;
  const mine = new Set(f.collectives_at.map((c) => model.collectives[c].job));
  const others = [...jobs]
                     .filter((job) => job >= 0 && !mine.has(job))
                     .map((job) => model.jobs.find((j) => j.job === job))
                     .filter(Boolean);
  return [
    ...indices(config, "flows")
        .filter((i) => names.some((name) => name.startsWith(flow(i))))
        .map((i) => ({set: `flows.[${i}].enabled=false`, why: `the run without ${flow(i).replace(/\/.*/, "")}`})),
    ...["jobs", "collectives"].flatMap(
        (list) => indices(config, list)
                      .filter((i) => others.some((job) => job.name === bare(config[`${list}.[${i}].name`])))
                      .map((i) => ({
                             set: `${list}.[${i}].enabled=false`,
                             why: `the run without ${bare(config[`${list}.[${i}].name`])}`
                           }))),
  ];
}

/* @return [{set: "host.cc=hpcc", why}] */
export function remediesOf(model, config, f) {
  const values = Object.fromEntries(Object.entries(config).map(([key, value]) => [key, bare(value)]));
  const port = model.ports[f.root_at], peer = port && model.nodes[port.peer_node];
  const at = {evidence: f.evidence, between: !!peer && !peer.host && !model.nodes[port.node].host};
  const rules =
      Object.keys(config).length === 0 ? [] : RULES.filter((rule) => rule.types.includes(f.type) && rule.when(values, at));
  return [
    ...culprits(model, config, f),
    ...rules.map(
        (rule) => ({set: `${rule.key}=${typeof rule.to === "function" ? rule.to(values, at) : rule.to}`, why: rule.why})),
  ].slice(0, MOST);
}

async function copy(text, button) {
  let done = false;
  try {
    await navigator.clipboard.writeText(text);
    done = true;
  } catch {
    const box = document.body.appendChild(el("textarea", {class: "hidden"}, text));
    box.select();
    done = document.execCommand("copy");
    box.remove();
  }
  button.textContent = done ? "copied" : "not copied";
  setTimeout(() => button.textContent = "copy", 1500);
}

export const copyButton = (text, label) => {
  const button = action("copy", label, () => copy(text, button), "copy");
  return button;
};

const quoted = (set) => (/[[\]"$ ]/.test(set) ? `'${set}'` : set);

/* @param[in,out] shown  lines that stand above already  @return an element; null: nothing more to try */
export function remedies(store, f, shown) {
  const list = remediesOf(store.model, store.series.config, f).filter(({set}) => !shown.has(set));
  if (list.length === 0)
    return null;
  list.forEach(({set}) => shown.add(set));
  return el("ul", {class: "remedies", "aria-label": "What to try"}, ...list.map(({set, why}) => {
    const line = `--set ${quoted(set)}`;
    return el("li", null, el("code", null, line), copyButton(line, `Copy ${line}`), el("span", {class: "note"}, why));
  }));
}
