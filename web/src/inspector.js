/* SPDX-License-Identifier: BSD-3-Clause */
/* What is chosen, in words, and all that belongs to it, each to be chosen in turn. */
import {el, phrases} from "./dom.js";
import {readable} from "./format.js";
import {stepName} from "./model.js";
import {stands} from "./store.js";
import {markTracks, trackButtons} from "./tracks.js";
import {flowLines, portLines, portName, stepLines} from "./words.js";

const MOST = 12, TRACKED = 3; /* of each kind; more are counted */

const describe = {
  finding: ({findings, time}, i) => [readable(findings[i].sentence, time), [readable(findings[i].evidence, time)]],
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

/* Counters over time of the port, or of the finding's ports: a click adds one below the timeline. */
function tracks(store) {
  const {model, chosen, series} = store, f = chosen.kind === "finding" ? model.findings[chosen.index] : null;
  const ports = chosen.kind === "port" ? [chosen.index] :
      f                                ? [...new Set([f.root_at, ...f.ports_at])].slice(0, TRACKED) :
                                         [];
  const list = ports.flatMap((port) => series.ofPort(port));
  return list.length > 0 &&
      el("p", {class: "chips"}, el("span", null, "tracks"), ...trackButtons(store, list.slice(0, MOST)));
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
    if (changed.tracks)
      markTracks(box, store);
    if (!changed.chosen)
      return;
    box.hidden = !store.chosen;
    document.body.classList.toggle("choosing", !!store.chosen);
    if (!store.chosen)
      return;
    const [title, lines] = describe[store.chosen.kind](model, store.chosen.index), {lit} = store;
    details.replaceChildren(
        el("h2", null, ...phrases(title)), el("p", null, ...phrases(lines.join(" \u00b7 "))),
        ...[tracks(store), chips(store, "finding", lit.findings, "findings"), chips(store, "step", lit.steps, "steps"),
            chips(store, "flow", lit.flows, "flows"), chips(store, "port", lit.ports, "ports")]
            .filter(Boolean));
  });
}
