/* SPDX-License-Identifier: BSD-3-Clause */
#include "eval/place.h"

#include <assert.h>
#include <stdio.h>

static bool
is_host(const struct topo *topo, uint32_t node)
{
	return topo->nodes[node].kind == TOPO_HOST;
}

/* A switch's index-th host. @return TOPO_NONE: there is no such host */
static uint32_t
host_of(const struct topo *topo, uint32_t node, uint32_t index)
{
	for (uint16_t i = 0; !is_host(topo, node) && i < topo->nodes[node].nports; i++) {
		uint32_t peer = topo_port_of(topo, node, i)->peer;

		if (is_host(topo, peer) && index-- == 0)
			return peer;
	}
	return TOPO_NONE;
}

static uint32_t
count_edges(const struct topo *topo)
{
	uint32_t count = 0;

	for (uint32_t node = 0; node < topo->nnodes; node++)
		count += host_of(topo, node, 0) != TOPO_NONE;
	return count;
}

/* The edge switch of this index, in the order of nodes. */
static uint32_t
edge_of(const struct topo *topo, uint32_t index)
{
	uint32_t node = 0;

	while (host_of(topo, node, 0) == TOPO_NONE || index-- > 0) {
		node++;
		assert(node < topo->nnodes);
	}
	return node;
}

bool
place_collides(const struct eval_case *c)
{
	struct route_path paths[SHAPE_MAX_SENDS];

	for (uint32_t a = 0; a < c->sends.count; a++) {
		place_send_path(c, a, &paths[a]);
		for (uint32_t b = 0; b < a; b++)
			if (c->sends.at[a].step == c->sends.at[b].step && place_shares(&paths[a], &paths[b]))
				return true;
	}
	return false;
}

/* A seed of the run whose hashes keep the collective from colliding with itself, if chance finds one. */
static void
settle_routes(struct eval_case *c)
{
	for (uint32_t i = 0; i < PLACE_TRIES && place_collides(c); i++) {
		c->run_seed = prng_below(&c->prng, 1000000);
		c->routing.seed = c->run_seed;
	}
}

/*
 * Shuffles the ranks. In the order of edge switches a ring has at most one flow by each uplink; in another order its
 * flows share uplinks.
 */
static void
shuffle(struct eval_case *c)
{
	for (uint32_t i = c->source->shape->ranks; i > 1; i--) {
		uint32_t other = (uint32_t)prng_below(&c->prng, i), rank = c->ranks[i - 1];

		c->ranks[i - 1] = c->ranks[other];
		c->ranks[other] = rank;
	}
}

/* @param of  how many edge switches to spread over; not fewer than there are groups */
static void
place(struct eval_case *c, uint32_t group, uint32_t of)
{
	const struct topo *topo = c->routing.topo;
	uint32_t ranks = c->source->shape->ranks, groups = ranks / group;

	assert(of >= groups);
	for (uint32_t i = 0; i < ranks; i++) {
		c->ranks[i] = host_of(topo, edge_of(topo, i / group * of / groups), i % group);
		assert(c->ranks[i] != TOPO_NONE);
	}
	if ((c->source->picks & CASE_PICKS_ROUTES) != 0)
		settle_routes(c);
	else
		shuffle(c);
}

void
place_apart(struct eval_case *c)
{
	place(c, 1, count_edges(c->routing.topo));
}

void
place_beside(struct eval_case *c)
{
	place(c, 2, c->source->shape->ranks / 2);
}

void
place_pairs(struct eval_case *c)
{
	place(c, 2, count_edges(c->routing.topo));
}

static void
find_path(const struct eval_case *c, uint32_t src, uint32_t dst, uint16_t sport, bool reverse, struct route_path *path)
{
	const struct flow flow = {
		.src_node = src,
		.dst_node = dst,
		.src_ip = topo_nic_ip(src, 0),
		.dst_ip = topo_nic_ip(dst, 0),
		.sport = sport,
		.dport = ROCEV2_UDP_PORT,
	};
	int ret = route_flow_path(&c->routing, &flow, reverse, path);

	assert(ret == 0);
	(void)ret;
}

void
place_path(const struct eval_case *c, uint32_t src, uint32_t dst, uint16_t sport, struct route_path *path)
{
	find_path(c, src, dst, sport, false, path);
}

