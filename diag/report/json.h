/* SPDX-License-Identifier: BSD-3-Clause */
/* verdict.json: the verdict for machines. */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
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

/*
 * A list of numbers, and of pairs [number, count], as text: of millions there is no value for each. Any value_list of
 * zeros is empty.
 */
struct value_list {
	char *text;
	size_t used_bytes, cap_bytes;
	bool failed;
};

void value_list_number(struct value_list *list, json_int_t number);
void value_list_pair(struct value_list *list, json_int_t number, json_int_t times);
/* @return the list as a value, which json_write_page() alone can write; NULL: no memory was left. The list is empty. */
json_t *value_list_end(struct value_list *list);

/*
 * Writes a value without blanks, and nothing in its strings can end the element of a page that it stands in: no '<' is
 * left. @param digits  of real numbers  @return 0 or -1
 */
int json_write_page(json_t *root, int digits, FILE *to);

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
