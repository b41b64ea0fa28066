/* SPDX-License-Identifier: BSD-3-Clause */
#include "emulation/flow_pairs.h"

#include <errno.h>
#include <stdlib.h>

#include "common/minmax.h"

static bool
is_wanted(const struct flow *flow, bool all)
{
	return flow->kind == FLOW_COLLECTIVE || (all && (flow->kind == FLOW_BACKGROUND || flow->kind == FLOW_TRAFFIC));
}

static int
cmp_pair(const void *pa, const void *pb, void *of)
{
	const struct flow *flows = of;
	uint32_t i = *(const uint32_t *)pa, j = *(const uint32_t *)pb;
	const struct flow *a = &flows[i], *b = &flows[j];

	if (a->src_node != b->src_node)
		return a->src_node < b->src_node ? -1 : 1;
	if (a->dst_node != b->dst_node)
		return a->dst_node < b->dst_node ? -1 : 1;
	return i < j ? -1 : i > j;
}

static bool
is_same_pair(const struct flow *a, const struct flow *b)
{
	return a->src_node == b->src_node && a->dst_node == b->dst_node;
}

int
flow_pairs_init(struct flow_pairs *pairs, const struct flow_table *table, bool all)
{
	*pairs = (struct flow_pairs){ .order = calloc(table->count + 1u, sizeof(*pairs->order)),
				      .pairs = calloc(table->count + 1u, sizeof(*pairs->pairs)) };
	if (pairs->order == NULL || pairs->pairs == NULL)
		return -ENOMEM;
	for (uint32_t f = 0; f < table->count; f++)
		if (is_wanted(&table->flows[f], all))
			pairs->order[pairs->norder++] = f;
	qsort_r(pairs->order, pairs->norder, sizeof(*pairs->order), cmp_pair, table->flows);
	for (uint32_t i = 0; i < pairs->norder; i++) {
		const struct flow *flow = &table->flows[pairs->order[i]];

		if (i == 0 || !is_same_pair(flow, &table->flows[pairs->order[i - 1]]))
			pairs->pairs[pairs->npairs++] = (struct flow_pair){ .first = i };
		pairs->most = max_u32(pairs->most, ++pairs->pairs[pairs->npairs - 1].count);
	}
	return 0;
}

void
flow_pairs_fini(struct flow_pairs *pairs)
{
	free(pairs->order);
	free(pairs->pairs);
}
