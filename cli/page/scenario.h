/* SPDX-License-Identifier: BSD-3-Clause */
/* What a run's page says of its scenario: seed, overrides and, behind a toggle, what was injected. */
#pragma once

#include "common/err.h"

/*
 * Puts the element "scenario" into a page that the analyzer has written; the analyzer itself reads none of its sources.
 * @param run  the run's folder: run.json, truth.json; without these nothing happens
 * @param dir  whose report.html gets it
 * @return 0 or negative errno with err
 */
int page_scenario(const char *run, const char *dir, struct err *err);
