/* SPDX-License-Identifier: BSD-3-Clause */
/* Keys of the whole page, and the list of them. */
import {action, el} from "./dom.js";

const LIST = [
  ["/", "find a port, host, flow, job, finding"], ["j, k", "next and previous finding"],
  ["+, \u2212", "zoom time in and out"], ["[, ]", "earlier and later"], ["0", "the whole time"], ["Esc", "choose nothing"],
  ["arrows, Enter", "in a drawing: go from shape to shape, choose"], ["d", "light, dark, or as the system has it"],
  ["?", "this list"]
];

function help() {
  const box =
      el("dialog", {id: "help", "aria-label": "Keys"}, el("h2", null, "Keys"),
         el("dl", null, ...LIST.flatMap(([key, does]) => [el("dt", null, el("kbd", null, key)), el("dd", null, does)])));
  box.append(action("Close", "Close the list of keys", () => box.close()));
  return box;
}

const SCHEMES = ["auto", "light", "dark"];

/* Light, dark, or as the system has it: for this page, while it is open. */
export function nextScheme() {
  const root = document.documentElement, at = SCHEMES.indexOf(root.dataset.scheme || "auto"),
        next = SCHEMES[(at + 1) % SCHEMES.length];
  if (next === "auto")
    delete root.dataset.scheme;
  else
    root.dataset.scheme = next;
  dispatchEvent(new Event("scheme"));
  return next;
}

/* @return buttons for those without a keyboard */
export function listenForKeys(store) {
  const box = document.body.appendChild(help()), {time, model} = store;
  const go = (by) => {
    const at = store.chosen && store.chosen.kind === "finding" ? store.chosen.index + by :
        by > 0                                                 ? 0 :
                                                                 model.findings.length - 1;
    if (!model.findings[at])
      return;
    store.choose("finding", at);
    const shown = document.querySelector(`.finding[data-kind="finding"][data-index="${at}"]`);
    if (shown)
      shown.scrollIntoView({block: "nearest"});
  };
  const moved = (act) => () => {
    act();
    store.moved();
  };
  const scheme = action("\u25d1", "Light, dark, or as the system has it", nextScheme);
  const does = {
    "/": () => document.getElementById("search").focus(),
    "?": () => (box.open ? box.close() : box.showModal()),
    j: () => go(1),
    k: () => go(-1),
    d: nextScheme,
    "+": moved(() => time.zoom(2)),
    "=": moved(() => time.zoom(2)),
    "-": moved(() => time.zoom(0.5)),
    "[": moved(() => time.move(-0.25)),
    "]": moved(() => time.move(0.25)),
    0: moved(() => time.reset()),
  };
  document.addEventListener("keydown", (event) => {
    if (!does[event.key] || event.ctrlKey || event.metaKey || event.altKey ||
        event.target.closest("input, select, textarea") || (box.open && event.key !== "?"))
      return;
    event.preventDefault();
    does[event.key]();
  });
  return [scheme, action("?", "Keys of this page", () => box.showModal())];
}
