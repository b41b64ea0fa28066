/* SPDX-License-Identifier: BSD-3-Clause */
/* What the reader chose: one finding, step, port or flow, the collective shown and the provenance graph shown. */
import {belonging} from "./model.js";

const litSet = {
  finding: "findings",
  step: "steps",
  port: "ports",
  flow: "flows"
};

/* The graph that explains a choice best: of the step itself, or of the slowest step it is about. */
function graphFor(model, chosen, lit) {
  const graphs = [...lit.steps].map((step) => model.graphOfStep.get(step)).filter((g) => g !== undefined);
  if (chosen.kind === "step")
    return model.graphOfStep.get(chosen.index);
  return graphs.length > 0 ? Math.min(...graphs) : undefined; /* the data has the most telling first */
}

function collectiveFor(model, chosen) {
  if (chosen.kind === "finding")
    return model.findings[chosen.index].untimed ? undefined : model.findings[chosen.index].collective_at;
  return chosen.kind === "step" ? model.step(chosen.index).collective : undefined;
}

/* @param scenario  what `rocelab run` says of its scenario; null: nothing */
export function storeOf(model, scenario = null) {
  const listeners = [];
  const store = {
    model,
    scenario,
    chosen: null,
    lit: null,
    collective: Math.max(0, model.run.worst),
    graph: 0,
    /* @param listen  called with what changed: {chosen, collective, graph} */
    on: (listen) => listeners.push(listen),
    /* Choosing the same again chooses nothing. @param keep  leave collective and graph as they are */
    choose(kind, index) {
      const same = store.chosen && store.chosen.kind === kind && store.chosen.index === index;
      store.chosen = same || kind === null ? null : {kind, index};
      store.lit = belonging(model, store.chosen);
      const graph = store.chosen ? graphFor(model, store.chosen, store.lit) : undefined;
      const collective = store.chosen ? collectiveFor(model, store.chosen) : undefined;
      tell({chosen: true, graph, collective});
    },
    show: (collective) => tell({collective}),
    open: (graph) => tell({graph}),
    /* Marks elements that stand for something: lit, dim, chosen. */
    mark(root) {
      for (const node of root.querySelectorAll("[data-kind]"))
        markOne(store, node);
    },
  };
  function tell({chosen, collective, graph}) {
    const changed = {
      chosen: !!chosen,
      collective: collective !== undefined && collective !== store.collective,
      graph: graph !== undefined && graph !== store.graph,
    };
    store.collective = changed.collective ? collective : store.collective;
    store.graph = changed.graph ? graph : store.graph;
    listeners.forEach((listen) => listen(changed));
  }
  return store;
}

function markOne(store, node) {
  const kind = node.getAttribute("data-kind"), index = Number(node.getAttribute("data-index"));
  const is = store.chosen && store.chosen.kind === kind && store.chosen.index === index;
  let lit = store.lit && store.lit[litSet[kind]].has(index);
  if (store.lit && kind === "step")
    lit ||= store.lit.stepFlows.has(Number(node.getAttribute("data-flow")));
  node.classList.toggle("lit", !!lit);
  node.classList.toggle("dim", !!store.lit && !lit);
  node.classList.toggle("chosen", !!is);
  if (node.hasAttribute("aria-pressed"))
    node.setAttribute("aria-pressed", String(!!is));
}

/* An element that stands for a finding, step, port or flow: choosing it by pointer or key lights up what belongs to it. */
export function stands(node, kind, index, label, flow) {
  node.setAttribute("data-kind", kind);
  node.setAttribute("data-index", index);
  if (flow !== undefined)
    node.setAttribute("data-flow", flow);
  if (node.localName !== "button") {
    node.setAttribute("role", "button");
    node.setAttribute("tabindex", "-1");
  }
  node.setAttribute("aria-pressed", "false");
  if (label)
    node.setAttribute("aria-label", label);
  return node;
}

/* Clicks and keys on all elements that stand for something. */
export function listenForChoices(root, store) {
  const of = (event) => event.target.closest && event.target.closest("[data-kind]");
  const choose = (node) => store.choose(node.getAttribute("data-kind"), Number(node.getAttribute("data-index")));
  root.addEventListener("click", (event) => of(event) && choose(of(event)));
  root.addEventListener("keydown", (event) => {
    const node = of(event);
    if (node && node.localName !== "button" && (event.key === "Enter" || event.key === " ")) {
      event.preventDefault();
      choose(node);
    }
  });
  document.addEventListener("keydown", (event) => event.key === "Escape" && store.chosen && store.choose(null));
}

/* A drawing is one stop of the Tab key; arrows go from shape to shape. */
export function roving(drawing) {
  const shapes = () => [...drawing.querySelectorAll("[data-kind]")];
  drawing.addEventListener("keydown", (event) => {
    const by = {ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1}[event.key];
    const all = shapes(), at = all.indexOf(event.target);
    if (!by || at < 0)
      return;
    event.preventDefault();
    const next = all[(at + by + all.length) % all.length];
    all[at].setAttribute("tabindex", "-1");
    next.setAttribute("tabindex", "0");
    next.focus();
  });
  return () => {
    const first = shapes()[0];
    if (first)
      first.setAttribute("tabindex", "0");
  };
}
