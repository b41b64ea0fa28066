/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Throughput of pairs of hosts (FlowTracer, Fig. 3a): the sum over a pair's flows of a flow's payload
 * divided by the time in which it had a message in flight, as perftest prints it for each connection.
 */
#pragma once

#include <stdint.h>

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
