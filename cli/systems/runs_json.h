/* SPDX-License-Identifier: BSD-3-Clause */
/* Of comparison.json, what runs were, what their systems' own packets changed, and what was injected. */
#pragma once

#include <jansson.h>

#include "cli/systems/plan.h"

/* @param folder  as the document names it. @return NULL: out of memory */
json_t *systems_run_json(const struct systems_plan *plan, size_t index, const char *folder);
/* From truth.json of the base run; null where there is none. For readers: no diagnoser sees it. */
json_t *systems_truth_json(const struct systems_plan *plan);
