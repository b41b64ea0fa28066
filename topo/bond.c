/* SPDX-License-Identifier: BSD-3-Clause */
#include "topo/bond.h"

#include "topo/pins.h"

uint16_t
bond_member(const struct topo *topo, uint64_t seed, uint32_t host, const struct flow *flow, bool reverse,
	    const bool *is_down)
{
	static const struct route_hashing own_seed;
	const struct route_tuple tuple = route_tuple_of(flow, reverse);
	uint16_t members[TOPO_MAX_PORTS], count = 0;

	for (uint16_t i = 0; i < topo->nodes[host].nports; i++)
		if (is_down == NULL || !is_down[i])
			members[count++] = i;
	if (count == 0)
		return bond_member(topo, seed, host, flow, reverse, NULL);
	return members[route_select(&own_seed, seed, host, &tuple, count)];
}

void
bond_place(const struct routing *routing, struct flow *flow)
{
	const struct topo *topo = routing->topo;
	const struct route_pin *pin;

	if (topo->nodes[flow->src_node].bonded)
		flow->src_nic = bond_member(topo, routing->seed, flow->src_node, flow, false, NULL);
	if (topo->nodes[flow->dst_node].bonded)
		flow->dst_nic = bond_member(topo, routing->seed, flow->dst_node, flow, true, NULL);
	pin = route_pins_find(routing->pins, flow);
	if (pin != NULL && pin->data.nic >= 0)
		flow->src_nic = (uint16_t)pin->data.nic;
	if (pin != NULL && pin->ack.nic >= 0)
		flow->dst_nic = (uint16_t)pin->ack.nic;
}
