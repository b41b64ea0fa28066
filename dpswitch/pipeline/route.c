/* SPDX-License-Identifier: BSD-3-Clause */
/* Stage 1: the egress of every arrival. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/pkt_chance.h"
#include "dpswitch/pipeline/stages.h"

int
switch_routes_init(struct switch_routes *routes, const struct switch_config *config)
{
	size_t nroutes = (size_t)flow_table_slots(config->flows) * 2;
	uint32_t nodes = config->topo->nnodes;

	routes->pull = calloc(TOPO_MAX_PORTS, sizeof(*routes->pull));
	routes->pulled = calloc(TOPO_MAX_PORTS, sizeof(*routes->pulled));
	routes->route = malloc(nroutes + 1);
	routes->override = malloc(nodes);
	routes->denied = calloc(nodes, sizeof(*routes->denied));
	routes->fault_uses = calloc(nodes, sizeof(*routes->fault_uses));
	if (routes->route == NULL || routes->override == NULL || routes->denied == NULL || routes->fault_uses == NULL ||
	    routes->pull == NULL || routes->pulled == NULL)
		return -ENOMEM;
	memset(routes->route, SWITCH_EGRESS_NONE, nroutes);
	memset(routes->override, SWITCH_EGRESS_NONE, nodes);
	return 0;
}

void
switch_routes_fini(struct switch_routes *routes)
{
	free(routes->route);
	free(routes->override);
	free(routes->denied);
	free(routes->pull);
	free(routes->pulled);
	free(routes->fault_uses);
}

void
switch_forget_flow(struct sw *sw, uint32_t flow)
{
	memset(sw->routes.route + (size_t)flow * 2, SWITCH_EGRESS_NONE, 2);
}

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

/*
 * No way is left. @param port  set to a port of the way that there was: one whose link is down, if it is this switch's
 * own that are; as it was if there never was a way
 */
static enum rec_drop
lost_route(const struct sw *sw, uint32_t dst, uint16_t dst_nic, uint16_t *port)
{
	const uint8_t *hops;
	uint32_t nhops = route_next_hops(sw->config->healthy_routes, sw->node.id, dst, dst_nic, &hops);

	for (uint32_t i = 0; i < nhops; i++) {
		if (!sw->ports[hops[i]].egress.tx->down)
			continue;
		*port = hops[i];
		return REC_DROP_LINK_DOWN;
	}
	if (nhops != 0)
		*port = hops[0];
	return REC_DROP_NO_ROUTE;
}

/* Which of so many ports of equal cost a hash chooses. */
static uint32_t
choose(const struct sw *sw, const struct flow *flow, bool reverse, uint32_t count)
{
	const struct route_tuple tuple = route_tuple_of(flow, reverse);

	return route_select(&sw->config->balance.hashing, sw->config->hash_seed, sw->node.id, &tuple, count);
}

/* Of ports of equal cost, the one that a fault's pull has a flow go to, by its own chance; else what the hash says. */
static uint8_t
choose_pulled(struct sw *sw, const struct flow *flow, bool reverse, const uint8_t *ports, uint32_t count)
{
	uint64_t tuple = (uint64_t)flow->src_ip << 32 | flow->dst_ip, more = (uint64_t)flow->sport << 32 | flow->dport << 1;
	uint8_t chosen = ports[choose(sw, flow, reverse, count)];

	for (uint32_t i = 0; i < count; i++) {
		uint64_t stream =
			pkt_chance_stream(sw->config->hash_seed, PKT_CHANCE_PULL, sw->node.id * TOPO_MAX_PORTS + ports[i]);

		if (pkt_chance_unit(prng_mix(prng_mix(stream ^ tuple) ^ (more | reverse))) >= sw->routes.pull[ports[i]])
			continue;
		sw->routes.pulled[ports[i]] += ports[i] != chosen;
		return ports[i];
	}
	return chosen;
}

