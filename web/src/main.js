/* SPDX-License-Identifier: BSD-3-Clause */
/* Draws the page from its data. */
import {drawContributors} from "./contributors.js";
import {el} from "./dom.js";
import {drawEvidence} from "./evidence.js";
import {drawFabric} from "./fabric.js";
import {drawFindings} from "./findings.js";
import {drawFlowpulse, drawVolumes} from "./flowpulse.js";
import {drawFlows, drawSlowest} from "./flows.js";
import {drawHead} from "./head.js";
import {drawInjected} from "./injected.js";
import {drawInspector} from "./inspector.js";
import {drawIterations} from "./iterations.js";
import {drawJobs} from "./jobs.js";
import {modelOf} from "./model.js";
import {drawCollisions, drawWays} from "./paths.js";
import {drawOutside} from "./plugin.js";
import {drawProblems} from "./probes.js";
import {drawSlas} from "./probes_sla.js";
import {drawProvenance} from "./provenance.js";
import {listenForChoices, storeOf} from "./store.js";
import {drawSystems} from "./systems.js";
import {drawTimelineSection} from "./timeline.js";
import {showTips} from "./tip.js";
import {drawWaiting} from "./waiting.js";
import {arrowHeads} from "./waiting_draw.js";

const dataOf = (element) => (element ? JSON.parse(element.textContent) : null);
const store = storeOf(modelOf(dataOf(document.getElementById("data"))), dataOf(document.getElementById("scenario")));
const beside = document.getElementById("comparison"); /* of several systems; `rocelab run` puts both there */
const page = document.getElementById("page"), causes = el("div", {id: "causes"}), drawings = el("div", {id: "drawings"});

document.body.append(arrowHeads());
page.replaceChildren();
drawHead(page, store);
drawSystems(page, store, dataOf(beside));
drawFlows(page, store);
page.append(el("div", {id: "body"}, causes, drawings));
drawFindings(causes, store);
drawFlowpulse(causes, store);
drawProblems(causes, store);
drawCollisions(causes, store);
drawOutside(causes, store);
drawContributors(causes, store);
drawSlowest(drawings, store);
drawJobs(drawings, store);
drawIterations(drawings, store);
drawTimelineSection(drawings, store);
drawFabric(drawings, store);
drawVolumes(drawings, store);
drawSlas(drawings, store);
drawWays(drawings, store);
drawWaiting(drawings, store);
drawProvenance(drawings, store);
drawEvidence(page, store);
drawInjected(page, store);
drawInspector(store);
listenForChoices(document.body, store);
showTips();
store.on(
    () => [causes, page.querySelector("header"), document.getElementById("inspector")].forEach((part) => store.mark(part)));
