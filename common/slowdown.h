/* SPDX-License-Identifier: BSD-3-Clause */
/* How much slower flows were than on an idle fabric, by size: what evaluations of transports show. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#define SLOWDOWN_BUCKETS 6 /* the last: flows of every size */

/* One flow that is complete. */
struct slowdown_flow {
	uint64_t bytes;
	uint64_t fct_ps, ideal_ps; /* from its arrival to its last ACK; the same on an idle fabric */
};

struct slowdown_bucket {
	const char *name;
	size_t flows;
	double p50, p99, max; /* by nearest rank; 0 without flows */
	double fct_p50_ps, fct_p99_ps, fct_max_ps;
};

static inline double
slowdown_of(const struct slowdown_flow *flow)
{
	return (double)flow->fct_ps / (double)flow->ideal_ps;
}

/*
 * @param flows  [count] sorted here
 * @param scratch  [count]
 */
void slowdown_summary(struct slowdown_flow *flows, size_t count, double *scratch,
		      struct slowdown_bucket buckets[SLOWDOWN_BUCKETS]);
