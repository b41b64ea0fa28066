/* SPDX-License-Identifier: BSD-3-Clause */
#include "cli/eval/place.h"

#include <assert.h>
#include <stdio.h>

void
place_two_pods(struct eval_case *c)
{
	for (uint32_t i = 0; i < CASE_RANKS; i++)
		c->ranks[i] = i;
}

void
place_pairs(struct eval_case *c)
{
	for (uint32_t i = 0; i < CASE_RANKS; i++)
		c->ranks[i] = i / 2 * 4 + i % 2;
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
place_rank_path(const struct eval_case *c, uint32_t rank, struct route_path *path)
{
	place_path(c, c->ranks[rank], c->ranks[(rank + 1) % CASE_RANKS], CASE_COLLECTIVE_SPORT, path);
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
	for (uint32_t rank = 0; rank < CASE_RANKS; rank++) {
		struct route_path path;

		place_rank_path(c, rank, &path);
		if (place_crosses(&path, port))
			return true;
	}
	return false;
}

bool
place_is_rank(const struct eval_case *c, uint32_t host)
{
	for (uint32_t rank = 0; rank < CASE_RANKS; rank++)
		if (c->ranks[rank] == host)
			return true;
	return false;
}

uint32_t
place_any_port(struct eval_case *c)
{
	struct route_path path;

	place_rank_path(c, case_pick(c, 0, CASE_RANKS - 1), &path);
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
