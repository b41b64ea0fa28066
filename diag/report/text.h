/* SPDX-License-Identifier: BSD-3-Clause */
/* The report that a person reads in a terminal. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "diag/report/facts.h"
#include "diag/verdict.h"

/* A report being written. */
struct text {
	struct facts facts;
	struct facts_shown shown;
	FILE *to;
	bool color;
};

/*
 * Most important first: what happened, why, the collective's table, the critical path, contributors, evidence. At most
 * 100 columns wide but for long flow names. Colors only where to is a terminal (and NO_COLOR is not set).
 * @param dir  where the other reports lie, for the last line; NULL: no such line
 * @return 0, -ENOMEM or -EIO
 */
int text_write(const struct verdict *v, const char *dir, FILE *to);

/* Words, broken at blanks. @param indent  of every line; the first one's is assumed printed */
void text_wrap(const struct text *text, const char *raw, int indent);
/* Begins a paragraph, for writers of sections. */
void text_title(const struct text *text, const char *title);

/* The tables of the text report. */

/* Steps of the critical path of one collective; of a long one, those that lost most time. @return 0 or -ENOMEM */
int text_path(const struct facts *facts, uint32_t iteration, FILE *to);
/* Eq. 3. @return 0 or -ENOMEM */
int text_contributors(const struct facts *facts, FILE *to);

/*
 * Tables of text. They are printed to a stream, never truncated to a terminal's width: a truncated name names nothing.
 */

struct libscols_table;

/* @param right  of each column: its cells stand at the right  @return NULL: no memory */
struct libscols_table *table_create(const char *const *columns, const bool *right, size_t count);
void table_destroy(struct libscols_table *table);
/* Cells in the columns' order, NULL-terminated. @return 0 or -ENOMEM */
int table_row(struct libscols_table *table, ...) __attribute__((sentinel));
/* With a margin and without blanks at line ends. @return 0 or -ENOMEM */
int table_print(struct libscols_table *table, FILE *to);
