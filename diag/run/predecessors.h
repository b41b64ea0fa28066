/* SPDX-License-Identifier: BSD-3-Clause */
/* What comes before a collective: those that its ranks do first. */
#pragma once

#include "diag/run/run.h"

/* The collectives that it follows, else those of the job's iteration before. */
struct predecessors {
	const uint32_t *list; /* NULL: consecutive, from first */
	uint32_t first, count;
};

struct predecessors run_predecessors(const struct run *run, const struct run_collective *collective);

/* @return index into run.collectives */
static inline uint32_t
run_before(const struct predecessors *predecessors, uint32_t i)
{
	return predecessors->list != NULL ? predecessors->list[i] : predecessors->first + i;
}

/* Does a step wait for one of its own rank in the collective, which has begun then? */
bool run_follows_own(const struct run *run, const struct run_step *step);