int
switch_healthy_egress(const struct sw *sw, uint32_t flow_id, bool reverse)
{
	const struct flow *flow = &sw->config->flows->flows[flow_id];
	int pinned = route_pinned_egress(sw->config->pins, sw->node.id, flow_id, reverse);
	const uint8_t *hops;
	uint32_t count;

	if (pinned >= 0)
		return pinned;
	count = route_next_hops(sw->config->healthy_routes, sw->node.id, reverse ? flow->src_node : flow->dst_node,
				reverse ? flow->src_nic : flow->dst_nic, &hops);
	return count != 0 ? hops[choose(sw, flow, reverse, count)] : -1;
}

uint8_t
switch_resolve(struct sw *sw, const struct pkt *p, enum rec_drop *reason, uint16_t *port)
{
	const struct switch_config *config = sw->config;
	const struct flow *flow = &config->flows->flows[p->flow];
	bool reverse = p->flags & PKT_REVERSE;
	uint32_t dst = reverse ? flow->src_node : flow->dst_node;
	uint16_t dst_nic = reverse ? flow->src_nic : flow->dst_nic;
	uint8_t *cached = &sw->routes.route[p->flow * 2 + reverse];
	uint8_t usable[TOPO_MAX_PORTS];
	const uint8_t *hops;
	uint32_t count;
	int pinned;

	if (sw->routes.denied[dst] != 0) {
		sw->routes.fault_uses[dst]++;
		if (sw->routes.denied[dst] == REC_DROP_NO_ROUTE)
			lost_route(sw, dst, dst_nic, port);
		*reason = sw->routes.denied[dst];
		return SWITCH_EGRESS_DROP;
	}
	if (sw->routes.override[dst] != SWITCH_EGRESS_NONE && !sw->ports[sw->routes.override[dst]].egress.tx->down) {
		sw->routes.fault_uses[dst]++;
		return *cached = sw->routes.override[dst];
	}
	pinned = route_pinned_egress(config->pins, sw->node.id, p->flow, reverse);
	if (pinned >= 0 && !sw->ports[pinned].egress.tx->down)
		return *cached = (uint8_t)pinned;
	count = route_next_hops(config->routes, sw->node.id, dst, dst_nic, &hops);
	if (count == 0) {
		*reason = lost_route(sw, dst, dst_nic, port);
		return SWITCH_EGRESS_DROP;
	}
	count = usable_hops(sw, hops, count, usable);
	if (pinned >= 0)
		count = keep_healthy(sw, dst, dst_nic, usable, count);
	*reason = REC_DROP_LINK_DOWN;
	if (count == 0) {
		*port = pinned >= 0 ? (uint16_t)pinned : hops[0];
		return SWITCH_EGRESS_DROP;
	}
	if (__builtin_expect(spray_is_on(&sw->spray), 0) && count > 1 && pinned < 0) {
		spray_remember(&sw->spray, p->flow, reverse, usable, count);
		return *cached = SWITCH_EGRESS_SPRAY;
	}
	if (__builtin_expect(sw->routes.pulls, 0) && count > 1 && pinned < 0)
		return *cached = choose_pulled(sw, flow, reverse, usable, count);
	return *cached = usable[choose(sw, flow, reverse, count)];
}

/* @param egress  the victim's; where its packets are sprayed, the polling packet goes by all ports that they may take */
static void
poll(struct sw *sw, uint16_t in_port, struct pkt *p, uint8_t egress)
{
	const struct balance_set *set;

	if (egress != SWITCH_EGRESS_SPRAY) {
		switch_poll(sw, in_port, p, &egress, egress != SWITCH_EGRESS_DROP);
		return;
	}
	set = spray_set(&sw->spray, p->flow, p->flags & PKT_REVERSE);
	switch_poll(sw, in_port, p, set->members, set->count);
}

