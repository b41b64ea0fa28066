/* SPDX-License-Identifier: BSD-3-Clause */
/* A search over what has a name: findings, ports, nodes, flows, jobs and collectives. */
import {el} from "./dom.js";
import {cut, readable} from "./format.js";

const MOST = 12, LONGEST = 90;

/* {text, kind, go(store)} of all that can be found; pure but for go(). */
export function entriesOf(model) {
  const choose = (kind, index) => (store) =>
      (store.chosen && store.chosen.kind === kind && store.chosen.index === index) || store.choose(kind, index);
  const portOf = new Map();
  model.ports.forEach((port, i) => portOf.has(port.node) || portOf.set(port.node, i));
  return [
    ...model.findings.map((f, i) => ({kind: "finding", text: readable(f.sentence, model.time), go: choose("finding", i)})),
    ...model.jobs.flatMap((job) => {
      const first = model.collectives.findIndex((c) => c.job === job.job);
      return first < 0 ? [] : [{kind: "job", text: job.name, go: (store) => store.show(first)}];
    }),
    ...model.collectives.map(
        (c, i) => ({kind: "collective", text: `${c.name} iteration ${c.iteration}`, go: (store) => store.show(i)})),
    ...model.nodes.flatMap(
        (node, i) =>
            (portOf.has(i) ? [{kind: node.host ? "host" : "switch", text: node.name, go: choose("port", portOf.get(i))}] :
                             [])),
    ...model.ports.map((port, i) => ({kind: "port", text: port.name, go: choose("port", i)})),
    ...model.flows.map((flow, i) => ({kind: "flow", text: flow.name, go: choose("flow", i)})),
  ];
}

/* Those that begin with what is sought, then those that have all its words. */
export function found(entries, sought) {
  const words = sought.toLowerCase().split(/\s+/).filter(Boolean), first = [], rest = [];
  if (words.length === 0)
    return [];
  for (const entry of entries) {
    const text = `${entry.kind} ${entry.text}`.toLowerCase();
    if (entry.text.toLowerCase() === words.join(" "))
      first.unshift(entry);
    else if (entry.text.toLowerCase().startsWith(words[0]) && words.every((word) => text.includes(word)))
      first.push(entry);
    else if (words.every((word) => text.includes(word)))
      rest.push(entry);
    if (first.length >= 4 * MOST)
      break;
  }
  return [...first, ...rest].slice(0, MOST);
}

export function searchOf(store) {
  const list = el("ul", {id: "found", role: "listbox", "aria-label": "Found", hidden: true});
  const input = el("input", {
    type: "search",
    id: "search",
    placeholder: "Find a port, flow, job \u2026 ( / )",
    role: "combobox",
    "aria-label": "Find a finding, port, host, flow, job or collective",
    "aria-controls": "found",
    "aria-expanded": "false",
    autocomplete: "off",
    spellcheck: "false"
  });
  let entries = null, shown = [], at = 0;
  const close = () => {
    list.hidden = true;
    input.setAttribute("aria-expanded", "false");
    input.removeAttribute("aria-activedescendant");
  };
  const mark = () => {
    [...list.children].forEach((item, i) => item.setAttribute("aria-selected", String(i === at)));
    if (shown.length > 0)
      input.setAttribute("aria-activedescendant", `found-${at}`);
  };
  const take = (i) => {
    if (!shown[i])
      return;
    close();
    shown[i].go(store);
  };
  input.addEventListener("input", () => {
    entries ||= entriesOf(store.model);
    shown = found(entries, input.value);
    at = 0;
    list.replaceChildren(...shown.map((entry, i) => {
      const item = el("li", {id: `found-${i}`, role: "option"}, el("small", null, entry.kind), cut(entry.text, LONGEST));
      item.addEventListener("pointerdown", (event) => {
        event.preventDefault();
        take(i);
      });
      return item;
    }));
    if (shown.length === 0 && input.value.trim())
      list.append(el("li", {class: "note"}, "nothing of this name"));
    list.hidden = input.value.trim() === "";
    input.setAttribute("aria-expanded", String(!list.hidden));
    mark();
  });
  input.addEventListener("keydown", (event) => {
    const by = {ArrowDown: 1, ArrowUp: -1}[event.key];
    if (by && shown.length > 0) {
      event.preventDefault();
      at = (at + by + shown.length) % shown.length;
      mark();
    } else if (event.key === "Enter") {
      event.preventDefault();
      take(at);
    } else if (event.key === "Escape") {
      event.stopPropagation();
      close();
      input.blur();
    }
  });
  input.addEventListener("blur", close);
  return el("div", {class: "search"}, input, list);
}
