/* SPDX-License-Identifier: BSD-3-Clause */
/* The way of one flow: hash, choice, path, delay. */
#include <errno.h>

#include "common/crc32c.h"
#include "common/prng.h"
#include "common/units.h"
#include "topo/pins.h"
#include "topo/route.h"

#define PROTOCOL_UDP 17

uint32_t
route_hash(uint32_t src_ip, uint32_t dst_ip, uint16_t sport, uint16_t dport, uint32_t switch_seed)
{
	const uint8_t tuple[13] = {
		(uint8_t)(src_ip >> 24), (uint8_t)(src_ip >> 16), (uint8_t)(src_ip >> 8),
		(uint8_t)src_ip,         (uint8_t)(dst_ip >> 24), (uint8_t)(dst_ip >> 16),
		(uint8_t)(dst_ip >> 8),  (uint8_t)dst_ip,         PROTOCOL_UDP,
		(uint8_t)(sport >> 8),   (uint8_t)sport,          (uint8_t)(dport >> 8),
		(uint8_t)dport,
	};

	return (uint32_t)prng_mix((uint64_t)switch_seed << 32 | crc32c(tuple, sizeof(tuple)));
}

uint32_t
route_switch_seed(uint64_t seed, uint32_t node)
{
	return (uint32_t)prng_mix(seed + 0x9e3779b97f4a7c15ULL * (node + 1ULL));
}

/* Hash to index without division: the hash as a fraction of 2^32. */
static uint32_t
scale(uint32_t hash, uint32_t members)
{
	return (uint32_t)((uint64_t)hash * members >> 32);
}

uint32_t
route_select(uint64_t seed, uint32_t node, uint32_t src_ip, uint32_t dst_ip, uint16_t sport, uint16_t dport,
	     uint32_t members)
{
	return scale(route_hash(src_ip, dst_ip, sport, dport, route_switch_seed(seed, node)), members);
}

int
route_choose(const struct routing *routing, uint32_t node, const struct flow *flow, bool reverse,
	     struct route_choice *choice)
{
	uint32_t switch_seed = route_switch_seed(routing->seed, node);
	const struct route_pin *pin;
	int pinned;

	*choice = (struct route_choice){ 0 };
	if (routing->topo->nodes[node].kind == TOPO_HOST) {
		choice->port = (uint8_t)(reverse ? flow->dst_nic : flow->src_nic);
		return choice->port < routing->topo->nodes[node].nports ? 0 : -EHOSTUNREACH;
	}
	choice->nmembers = route_next_hops(routing->table, node, reverse ? flow->src_node : flow->dst_node,
					   reverse ? flow->src_nic : flow->dst_nic, &choice->members);
	choice->hash = reverse ? route_hash(flow->dst_ip, flow->src_ip, flow->dport, flow->sport, switch_seed)
			       : route_hash(flow->src_ip, flow->dst_ip, flow->sport, flow->dport, switch_seed);
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
	choice->port = choice->members[scale(choice->hash, choice->nmembers)];
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
