/* SPDX-License-Identifier: BSD-3-Clause */
/* Values of verdict.json. Each is NULL when out of memory, which json_pack's "o" refuses. */
#pragma once

#include <stdint.h>

#include <jansson.h>

#include "diag/verdict.h"

/* @return array, or NULL once anything failed: a report that lacks a row would look whole */
json_t *value_add(json_t *array, json_t *item);
/* What something cost: to the nearest nanosecond, as text rounds it. */
json_t *value_cost(double ps);
json_t *value_ns(uint64_t time_ps);
json_t *value_real(double value);
/* Names come from the stream: what is no UTF-8 must not make the report fail. */
json_t *value_text(const char *raw);
json_t *value_flow(const struct verdict *v, uint32_t flow);
/* {"job", "collective", "iteration"}: what these words mean in every file. @param collective  index into run.collectives */
json_t *value_collective(const struct verdict *v, uint32_t collective);
/* The same with "rank" and "step": the name of a step. @param more  what else is said of it; taken over */
json_t *value_step(const struct verdict *v, const struct run_step *step, json_t *more);
