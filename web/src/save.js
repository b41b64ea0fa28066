/* SPDX-License-Identifier: BSD-3-Clause */
/* Any view as SVG, with its colors, and as CSV. */
import {action, svg} from "./dom.js";

const STYLED = [
  "fill", "fill-opacity", "stroke", "stroke-width", "stroke-dasharray", "stroke-opacity", "stroke-linecap", "opacity",
  "font-size", "font-weight", "font-family", "text-anchor", "paint-order", "display"
];

const quoted = (cell) => (/[",\n]/.test(cell) ? `"${cell.replaceAll("\"", "\"\"")}"` : cell);
export const csvText = (rows) =>
    `${rows.map((row) => row.map((cell) => quoted(String(cell ?? ""))).join(",")).join("\n")}\n`;

/* ---- SVG ---- */

/* A drawing's style stands in the page: a separate file takes it along. */
function withStyle(node) {
  const copy = node.cloneNode(true), from = [node, ...node.querySelectorAll("*")],
        to = [copy, ...copy.querySelectorAll("*")];
  from.forEach((one, i) => {
    const style = getComputedStyle(one);
    for (const name of STYLED)
      to[i].setAttribute(name, style.getPropertyValue(name));
    for (const name of [...to[i].getAttributeNames()].filter(
             (n) => n === "class" || n === "tabindex" || n.startsWith("data-") || n.startsWith("aria-")))
      to[i].removeAttribute(name);
  });
  return copy;
}

/* A context of a canvas that records SVG: what the page's drawings use of one. */
export function recorder(root, name) {
  const shapes = [root];
  let d = "", clips = 0;
  const put = (name, attributes, text) => {
    const shape = svg(name, {...attributes, opacity: g.globalAlpha < 1 ? g.globalAlpha : null}, text);
    shapes[shapes.length - 1].append(shape);
    return shape;
  };
  const rect = (x, y, width, height, more) => put("rect", {
    x: x.toFixed(2),
    y: y.toFixed(2),
    width: Math.max(0, width).toFixed(2),
    height: Math.max(0, height).toFixed(2),
    ...more
  });
  const g = {
    fillStyle: "",
    strokeStyle: "",
    lineWidth: 1,
    globalAlpha: 1,
    textAlign: "left",
    font: "11px sans-serif",
    clearRect() {},
    setTransform() {},
    save: () => shapes.push(put("g", {})),
    restore: () => shapes.pop(),
    fillRect: (x, y, w, h) => rect(x, y, w, h, {fill: g.fillStyle}),
    strokeRect: (x, y, w, h) => rect(x, y, w, h, {fill: "none", stroke: g.strokeStyle, "stroke-width": g.lineWidth}),
    fillText(text, x, y) {
      const anchor = {left: "start", right: "end", center: "middle"}[g.textAlign];
      put("text", {
        x: x.toFixed(2),
        y: y.toFixed(2),
        fill: g.fillStyle,
        "font-size": "11px",
        "font-family": g.font.replace(/^\S+ /, ""),
        "text-anchor": anchor
      },
          text);
    },
    beginPath: () => d = "",
    moveTo: (x, y) => d += `M${x.toFixed(2)} ${y.toFixed(2)}`,
    lineTo: (x, y) => d += `L${x.toFixed(2)} ${y.toFixed(2)}`,
    closePath: () => d += "Z",
    rect: (x, y, w, h) => d += `M${x} ${y}h${w}v${h}h${- w}Z`,
    stroke: () => d && put("path", {d, fill: "none", stroke: g.strokeStyle, "stroke-width": g.lineWidth}),
    fill: () => d && put("path", {d, fill: g.fillStyle}),
    clip() {
      const id = `${name}-clip${clips++}`;
      root.append(svg("clipPath", {id}, svg("path", {d})));
      shapes[shapes.length - 1] = shapes[shapes.length - 1].appendChild(svg("g", {"clip-path": `url(#${id})`}));
    },
  };
  return g;
}

/* @param pictures  {node}: an SVG element; {width, height, paint(g)}: a canvas's drawing; one below the other */
export function svgText(pictures) {
  const root = svg("svg", {xmlns: "http://www.w3.org/2000/svg"}), style = getComputedStyle(document.body);
  const background = root.appendChild(svg("rect", {fill: style.backgroundColor}));
  const heads = document.querySelector("svg.heads defs");
  let width = 0, y = 0;
  if (heads)
    root.append(withStyle(heads));
  for (const {node, paint, ...size} of pictures) {
    const w = node ? Number(node.getAttribute("width")) : size.width,
          h = node ? Number(node.getAttribute("height")) : size.height;
    const part = root.appendChild(svg("svg", {x: 0, y, width: w, height: h}));
    if (node)
      part.append(...withStyle(node).childNodes);
    else
      paint(recorder(part, `part${y}`));
    width = Math.max(width, w);
    y += h + 6;
  }
  root.setAttribute("width", width);
  root.setAttribute("height", y);
  root.setAttribute("viewBox", `0 0 ${width} ${y}`);
  background.setAttribute("width", width);
  background.setAttribute("height", y);
  return new XMLSerializer().serializeToString(root);
}

/* ---- files ---- */

function download(name, type, text) {
  const link = document.createElement("a"), url = URL.createObjectURL(new Blob([text], {type}));
  link.href = url;
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(url), 1000);
}

/* All tables of a section, one below the other. */
const tablesOf =
    (node) => [...node.querySelectorAll("table tr")].map((row) => [...row.cells].map((cell) => cell.textContent.trim()));

/*
 * Puts buttons into a section's heading: SVG where it has a drawing, CSV where it has a table.
 * @param of  {csv: () => rows, pictures: () => as svgText() wants}; without them, the section's own tables and drawings
 */
export function save(node, {csv, pictures} = {}) {
  if (node.querySelector(".saves").childNodes.length > 0)
    return;
  const name = `${document.title.replace(/: .*/, "")}-${node.id}`, tools = node.querySelector(".saves");
  const drawings =
      () => [...node.querySelectorAll("svg:not(.series)")].filter((one) => one.getAttribute("width")).map((one) => ({
                                                                                                            node: one
                                                                                                          }));
  if (pictures || node.querySelector(".rows") || drawings().length > 0)
    tools.append(action(
        "SVG", `Save ${node.id} as SVG`, () => download(`${name}.svg`, "image/svg+xml", svgText((pictures || drawings)())),
        "save"));
  if (csv || node.querySelector("table"))
    tools.append(action(
        "CSV", `Save ${node.id} as CSV`, () => download(`${name}.csv`, "text/csv", csvText(csv ? csv() : tablesOf(node))),
        "save"));
}
