/* SPDX-License-Identifier: BSD-3-Clause */
/* Stage 1: the egress of every arrival. */
#include "dpswitch/pipeline/route.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/log.h"
#include "common/minmax.h"
#include "common/pkt_chance.h"
#include "common/wire/roce.h"
#include "dpswitch/pipeline/switch.h"

static uint32_t switch_hash_choice(const struct sw *sw, const struct flow *flow, bool reverse, uint32_t count);
static bool switch_expired(struct sw *sw, uint16_t in_port, const struct pkt *p);

void
switch_routes_init(struct switch_routes *routes, const struct flow_table *flows)
{
	flow_map_init(&routes->cache, 2 * flow_table_slots(flows));
}

void
switch_routes_fini(struct switch_routes *routes)
{
	flow_map_fini(&routes->cache);
	free(routes->forced);
	free(routes->pull);
	free(routes->pulled);
}

void
switch_forget_flow(struct sw *sw, uint32_t flow)
{
	flow_map_forget(&sw->routes.cache, route_key(flow, false));
	flow_map_forget(&sw->routes.cache, route_key(flow, true));
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
	if (__builtin_expect(found.is_forced, 0))
		sw->routes.forced[reverse ? flow->src_node : flow->dst_node].uses++;
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
	if (flow_map_put(&sw->routes.cache, route_key(p->flow, reverse), found.egress) < 0)
		log_fatal("out of memory for the routes of flows at a switch");
	return found.egress;
}

/*
 * @param egress  the victim's; where its packets are sprayed, the polling packet leaves by all ports that they may take
 */
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

/* Is a packet dropped at its ingress? */
static bool
refuses(struct sw *sw, uint16_t in_port, const struct pkt *p, enum rec_drop *reason)
{
	*reason = REC_DROP_MTU;
	if (p->wire_bytes > sw->rules[in_port].max_wire_bytes)
		return true;
	*reason = REC_DROP_WATCHDOG;
	if (watchdog_drops(sw->watchdog, in_port, p->prio)) {
		watchdog_count(sw->watchdog, in_port, p->prio);
		return true;
	}
	*reason = REC_DROP_NO_BUFFER;
	return !account_admits(&sw->account, in_port, p);
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
		poll(sw, in_port, p, egress); /* pauses can be followed where the victim has no path on */
	} else if (egress == SWITCH_EGRESS_DROP) {
		p->in_port = UINT8_MAX; /* never charged to an ingress */
		switch_drop(sw, drop_port, p, reason, p->time_ps);
	} else if (__builtin_expect(sw->guards != 0, 0) && refuses(sw, in_port, p, &reason)) {
		p->in_port = UINT8_MAX; /* never charged to an ingress */
		switch_drop(sw, in_port, p, reason, p->time_ps);
	} else {
		switch_forward(sw, in_port, egress, p);
	}
}

void
switch_route(struct sw *sw, uint16_t in_port, struct pkt *pkts, uint32_t count)
{
	if (fib_is_corrupt(&sw->fib) || sw->guards != 0) {
		switch_route_corrupt(sw, in_port, pkts, count);
		return;
	}
	if (__builtin_expect(spray_is_on(&sw->spray), 0)) {
		switch_spray(sw, in_port, pkts, count);
		return;
	}
	if (__builtin_expect(flow_map_is_direct(&sw->routes.cache), 1))
		switch_route_all(sw, in_port, pkts, count, true, switch_hand_over);
	else
		switch_route_all(sw, in_port, pkts, count, false, switch_hand_over);
}

void
switch_forget_routes(struct sw *sw)
{
	if (__builtin_expect(spray_is_on(&sw->spray), 0))
		switch_forget_sets(sw);
	flow_map_clear(&sw->routes.cache);
	sw->node.count.route_changes++;
}

