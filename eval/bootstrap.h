/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Intervals of means and medians over cases, by the bootstrap: cases are drawn anew with replacement, and the middle 95 %
 * of the results are the interval (Efron, Bootstrap Methods, 1979; percentiles). The same values give the same interval.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#define BOOTSTRAP_DRAWS 2000

struct bootstrap {
	size_t count; /* values; 0: the rest is 0 */
	double value, low, high;
};

enum bootstrap_of { BOOTSTRAP_MEAN, BOOTSTRAP_MEDIAN };

/*
 * @param values  [count] one a case; of pairs, their differences
 * @return 0; -ENOMEM
 */
int bootstrap(const double *values, size_t count, enum bootstrap_of of, struct bootstrap *result);

/*
 * The interval at 95 % of a share of which part of a total was seen (Wilson, Probable Inference, 1927).
 * @param of  0: low is 0, high 1
 */
void wilson_interval(uint32_t part, uint32_t of, double *low, double *high);
