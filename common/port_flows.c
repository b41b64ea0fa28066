/* SPDX-License-Identifier: BSD-3-Clause */
#include "common/port_flows.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/log.h"

#define FIRST_SLOTS 8

static int
grow(struct port_flows *flows)
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

int
port_flows_init(struct port_flows *flows, const struct flow_table *table)
{
	size_t bytes = ((size_t)flow_table_slots(table) + 1) * sizeof(*flows->slot_of_flow);

	*flows = (struct port_flows){ .table = table, .slot_of_flow = malloc(bytes) };
	if (flows->slot_of_flow == NULL || grow(flows) < 0) {
		port_flows_fini(flows);
		return -ENOMEM;
	}
	memset(flows->slot_of_flow, 0xff, bytes);
	return 0;
}

void
port_flows_fini(struct port_flows *flows)
{
	free(flows->slot_of_flow);
	free(flows->queued);
	free(flows->flow);
	*flows = (struct port_flows){ 0 };
}

uint32_t
port_flows_add(struct port_flows *flows, uint32_t flow)
{
	if (flows->count == PORT_FLOWS_NONE || (flows->count == flows->cap && grow(flows) < 0)) {
		log_fatal("no room for more than %u flows at a port", flows->count);
	}
	flows->slot_of_flow[flow] = (uint16_t)flows->count;
	flows->flow[flows->count] = flow;
	return flows->count++;
}