/* @return the faults' entries for packets to a host; the first call allocates those of all hosts */
static struct forced_route *
forced_to(struct sw *sw, uint32_t dst)
{
	uint32_t nodes = sw->config->topo->nnodes;

	if (sw->routes.forced == NULL) {
		sw->routes.forced = calloc(nodes, sizeof(*sw->routes.forced));
		if (sw->routes.forced == NULL)
			log_fatal("out of memory for faults of a switch");
		for (uint32_t i = 0; i < nodes; i++)
			sw->routes.forced[i].override = SWITCH_EGRESS_NONE;
	}
	return &sw->routes.forced[dst];
}

void
switch_set_override(struct sw *sw, uint32_t dst, uint8_t egress)
{
	forced_to(sw, dst)->override = egress;
	switch_forget_routes(sw);
}

void
switch_deny(struct sw *sw, uint32_t dst, uint8_t reason)
{
	forced_to(sw, dst)->denied = reason;
	switch_forget_routes(sw);
}

void
switch_pull(struct sw *sw, uint16_t port, double share)
{
	if (sw->routes.pull == NULL) {
		sw->routes.pull = calloc(sw->node.nports, sizeof(*sw->routes.pull));
		sw->routes.pulled = calloc(sw->node.nports, sizeof(*sw->routes.pulled));
		if (sw->routes.pull == NULL || sw->routes.pulled == NULL)
			log_fatal("out of memory for faults of a switch");
	}
	sw->routes.pull[port] = share;
	sw->routes.pulls = false;
	for (uint16_t i = 0; i < sw->node.nports; i++)
		sw->routes.pulls |= sw->routes.pull[i] > 0;
	switch_forget_routes(sw);
}

uint64_t
switch_pulled(const struct sw *sw, uint16_t port)
{
	return sw->routes.pulled != NULL ? sw->routes.pulled[port] : 0;
}

