/* SPDX-License-Identifier: BSD-3-Clause */
#include "dpswitch/pipeline/lookup.h"

#include <string.h>

#include "common/pkt_chance.h"
#include "dpswitch/pipeline/stages.h"

/* Members of a next-hop set whose cable is up. @return how many, written to usable */
static uint32_t
usable_hops(const struct sw *sw, const uint8_t *hops, uint32_t count, uint8_t usable[TOPO_MAX_PORTS])
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < count; i++)
		if (!sw->ports[hops[i]].egress.tx->down)
			usable[n++] = hops[i];
	return n;
}

/*
 * A pinned flow whose port is down leaves its path by a port of equal cost alone: a way round would lead it back to
 * where the pin sends it here again. @return how many of the ports stay
 */
static uint32_t
keep_healthy(const struct sw *sw, uint32_t dst, uint16_t dst_nic, uint8_t *ports, uint32_t count)
{
	const uint8_t *hops;
	uint32_t nhops = route_next_hops(sw->config->healthy_routes, sw->node.id, dst, dst_nic, &hops), kept = 0;

	for (uint32_t i = 0; i < count; i++)
		if (nhops != 0 && memchr(hops, ports[i], nhops) != NULL)
			ports[kept++] = ports[i];
	return kept;
}

static void
drop(struct switch_lookup *lookup, enum rec_drop reason, uint16_t port)
{
	lookup->egress = SWITCH_EGRESS_DROP;
	lookup->reason = reason;
	lookup->drop_port = port;
	lookup->nmembers = 0;
}

/*
 * No way is left: it counts at a port of the way that there was, one whose link is down if it is this switch's own that are;
 * at none if there never was a way.
 */
static void
drop_lost(const struct sw *sw, uint32_t dst, uint16_t dst_nic, struct switch_lookup *lookup)
{
	const uint8_t *hops;
	uint32_t nhops = route_next_hops(sw->config->healthy_routes, sw->node.id, dst, dst_nic, &hops);

	for (uint32_t i = 0; i < nhops; i++)
		if (sw->ports[hops[i]].egress.tx->down) {
			drop(lookup, REC_DROP_LINK_DOWN, hops[i]);
			return;
		}
	drop(lookup, REC_DROP_NO_ROUTE, nhops != 0 ? hops[0] : LOOKUP_NO_PORT);
}

uint32_t
switch_hash_choice(const struct sw *sw, const struct flow *flow, bool reverse, uint32_t count)
{
	const struct route_tuple tuple = route_tuple_of(flow, reverse);

	return route_select(&sw->config->balance.hashing, sw->config->hash_seed, sw->node.id, &tuple, count);
}

/* Of ports of equal cost, the one that a fault's pull has a flow go to, by its own chance; else what the hash says. */
static void
choose_pulled(const struct sw *sw, const struct flow *flow, bool reverse, struct switch_lookup *lookup)
{
	uint64_t tuple = (uint64_t)flow->src_ip << 32 | flow->dst_ip, more = (uint64_t)flow->sport << 32 | flow->dport << 1;
	const uint8_t *ports = lookup->members;
	uint8_t hashed = ports[switch_hash_choice(sw, flow, reverse, lookup->nmembers)];

	lookup->egress = hashed;
	for (uint32_t i = 0; i < lookup->nmembers; i++) {
		uint64_t stream =
			pkt_chance_stream(sw->config->hash_seed, PKT_CHANCE_PULL, sw->node.id * TOPO_MAX_PORTS + ports[i]);

		if (pkt_chance_unit(prng_mix(prng_mix(stream ^ tuple) ^ (more | reverse))) >= sw->routes.pull[ports[i]])
			continue;
		lookup->egress = ports[i];
		lookup->is_pulled = ports[i] != hashed;
		return;
	}
}

/* An entry for the flow or its destination decides, alone. */
static void
take(struct switch_lookup *lookup, uint8_t port)
{
	lookup->egress = lookup->members[0] = port;
	lookup->nmembers = 1;
}

