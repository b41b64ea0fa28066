/* SPDX-License-Identifier: BSD-3-Clause */
#include "common/slowdown.h"

#include <stdbool.h>
#include <stdlib.h>

#include "common/minmax.h"

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

	return ORDER(x->bytes, y->bytes);
}

static int
by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return ORDER(x, y);
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

static int
cmp_u64(uint64_t a, uint64_t b)
{
	return (a > b) - (a < b);
}

static int
cmp_message(const void *pa, const void *pb)
{
	const struct pair_message *a = pa, *b = pb;

	if (a->src != b->src)
		return cmp_u64(a->src, b->src);
	if (a->dst != b->dst)
		return cmp_u64(a->dst, b->dst);
	if (a->flow != b->flow)
		return cmp_u64(a->flow, b->flow);
	return cmp_u64(a->start_ps, b->start_ps);
}

/* Messages of one flow, in the order of their starts. */
static void
add_flow(struct pair_rate *pair, const struct pair_message *messages, uint32_t count)
{
	uint64_t until_ps = 0, active_ps = 0, bytes = 0;

	for (uint32_t i = 0; i < count; i++) {
		uint64_t from_ps = max_u64(messages[i].start_ps, until_ps);

		bytes += messages[i].bytes;
		active_ps += messages[i].end_ps > from_ps ? messages[i].end_ps - from_ps : 0;
		until_ps = max_u64(until_ps, messages[i].end_ps);
	}
	pair->flows++;
	pair->bytes += bytes;
	pair->bps += active_ps != 0 ? (double)bytes * 8e12 / (double)active_ps : 0;
}

uint32_t
pair_rates(struct pair_message *messages, uint32_t count, struct pair_rate *pairs)
{
	uint32_t npairs = 0;

	if (count != 0)
		qsort(messages, count, sizeof(*messages), cmp_message);
	for (uint32_t first = 0, end; first < count; first = end) {
		const struct pair_message *m = &messages[first];

		for (end = first + 1; end < count && messages[end].src == m->src && messages[end].dst == m->dst &&
				      messages[end].flow == m->flow;)
			end++;
		if (npairs == 0 || pairs[npairs - 1].src != m->src || pairs[npairs - 1].dst != m->dst)
			pairs[npairs++] = (struct pair_rate){ .src = m->src, .dst = m->dst };
		add_flow(&pairs[npairs - 1], m, end - first);
	}
	return npairs;
}
