/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The flows of a port: numbered ("slots") in the order in which they were first seen there, and how many packets of
 * each wait there now. Its owner counts them; observers of the port keep arrays by slot.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "common/flow.h"
#include "common/flow_map.h"

#define PORT_FLOWS_NONE FLOW_MAP_NONE

struct port_flows {
	struct flow_map slots; /* by flow */
	uint32_t *queued;      /* [cap] packets of the slot's flow that wait now */
	uint32_t count, cap;
	uint32_t *flow; /* [cap] of the slot */
	const struct flow_table *table;
};

/* Nothing is allocated before the first flow. @param table  must outlive the port */
void port_flows_init(struct port_flows *flows, const struct flow_table *table);
/* Also for a zeroed struct. */
void port_flows_fini(struct port_flows *flows);

/* Gives a flow its slot on first sight. @return slot; ends the program when out of memory */
uint32_t port_flows_add(struct port_flows *flows, uint32_t flow);

/* @return the flow's slot; PORT_FLOWS_NONE: it was not seen yet */
static inline uint32_t
port_flows_find(const struct port_flows *flows, uint32_t flow)
{
	return flow_map_find(&flows->slots, flow);
}

/* port_flows_find() where direct, a constant, is what flow_map_is_direct() has of slots. */
static inline __attribute__((always_inline)) uint32_t
port_flows_find_as(const struct port_flows *flows, uint32_t flow, bool direct)
{
	return direct ? flow_map_find_direct(&flows->slots, flow) : flow_map_find_hashed(&flows->slots, flow);
}

static inline uint32_t
port_flows_slot(struct port_flows *flows, uint32_t flow)
{
	uint32_t slot = flow_map_find(&flows->slots, flow);

	return __builtin_expect(slot == PORT_FLOWS_NONE, 0) ? port_flows_add(flows, flow) : slot;
}

static inline const struct flow *
port_flows_at(const struct port_flows *flows, uint32_t slot)
{
	return &flows->table->flows[flows->flow[slot]];
}
