/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The distribution of delays in constant memory: count, sum and most are exact, quantiles to a sixteenth. One thread at a
 * time.
 */
#pragma once

#include <stdint.h>

#define DELAYS_STEP_BITS 4 /* of a power of two: 16 buckets each */
#define DELAYS_BUCKETS ((64 - DELAYS_STEP_BITS + 1) << DELAYS_STEP_BITS)

/* A distribution of delays. Starts as all zeros. */
struct delays {
	uint64_t count, sum_ns, max_ns;
	uint64_t buckets[DELAYS_BUCKETS];
};

void delays_note(struct delays *delays, uint64_t delay_ns);

/*
 * @param share  0 to 1: 0.5 is the median
 * @return ns that this share of all delays does not exceed, rounded up by at most a sixteenth, never over max_ns; 0 of none
 */
uint64_t delays_quantile(const struct delays *delays, double share);

/* @return ns; 0 of none */
double delays_mean(const struct delays *delays);
