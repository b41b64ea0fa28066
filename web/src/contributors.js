/* SPDX-License-Identifier: BSD-3-Clause */
/* Flows outside the collective, by what they did to it (Eq. 3). */
import {el, parted, section} from "./dom.js";
import {percent, score} from "./format.js";
import {stepName} from "./model.js";
import {stands} from "./store.js";
import {contributorWords} from "./words.js";

const FIRST = 20, SHARES = 8;

/* Two rows: what the flow did in all, and to which steps. */
function rowsOf(model, c, all, top) {
  const bar = el("i"), rest = c.steps_at.length - SHARES;
  const button = (text, kind, index) =>
      stands(el("button", {type: "button", class: "plain"}, ...parted(text)), kind, index);
  const share = (step, i) =>
      button(`${stepName(model, model.step(step))}: ${score(c.per_critical_flow[i].score)}`, "step", step);
  bar.style.width = `${top > 0 ? Math.max(0.5, 100 * c.score / top) : 0}%`;
  return [
    el("tr", {class: "flow-row"}, el("th", {scope: "row"}, button(model.flows[c.flow_at].short, "flow", c.flow_at)),
       el("td", {class: "number"}, score(c.score)), el("td", {class: "number"}, percent(all > 0 ? c.score / all : 0, 1)),
       el("td", {class: "bar"}, bar)),
    el("tr", null,
       el("td", {class: "shares", colspan: 4}, ...c.steps_at.slice(0, SHARES).map(share),
          rest > 0 && el("span", null, `and ${rest} more`))),
  ];
}

export function drawContributors(root, store) {
  const {model} = store, all = model.contributors.reduce((sum, c) => sum + c.score, 0);
  if (model.contributors.length === 0)
    return;
  const body = el("tbody"), top = model.contributors[0].score, words = contributorWords(model);
  const more = el("button", {type: "button", class: "more"}, `Show all ${model.contributors.length}`);
  const fill = (list) => body.append(...list.flatMap((c) => rowsOf(model, c, all, top)));
  fill(model.contributors.slice(0, FIRST));
  more.addEventListener("click", () => {
    fill(model.contributors.slice(FIRST));
    store.mark(body);
    more.remove();
  });
  section(
      root, "contributors", "Contributors",
      el("p", {class: "legend"},
         `Scores of ${words.flows}: the packet-waits that each caused to ${words.slowed} (Eq. 1 and 2), `,
         `weighted by the time each ${words.victim} lost (Eq. 3).`),
      el("div", {class: "scroll"},
         el("table", {class: "contributors"},
            el("thead", null,
               el("tr", null,
                  ...["flow", "score", "share", `and to which ${words.slowed}`].map(
                      (name, i) => el("th", {scope: "col", class: i === 1 || i === 2 ? "number" : false}, name)))),
            body)),
      model.contributors.length > FIRST && more);
}
