/* SPDX-License-Identifier: BSD-3-Clause */
/* Data beside the run's own in its page, which the page's script draws: never seen by the diagnosis that wrote the page. */
#pragma once

#include <jansson.h>

#include "common/err.h"

/*
 * @param dir  whose report.html gets it; without one, nothing happens
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
