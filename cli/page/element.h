/* SPDX-License-Identifier: BSD-3-Clause */
/* Data beside the run's own in its page, which the page's script draws: never seen by the diagnosis that wrote the page. */
#pragma once

#include <jansson.h>

#include "common/err.h"

/*
 * @param dir  whose report.html gets it; without one, or where it has the element already, nothing happens
 * @param id   of the element
 * @return 0 or negative errno with err
 */
int page_element(const char *dir, const char *id, const json_t *value, struct err *err);

/* The facts of a run's page about its scenario: seed, overrides and, behind a toggle, the injected faults. */

/*
 * Puts the element "scenario" into a page that the analyzer has written; the analyzer itself reads none of its sources.
 * @param run  the run's folder: run.json, truth.json; without these nothing happens
 * @param dir  whose report.html gets it
 * @return 0 or negative errno with err
 */
int page_scenario(const char *run, const char *dir, struct err *err);

/* Counters of a run over time for its page: the tracks below the timeline. */

/*
 * Puts the element "series" into a page that the analyzer has written: utilization, queues, pauses, marks and drops of
 * ports over time, and the scenario's keys that remedies are made of. From run.sqlite alone; the diagnosis reads none of
 * it. Bounded: docs/page.md states by what.
 * @param run  the run's folder; without a store, nothing happens
 * @param dir  whose report.html gets it
 * @return 0 or negative errno with err
 */
int page_series(const char *run, const char *dir, struct err *err);
