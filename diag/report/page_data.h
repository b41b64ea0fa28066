/* SPDX-License-Identifier: BSD-3-Clause */
/* Between the files that write the page's data: one part of it each. All return NULL without memory. */
#pragma once

#include "diag/report/value.h"

/* A named list of numbers, one of each row. */
struct page_column {
	const char *key;
	json_int_t (*of)(const struct verdict *v, uint32_t row);
	bool rising; /* written as differences to the row before: shorter */
};

/* {"count": rows, key: numbers, ...}; numbers: [n, ...], [n, times] for several equal ones, {"steps": numbers} if rising. */
json_t *page_columns(const struct verdict *v, const struct page_column *columns, size_t ncolumns, uint32_t first,
		     uint32_t count);

/* An index of the verdict as a number, RUN_NONE as -1. */
static inline json_int_t
page_index(uint32_t index)
{
	return index == RUN_NONE ? -1 : (json_int_t)index;
}

json_t *page_indices(const uint32_t *indices, uint32_t count);

/* @param[in,out] root  verdict.json: its collectives get their steps, and it the schedules  @return 0 or -1 */
int page_add_steps(const struct verdict *v, json_t *root);
json_t *page_graphs(const struct verdict *v);
/* Flows without a collective; null: there is one. */
json_t *page_generated(const struct verdict *v);
json_t *page_detections(const struct verdict *v);
json_t *page_notifications(const struct verdict *v);
json_t *page_polls(const struct verdict *v);
