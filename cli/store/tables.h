/* SPDX-License-Identifier: BSD-3-Clause */
/* Rows of a store for people and for machines: a table, JSON, or CSV. */
#pragma once

#include <sqlite3.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "common/err.h"

/* Prints a text as a string of JSON. */
void tables_print_string(const char *text, FILE *to);

enum tables_format { TABLES_TEXT, TABLES_JSON, TABLES_CSV };

/*
 * Prints what a statement gives.
 * JSON: an array with an object a row, its keys are the columns. CSV: RFC 4180, with the columns first; NULL is empty.
 * @param most  rows of a table for people, which then ends with how many there are more; 0: all
 * @return 0 or negative errno with err set
 */
int tables_print(sqlite3_stmt *stmt, enum tables_format format, uint64_t most, FILE *to, struct err *err);

/* The views of `rocelab show`: a row a view, each with queries on a run's store. */

#define VIEW_TABLES 2

struct view {
	const char *words; /* "pfc counters" */
	const char *doc;
	/*
	 * If there are several, each has a key for JSON, and a heading. Queries with :port and :at are of a port, and
	 * of a time.
	 */
	struct {
		const char *key, *heading, *sql;
	} tables[VIEW_TABLES]; /* up to one without SQL */
	bool timed;            /* --at: it has a time */
};

extern const struct view views[]; /* ends with one without words */

/* Common table expressions in front of each view's queries: counters at the end of the run, or at :at. */
extern const char views_at_end[], views_at_time[];

/* Times of collectives in the form of nccl-tests: its text, whose columns scripts know, and its JSON (version 3). */

/*
 * Rows to print, in this order: name, op, size in bytes, count, type, redop, root, time in us, algbw, busbw, wrong
 * elements (NULL: not checked), iterations that the time is the mean of. A time of NULL: the collective did not complete.
 */
#define NCCL_COLUMNS                                                                                                       \
	"name, op, bytes, count, type, redop, root, avg((end_ns - start_ns) / 1e3) AS time_us, avg(algbw) AS algbw,"       \
	" avg(busbw) AS busbw, sum(wrong) AS wrong, count(*) AS iterations"

/*
 * Prints them. A fabric does not distinguish in-place from out-of-place, so that both have the same numbers.
 * @param args  of the command, up to NULL, for JSON
 * @return 0 or negative errno with err set
 */
int nccl_print(sqlite3_stmt *stmt, bool json, const char *const *args, FILE *to, struct err *err);
