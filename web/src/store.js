/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the reader chose: one finding, step, port or flow, the collective shown, the provenance graph shown, the time that
 * all views show, and tracks of counters.
 */
import {belonging, largest} from "./model.js";
import {seriesOf} from "./series.js";

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

/* The collective that loses most of those in view; undefined: the shown one is among them. */
function collectiveIn(model, time, shown) {
  const seen = (c) => c.start_ns <= time.to && c.start_ns + c.took_ns >= time.from;
  if (time.isWhole() || model.collectives.length === 0 || seen(model.collectives[shown]))
    return undefined;
  const found = model.collectives.reduce(
      (best, c, i) => (seen(c) && (best < 0 || c.lost_ns > model.collectives[best].lost_ns) ? i : best), -1);
  return found >= 0 ? found : undefined;
}

const AHEAD = "300px"; /* parts that are nearer to the window are drawn */
const TASK_MS = 8;

/*
 * Drawings that cost more than a frame: made behind what the reader waits for, in tasks between which the page answers,
 * and only while their part of the page is in view or close to it. What scrolls into view, is used, or is printed is
 * made up to date first.
 */
function laterOf() {
  const parts = [], of = new Map(), root = document.documentElement;
  const due = (one) => one.changed && (one.near || one.part.hidden);
  const seen = new IntersectionObserver((entries) => {
    entries.forEach((entry) => of.get(entry.target).near = entry.isIntersecting);
    ask();
  }, {rootMargin: AHEAD});
  const draw = (one) => {
    const {changed} = one;
    one.changed = null;
    if (changed)
      one.listen(changed);
  };
  function follow() {
    const until = performance.now() + TASK_MS;
    for (let one = parts.find(due); one; one = parts.find(due)) {
      draw(one);
      if (performance.now() > until)
        return setTimeout(follow);
    }
    return delete root.dataset.pending;
  }
  function ask() {
    if (root.dataset.pending || !parts.some(due))
      return;
    root.dataset.pending = "true";
    requestAnimationFrame(() => setTimeout(follow)); /* the frame that answers comes first */
  }
  addEventListener("beforeprint", () => parts.forEach(draw));
  return {
    /* @param part  of the page  @param listen  called with all that changed since it was called last */
    add(part, listen) {
      const one = {part, listen, changed: null, near: true};
      parts.push(one);
      of.set(part, one);
      seen.observe(part);
      part.addEventListener("click", () => draw(one), true);
    },
    tell(changed) {
      for (const one of parts) {
        const before = one.changed || {};
        one.changed = Object.fromEntries(Object.keys(changed).map((what) => [what, changed[what] || !!before[what]]));
      }
      ask();
    },
  };
}

const SHORT = 0.6; /* of the run */

/* The time that is shown at first: the collectives', where the run goes on long after them. */
function showFirst(model, time) {
  const end = largest(model.collectives, (c) => c.start_ns + c.took_ns, 0);
  if (end > 0 && end < SHORT * time.whole[1])
    time.span(0, 1.02 * end);
}

/*
 * @param time  viewOf() the whole run
 * @param scenario, series  what `rocelab run` adds: of its scenario, counters over time; null: nothing
 */
export function storeOf(model, time, scenario = null, series = null) {
  const listeners = [], later = laterOf();
  const store = {
    model,
    scenario,
    series: seriesOf(series, model.portNamed),
    chosen: null,
    lit: null,
    collective: Math.max(0, model.run.worst),
    graph: 0,
    time,
    tracks: [],   /* keys of series */
    truth: false, /* are injected faults shown beside the findings? */
    /* @param listen  called with what changed: {chosen, collective, graph, time, tracks, truth} */
    on: (listen) => listeners.push(listen),
    /* The same for a part of the page whose drawing costs more than a frame. */
    later: later.add,
    /* Choosing the same again chooses nothing. */
    choose(kind, index) {
      const same = store.chosen && store.chosen.kind === kind && store.chosen.index === index;
      store.chosen = same || kind === null ? null : {kind, index};
      store.lit = belonging(model, store.chosen);
      const graph = store.chosen ? graphFor(model, store.chosen, store.lit) : undefined;
      const collective = store.chosen ? collectiveFor(model, store.chosen) : undefined;
      tell({chosen: true, graph, collective});
    },
    /* A collective, and its time. */
    show(collective) {
      const c = model.collectives[collective];
      store.time.span(c.start_ns, c.start_ns + c.took_ns);
      tell({collective, time: true});
    },
    open: (graph) => tell({graph}),
    moved: () => tell({time: true, collective: collectiveIn(model, store.time, store.collective)}),
    reveal(truth) {
      store.truth = truth;
      tell({truth: true});
    },
    retrack(keys) {
      store.tracks = [...keys];
      tell({tracks: true});
    },
    /* Adds a track, or removes it. */
    track(key) {
      const at = store.tracks.indexOf(key);
      if (at >= 0)
        store.tracks.splice(at, 1);
      else if (store.series.has(key))
        store.tracks.push(key);
      tell({tracks: true});
    },
    /* Marks elements that stand for something: lit, dim, chosen. */
    mark(root) {
      for (const node of root.querySelectorAll("[data-kind]"))
        markOne(store, node);
    },
  };
  showFirst(model, store.time);
  store.first = [store.time.from, store.time.to];
  function tell({chosen, collective, graph, time, tracks, truth}) {
    const changed = {
      time: !!time,
      tracks: !!tracks,
      truth: !!truth,
      chosen: !!chosen,
      collective: collective !== undefined && collective !== store.collective,
      graph: graph !== undefined && graph !== store.graph,
    };
    store.collective = changed.collective ? collective : store.collective;
    store.graph = changed.graph ? graph : store.graph;
    listeners.forEach((listen) => listen(changed));
    later.tell(changed);
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
  const pressed = node.getAttribute("aria-pressed");
  if (pressed !== null && pressed !== String(!!is))
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
