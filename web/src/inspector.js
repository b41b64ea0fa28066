/* SPDX-License-Identifier: BSD-3-Clause */
/* What is chosen, in words, and all that belongs to it, each to be chosen in turn. */
import {el, phrases} from "./dom.js";
import {stepName} from "./model.js";
import {stands} from "./store.js";
import {flowLines, portLines, portName, stepLines} from "./words.js";

const MOST = 12; /* of each kind; more are counted */

const describe = {
  finding: (model, i) => [model.findings[i].sentence, [model.findings[i].evidence]],
  step: (model, i) => [stepName(model, model.step(i)), stepLines(model, model.step(i))],
  port: (model, i) => [`Port ${portName(model, i)}`, portLines(model, i)],
  flow: (model, i) => [`Flow ${model.flows[i].name}`, flowLines(model, i)],
};

const nameOf = {
  finding: (model, i) => `${model.findings[i].title} ${model.findings[i].root}`,
  step: (model, i) => stepName(model, model.step(i)),
  port: (model, i) => model.ports[i].name,
  flow: (model, i) => model.flows[i].short,
};

function chips(store, kind, set, plural) {
  const {model, chosen} = store, list = [...set].filter((i) => kind !== chosen.kind || i !== chosen.index);
  if (list.length === 0)
    return null;
  return el(
      "p", {class: "chips"}, el("span", null, list.length === 1 ? kind : plural),
      ...list.slice(0, MOST).map((i) => stands(el("button", {type: "button"}, nameOf[kind](model, i)), kind, i)),
      list.length > MOST && el("span", null, `and ${list.length - MOST} more`));
}

export function drawInspector(store) {
  const {model} = store, box = el("aside", {id: "inspector", "aria-label": "Selection", hidden: true}),
        details = el("div", {"aria-live": "polite"});
  const close =
      el("button", {type: "button", class: "close", "aria-label": "Choose nothing (Escape)", title: "Escape"}, "\u00d7");
  close.addEventListener("click", () => store.choose(null));
  box.append(close, details);
  document.body.append(box);
  store.on((changed) => {
    if (!changed.chosen)
      return;
    box.hidden = !store.chosen;
    document.body.classList.toggle("choosing", !!store.chosen);
    if (!store.chosen)
      return;
    const [title, lines] = describe[store.chosen.kind](model, store.chosen.index), {lit} = store;
    details.replaceChildren(
        el("h2", null, ...phrases(title)), el("p", null, ...phrases(lines.join(" \u00b7 "))),
        ...[chips(store, "finding", lit.findings, "findings"), chips(store, "step", lit.steps, "steps"),
            chips(store, "flow", lit.flows, "flows"), chips(store, "port", lit.ports, "ports")]
            .filter(Boolean));
  });
}
