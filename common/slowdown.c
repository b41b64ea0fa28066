/* SPDX-License-Identifier: BSD-3-Clause */
#include "common/slowdown.h"

#include <stdlib.h>

/* No flow of a bucket is longer; the last is the rest. */
static const struct {
	const char *name;
	uint64_t bytes;
} sizes[SLOWDOWN_BUCKETS] = {
	{ "up to 10 kB", 10000 },    { "up to 100 kB", 100000 }, { "up to 1 MB", 1000000 },
	{ "up to 10 MB", 10000000 }, { "longer", UINT64_MAX },   { "all", UINT64_MAX },
};

static int
by_bytes(const void *a, const void *b)
{
	const struct slowdown_flow *x = a, *y = b;

	return x->bytes < y->bytes ? -1 : x->bytes > y->bytes;
}

static int
by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return x < y ? -1 : x > y;
}

/* The smallest value that percent % of all do not exceed. */
static double
percentile(const double *sorted, size_t count, size_t percent)
{
	return count != 0 ? sorted[(count * percent + 99) / 100 - 1] : 0;
}

static void
fill(struct slowdown_bucket *bucket, const struct slowdown_flow *flows, size_t count, double *scratch)
{
	for (size_t i = 0; i < count; i++)
		scratch[i] = (double)flows[i].fct_ps;
	if (count > 1)
		qsort(scratch, count, sizeof(*scratch), by_value);
	bucket->fct_p50_ps = percentile(scratch, count, 50);
	bucket->fct_p99_ps = percentile(scratch, count, 99);
	bucket->fct_max_ps = percentile(scratch, count, 100);
	for (size_t i = 0; i < count; i++)
		scratch[i] = slowdown_of(&flows[i]);
	if (count > 1)
		qsort(scratch, count, sizeof(*scratch), by_value);
	bucket->flows = count;
	bucket->p50 = percentile(scratch, count, 50);
	bucket->p99 = percentile(scratch, count, 99);
	bucket->max = percentile(scratch, count, 100);
}

void
slowdown_summary(struct slowdown_flow *flows, size_t count, double *scratch,
		 struct slowdown_bucket buckets[SLOWDOWN_BUCKETS])
{
	size_t first = 0;

	if (count > 1)
		qsort(flows, count, sizeof(*flows), by_bytes);
	for (int b = 0; b < SLOWDOWN_BUCKETS; b++) {
		size_t end = first;

		buckets[b].name = sizes[b].name;
		if (b == SLOWDOWN_BUCKETS - 1)
			first = end = 0;
		while (end < count && flows[end].bytes <= sizes[b].bytes)
			end++;
		fill(&buckets[b], flows + first, end - first, scratch);
		first = end;
	}
}
