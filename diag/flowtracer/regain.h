/* SPDX-License-Identifier: BSD-3-Clause */
/* What jobs would have taken less if some steps had: each iteration again, with the dependencies and gaps that there were. */
#pragma once

#include "diag/run/run.h"

/* Room for it, made once for all of a run's questions. */
struct regain {
	const struct run *run;
	uint32_t *order;  /* [nsteps] of each iteration in the order of starts */
	double *end_ps;   /* [nsteps] scratch */
	double *saved_ps; /* [nsteps] that a step takes less; the caller's to set, and to zero again */
};

/* @return 0 or -ENOMEM with err; regain_fini() either way */
int regain_init(struct regain *regain, const struct run *run, struct err *err);
void regain_fini(struct regain *regain);

/*
 * Of an iteration: a step starts as long after the last that it depends on as it did, without any when it did. Of flows
 * without a collective, each is for itself: what all of them save.
 * @return by how much it ends earlier, or that sum
 */
double regain_iteration_ps(struct regain *regain, const struct run_iteration *iteration);
