/* SPDX-License-Identifier: BSD-3-Clause */
/* The lost time as one bar, cause by cause: parts add up to the whole, in the bar and in the numbers beside it. */
import {el} from "./dom.js";
import {addUp, count} from "./format.js";
import {stands} from "./store.js";
import {tip} from "./tip.js";

const MOST = 6; /* findings with a part of their own */

const sum = (list) => list.reduce((all, f) => all + f.explained_ns, 0);

/* {name, ns, css, finding} of each part that is not 0. Pure. */
export function partsOf(model) {
  const n = model.network, costly = model.findings.filter((f) => !f.untimed && !f.without_effect && f.explained_ns > 0);
  const shown = costly.length > MOST + 1 ? costly.slice(0, MOST) : costly, more = costly.slice(shown.length);
  const parts = shown.map((f) => ({name: `${f.title} ${f.root}`, ns: f.explained_ns, css: f.family, finding: f.index}));
  const named = sum(costly);
  return [
    ...parts,
    more.length > 0 && {name: `${count(more.length)} more causes`, ns: sum(more), css: "more"},
    {name: "causes in other parts of the run", ns: n.explained_ns - named, css: "more"},
    {name: "regains nothing alone", ns: n.without_effect_ns, css: "alone"},
    {name: "hosts late by too little to be named", ns: n.late_little_ns, css: "little"},
    {name: "unexplained", ns: n.unexplained_ns, css: "unexplained"},
  ].filter((part) => part && part.ns > 0);
}

/* What is lost by root causes, by what regains nothing alone, by late hosts, and unexplained: they add up. Pure. */
export function lossOf(model, unitNs, digits) {
  const n = model.network;
  const parts = [n.explained_ns, n.without_effect_ns, n.late_little_ns, n.unexplained_ns].map((ns) => ns / unitNs);
  return addUp(parts, n.lost_ns / unitNs, digits);
}

/*
 * The number of each part: those of root causes add up to what these explain, and all to what was lost. Pure.
 * @param unitNs  what 1 of the numbers is worth
 */
export function shownOf(model, parts, unitNs, digits) {
  const isCause = (part) => part.finding !== undefined || part.css === "more";
  const [causes, alone, little, unexplained] = lossOf(model, unitNs, digits);
  const shown = addUp(parts.filter(isCause).map((part) => part.ns / unitNs), Number(causes), digits);
  return parts.map((part) => (isCause(part) ? shown.shift() : {alone, little, unexplained}[part.css]));
}

export function drawBudget(root, store) {
  const {model} = store, {lost_ns: lost} = model.network, t = model.time;
  if (!(lost > 0))
    return;
  const all = partsOf(model), times = shownOf(model, all, t.unitNs, 3), percents = shownOf(model, all, lost / 100, 1);
  const parts = all.map((part, i) => ({...part, text: times[i], share: percents[i]})).filter(({text}) => Number(text) > 0);
  const bar = el("div", {class: "budget-bar", "aria-hidden": "true"}), list = el("ul", {class: "budget-parts"});
  parts.forEach((part) => {
    const says = `${part.name}: ${part.text} ${t.unit}, ${part.share} %`;
    const piece = part.finding === undefined ?
        el("span", {class: `piece ${part.css}`}) :
        stands(el("button", {type: "button", class: `piece ${part.css}`, tabindex: "-1"}), "finding", part.finding, says);
    piece.style.flexGrow = String(Math.max(part.ns / lost, 0.002));
    bar.append(tip(piece, () => says));
    list.append(
        el("li", null, el("i", {class: `piece ${part.css}`}),
           part.finding === undefined ?
               part.name :
               stands(el("button", {type: "button", class: "plain"}, part.name), "finding", part.finding),
           el("b", null, part.text), el("small", null, `${part.share} %`)));
  });
  root.append(
      el("div", {class: "budget", id: "budget", role: "group", "aria-label": "The lost time, cause by cause"},
         el("p", null, el("b", null, `${t.of(lost)} lost`), model.jobs.length > 1 ? " by all jobs: " : ": ",
            el("span", {class: "note"}, `${lossOf(model, lost / 100, 1)[0]} % by root causes; in ${t.unit}, parts add up`)),
         bar, list));
}