void
switch_route_rare(struct sw *sw, uint16_t in_port, struct pkt *p, uint8_t cached)
{
	enum rec_drop reason = REC_DROP_TTL;
	uint8_t egress = p->ttl > 0 ? cached : SWITCH_EGRESS_DROP;
	uint16_t drop_port = in_port;

	if (p->ttl == 0 && switch_expired(sw, in_port, p))
		return;
	if (p->ttl > 0 && cached >= SWITCH_EGRESS_DROP)
		egress = switch_resolve(sw, p, &reason, &drop_port);
	if (fib_is_corrupt(&sw->fib) && egress != SWITCH_EGRESS_DROP &&
	    fib_loses(&sw->fib, sw->config->flows, p, in_port, FIB_ANY_PORT)) {
		p->in_port = UINT8_MAX; /* never charged to an ingress */
		switch_lose(sw, p);
		return;
	}
	if (p->type == PKT_POLL && egress == SWITCH_EGRESS_DROP && drop_port != in_port)
		switch_poll_dead_end(sw, in_port, p, drop_port);
	if (p->type == PKT_POLL && p->ttl > 0 && (egress != SWITCH_EGRESS_DROP || (p->arg & POLL_PFC))) {
		poll(sw, in_port, p, egress); /* pauses can be followed where the victim has no way on */
	} else if (egress == SWITCH_EGRESS_DROP) {
		p->in_port = UINT8_MAX; /* never charged to an ingress */
		switch_drop(sw, drop_port, p, reason, p->time_ps);
	} else if (__builtin_expect(account_is_short(&sw->account), 0) && !account_admits(&sw->account, in_port, p)) {
		p->in_port = UINT8_MAX; /* never charged to an ingress */
		switch_drop(sw, in_port, p, REC_DROP_NO_BUFFER, p->time_ps);
	} else {
		switch_forward(sw, in_port, egress, p);
	}
}

void
switch_route(struct sw *sw, uint16_t in_port, struct pkt *pkts, uint32_t count)
{
	if (fib_is_corrupt(&sw->fib) || account_is_short(&sw->account)) {
		switch_route_corrupt(sw, in_port, pkts, count);
		return;
	}
	if (__builtin_expect(spray_is_on(&sw->spray), 0)) {
		switch_spray(sw, in_port, pkts, count);
		return;
	}
	switch_route_all(sw, in_port, pkts, count, switch_hand_over);
}

void
switch_forget_routes(struct sw *sw)
{
	if (__builtin_expect(spray_is_on(&sw->spray), 0))
		switch_forget_sets(sw);
	memset(sw->routes.route, SWITCH_EGRESS_NONE, (size_t)flow_table_slots(sw->config->flows) * 2);
	sw->node.count.route_changes++;
}

void
switch_set_override(struct sw *sw, uint32_t dst, uint8_t egress)
{
	sw->routes.override[dst] = egress;
	switch_forget_routes(sw);
}

void
switch_deny(struct sw *sw, uint32_t dst, uint8_t reason)
{
	sw->routes.denied[dst] = reason;
	switch_forget_routes(sw);
}

void
switch_pull(struct sw *sw, uint16_t port, double share)
{
	sw->routes.pull[port] = share;
	sw->routes.pulls = false;
	for (uint16_t i = 0; i < sw->node.nports; i++)
		sw->routes.pulls |= sw->routes.pull[i] > 0;
	switch_forget_routes(sw);
}

uint64_t
switch_pulled(const struct sw *sw, uint16_t port)
{
	return sw->routes.pulled[port];
}

uint64_t
switch_fault_uses(const struct sw *sw, uint32_t dst)
{
	return sw->routes.fault_uses[dst];
}

void
switch_route_damaged(struct sw *sw, uint16_t in_port, struct pkt *pkts, uint32_t count)
{
	uint32_t from = 0;

	for (uint32_t i = 0; i < count; i++) {
		if (!(pkts[i].flags & PKT_CORRUPT))
			continue;
		switch_route(sw, in_port, &pkts[from], i - from);
		from = i + 1;
		sw->node.count.rx_packets++;
		sw->node.count.rx_bytes += pkts[i].wire_bytes;
		pkts[i].in_port = UINT8_MAX; /* never charged to an ingress */
		switch_drop(sw, in_port, &pkts[i], REC_DROP_CORRUPT, pkts[i].time_ps);
	}
	switch_route(sw, in_port, &pkts[from], count - from);
}
