/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The whole run above the timeline: jobs, all ranks in few pixels, findings. A drag over it is a brush: the time that all
 * views show.
 */
import {colorsNow, whenColorsChange} from "./colors.js";
import {el, fit, perFrame, whenSized} from "./dom.js";
import {change, cut, many} from "./format.js";
import {worstOf} from "./lanes.js";
import {level} from "./model.js";
import {drawAxis, drawWorst} from "./timeline_draw.js";
import {tip} from "./tip.js";

const TOP = 20, JOB = 13, MOST_JOBS = 8, LEAST = 24, MOST = 128, A_RANK = 4, RIBBON = 7, GRIP = 6, LEAST_DRAG = 4;

const excess = (c) => (c.expect_ns > 0 ? c.took_ns / c.expect_ns - 1 : 0);
const colorOf = (c) => `x${level({open: !c.complete, excess: excess(c)})}`;

function heights(o) {
  const jobs = Math.min(MOST_JOBS, o.jobs.length), ranks = Math.max(LEAST, Math.min(MOST, A_RANK * o.run.rows.length));
  const findings = o.model.findings.some((f) => !f.untimed) ? RIBBON + 3 : 0;
  return {jobs, ranks, findings, height: TOP + jobs * JOB + ranks + findings + 4};
}

/* The worst of all ranks that share a pixel's row. Costs a pass over all steps: kept until the width changes. */
function heatOf(o, px) {
  const {run} = o, height = o.sizes.ranks, rows = Array.from({length: height}, () => null);
  for (const lane of run.lanes) {
    const y0 = Math.floor(lane.row * height / run.rows.length),
          y1 = Math.max(y0 + 1, Math.floor((lane.row + 1) * height / run.rows.length));
    rows[y0] ||= {worst: new Uint8Array(px), until: y1};
    worstOf(run.flat, lane, o.time.whole[0], o.time.whole[1], rows[y0].worst);
  }
  return rows;
}

function drawJobs(g, o, scale, colors) {
  o.jobs.slice(0, MOST_JOBS).forEach((job, i) => {
    const y = TOP + i * JOB;
    g.fillStyle = colors.soft;
    g.textAlign = "right";
    g.fillText(cut(job.name, o.rows.label < 100 ? 9 : 20), o.rows.label - 8, y + 10);
    for (const c of job.collectives) {
      const x = scale(c.start_ns), w = Math.max(1, scale(c.start_ns + c.took_ns) - x);
      g.fillStyle = colors[colorOf(c)];
      g.fillRect(x, y + 2, Math.max(1, w - (w > 4 ? 1 : 0)), JOB - 4);
    }
  });
}

function drawFindings(g, o, scale, y, colors) {
  const color = {pfc: colors.pfc, queue: colors.other, host: colors.soft};
  for (const f of [...o.model.findings].reverse()) {
    if (f.untimed || f.confidence < 0.3)
      continue;
    g.fillStyle = color[f.family] || colors.bad;
    g.globalAlpha = f.without_effect ? 0.25 : 0.85;
    g.fillRect(scale(f.start_ns), y, Math.max(2, scale(f.end_ns) - scale(f.start_ns)), RIBBON);
  }
  g.globalAlpha = 1;
}

function drawBrush(g, o, scale, height, colors) {
  const {time} = o, [left, right] = scale.range(), x0 = scale(time.from), x1 = scale(time.to);
  if (time.isWhole())
    return;
  g.fillStyle = colors.page;
  g.globalAlpha = 0.62;
  g.fillRect(left, TOP, x0 - left, height - TOP);
  g.fillRect(x1, TOP, right - x1, height - TOP);
  g.globalAlpha = 1;
  g.strokeStyle = colors.own;
  g.lineWidth = 1.5;
  g.strokeRect(x0, TOP - 1, Math.max(1, x1 - x0), height - TOP);
  g.fillStyle = colors.own;
  for (const x of [x0, x1])
    g.fillRect(x - 2, TOP + (height - TOP) / 2 - 9, 4, 18);
}

/* Which of the ranks the timeline below has in view. */
function drawShown(g, o, top, colors) {
  const [first, last] = o.shown(), of = o.run.lanes.length, height = o.sizes.ranks;
  if (first <= 0 && last >= of - 1)
    return;
  g.fillStyle = colors.own;
  g.fillRect(o.rows.label - 4, top + height * first / of, 3, Math.max(4, height * (last - first + 1) / of));
}

/* What neither a choice nor the brush changes. */
function paintRun(g, o, width, colors) {
  const scale = o.scale(), [left, right] = scale.range(), {sizes} = o, px = Math.max(1, Math.round(right - left));
  if (!o.heat || o.heatWidth !== px) {
    o.heat = heatOf(o, px);
    o.heatWidth = px;
  }
  g.clearRect(0, 0, width, sizes.height);
  g.font = `11px ${o.font}`;
  drawAxis(g, {scale, colors, unit: o.model.time.unit, unitNs: o.model.time.unitNs, width, rows: o.rows}, sizes.height);
  drawJobs(g, o, scale, colors);
  const top = TOP + sizes.jobs * JOB;
  g.fillStyle = colors.soft;
  g.textAlign = "right";
  g.fillText(
      `${o.rows.label < 100 ? "" : "all "}${many(o.run.rows.length, o.model.generated ? "host" : "rank")}`,
      o.rows.label - 8, top + 12);
  o.heat.forEach(
      (row, y) => row &&
          drawWorst(g, row.worst, left, top + y,
                    Math.max(1, row.until - y - (sizes.ranks >= 3 * o.run.rows.length ? 1 : 0)), colors));
  if (sizes.findings > 0)
    drawFindings(g, o, scale, top + sizes.ranks + 3, colors);
}

