/* SPDX-License-Identifier: BSD-3-Clause */
/* The style's colors for canvases, which do not inherit them; told anew when light and dark change, and for paper. */

const names = [
  "page", "ink", "soft", "rule", "grid", "x0", "x1", "x2", "x3", "x4", "on-x0", "on-x1", "on-x2", "on-x3", "on-x4", "own",
  "other", "pfc"
];

let now = null; /* asked once: an answer costs the page's styles wherever something has changed */

export function colorsNow() {
  const style = now || getComputedStyle(document.documentElement);
  now ||= Object.fromEntries(names.map((name) => [name, style.getPropertyValue(`--${name}`).trim()]));
  return now;
}

function forget() {
  now = null;
}

/* Paper is light and has no scroll bars: drawings are redrawn whole for it. */
export function whenColorsChange(draw) {
  const root = document.documentElement, again = () => {
    forget();
    draw();
  };
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", again);
  addEventListener("scheme", again);
  addEventListener("beforeprint", () => {
    root.classList.add("print");
    again();
  });
  addEventListener("afterprint", () => {
    root.classList.remove("print");
    again();
  });
}
