/* SPDX-License-Identifier: BSD-3-Clause */
#include "common/port_flows.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/log.h"

#define FIRST_SLOTS 8

static int
grow_flows(struct port_flows *flows)
{
	uint32_t old = flows->cap, cap = old != 0 ? old * 2 : FIRST_SLOTS;
	uint32_t *queued = realloc(flows->queued, cap * sizeof(*queued));
	uint32_t *flow = realloc(flows->flow, cap * sizeof(*flow));

	flows->queued = queued != NULL ? queued : flows->queued;
	flows->flow = flow != NULL ? flow : flows->flow;
	if (queued == NULL || flow == NULL)
		return -ENOMEM;
	memset(queued + old, 0, (cap - old) * sizeof(*queued));
	flows->cap = cap;
	return 0;
}

void
port_flows_init(struct port_flows *flows, const struct flow_table *table)
{
	*flows = (struct port_flows){ .table = table };
	flow_map_init(&flows->slots, flow_table_slots(table));
}

void
port_flows_fini(struct port_flows *flows)
{
	flow_map_fini(&flows->slots);
	free(flows->queued);
	free(flows->flow);
	*flows = (struct port_flows){ 0 };
}

uint32_t
port_flows_add(struct port_flows *flows, uint32_t flow)
{
	if ((flows->count == flows->cap && grow_flows(flows) < 0) || flow_map_put(&flows->slots, flow, flows->count) < 0)
		log_fatal("out of memory for %u flows at a port", flows->count + 1);
	flows->flow[flows->count] = flow;
	return flows->count++;
}
