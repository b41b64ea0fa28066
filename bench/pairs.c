/* SPDX-License-Identifier: BSD-3-Clause */
#include "bench/bench.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>

#define SIGMA_OF_DEVIATION 1.4826
#define ERRORS 2

static int
compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

double
pairs_median(double *values, size_t count)
{
	assert(count > 0);
	qsort(values, count, sizeof(values[0]), compare);
	return (values[(count - 1) / 2] + values[count / 2]) / 2;
}

double
pairs_noise(const double *own, size_t count)
{
	double deviations[BENCH_MAX_REPEATS];

	assert(count <= BENCH_MAX_REPEATS);
	for (size_t i = 0; i < count; i++)
		deviations[i] = fabs(log(own[i]));
	return expm1(ERRORS * sqrt(M_PI / 2) * SIGMA_OF_DEVIATION * pairs_median(deviations, count) / sqrt((double)count));
}

bool
pairs_noisy(double noise)
{
	return PAIRS_BAR / (1 + noise) < 1 - 2 * (1 - PAIRS_BAR);
}

bool
pairs_slower(double ratio, double noise)
{
	return ratio * (1 + noise) < PAIRS_BAR;
}
