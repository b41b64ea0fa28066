/* SPDX-License-Identifier: BSD-3-Clause */
/* How much slower flows were than on an idle fabric, by size, and the throughput of pairs of hosts. */
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

/*
 * Throughput of pairs of hosts (FlowTracer, Fig. 3a): the sum over a pair's flows of a flow's payload
 * divided by the time in which it had a message in flight, as perftest prints it for each connection.
 */

/* One message. */
struct pair_message {
	uint32_t src, dst;
	uint64_t flow; /* any number of its own */
	uint64_t start_ps, end_ps, bytes;
};

struct pair_rate {
	uint32_t src, dst, flows;
	uint64_t bytes;
	double bps; /* flows that took no time add nothing */
};

/*
 * @param messages  [count] sorted here
 * @param pairs     [count] set, by (src, dst)
 * @return number of pairs
 */
uint32_t pair_rates(struct pair_message *messages, uint32_t count, struct pair_rate *pairs);
