/* SPDX-License-Identifier: BSD-3-Clause */
/* The style's colors for canvases, which do not inherit them; told anew when light and dark change, and for paper. */

const names = [
  "page", "ink", "soft", "rule", "grid", "x0", "x1", "x2", "x3", "x4", "on-x0", "on-x1", "on-x2", "on-x3", "on-x4", "own",
  "other", "pfc"
];

export function colorsNow() {
  const style = getComputedStyle(document.documentElement);
  return Object.fromEntries(names.map((name) => [name, style.getPropertyValue(`--${name}`).trim()]));
}

/* Paper is light and has no scroll bars: drawings are redrawn whole for it. */
export function whenColorsChange(draw) {
  const root = document.documentElement;
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", draw);
  addEventListener("scheme", draw);
  addEventListener("beforeprint", () => {
    root.classList.add("print");
    draw();
  });
  addEventListener("afterprint", () => {
    root.classList.remove("print");
    draw();
  });
}
