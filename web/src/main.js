/* SPDX-License-Identifier: BSD-3-Clause */
/* Draws the page from its data: the verdict and the timeline at once, then part after part. */
import {drawBetween} from "./between.js";
import {drawContributors} from "./contributors.js";
import {el} from "./dom.js";
import {drawEvidence} from "./evidence.js";
import {drawFabric} from "./fabric.js";
import {drawFindings} from "./findings.js";
import {drawFlowpulse, drawVolumes} from "./flowpulse.js";
import {drawFlows, drawSlowest} from "./flows.js";
import {keepHash} from "./hash.js";
import {drawFacts, drawHead} from "./head.js";
import {drawInjected} from "./injected.js";
import {drawInspector} from "./inspector.js";
import {drawIterations} from "./iterations.js";
import {drawJobs} from "./jobs.js";
import {listenForKeys} from "./keys.js";
import {endOf} from "./lanes.js";
import {drawLedger} from "./ledger.js";
import {modelOf} from "./model.js";
import {drawCollisions, drawWays} from "./paths.js";
import {drawOutside} from "./plugin.js";
import {drawPorts} from "./ports.js";
import {drawProblems} from "./probes.js";
import {drawSlas} from "./probes_sla.js";
import {drawProvenance} from "./provenance.js";
import {save} from "./save.js";
import {searchOf} from "./search.js";
import {listenForChoices, storeOf} from "./store.js";
import {drawSystems} from "./systems.js";
import {drawTimelineSection} from "./timeline.js";
import {showTips} from "./tip.js";
import {viewOf} from "./view.js";
import {drawWaiting} from "./waiting.js";
import {arrowHeads} from "./waiting_draw.js";

const dataOf = (id) => {
  const element = document.getElementById(id);
  return element ? JSON.parse(element.textContent) : null;
};
const model = modelOf(dataOf("data"));
const store = storeOf(model, viewOf(0, endOf(model)), dataOf("scenario"), dataOf("series"));
const page = document.getElementById("page"), causes = el("div", {id: "causes"}), drawings = el("div", {id: "drawings"});
const tools = el("div", {class: "page-tools"}, searchOf(store)), wide = el("div", {id: "wide"});

document.body.append(arrowHeads());
page.replaceChildren();
tools.append(...listenForKeys(store));
drawHead(page, store, tools, !!document.getElementById("comparison"));
drawTimelineSection(page, store);
drawFacts(page, store);
page.append(wide, el("div", {id: "body"}, causes, drawings));
drawInspector(store);
listenForChoices(document.body, store);
showTips();

/* What systems of their own found stands before the root causes, and what they measured before the rest. */
const parts = [
  () => drawSystems(wide, store, dataOf("comparison")), /* of several systems; `rocelab run` puts both there */
  () => drawFlows(wide, store),
  () => drawFlowpulse(causes, store),
  () => drawProblems(causes, store),
  () => drawCollisions(causes, store),
  () => drawFindings(causes, store),
  () => drawVolumes(drawings, store),
  () => drawSlas(drawings, store),
  () => drawWays(drawings, store),
  () => drawSlowest(drawings, store),
  () => drawBetween(drawings, store),
  () => drawPorts(drawings, store),
  () => drawIterations(drawings, store),
  () => drawFabric(drawings, store),
  () => drawOutside(causes, store),
  () => drawContributors(causes, store),
  () => drawJobs(drawings, store),
  () => drawLedger(drawings, store),
  () => drawWaiting(drawings, store),
  () => drawProvenance(drawings, store),
  () => drawEvidence(page, store),
  () => drawInjected(page, store),
  () => {
    causes.hidden = causes.childNodes.length === 0;
    causes.parentNode.classList.toggle("single", causes.hidden);
  },
  () => page.querySelectorAll("section").forEach((section) => save(section)),
  () => {
    const marked =
        [causes, page.querySelector("header"), document.getElementById("facts"), document.getElementById("inspector")];
    store.on((changed) => changed.chosen && marked.forEach((part) => store.mark(part)));
    keepHash(store);
    document.documentElement.dataset.drawn = "true";
  },
];

/* A part at a time: between two of them the page answers. */
function drawOn(at) {
  if (!parts[at])
    return;
  parts[at]();
  setTimeout(() => drawOn(at + 1));
}
setTimeout(() => drawOn(0));
