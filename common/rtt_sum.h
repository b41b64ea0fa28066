/* SPDX-License-Identifier: BSD-3-Clause */
/* Round trips of a message: the least and the mean of its samples. */
#pragma once

#include <stdint.h>

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