/* By the routes. @param pinned  port to which the flow's pin would send it, but which is down; negative: it has none */
static void
look_up_routes(const struct sw *sw, const struct flow *flow, bool reverse, int pinned, struct switch_lookup *lookup)
{
	uint32_t dst = reverse ? flow->src_node : flow->dst_node;
	uint16_t dst_nic = reverse ? flow->src_nic : flow->dst_nic;
	const uint8_t *hops;
	uint32_t count = route_next_hops(sw->config->routes, sw->node.id, dst, dst_nic, &hops);

	if (count == 0) {
		drop_lost(sw, dst, dst_nic, lookup);
		return;
	}
	lookup->nmembers = usable_hops(sw, hops, count, lookup->members);
	if (pinned >= 0)
		lookup->nmembers = keep_healthy(sw, dst, dst_nic, lookup->members, lookup->nmembers);
	if (lookup->nmembers == 0)
		drop(lookup, REC_DROP_LINK_DOWN, pinned >= 0 ? (uint16_t)pinned : hops[0]);
	else if (__builtin_expect(spray_is_on(&sw->spray), 0) && lookup->nmembers > 1 && pinned < 0)
		lookup->egress = SWITCH_EGRESS_SPRAY;
	else if (__builtin_expect(sw->routes.pulls, 0) && lookup->nmembers > 1 && pinned < 0)
		choose_pulled(sw, flow, reverse, lookup);
	else
		lookup->egress = lookup->members[switch_hash_choice(sw, flow, reverse, lookup->nmembers)];
}

void
switch_lookup(const struct sw *sw, uint32_t flow_id, const struct flow *flow, bool reverse, struct switch_lookup *lookup)
{
	uint32_t dst = reverse ? flow->src_node : flow->dst_node;
	const struct switch_routes *routes = &sw->routes;
	int pinned;

	lookup->is_forced = lookup->is_pinned = lookup->is_pulled = false;
	if (routes->denied[dst] != 0) {
		drop(lookup, REC_DROP_NO_ROUTE, LOOKUP_NO_PORT);
		if (routes->denied[dst] == REC_DROP_NO_ROUTE)
			drop_lost(sw, dst, reverse ? flow->src_nic : flow->dst_nic, lookup);
		lookup->reason = routes->denied[dst];
		lookup->is_forced = true;
		return;
	}
	if (routes->override[dst] != SWITCH_EGRESS_NONE && !sw->ports[routes->override[dst]].egress.tx->down) {
		take(lookup, routes->override[dst]);
		lookup->is_forced = true;
		return;
	}
	pinned = route_pinned_egress(sw->config->pins, sw->node.id, flow_id, reverse);
	if (pinned >= 0 && !sw->ports[pinned].egress.tx->down) {
		take(lookup, (uint8_t)pinned);
		lookup->is_pinned = true;
		return;
	}
	look_up_routes(sw, flow, reverse, pinned, lookup);
}

enum lookup_known
switch_lookup_tuple(const struct sw *sw, const struct flow_index *index, const struct switch_query *query,
		    struct switch_lookup *lookup)
{
	const struct rec_tuple *tuple = &query->tuple;
	bool reverse;
	uint32_t id = flow_index_find(index, tuple, &reverse);
	struct flow stranger = { .src_node = TOPO_NONE, .src_ip = tuple->src_ip, .dst_ip = tuple->dst_ip };

	if (query->in_port >= sw->node.nports)
		return LOOKUP_NO_INGRESS;
	if (id != FLOW_NONE) {
		switch_lookup(sw, id, &sw->config->flows->flows[id], reverse, lookup);
		return LOOKUP_KNOWN;
	}
	stranger.sport = tuple->sport;
	stranger.dport = tuple->dport;
	if (!topo_find_nic(sw->config->topo, tuple->dst_ip, &stranger.dst_node, &stranger.dst_nic))
		return LOOKUP_NO_ADDRESS;
	switch_lookup(sw, FLOW_NONE, &stranger, false, lookup);
	return LOOKUP_KNOWN;
}
