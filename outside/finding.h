/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A finding as an outside program says it, in JSON, and as it stands in outside.json: the vocabulary of diag/finding.h, with
 * names for indices. Every field is checked here, once; whether a port or flow of that name is in the run, who has its tables
 * checks.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include <jansson.h>

#include "common/err.h"
#include "outside/bounds.h"

struct outside_names {
	char (*names)[OUTSIDE_NAME]; /* [count] */
	uint32_t count;
};

struct outside_step {
	uint32_t collective, iteration, rank, step;
};

struct outside_finding {
	char type[OUTSIDE_TYPE];                   /* "deep-queue" */
	struct outside_names ports, links, hosts;  /* "6:2"; a link by the port that sends on it */
	struct outside_names flows;                /* "h1->h2/20000>4791" */
	struct outside_step steps[OUTSIDE_PLACES]; /* [nsteps] */
	uint32_t nsteps;
	uint32_t collective, job; /* REC_NONE: not said */
	uint64_t start_ps, end_ps;
	uint64_t explained_ps; /* 0 where it is not said */
	double confidence;     /* 0 to 1 */
	char evidence[OUTSIDE_EVIDENCE];
	uint64_t told_ps; /* when it was told, in the run's time */
};

/*
 * @param from  an object
 * @param to    zeroed; outside_finding_fini() in any case
 * @return 0; -EINVAL with err naming the field, what it is, and what would be right; -ENOMEM
 */
int outside_finding_read(const json_t *from, struct outside_finding *to, struct err *err);
/* @return the same object, told_ns besides; NULL: out of memory */
json_t *outside_finding_json(const struct outside_finding *finding);
void outside_finding_fini(struct outside_finding *finding);
