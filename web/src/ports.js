/* SPDX-License-Identifier: BSD-3-Clause */
/* Counters of ports in the time shown, the largest first; a number adds its track. */
import {el, section} from "./dom.js";
import {many} from "./format.js";
import {save} from "./save.js";
import {KINDS, shortOf} from "./series.js";
import {stands} from "./store.js";
import {markTracks, valueText} from "./tracks.js";

const MOST = 12;

/* By port and class what it has of each kind in the time shown. Pure. */
export function countersIn(series, from, to) {
  const rows = new Map();
  for (const one of series.list()) {
    const key = `${one.port}/${one.kind === "utilization" || one.kind === "drops" ? "" : one.class}`;
    if (!rows.has(key))
      rows.set(key, {port: one.port, at: one.at, class: one.class, of: {}});
    const {most, of} = series.seen(one, from, to);
    rows.get(key).of[one.kind] = {one, value: KINDS[one.kind].most ? most : of};
  }
  /* what a port sends stands beside each of its classes */
  const list = [...rows.values()], whole = new Map(list.filter((row) => row.class < 0).map((row) => [row.port, row]));
  return list.filter((row) => row.class >= 0 || !list.some((other) => other.class >= 0 && other.port === row.port))
      .map((row) => ({...row, of: {...(whole.get(row.port) || row).of, ...row.of}}));
}

function cell(store, found) {
  const td = el("td", {class: "number"});
  if (found && found.value > 0) {
    const button =
        el("button", {type: "button", class: "plain", "data-track": found.one.key, "aria-pressed": "false"},
           valueText(found.one.kind, found.value));
    button.addEventListener("click", () => store.track(found.one.key));
    td.append(button);
  }
  return td;
}

export function drawPorts(root, store) {
  const {series, time, model} = store;
  if (!series.some)
    return;
  const body = el("tbody"), note = el("p", {class: "legend"}), kinds = Object.keys(KINDS);
  let by = "queue", late = 0;
  const heads = kinds.map((kind) => {
    const button = el("button", {type: "button", class: "plain"}, shortOf(kind));
    button.addEventListener("click", () => {
      by = kind;
      fill();
    });
    return el("th", {scope: "col", class: "number", "data-kind-of": kind}, button);
  });
  const table =
      el("table", {class: "counters"}, el("thead", null, el("tr", null, el("th", {scope: "col"}, "port, class"), ...heads)),
         body);
  const node = section(root, "counters", "Ports", el("div", {class: "scroll"}, table), note);
  const value = (row) => (row.of[by] ? row.of[by].value : 0);
  const fill = () => {
    const all = countersIn(series, time.from, time.to).sort((a, b) => value(b) - value(a) || (a.port < b.port ? -1 : 1));
    heads.forEach(
        (head) => head.setAttribute("aria-sort", head.getAttribute("data-kind-of") === by ? "descending" : "none"));
    body.replaceChildren(...all.slice(0, MOST).map((row) => {
      const name = `${row.port}${row.class >= 0 ? ` class ${row.class}` : ""}`;
      return el(
          "tr", null,
          el("th", {scope: "row"},
             row.at >= 0 ? stands(el("button", {type: "button", class: "plain"}, name), "port", row.at) : name),
          ...kinds.map((kind) => cell(store, row.of[kind])));
    }));
    const {ports, queues} = series.left;
    note.textContent = [
      `From ${model.time.bare(time.from)} to ${model.time.of(time.to)}, ${Math.min(MOST, all.length)} of ${
          many(all.length, "queue")}; queues at most, shares in the mean, packets in all.`,
      "A number adds its track, a head sorts. Counters of the devices (run.sqlite): no diagnosis reads them.",
      ports + queues > 0 && `Left out of this page: ${many(ports, "port")}, ${many(queues, "queue")}.`
    ].filter(Boolean).join(" ");
    store.mark(body);
    markTracks(body, store);
  };
  save(node);
  fill();
  store.on((changed) => {
    if (changed.chosen)
      store.mark(body);
    if (changed.tracks)
      markTracks(body, store);
    if (changed.time) {
      clearTimeout(late);
      late = setTimeout(fill, 120);
    }
  });
}
