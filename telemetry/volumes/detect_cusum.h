/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The sequential test of one port, or one (port, sender): cumulative sums of scores (Page, Continuous inspection schemes,
 * Biometrika 1954), which pool iterations as long as something seems to be missing, beside the test of each iteration by itself.
 * Nobody knows how much will be missing, so there are several sums, each best for another amount. 32 bytes each.
 *
 * Limits are derived from the rate of false alarms that is asked for: a sum's mean time between them solves an integral equation.
 * It holds for scores that are independent between iterations. A prediction that is wrong by the same amount in each
 * iteration, as one that was learned of a few of them, does not give such scores: only detect_limit() is for it.
 */
#pragma once

#include <stdint.h>

#include "telemetry/volumes/detect.h"

#define DETECT_SUMS 4

struct detect_cusum_limits {
	double once;             /* of a score by itself */
	double sum[DETECT_SUMS]; /* of the sums */
};

struct detect_cusum {
	float sum[DETECT_SUMS];
	uint32_t since[DETECT_SUMS]; /* iterations since the sum was 0, this one included */
};

/*
 * @param rate  of false alarms per iteration, below 0.1, over all that is tested of it: 1 / rate is the mean number of
 *              iterations between two; each of the DETECT_SUMS + 1 tests has its share
 */
void detect_cusum_limits(struct detect_cusum_limits *limits, double rate);

/*
 * Adds what is missing in an iteration: detect_score() for the test of it alone, detect_addend() for the sums. An alarm begins
 * all sums anew.
 * @return 0: none; else how many of the latest iterations it was found in, 1: in this one alone
 */
uint32_t detect_cusum_add(struct detect_cusum *cusum, const struct detect_cusum_limits *limits, double missing,
			  const struct detect_noise *noise);

/*
 * The mean number of iterations until a sum's alarm: of scores with variance 1 (Page's integral equation).
 * @param reference  what is subtracted from each score: half the drift that the sum is best for
 * @param limit      of the sum, > 0
 * @param drift      mean of the scores, 0: no fault
 */
double detect_cusum_run_length(double reference, double limit, double drift);
