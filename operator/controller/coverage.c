/* SPDX-License-Identifier: BSD-3-Clause */
#include "operator/controller/coverage.h"

#include <assert.h>
#include <float.h>
#include <math.h>

#define MOST_EXPECTED 16.0L /* terms beyond cancel each other in more digits than a long double has to spare */

/* log of (1 - i/N)^k */
static long double
log_left_out(uint32_t paths, uint32_t i, uint64_t tuples)
{
	return (long double)tuples * log1pl(-(long double)i / paths);
}

/*
 * Inclusion and exclusion, each term from the one before it: factorials never appear. Terms grow up to about e^16, then fall
 * faster than geometrically.
 */
double
coverage_miss(uint32_t paths, uint64_t tuples)
{
	long double term, sum, before;

	assert(paths >= 1 && paths <= COVERAGE_MAX_PATHS);
	if (tuples < paths)
		return 1;
	if (paths == 1)
		return 0;
	before = log_left_out(paths, 1, tuples);
	term = paths * expl(before);
	if (term > MOST_EXPECTED)
		return 1;
	sum = term;
	for (uint32_t i = 2; i < paths && term > sum * LDBL_EPSILON; i++) {
		long double here = log_left_out(paths, i, tuples);

		term *= (long double)(paths - i + 1) / i * expl(here - before);
		before = here;
		sum += i % 2 == 0 ? -term : term;
	}
	return (double)fminl(1, fmaxl(0, sum));
}

uint64_t
coverage_tuples(uint32_t paths, double covered)
{
	uint64_t low = paths, high;

	assert(covered >= 0.5 && covered < 1);
	if (paths == 1)
		return 1;
	/* The first term alone is an upper bound of the sum (Bonferroni): it is enough where that is. */
	high = (uint64_t)ceill(logl((1 - (long double)covered) / paths) / log1pl(-1.0L / paths));
	high = high > low ? high : low;
	while (low < high) {
		uint64_t middle = low + (high - low) / 2;

		if (coverage_miss(paths, middle) <= 1 - covered)
			high = middle;
		else
			low = middle + 1;
	}
	return low;
}
