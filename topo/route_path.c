/* SPDX-License-Identifier: BSD-3-Clause */
/* The way of one flow: choice, path, delay. */
#include <errno.h>

#include "common/units.h"
#include "topo/pins.h"
#include "topo/route.h"

int
route_choose(const struct routing *routing, uint32_t node, const struct flow *flow, bool reverse,
	     struct route_choice *choice)
{
	uint32_t switch_seed = route_switch_seed(&routing->hashing, routing->seed, node);
	const struct route_tuple tuple = route_tuple_of(flow, reverse);
	const struct route_pin *pin;
	int pinned;

	*choice = (struct route_choice){ 0 };
	if (routing->topo->nodes[node].kind == TOPO_HOST) {
		choice->port = (uint8_t)(reverse ? flow->dst_nic : flow->src_nic);
		return choice->port < routing->topo->nodes[node].nports ? 0 : -EHOSTUNREACH;
	}
	choice->nmembers = route_next_hops(routing->table, node, reverse ? flow->src_node : flow->dst_node,
					   reverse ? flow->src_nic : flow->dst_nic, &choice->members);
	choice->hash = route_hash(&routing->hashing, &tuple, switch_seed);
	pin = route_pins_find(routing->pins, flow);
	pinned = route_pin_egress(pin, routing->topo, node, reverse);
	if (pinned >= 0) {
		choice->port = (uint8_t)pinned;
		choice->is_pinned = true;
		choice->pin = pin->where;
		return 0;
	}
	if (choice->nmembers == 0)
		return -EHOSTUNREACH;
	choice->port = choice->members[route_hash_index(choice->hash, choice->nmembers)];
	return 0;
}

int
route_flow_path(const struct routing *routing, const struct flow *flow, bool reverse, struct route_path *path)
{
	uint32_t node = reverse ? flow->dst_node : flow->src_node, dst = reverse ? flow->src_node : flow->dst_node;
	struct route_choice choice;

	for (path->hops = 0; path->hops < ROUTE_MAX_HOPS; path->hops++) {
		const struct topo_port *port;
		int rc;

		if (node == dst)
			return 0;
		/* Only the sender is a host: a packet that comes to another has no way on. */
		if (path->hops != 0 && routing->topo->nodes[node].kind == TOPO_HOST)
			return -EHOSTUNREACH;
		rc = route_choose(routing, node, flow, reverse, &choice);
		if (rc != 0)
			return rc;
		port = topo_port_of(routing->topo, node, choice.port);
		path->ports[path->hops] = routing->topo->nodes[node].first_port + choice.port;
		node = port->peer;
	}
	return node == dst ? 0 : -ELOOP;
}

uint64_t
route_one_way_ps(const struct topo *topo, const struct route_path *path, uint32_t frame_bytes, uint64_t pipeline_ps,
		 uint64_t quantum_ps)
{
	uint64_t sum_ps = 0;

	for (uint32_t i = 0; i < path->hops; i++) {
		const struct topo_port *port = &topo->ports[path->ports[i]];

		sum_ps += port->delay_ps + pipeline_ps + units_serialize_ps(frame_bytes, port->rate_bps, quantum_ps);
	}
	return sum_ps;
}

uint64_t
route_rtt_ps(const struct topo *topo, const struct route_path *forward, const struct route_path *reverse,
	     uint32_t frame_bytes, uint32_t reply_bytes, uint64_t pipeline_ps, uint64_t quantum_ps)
{
	return route_one_way_ps(topo, forward, frame_bytes, pipeline_ps, quantum_ps) +
	       route_one_way_ps(topo, reverse, reply_bytes, pipeline_ps, quantum_ps);
}
