/* SPDX-License-Identifier: BSD-3-Clause */
/* The parts that a message's time is divided into, as its sender's transport knows them. */
#pragma once

#include <stdint.h>

#include "common/wire/ledger.h"

/* Round trips of a message: the least and the mean of its samples. */

/* All zero: no sample. */
struct rtt_sum {
	uint64_t min_ps, sum_ps;
	uint32_t count;
};

/* @param rtt_ps  above 0 */
static inline void
rtt_sum_add(struct rtt_sum *sum, uint64_t rtt_ps)
{
	if (sum->count == 0 || rtt_ps < sum->min_ps)
		sum->min_ps = rtt_ps;
	sum->sum_ps += rtt_ps;
	sum->count++;
}

/* @return 0 without a sample */
static inline uint64_t
rtt_sum_mean_ps(const struct rtt_sum *sum)
{
	return sum->count != 0 ? sum->sum_ps / sum->count : 0;
}

/* All zero: nothing was measured. */
struct send_times {
	struct rtt_sum rtt;                 /* of its packets */
	uint64_t ledger_ps[LEDGER_ENTRIES]; /* all zero: not known */
	uint64_t waited_ps; /* least time after which a packet was taken for lost, by time alone; 0: none was */
	uint32_t naks;      /* of its receiver, which a gap in its packets made; not of a selective transport */
};
