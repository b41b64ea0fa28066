/* SPDX-License-Identifier: BSD-3-Clause */
/* What an evaluation's cases run on: a fabric and a collective. A new one is one row of the table in shape.c. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "collectives/schedule.h"

#define SHAPE_MAX_RANKS 16
#define SHAPE_MAX_SENDS 64

struct shape {
	const char *name, *doc;
	const char *fabric; /* the scenario's groups "topology" and "switch" */
	const char *host;   /* members of its group "host", beside what every case has */
	enum coll_op op;
	enum coll_algorithm algorithm;
	uint32_t ranks; /* at most SHAPE_MAX_RANKS */
	/* The paper's graph, ranks and ring: families that write out a pod of it need them. */
	bool is_papers;
};

extern const struct shape *const shapes; /* the paper's first; a NULL name ends it */

/* @return NULL: there is none of this name */
const struct shape *shape_find(const char *name);

/* Which rank sends to which, whatever the step. */
struct shape_sends {
	struct {
		uint32_t from, to, step; /* step: the first of those in which it does */
	} at[SHAPE_MAX_SENDS];           /* by from, then by step */
	uint32_t count;
	uint32_t steps; /* of a rank */
};

/* @return 0 or -ENOMEM */
int shape_sends(const struct shape *shape, struct shape_sends *sends);
