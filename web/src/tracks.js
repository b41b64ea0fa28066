/* SPDX-License-Identifier: BSD-3-Clause */
/* Tracks of counters below the timeline, on its axis: a click adds one, another removes it. */
import {action, el, image, perFrame, svg} from "./dom.js";
import {bytes, count, cut, percent} from "./format.js";
import {KINDS, shortOf} from "./series.js";
import {tip} from "./tip.js";

const HEIGHT = 46, TOP = 5, SUGGESTED = 3, MOST_FIRST = 3, DEEP = 0.05; /* of the run's deepest queue: less is none */

export function valueText(kind, value) {
  const {unit} = KINDS[kind];
  return unit === "B" ? bytes(value) : unit === "%" ? percent(value, value > 0 && value < 0.1 ? 1 : 0) : count(value);
}

/* Where it was counted; the class is said where it is not the run's only one for data. */
const placeOf = (series, one) =>
    `${one.port}${one.class === 0 || (one.class > 0 && series.classes > 1) ? ` class ${one.class}` : ""}`;
export const trackName = (series, one) => `${shortOf(one.kind)} ${placeOf(series, one)}`;

/* The area under the bins in view. @param most  the value at its top */
function area(series, values, scale, most, [first, last]) {
  const y = (value) => HEIGHT - (HEIGHT - TOP) * Math.min(1, value / most), [left, right] = scale.range();
  let d = `M${left} ${HEIGHT}`;
  for (let i = first; i <= last; i++) {
    const x0 = Math.max(left, scale(series.start(i))), x1 = Math.min(right, scale(series.ends[i]));
    d += `L${x0.toFixed(1)} ${y(values[i]).toFixed(1)}H${x1.toFixed(1)}`;
  }
  return `${d}V${HEIGHT}Z`;
}

function trackOf(store, key, rows, width) {
  const {series, time, model} = store, one = series.get(key), values = series.values(one);
  const scale = time.scale(rows.label, width - rows.right), bins = series.bins(time.from, time.to);
  let most = 0;
  for (let i = bins[0]; i <= bins[1]; i++)
    most = Math.max(most, values[i]);
  const whole = KINDS[one.kind].unit === "%" && most > 0.25 ? 1 : most, narrow = rows.label < 100;
  const hit = svg("rect", {class: "hit", x: rows.label, y: 0, width: width - rows.label - rows.right, height: HEIGHT});
  const shapes = image(
      "series", width, HEIGHT + 4, `${trackName(series, one)}: ${valueText(one.kind, most)} at most in the time shown`,
      svg("text", {class: "label", x: rows.label - 8, y: 17},
          cut(narrow ? one.port : placeOf(series, one), narrow ? 9 : 20)),
      svg("text", {class: "label soft", x: rows.label - 8, y: 31}, cut(shortOf(one.kind), narrow ? 9 : 20)),
      svg("text", {class: "label soft", x: rows.label - 8, y: 45}, valueText(one.kind, whole)),
      svg("path", {class: "line", d: `M${rows.label} ${HEIGHT}H${width - rows.right}`}),
      whole > 0 && svg("path", {class: `area ${one.kind}`, d: area(series, values, scale, whole, bins)}), hit);
  tip(hit, (event) => {
    const ns = event ? scale.invert(event.clientX - shapes.getBoundingClientRect().left) : -1, [bin] = series.bins(ns, ns);
    return bin < values.length && ns >= 0 ?
        `${trackName(series, one)}: ${valueText(one.kind, values[bin])}${one.kind === "queue" ? " at most" : ""}\n${
            model.time.bare(series.start(bin))} to ${model.time.of(series.ends[bin])}` :
        null;
  });
  return el(
      "div", {class: "track"}, shapes,
      action("\u00d7", `Remove the track ${trackName(series, one)}`, () => store.track(key), "remove"));
}

/* The root cause's own drops, queue and pauses, where they matter; without one what queued most. */
export function firstTracks(store) {
  const {model, series, time} = store, root = model.findings[model.run.first], list = series.list();
  const named = root ? [root.root_at, ...root.ports_at] : [], most = (one) => series.seen(one, ...time.whole).most;
  const deepest = list.filter((one) => one.kind === "queue").reduce((deep, one) => Math.max(deep, most(one)), 0);
  const worth = (kind) => named.flatMap((port) => series.ofPort(port))
                              .find((one) => one.kind === kind && most(one) > (kind === "queue" ? DEEP * deepest : 0));
  const found = ["drops", "queue", "paused", "marks"].map(worth).filter(Boolean);
  return (found.length > 0 ? found : suggested(store).filter((one) => one.kind === "queue").slice(0, 1))
      .slice(0, MOST_FIRST)
      .map((one) => one.key);
}

/* Of each kind those with the most in the time shown. */
function suggested({series, time}, each = SUGGESTED) {
  const best = new Map(Object.keys(KINDS).map((kind) => [kind, []]));
  for (const one of series.list()) {
    const {most, of} = series.seen(one, time.from, time.to);
    if (most > 0)
      best.get(one.kind).push({one, worth: KINDS[one.kind].most ? most : of});
  }
  return [...best.values()].flatMap(
      (list) =>
          list.sort((a, b) => b.worth - a.worth || (a.one.key < b.one.key ? -1 : 1)).slice(0, each).map(({one}) => one));
}

/* Buttons that add the tracks of a port, or of several. */
export const trackButtons = (store, list) => list.map((one) => {
  const {series} = store,
        node = action(
            trackName(series, one), `Add or remove the track ${trackName(series, one)}`, () => store.track(one.key), "add");
  node.setAttribute("data-track", one.key);
  node.setAttribute("aria-pressed", String(store.tracks.includes(one.key)));
  return node;
});

/* Marks buttons of tracks that are shown. */
export function markTracks(root, store) {
  for (const node of root.querySelectorAll("[data-track]"))
    node.setAttribute("aria-pressed", String(store.tracks.includes(node.getAttribute("data-track"))));
}

/* @param rows  () => where the timeline's labels end */
export function drawTracks(box, store, rows) {
  const {series} = store, shown = el("div"), choices = el("p", {class: "choices", "aria-label": "Tracks to add"});
  if (!series.some)
    return;
  box.append(shown, choices);
  const draw = () => {
    const width = box.clientWidth;
    if (width > 0)
      shown.replaceChildren(...store.tracks.map((key) => trackOf(store, key, rows(), width)));
  };
  const offer = () => choices.replaceChildren(
      el("span", null, store.time.isWhole() ? "Add a track, most of the run:" : "Add a track, most of the time shown:"),
      ...trackButtons(store, suggested(store, rows().label < 100 ? 1 : SUGGESTED)));
  const redraw = perFrame(draw);
  let late = 0;
  store.tracks = firstTracks(store);
  new ResizeObserver(redraw).observe(box);
  store.on((changed) => {
    if (changed.time || changed.tracks)
      redraw();
    if (changed.tracks)
      markTracks(choices, store);
    if (changed.time) { /* a look at all series: once a drag rests */
      clearTimeout(late);
      late = setTimeout(offer, 150);
    }
  });
  draw();
  setTimeout(offer);
}
