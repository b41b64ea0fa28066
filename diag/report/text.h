/* SPDX-License-Identifier: BSD-3-Clause */
/* The report that a person reads in a terminal. */
#pragma once

#include <stdio.h>

#include "diag/report/facts.h"
#include "diag/verdict.h"

/* A report being written. */
struct text {
	struct facts facts;
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
