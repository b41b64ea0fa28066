/* SPDX-License-Identifier: BSD-3-Clause */
/* A verdict of each system by itself, from the recording of its run. */
#pragma once

#include <jansson.h>

#include "cli/systems/plan.h"

struct systems_verdict {
	json_t *root;    /* DIR/systems/NAME/verdict.json; NULL: there is none */
	uint64_t cpu_ns; /* that the analyzer took for it, times to detection left out */
	struct err why;  /* there is none, or of a plugin diagnoser that was left out not all */
};

/*
 * @param verdicts  [plan->count] to be given back by systems_verdicts_fini()
 * @return EXIT_DONE, or EXIT_FAILED: a recording that is there has no verdict, or a plugin diagnoser was left out
 */
int systems_verdicts(const struct systems_plan *plan, struct systems_verdict *verdicts);
void systems_verdicts_fini(const struct systems_plan *plan, struct systems_verdict *verdicts);