/* The part of the run that the timeline below shows. */
function paintView(g, o, colors) {
  drawShown(g, o, TOP + o.sizes.jobs * JOB, colors);
  drawBrush(g, o, o.scale(), o.sizes.height, colors);
}

/* @param g  a canvas's context, or what records one  */
export function paintOverview(g, o, width, colors) {
  paintRun(g, o, width, colors);
  paintView(g, o, colors);
}

/* The same from a copy of the run's part, which is painted anew for another width or other colors. */
function repaint(o, width) {
  const colors = colorsNow(), {height} = o.sizes, g = fit(o.canvas, width, height),
        like = [o.canvas.width, width, o.rows.label, ...Object.values(colors)].join();
  if (o.copyLike !== like) {
    paintRun(fit(o.copy, width, height), o, width, colors);
    o.copyLike = like;
  }
  g.clearRect(0, 0, width, height);
  g.drawImage(o.copy, 0, 0, width, height);
  paintView(g, o, colors);
}

/* What lies under the pointer: a collective of a job, or a finding. */
function textAt(o, event) {
  const box = o.canvas.getBoundingClientRect(), ns = o.scale().invert(event.clientX - box.left),
        y = event.clientY - box.top;
  const {model, sizes} = o, job = o.jobs[Math.floor((y - TOP) / JOB)];
  if (y >= TOP && y < TOP + sizes.jobs * JOB && job) {
    const c = job.collectives.filter((one) => one.start_ns <= ns && ns <= one.start_ns + one.took_ns)
                  .reduce((worst, one) => (!worst || excess(one) > excess(worst) ? one : worst), null);
    return c &&
        `${job.name}: ${c.name}, iteration ${c.iteration}, ${model.time.of(c.took_ns)} (${
               c.complete ? change(excess(c)) : "unfinished"})`;
  }
  const found = y > TOP + sizes.jobs * JOB + sizes.ranks &&
      model.findings.find((f) => !f.untimed && f.confidence >= 0.3 && f.start_ns <= ns && ns <= f.end_ns);
  return found ? found.sentence : `${model.time.of(ns)}: drag to choose a time, twice to see the whole`;
}

/* A drag makes a brush, moves it, or moves one of its ends. */
function listenForBrush(o, changed) {
  let held = null;
  const {time, canvas} = o, x = (event) => event.clientX - canvas.getBoundingClientRect().left;
  const at = (px) => Math.max(time.whole[0], Math.min(time.whole[1], o.scale().invert(px)));
  canvas.addEventListener("pointerdown", (event) => {
    const px = x(event), [x0, x1] = [o.scale()(time.from), o.scale()(time.to)];
    if (event.button !== 0 || px < o.rows.label - 8)
      return;
    canvas.setPointerCapture(event.pointerId);
    held = {px, moved: false, from: time.from, to: time.to, as: "new"};
    if (!time.isWhole() && Math.abs(px - x0) < GRIP)
      held.as = "from";
    else if (!time.isWhole() && Math.abs(px - x1) < GRIP)
      held.as = "to";
    else if (!time.isWhole() && px > x0 && px < x1)
      held.as = "move";
  });
  canvas.addEventListener("pointermove", (event) => {
    if (!held)
      return;
    const px = x(event), by = at(px) - at(held.px);
    held.moved ||= Math.abs(px - held.px) >= LEAST_DRAG;
    if (!held.moved)
      return;
    if (held.as === "new")
      time.span(at(held.px), at(px));
    else if (held.as === "move")
      time.set(held.from + by, held.to + by);
    else
      time.span(held.as === "from" ? at(px) : held.from, held.as === "to" ? at(px) : held.to);
    changed();
  });
  const end = (event) => {
    if (held && !held.moved && event.type === "pointerup")
      o.goTo((event.clientY - canvas.getBoundingClientRect().top - TOP - o.sizes.jobs * JOB) / o.sizes.ranks, at(x(event)));
    held = null;
  };
  canvas.addEventListener("pointerup", end);
  canvas.addEventListener("pointercancel", end);
  canvas.addEventListener("dblclick", () => {
    time.reset();
    changed();
  });
}

/*
 * @param run  lanesOfRun()  @param rows  () => placesFor(): both canvases have their labels in one column
 * @param shown  () => [first, last] lane in view  @param goTo  (share of all ranks, ns): a click
 */
export function overviewOf(store, run, rows, shown, goTo) {
  const {model} = store, canvas = el("canvas", {class: "overview", "aria-hidden": "true"});
  const jobs = model.jobs.map((job) => ({name: job.name, collectives: model.collectives.filter((c) => c.job === job.job)}))
                   .filter((job) => job.collectives.length > 0);
  const o = {
    model,
    run,
    canvas,
    jobs,
    shown,
    goTo,
    time: store.time,
    font: getComputedStyle(document.body).fontFamily,
    heat: null,
    copy: el("canvas"),
    copyLike: "",
    get rows() {
      return rows();
    },
    width: 0,
    scale: () => store.time.overall(rows().label, o.width - rows().right),
  };
  o.sizes = heights(o);
  const draw = () => o.width > 0 && repaint(o, o.width);
  o.draw = draw;
  o.redraw = perFrame(draw);
  o.listen = () => {
    listenForBrush(o, store.moved);
    tip(canvas, (event) => (event ? textAt(o, event) : null));
    whenSized(canvas.parentNode, (width) => {
      o.width = width;
      draw();
    });
    whenColorsChange(draw);
    store.on((changed) => changed.time && o.redraw());
  };
  return o;
}
