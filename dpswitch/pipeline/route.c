/* SPDX-License-Identifier: BSD-3-Clause */
/* Stage 1: the egress of every arrival. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "dpswitch/pipeline/lookup.h"
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
	return count != 0 ? hops[switch_hash_choice(sw, flow, reverse, count)] : -1;
}

uint8_t
switch_resolve(struct sw *sw, const struct pkt *p, enum rec_drop *reason, uint16_t *port)
{
	const struct flow *flow = &sw->config->flows->flows[p->flow];
	bool reverse = p->flags & PKT_REVERSE;
	struct switch_lookup found;

	switch_lookup(sw, p->flow, flow, reverse, &found);
	sw->routes.fault_uses[reverse ? flow->src_node : flow->dst_node] += found.is_forced;
	if (found.egress == SWITCH_EGRESS_DROP) {
		*reason = found.reason;
		if (found.drop_port != LOOKUP_NO_PORT)
			*port = found.drop_port;
		return SWITCH_EGRESS_DROP;
	}
	if (__builtin_expect(found.egress == SWITCH_EGRESS_SPRAY, 0))
		spray_remember(&sw->spray, p->flow, reverse, found.members, found.nmembers);
	else if (__builtin_expect(found.is_pulled, 0))
		sw->routes.pulled[found.egress]++;
	return sw->routes.route[p->flow * 2 + reverse] = found.egress;
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
