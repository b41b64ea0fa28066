/* SPDX-License-Identifier: BSD-3-Clause */
/* comparison.json: what systems made of their runs, side by side (docs/compare.md). */
#pragma once

#include <jansson.h>

#include "cli/systems/verdicts.h"

#define SYSTEMS_SCHEMA_VERSION 1

/* @return the document; NULL: out of memory */
json_t *systems_json(const struct systems_plan *plan, const struct systems_verdict *verdicts);
