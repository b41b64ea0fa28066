/* SPDX-License-Identifier: BSD-3-Clause */
#include "common/pair_rate.h"

#include <stdbool.h>
#include <stdlib.h>

#include "common/minmax.h"

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
