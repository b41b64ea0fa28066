/* SPDX-License-Identifier: BSD-3-Clause */
/* How numbers look to people: the spellings of diag/report/fmt.h. */

/* "46.973 ms": all times of a page have one unit. */
export function timeIn(unit, unitNs) {
  const bare = (ns) => (ns / unitNs).toFixed(3);
  return {unit, unitNs, bare, of: (ns) => `${bare(ns)} ${unit}`};
}

/* A duration of its own: a round trip beside milliseconds. */
export function duration(ns) {
  if (ns >= 1e7)
    return `${(ns / 1e6).toFixed(3)} ms`;
  return ns >= 1e4 ? `${(ns / 1e3).toFixed(3)} us` : `${ns.toFixed(3)} ns`;
}

export const count = (n) => String(Math.round(n)).replace(/\B(?=(\d{3})+$)/g, ",");

function withPrefix(value, unit, places) {
  const prefixes = ["", "k", "M", "G", "T", "P", "E"];
  let i = 0;
  for (; Math.abs(value) >= 999.5 && i + 1 < prefixes.length; i++)
    value /= 1000;
  if (i > 0)
    places = Math.abs(value) >= 99.95 ? 0 : Math.abs(value) >= 9.995 ? 1 : 2;
  return `${value.toFixed(places)}${i > 0 || unit ? " " : ""}${prefixes[i]}${unit}`;
}

/* Three digits: "0.42", "37.1", "412 k". */
export function score(value) {
  const size = Math.abs(value);
  return withPrefix(value, "", size === 0 || size >= 99.95 ? 0 : size >= 9.995 ? 1 : 2);
}

export const bytes = (value) => withPrefix(value, "B", 0);
/* GB/s, as the tables of the text have them */
export const gigabytes = (value) => value.toFixed(value < 0.1 ? 4 : 2);
export const rate = (bps) => withPrefix(bps, "bit/s", 0);

/* 0.528 -> "+52.8 %" */
export function change(ratio) {
  const text = `${ratio >= 0 ? "+" : ""}${(100 * ratio).toFixed(1)} %`;
  return text === "-0.0 %" ? "+0.0 %" : text;
}

export const percent = (share, places = 0) => `${(100 * share).toFixed(places)} %`;

/* "1 step", "2 steps" */
export const many = (n, noun) => `${count(n)} ${noun}${n === 1 ? "" : "s"}`;

/* Cut to so many characters, with an ellipsis. */
export const cut = (text, length) => (text.length > length ? `${text.slice(0, length - 1)}\u2026` : text);

/* A sentence with its long durations in the page's unit, of timeIn(): where that is ms, 6181.263 us are 6.181 ms. */
export const readable = (text, time) => text.replace(/\b(\d{4,}(?:\.\d+)?) (ns|us)\b/g, (all, number, unit) => {
  const own = unit === "us" ? 1e3 : 1, ns = Number(number) * own;
  return own >= time.unitNs || ns < time.unitNs / 1e3 ? all : time.of(ns);
});

/*
 * The parts of a whole as they are shown, so that they add up to it as it is shown: the largest remainders are rounded
 * upwards, as fmt_add_up() of diag/report/fmt.h has it. Parts that miss the whole by more are rounded each by itself.
 */
export function addUp(values, whole, digits) {
  const steps = values.map((value) => value * 10 ** digits), least = steps.map(Math.floor);
  const left = Math.round(whole * 10 ** digits) - least.reduce((sum, n) => sum + n, 0);
  if (left < 0 || left > values.length)
    return values.map((value) => value.toFixed(digits));
  const order = steps.map((n, i) => i).sort((a, b) => steps[b] - least[b] - (steps[a] - least[a]) || a - b);
  const up = new Set(order.slice(0, left));
  return least.map((n, i) => ((n + up.has(i)) / 10 ** digits).toFixed(digits));
}
