# SPDX-License-Identifier: BSD-3-Clause
"""How the page looks, whatever is on it: nothing is wider than the window, and every text can be read."""
from harness import check

WIDTHS = (390, 1280, 1920)

# Every text that is seen, its contrast with what lies behind it (WCAG 2, 1.4.3), where that is too small.
FAINT = """
const channels = (color) => (color.match(/[\\d.]+/g) || []).map(Number);
const light = (c) => { c /= 255; return c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4; };
const luminance = ([r, g, b]) => 0.2126 * light(r) + 0.7152 * light(g) + 0.0722 * light(b);
const opaque = (color) => { const c = channels(color); return c.length >= 3 && (c.length < 4 || c[3] > 0.5) ? c : null; };
function behind(node) {
  const shape = node.ownerSVGElement && node.parentNode.querySelector(":scope > rect:not(.row):not(.span):not(.truth)");
  if (shape && node.parentNode.localName === "g" && opaque(getComputedStyle(shape).fill))
    return opaque(getComputedStyle(shape).fill);
  for (let at = node; at; at = at.parentElement) {
    const color = opaque(getComputedStyle(at).backgroundColor);
    if (color)
      return color;
  }
  return [255, 255, 255];
}
return [...document.querySelectorAll("body *")].filter((node) => node.checkVisibility() && !node.closest("script, style, [hidden]") &&
  [...node.childNodes].some((child) => child.nodeType === 3 && child.data.trim())).map((node) => {
  const style = getComputedStyle(node), front = channels(node.ownerSVGElement ? style.fill : style.color);
  const [a, b] = [luminance(front), luminance(behind(node))].sort((x, y) => y - x);
  return [(a + 0.05) / (b + 0.05), node.textContent.slice(0, 40), node.getAttribute("class") || node.localName];
}).filter(([contrast]) => contrast < 4.5);
"""

CUT = """
return [...document.querySelectorAll(".scroll > table")].filter((node) => node.checkVisibility() &&
  node.parentNode.scrollWidth > node.parentNode.clientWidth).map((node) => [node.closest("section").id, node.parentNode.scrollWidth]);
"""

# Figures and names of flows in what can be chosen, where a digit follows a digit on another line.
SPLIT = """
const top = (node, at) => { const range = document.createRange(); range.setStart(node, at); range.setEnd(node, at + 1);
  return range.getBoundingClientRect().top; };
return [...document.querySelectorAll("button, td, dd b")].filter((node) => node.checkVisibility()).flatMap((node) => [...node.childNodes])
  .filter((node) => node.nodeType === 3 && [...node.data.matchAll(/[0-9](?=[0-9])/g)].some(({index}) =>
    Math.abs(top(node, index) - top(node, index + 1)) > 4)).map((node) => node.data);
"""


def fits_all(browser, name):
    """In every width and both colour schemes."""
    for scheme in ("light", "dark"):
        for width in WIDTHS:
            browser.look(width, 900, scheme)
            wide = browser.script("return document.documentElement.scrollWidth")
            check(wide <= width, f"{name}, {width} px, {scheme}: nothing is wider than the window", wide)
            cut = browser.script(CUT) if width >= 1280 else []
            check(not cut, f"{name}, {width} px, {scheme}: no table is wider than its place", cut)
            split = browser.script(SPLIT)
            check(not split, f"{name}, {width} px, {scheme}: no number is split between lines", split)
            faint = browser.script(FAINT)
            check(not faint, f"{name}, {width} px, {scheme}: every text stands out", faint)
    browser.look()
