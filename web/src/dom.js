/* SPDX-License-Identifier: BSD-3-Clause */
/* Elements. What data says becomes text nodes and attribute values, never markup. */

const SVG = "http://www.w3.org/2000/svg";

function make(node, attributes, children) {
  for (const [name, value] of Object.entries(attributes || {})) {
    if (value !== undefined && value !== null && value !== false)
      node.setAttribute(name, value === true ? "" : value);
  }
  node.append(...children.flat().filter((child) => child !== null && child !== undefined && child !== false));
  return node;
}

export const el = (name, attributes, ...children) => make(document.createElement(name), attributes, children);
export const svg = (name, attributes, ...children) => make(document.createElementNS(SVG, name), attributes, children);

const LONGEST_NAME = 40, LONGEST_PART = 20;

/* Text in which no line breaks within a flow's name (before ">" it may), within "0-2", or before a number's unit. */
export const phrases = (text) =>
    text.split(/(\S+->\S+|\b\d+-\d+|\b\d[\d.,]* (?:%|[num]?s|[kMG]?B)(?!\w))/)
        .map((part, i) => (i % 2 === 1 && part.length <= LONGEST_NAME ? el("span", {class: "name"}, part) : part));

/* The same where there is little room: a flow's name may break before its ports. */
export const parted = (text) =>
    text.split(/(\S+->\S+)/)
        .flatMap(
            (part, i) => i % 2 === 0 ?
                [part] :
                part.split(/(?<=\/)/).flatMap(
                    (piece, k) =>
                        [k > 0 && el("wbr"), piece.length <= LONGEST_PART ? el("span", {class: "name"}, piece) : piece]));

/* A drawing of so many px; on paper it shrinks to the page. */
export const image = (name, width, height, label, ...shapes) => svg(
    "svg", {class: name, width, height, viewBox: `0 0 ${width} ${height}`, role: "group", "aria-label": label}, ...shapes);

/* A part of the page with its heading. */
export function section(root, id, title, ...children) {
  const heading = el("header", {class: "heading"}, el("h2", {id: `${id}-title`}, title), el("span", {class: "saves"}));
  const node = el("section", {id, "aria-labelledby": `${id}-title`}, heading, ...children);
  root.append(node);
  return node;
}

/* Calls draw(width) now and whenever the element's width changes. */
export function whenSized(node, draw) {
  let width = 0;
  const sized = () => {
    if (node.clientWidth === width || node.clientWidth === 0)
      return;
    width = node.clientWidth;
    draw(width);
  };
  new ResizeObserver(sized).observe(node);
  sized();
}

/*
 * A scrolled box whose place is known: to ask the box for it costs a layout of the page wherever something has changed.
 * @param moved  called when the reader has scrolled
 */
export function scrolled(node, moved) {
  const at = {left: 0, top: 0}, read = () => Object.assign(at, {left: node.scrollLeft, top: node.scrollTop});
  let own = false;
  node.addEventListener("scroll", () => {
    if (!own) {
      read();
      moved();
    }
    own = false;
  });
  /* To a place that what is drawn into the box is drawn for: last, since it needs the layout. */
  at.go = (left, top) => {
    const before = [node.scrollLeft, node.scrollTop];
    node.scrollTo(left, top);
    read();
    own ||= at.left !== before[0] || at.top !== before[1];
  };
  return at;
}

/* At most once a frame. */
export function perFrame(draw) {
  let asked = false;
  return () => {
    if (asked)
      return;
    asked = true;
    requestAnimationFrame(() => {
      asked = false;
      draw();
    });
  };
}

/* A swatch and its meaning. */
export const key = (name, ...meaning) => el("span", {class: "key"}, el("i", {class: name}), ...meaning);

/* Paper has no scroll bars: what is drawn for it is drawn whole. */
export const onPaper = () => document.documentElement.classList.contains("print");

/* A canvas of so many px, sharp on dense screens. @return its context, in px */
export function fit(canvas, width, height) {
  const ratio = onPaper() ? 1 : devicePixelRatio || 1;
  if (canvas.width !== Math.round(width * ratio) || canvas.height !== Math.round(height * ratio)) {
    canvas.width = Math.round(width * ratio);
    canvas.height = Math.round(height * ratio);
    canvas.style.width = `${width}px`;
    canvas.style.height = `${height}px`;
  }
  const g = canvas.getContext("2d");
  g.setTransform(ratio, 0, 0, ratio, 0, 0);
  return g;
}

/* A button that does something. */
export function action(text, label, act, name = false) {
  const node = el("button", {type: "button", class: name, "aria-label": label, title: label}, text);
  node.addEventListener("click", act);
  return node;
}
