/* SPDX-License-Identifier: BSD-3-Clause */
#include "common/delays.h"

/* Below 16 a bucket each; above, the highest bit and the four below it. */
static uint32_t
bucket_of(uint64_t ns)
{
	uint32_t shift;

	if (ns < 1u << DELAYS_STEP_BITS)
		return (uint32_t)ns;
	shift = 63u - (uint32_t)__builtin_clzll(ns) - DELAYS_STEP_BITS;
	return ((shift + 1) << DELAYS_STEP_BITS) + (uint32_t)((ns >> shift) - (1u << DELAYS_STEP_BITS));
}

/* The largest value in a bucket. */
static uint64_t
upper_ns(uint32_t bucket)
{
	uint32_t shift = bucket >> DELAYS_STEP_BITS, step = bucket & ((1u << DELAYS_STEP_BITS) - 1);

	if (shift == 0)
		return bucket;
	return ((((uint64_t)step + (1u << DELAYS_STEP_BITS)) + 1) << (shift - 1)) - 1;
}

void
delays_note(struct delays *delays, uint64_t delay_ns)
{
	delays->count++;
	delays->sum_ns += delay_ns;
	delays->max_ns = delay_ns > delays->max_ns ? delay_ns : delays->max_ns;
	delays->buckets[bucket_of(delay_ns)]++;
}

uint64_t
delays_quantile(const struct delays *delays, double share)
{
	uint64_t rank = (uint64_t)(share * (double)delays->count), seen = 0;

	for (uint32_t i = 0; i < DELAYS_BUCKETS; i++) {
		seen += delays->buckets[i];
		if (seen > rank)
			return upper_ns(i) < delays->max_ns ? upper_ns(i) : delays->max_ns;
	}
	return delays->max_ns;
}

double
delays_mean(const struct delays *delays)
{
	return delays->count != 0 ? (double)delays->sum_ns / (double)delays->count : 0;
}
