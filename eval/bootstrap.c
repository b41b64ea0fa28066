/* SPDX-License-Identifier: BSD-3-Clause */
#include "eval/bootstrap.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "common/prng.h"

#define BOOTSTRAP_SEED 1

static int
compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

/* @param values  [count] are sorted for a median */
static double
statistic(double *values, size_t count, enum bootstrap_of of)
{
	double sum = 0;

	if (of == BOOTSTRAP_MEDIAN) {
		qsort(values, count, sizeof(*values), compare);
		return (values[(count - 1) / 2] + values[count / 2]) / 2;
	}
	for (size_t i = 0; i < count; i++)
		sum += values[i];
	return sum / (double)count;
}

int
bootstrap(const double *values, size_t count, enum bootstrap_of of, struct bootstrap *result)
{
	double *drawn = malloc((count + 1) * sizeof(*drawn)), *results = malloc(BOOTSTRAP_DRAWS * sizeof(*results));
	struct prng prng;

	*result = (struct bootstrap){ .count = count };
	prng_init(&prng, BOOTSTRAP_SEED, count);
	if (drawn == NULL || results == NULL) {
		free(drawn);
		free(results);
		return -ENOMEM;
	}
	for (size_t i = 0; i < count; i++)
		drawn[i] = values[i];
	if (count != 0)
		result->value = statistic(drawn, count, of);
	for (size_t draw = 0; count != 0 && draw < BOOTSTRAP_DRAWS; draw++) {
		for (size_t i = 0; i < count; i++)
			drawn[i] = values[prng_below(&prng, count)];
		results[draw] = statistic(drawn, count, of);
	}
	if (count != 0) {
		qsort(results, BOOTSTRAP_DRAWS, sizeof(*results), compare);
		result->low = results[BOOTSTRAP_DRAWS / 40];
		result->high = results[BOOTSTRAP_DRAWS - 1 - BOOTSTRAP_DRAWS / 40];
	}
	free(drawn);
	free(results);
	return 0;
}

#define Z95 1.96

void
wilson_interval(uint32_t part, uint32_t of, double *low, double *high)
{
	double n = of, z2 = Z95 * Z95, p, middle, half;

	*low = 0;
	*high = 1;
	if (of == 0)
		return;
	p = part / n;
	middle = (p + z2 / (2 * n)) / (1 + z2 / n);
	half = Z95 * sqrt(p * (1 - p) / n + z2 / (4 * n * n)) / (1 + z2 / n);
	*low = fmax(0, middle - half);
	*high = fmin(1, middle + half);
}
