/* SPDX-License-Identifier: BSD-3-Clause */
/* What a shape says when the pointer rests on it or the keyboard reaches it. */
import {el} from "./dom.js";

const textsOf = new WeakMap();

/* @param says  () => text of one or more lines */
export function tip(node, says) {
  textsOf.set(node, says);
  return node;
}

function speaker(node) {
  while (node && !textsOf.has(node))
    node = node.parentNode;
  return node;
}

/* @param at  {x, y} in the window */
function place(box, at) {
  const margin = 12, width = box.offsetWidth, height = box.offsetHeight;
  const x = Math.max(margin, Math.min(at.x + margin, innerWidth - width - margin));
  const above = at.y + height + 2 * margin > innerHeight;
  box.style.transform =
      `translate(${Math.round(x)}px, ${Math.round(above ? Math.max(0, at.y - height - margin) : at.y + margin)}px)`;
}

export function showTips() {
  const box = el("div", {id: "tip", role: "tooltip", hidden: true});
  const show = (text, at) => {
    box.hidden = !text;
    box.textContent = text || "";
    if (text)
      place(box, at);
  };
  document.body.append(box);
  document.addEventListener("pointermove", (event) => {
    const node = event.pointerType === "touch" ? null : speaker(event.target);
    show(node ? textsOf.get(node)(event) : null, {x: event.clientX, y: event.clientY});
  });
  document.addEventListener("focusin", (event) => {
    const node = event.target.matches(":focus-visible") ? speaker(event.target) : null;
    const at = event.target.getBoundingClientRect();
    show(node && node !== document.body ? textsOf.get(node)(null) : null, {x: at.left + at.width / 2, y: at.bottom});
  });
  document.addEventListener("keydown", (event) => event.key === "Escape" && show(null));
  document.addEventListener("scroll", () => show(null), true);
  document.addEventListener("pointerleave", () => show(null));
}