uint64_t
switch_fault_uses(const struct sw *sw, uint32_t dst)
{
	return sw->routes.forced != NULL ? sw->routes.forced[dst].uses : 0;
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

/* Lookup of a flow's egress by the switch's present forwarding state. */

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
 * A pinned flow whose port is down leaves its path by a port of equal cost alone: a detour would lead it back to
 * where the pin sends it here again. @return number of ports that stay
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
 * No path is left: it counts at a port of the former path, one whose link is down if the switch's own links are; at
 * none if there never was a path.
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

/* The index among count ports of equal cost that a switch's hash chooses. */
static uint32_t
switch_hash_choice(const struct sw *sw, const struct flow *flow, bool reverse, uint32_t count)
{
	const struct route_tuple tuple = route_tuple_of(flow, reverse);

	return route_select(&sw->config->balance.hashing, sw->config->hash_seed, sw->node.id, &tuple, count);
}

/*
 * Chooses among ports of equal cost: the first whose pull, set by a fault, wins the flow by its own chance; else the
 * hash's choice.
 */
static void
choose_pulled(const struct sw *sw, const struct flow *flow, bool reverse, struct switch_lookup *lookup)
{
	uint64_t tuple = (uint64_t)flow->src_ip << 32 | flow->dst_ip, more = (uint64_t)flow->sport << 32 | flow->dport << 1;
	const uint8_t *ports = lookup->members;
	uint8_t hashed = ports[switch_hash_choice(sw, flow, reverse, lookup->nmembers)];

	lookup->egress = hashed;
	for (uint32_t i = 0; i < lookup->nmembers; i++) {
		uint64_t stream =
			pkt_chance_stream(sw->config->hash_seed, PKT_CHANCE_PULL, topo_port_stream(sw->node.id, ports[i]));

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

/*
 * Looks up a flow by the routes.
 * @param pinned  port to which the flow's pin would send it, but which is down; negative: it has none
 */
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

/* Looks up a flow by the faults' entries for its destination. @return whether these decide */
static bool
look_up_forced(const struct sw *sw, const struct flow *flow, bool reverse, struct switch_lookup *lookup)
{
	uint32_t dst = reverse ? flow->src_node : flow->dst_node;
	const struct forced_route *forced = &sw->routes.forced[dst];

	if (forced->denied != 0) {
		drop(lookup, REC_DROP_NO_ROUTE, LOOKUP_NO_PORT);
		if (forced->denied == REC_DROP_NO_ROUTE)
			drop_lost(sw, dst, reverse ? flow->src_nic : flow->dst_nic, lookup);
		lookup->reason = forced->denied;
		lookup->is_forced = true;
		return true;
	}
	if (forced->override == SWITCH_EGRESS_NONE || sw->ports[forced->override].egress.tx->down)
		return false;
	take(lookup, forced->override);
	lookup->is_forced = true;
	return true;
}

/*
 * Looks up a flow by a pin that holds only while all ports of equal cost are left.
 * @return whether some are missing, so that the lookup decides
 */
static bool
look_up_detour(const struct sw *sw, uint32_t flow_id, const struct flow *flow, bool reverse, struct switch_lookup *lookup)
{
	const struct route_pin *pin = route_pin_rehash(sw->config->pins, flow_id);
	uint32_t dst = reverse ? flow->src_node : flow->dst_node, count, healthy;
	uint16_t dst_nic = reverse ? flow->src_nic : flow->dst_nic;
	const uint8_t *hops;
	int detour;

	if (pin == NULL)
		return false;
	healthy = route_next_hops(sw->config->healthy_routes, sw->node.id, dst, dst_nic, &hops);
	count = route_next_hops(sw->config->routes, sw->node.id, dst, dst_nic, &hops);
	count = usable_hops(sw, hops, count, lookup->members);
	if (count == healthy)
		return false;
	detour = reverse ? -1 : route_pin_detour(pin, sw->config->topo, sw->node.id, lookup->members, count);
	if (detour >= 0)
		take(lookup, (uint8_t)detour);
	else
		look_up_routes(sw, flow, reverse, -1, lookup);
	return true;
}

void
switch_lookup(const struct sw *sw, uint32_t flow_id, const struct flow *flow, bool reverse, struct switch_lookup *lookup)
{
	int pinned;

	lookup->is_forced = lookup->is_pinned = lookup->is_pulled = false;
	if (sw->routes.forced != NULL && look_up_forced(sw, flow, reverse, lookup))
		return;
	if (look_up_detour(sw, flow_id, flow, reverse, lookup))
		return;
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

/* A link of the switch went down or up. */

/* Everything queued for a dead cable is lost; its ingresses get their buffer back. */
uint64_t
switch_flush(struct sw *sw, uint16_t index, uint8_t prio, enum rec_drop reason, uint64_t now_ps)
{
	struct switch_port *port = &sw->ports[index];
	uint64_t packets = 0;

	for (; !fifo_empty(&port->egress.q[prio]); packets++) {
		struct pkt *p = egress_pop(&port->egress, prio);

		switch_drop(sw, index, p, reason, now_ps);
		if (switch_counted(sw) >> prio & 1)
			port->flows.queued[port_flows_slot(&port->flows, p->flow)]--;
		account_lose(&sw->account, p);
	}
	sw->account.recheck = true;
	return packets;
}

/* Routes avoid a port whose link is down; frames queued for it are lost. */
void
switch_link_changed(struct sw *sw, uint16_t index, uint8_t held, uint64_t now_ps)
{
	struct switch_port *port = &sw->ports[index];
	bool down = port->egress.tx->down;

	switch_forget_routes(sw);
	for (uint8_t prio = 0; down && prio < SWITCH_CLASSES; prio++)
		switch_flush(sw, index, prio, REC_DROP_LINK_DOWN, now_ps);
	port_drops_down(port->telem.drops, now_ps);
	switch_note_pause(sw, port, down ? 0 : held & sw->rules[index].obeys, now_ps);
	if (sw->watchdog != NULL)
		watchdog_note(sw, index, down ? UINT8_MAX : held, !down, now_ps);
}

/*
 * Traceroute: a UD SEND whose TTL ends here is answered by ICMP time exceeded, from the interface where it arrived, as
 * often as a switch's CPU is allowed to. Packets of connections that loop are dropped, as ever.
 */

#define EXPIRY_BURST 16 /* burst size, by the generic cell rate algorithm (ITU-T I.371) */

/* Bytes that ICMP and its IPv4 header add to the quoted packet. */
#define EXPIRED_MORE_BYTES (sizeof(struct wire_ipv4) + sizeof(struct wire_icmp_expired))

/*
 * @return the wire bytes of an ICMP reply: it quotes the minimum of a packet with bytes, which ends here, and all of
 *         others
 */
static uint16_t
answer_bytes(const struct pkt *p)
{
	if (p->flags & PKT_BYTES)
		return (uint16_t)eth_wire_bytes(sizeof(struct wire_eth) + EXPIRED_MORE_BYTES + EXPIRED_LEAST_BYTES);
	return (uint16_t)(p->wire_bytes + EXPIRED_MORE_BYTES);
}

/* Packets of one window arrive port by port: the clock of the answers does not go back with them. */
static bool
may_answer(struct sw *sw, uint64_t arrival_ps)
{
	uint64_t gap_ps = sw->config->trace_gap_ps, now_ps = max_u64(sw->expiry.latest_ps, arrival_ps);
	uint64_t due_ps = max_u64(sw->expiry.due_ps, now_ps);

	sw->expiry.latest_ps = now_ps;
	if (due_ps - now_ps > (EXPIRY_BURST - 1) * gap_ps)
		return false;
	sw->expiry.due_ps = due_ps + gap_ps;
	return true;
}

/* The TTL of a packet ended here. @return whether it was answered, and thus consumed */
static bool
switch_expired(struct sw *sw, uint16_t in_port, const struct pkt *p)
{
	bool forth = !(p->flags & PKT_REVERSE);
	enum rec_drop reason;
	uint16_t port = in_port;
	struct pkt *answer;
	uint8_t egress;

	if (sw->config->trace_gap_ps == 0 || p->type != PKT_UD ||
	    (p->opcode != ROCE_UD_SEND_ONLY && (p->flags & PKT_BYTES) == 0))
		return false;
	answer = sw->polling.nborn < SWITCH_MAX_BORN ? &sw->polling.born[sw->polling.nborn] : NULL;
	if (answer == NULL || !may_answer(sw, p->time_ps)) {
		sw->expiry.silent++;
		return false;
	}
	*answer = (struct pkt){
		.time_ps = p->time_ps,
		.flow = p->flow,
		.psn = p->psn,
		.arg = sw->node.id << EXPIRED_NODE_SHIFT | in_port,
		.wire_bytes = answer_bytes(p),
		.payload_bytes = p->payload_bytes,
		.opcode = p->opcode,
		.syndrome = (p->flags & PKT_BYTES) != 0,
		.type = PKT_EXPIRED,
		.flags = forth ? PKT_REVERSE : 0,
		.ttl = PKT_TTL_INIT,
	};
	egress = switch_cached(&sw->routes, p->flow, forth);
	if (egress >= SWITCH_EGRESS_DROP)
		egress = switch_resolve(sw, answer, &reason, &port);
	if (egress == SWITCH_EGRESS_DROP) {
		sw->expiry.silent++;
		return false;
	}
	sw->polling.nborn++;
	sw->expiry.answered++;
	sw->node.count.born_packets++;
	sw->node.count.born_bytes += answer->wire_bytes;
	sw->node.count.consumed_packets++;
	sw->node.count.consumed_bytes += p->wire_bytes;
	switch_forward(sw, in_port, egress, answer);
	body_release(sw->node.bodies, p);
	return true;
}

struct fib_entry {
	const struct fib_fault *fault;
	bool on;
	uint64_t losses;
};

void
fib_init(struct fib_faults *fib, uint64_t seed, uint32_t node)
{
	*fib = (struct fib_faults){ .stream = pkt_chance_stream(seed, PKT_CHANCE_FIB, node) };
}

void
fib_fini(struct fib_faults *fib)
{
	free(fib->entries);
	*fib = (struct fib_faults){ .count = 0 };
}

/* A pair of addresses is hit for as long as the run lasts, or not at all. */
static bool
is_hit(const struct fib_faults *fib, const struct fib_fault *fault, uint32_t src_ip, uint32_t dst_ip)
{
	uint64_t place = (uint64_t)fault->in_port << 16 | fault->out_port;

	return fault->share >= 1 ||
	       pkt_chance_unit(prng_mix(prng_mix(fib->stream + place) ^ ((uint64_t)src_ip << 32 | dst_ip))) < fault->share;
}

static bool
is_in(const struct fib_net *net, uint32_t ip)
{
	return ((ip ^ net->ip) & net->mask) == 0;
}

bool
fib_loses(struct fib_faults *fib, const struct flow_table *flows, const struct pkt *p, uint16_t in_port, uint16_t out_port)
{
	const struct flow *flow = &flows->flows[p->flow];
	bool reverse = p->flags & PKT_REVERSE;
	uint32_t src = reverse ? flow->dst_node : flow->src_node, dst = reverse ? flow->src_node : flow->dst_node;
	uint32_t src_ip = reverse ? flow->dst_ip : flow->src_ip, dst_ip = reverse ? flow->src_ip : flow->dst_ip;

	for (uint32_t i = 0; i < fib->count; i++) {
		struct fib_entry *entry = &fib->entries[i];
		const struct fib_fault *fault = entry->fault;

		if (!entry->on || (fault->src != TOPO_NONE && fault->src != src) ||
		    (fault->dst != TOPO_NONE && fault->dst != dst) ||
		    (fault->in_port != FIB_ANY_PORT && fault->in_port != in_port) ||
		    (fault->out_port != FIB_ANY_PORT && fault->out_port != out_port) || !is_in(&fault->src_net, src_ip) ||
		    !is_in(&fault->dst_net, dst_ip) || !is_hit(fib, fault, src_ip, dst_ip))
			continue;
		entry->losses++;
		return true;
	}
	return false;
}

static struct fib_entry *
find(const struct fib_faults *fib, const struct fib_fault *fault)
{
	for (uint32_t i = 0; i < fib->count; i++)
		if (fib->entries[i].fault == fault)
			return &fib->entries[i];
	return NULL;
}

void
switch_set_fib_fault(struct sw *sw, const struct fib_fault *fault, bool on)
{
	struct fib_faults *fib = &sw->fib;
	struct fib_entry *entry = find(fib, fault);

	if (entry == NULL) {
		entry = realloc(fib->entries, (fib->count + 1) * sizeof(*entry));
		if (entry == NULL)
			log_fatal("out of memory for faults of a switch");
		fib->entries = entry;
		entry = &fib->entries[fib->count++];
		*entry = (struct fib_entry){ .fault = fault };
	}
	if (fault->out_port == FIB_ANY_PORT)
		fib->on += (uint32_t)on - (uint32_t)entry->on;
	entry->on = on;
	for (uint16_t port = 0; port < sw->node.nports; port++)
		switch_picks(sw, port);
}

void
switch_picks(struct sw *sw, uint16_t port)
{
	bool picky = sw->rules[port].max_wire_bytes < sw->config->mtu_bytes;

	for (uint32_t i = 0; i < sw->fib.count; i++)
		picky |= sw->fib.entries[i].on && sw->fib.entries[i].fault->out_port == port;
	sw->ports[port].egress.picky = picky;
}

uint64_t
switch_fib_losses(const struct sw *sw, const struct fib_fault *fault)
{
	const struct fib_entry *entry = find(&sw->fib, fault);

	return entry != NULL ? entry->losses : 0;
}

void
switch_route_corrupt(struct sw *sw, uint16_t in_port, struct pkt *pkts, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++) {
		struct pkt *p = &pkts[i];

		sw->node.count.rx_packets++;
		sw->node.count.rx_bytes += p->wire_bytes;
		p->ttl--;
		switch_route_rare(sw, in_port, p, switch_cached(&sw->routes, p->flow, (p->flags & PKT_REVERSE) != 0));
	}
}
