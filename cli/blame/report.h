/* SPDX-License-Identifier: BSD-3-Clause */
/* What `rocelab blame` found, as a table and as JSON. */
#pragma once

#include <stdio.h>

#include "eval/claim.h"
#include "eval/rerun.h"

struct blame_report {
	const struct rerun_case *c;
	const struct rerun_truth *truth;
	const struct claims *claims;
	const char *job; /* its name */
};

void blame_print(const struct blame_report *report, FILE *to);
/* @return NULL: out of memory */
json_t *blame_json(const struct blame_report *report);
