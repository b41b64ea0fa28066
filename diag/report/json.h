/* SPDX-License-Identifier: BSD-3-Clause */
/* verdict.json: the verdict for machines. */
#pragma once

#include <jansson.h>
#include <stdint.h>
#include <stdio.h>

#include "diag/verdict.h"

/* verdict.json as a value. @return NULL: no memory */
json_t *json_document(const struct verdict *v);

/* How late the machine was: "lateness", of a run in real time. @return NULL: no memory */
json_t *json_lateness(const struct verdict *v);

/*
 * Writes the verdict as JSON, keys in a fixed order: the same verdict gives the same bytes. Times are whole ns. (job,
 * collective, iteration, rank, step) names a step, as in steps.csv; "waited_for" the step of the same iteration that a
 * start waited for, null: none; end_ns of an unfinished collective is null, that of an open step the end of the run.
 * @return 0, -ENOMEM, or -EIO
 */
int json_write(const struct verdict *v, FILE *to);

/* Values of verdict.json. Each is NULL when out of memory, which json_pack's "o" refuses. */

/* @return array, or NULL once anything failed: a report that lacks a row would look whole */
json_t *value_add(json_t *array, json_t *item);
/* @return object, or NULL once anything failed: the same of a member */
json_t *value_set(json_t *object, const char *key, json_t *value);
/* A cost: to the nearest nanosecond, as text rounds it. */
json_t *value_cost(double ps);
json_t *value_ns(uint64_t time_ps);
json_t *value_real(double value);
/* Names are from the stream: invalid UTF-8 must not make the report fail. */
json_t *value_text(const char *raw);
json_t *value_flow(const struct verdict *v, uint32_t flow);
/*
 * {"job", "collective", "iteration", "rank", "step"}: the name of a step, in every file.
 * @param more  its other members; taken over
 */
json_t *value_step(const struct verdict *v, const struct run_step *step, json_t *more);
