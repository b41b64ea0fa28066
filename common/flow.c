/* SPDX-License-Identifier: BSD-3-Clause */
#include "common/flow.h"

#include <errno.h>
#include <stdlib.h>

struct rec_tuple
flow_tuple(const struct flow *flow)
{
	return (struct rec_tuple){
		.src_ip = flow->src_ip,
		.dst_ip = flow->dst_ip,
		.sport = flow->sport,
		.dport = flow->dport,
	};
}

int
flow_table_reserve(struct flow_table *table, uint32_t spares)
{
	struct flow *flows = realloc(table->flows, ((size_t)table->count + spares) * sizeof(*flows));

	if (flows == NULL)
		return -ENOMEM;
	for (uint32_t i = 0; i < spares; i++)
		flows[table->count + i] = (struct flow){
			.src_node = UINT32_MAX,
			.dst_node = UINT32_MAX,
			.kind = FLOW_UNPLANNED,
		};
	table->flows = flows;
	table->spares = spares;
	return 0;
}