void
place_ack_path(const struct eval_case *c, uint32_t src, uint32_t dst, uint16_t sport, struct route_path *path)
{
	find_path(c, src, dst, sport, true, path);
}

void
place_send_path(const struct eval_case *c, uint32_t send, struct route_path *path)
{
	place_path(c, c->ranks[c->sends.at[send].from], c->ranks[c->sends.at[send].to], CASE_COLLECTIVE_SPORT, path);
}

uint32_t
place_any_send(struct eval_case *c, struct route_path *path)
{
	uint32_t send = case_pick(c, 0, c->sends.count - 1);

	place_send_path(c, send, path);
	return send;
}

bool
place_crosses(const struct route_path *path, uint32_t port)
{
	for (uint32_t i = 0; i < path->hops; i++)
		if (path->ports[i] == port)
			return true;
	return false;
}

bool
place_shares(const struct route_path *a, const struct route_path *b)
{
	for (uint32_t i = 0; i < a->hops; i++)
		if (place_crosses(b, a->ports[i]))
			return true;
	return false;
}

bool
place_is_used(const struct eval_case *c, uint32_t port)
{
	for (uint32_t send = 0; send < c->sends.count; send++) {
		struct route_path path;

		place_send_path(c, send, &path);
		if (place_crosses(&path, port))
			return true;
	}
	return false;
}

bool
place_is_rank(const struct eval_case *c, uint32_t host)
{
	for (uint32_t rank = 0; rank < c->source->shape->ranks; rank++)
		if (c->ranks[rank] == host)
			return true;
	return false;
}

/* Flows of the collective that send by a port. */
static uint32_t
sends_by(const struct eval_case *c, uint32_t port)
{
	uint32_t count = 0;

	for (uint32_t send = 0; send < c->sends.count; send++) {
		struct route_path path;

		place_send_path(c, send, &path);
		count += place_crosses(&path, port);
	}
	return count;
}

static bool
is_imbalanced(const struct eval_case *c, uint32_t port)
{
	const struct topo *topo = c->routing.topo;
	uint32_t node = topo->ports[port].node;

	if (topo->nodes[node].kind != TOPO_SWITCH || sends_by(c, port) < 2)
		return false;
	for (uint32_t send = 0; send < c->sends.count; send++) {
		const uint8_t *members;
		struct route_path path;
		uint32_t count;

		place_send_path(c, send, &path);
		if (!place_crosses(&path, port))
			continue;
		count = route_next_hops(c->routing.table, node, c->ranks[c->sends.at[send].to], 0, &members);
		for (uint32_t i = 0; i < count; i++)
			if (sends_by(c, topo->nodes[node].first_port + members[i]) == 0)
				return true;
	}
	return false;
}

json_t *
place_imbalanced(const struct eval_case *c)
{
	const struct topo *topo = c->routing.topo;
	json_t *ports = json_array();
	char name[64];

	for (uint32_t port = 0; port < topo->nports; port++)
		if (is_imbalanced(c, port))
			json_array_append_new(ports, json_string(topo_port_name(topo, port, name)));
	return ports;
}

uint32_t
place_any_port(struct eval_case *c)
{
	struct route_path path;

	place_any_send(c, &path);
	return path.ports[case_pick(c, 0, path.hops - 1)];
}

uint32_t
place_any_host(struct eval_case *c)
{
	const struct topo *topo = c->routing.topo;

	return topo->hosts[case_pick(c, 0, topo->nhosts - 1)];
}

uint16_t
place_any_sport(struct eval_case *c)
{
	uint16_t sport;
	bool taken;

	do {
		sport = (uint16_t)case_pick(c, CASE_FIRST_SPORT, UINT16_MAX);
		taken = false;
		for (uint32_t i = 0; i < c->nflows; i++)
			taken |= c->flows[i].sport == sport;
	} while (taken);
	return sport;
}

uint32_t
place_port_to(const struct topo *topo, uint32_t node, uint32_t peer)
{
	for (uint16_t i = 0; i < topo->nodes[node].nports; i++)
		if (topo_port_of(topo, node, i)->peer == peer)
			return topo->nodes[node].first_port + i;
	return TOPO_NONE;
}

uint32_t
place_node(const struct topo *topo, char prefix, uint32_t number)
{
	char name[16];

	snprintf(name, sizeof(name), "%c%u", prefix, number);
	return topo_find(topo, name);
}
