/* SPDX-License-Identifier: BSD-3-Clause */
/* The options of rocelab eval. */
#pragma once

#include <stdio.h>

#include "eval/eval.h"

struct eval_options {
	struct eval eval; /* all but its store */
	bool json;
	bool has_policies;                     /* other than the default */
	char names[VARIANT_MAX][VARIANT_NAME]; /* of policies */
};

/*
 * Fills in what is asked for, and the defaults of what is not. Bad input ends the program (argp): what is wrong is on stderr.
 * @param opts  borrows from itself and from argv
 * @return 0 or a positive errno: no memory
 */
int eval_options_parse(struct eval_options *opts, int argc, char **argv);

/* Evaluations that are none of families, a name and what it is a line. */
void eval_list_studies(FILE *to);
