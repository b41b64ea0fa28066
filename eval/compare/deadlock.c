/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A PFC deadlock by cyclic buffer dependency, begun from within (Hawkeye): by bad routes two bundles of flows each go three hops
 * along a circle of four switches, up, down, up and down again, before they leave it. Two of its ports get twice what they can
 * send; what they hold back holds back all others.
 */
#include <errno.h>
#include <inttypes.h>

#include "eval/compare/corpus.h"

#define TRIES 1000
#define CIRCLE 4
#define FLOWS 2 /* of a bundle */
#define SPORT 30000

/* In the order that packets take: a leaf or edge, one above, another leaf or edge below both, another above. */
struct circle {
	uint32_t nodes[CIRCLE], ports[CIRCLE]; /* ports: from each to the next */
};

static bool
is_edge(const struct topo *topo, uint32_t node)
{
	for (uint16_t i = 0; i < topo->nodes[node].nports; i++)
		if (topo->nodes[topo_port_of(topo, node, i)->peer].kind == TOPO_HOST)
			return true;
	return false;
}

/* @return the port to a neighbour, TOPO_NONE: it is none */
static uint32_t
port_to(const struct topo *topo, uint32_t node, uint32_t peer)
{
	for (uint16_t i = 0; i < topo->nodes[node].nports; i++)
		if (topo_port_of(topo, node, i)->peer == peer)
			return topo->nodes[node].first_port + i;
	return TOPO_NONE;
}

/* @return a random switch beside a node, not this one: one that has hosts, or one that has none; TOPO_NONE: chance found none */
static uint32_t
neighbour(struct odd_case *c, uint32_t node, bool edge, uint32_t but)
{
	const struct topo *topo = c->loaded->topo;

	for (uint32_t i = 0; i < TRIES; i++) {
		uint32_t peer = topo_port_of(topo, node, (uint16_t)odd_pick(c, 0, topo->nodes[node].nports - 1u))->peer;

		if (peer != but && topo->nodes[peer].kind == TOPO_SWITCH && is_edge(topo, peer) == edge)
			return peer;
	}
	return TOPO_NONE;
}

/* A circle of which the job uses the first port. @return false: chance found none */
static bool
find_circle(struct odd_case *c, struct circle *circle)
{
	const struct topo *topo = c->loaded->topo;
	struct route_path path;
	uint32_t *nodes = circle->nodes;

	for (uint32_t i = 0; i < TRIES; i++) {
		if (!compare_far(c, &path))
			return false;
		nodes[0] = topo->ports[path.ports[1]].node;
		nodes[1] = topo->ports[path.ports[1]].peer;
		nodes[2] = neighbour(c, nodes[1], true, nodes[0]);
		nodes[3] = nodes[2] != TOPO_NONE ? neighbour(c, nodes[2], false, nodes[1]) : TOPO_NONE;
		if (nodes[3] == TOPO_NONE || port_to(topo, nodes[3], nodes[0]) == TOPO_NONE)
			continue;
		for (uint32_t k = 0; k < CIRCLE; k++)
			circle->ports[k] = port_to(topo, nodes[k], nodes[(k + 1) % CIRCLE]);
		return true;
	}
	return false;
}

/* @return a host that is no rank: of a switch, or of none of the circle's two; TOPO_NONE: there is none */
static uint32_t
bystander(struct odd_case *c, const struct circle *circle, uint32_t at)
{
	const struct topo *topo = c->loaded->topo;

	for (uint32_t i = 0; i < TRIES; i++) {
		uint32_t host = topo->hosts[odd_pick(c, 0, topo->nhosts - 1)], edge = topo_port_of(topo, host, 0)->peer;
		bool apart = edge != circle->nodes[0] && edge != circle->nodes[2];

		if (!compare_is_rank(c, host) && (at != TOPO_NONE ? edge == at : apart))
			return host;
	}
	return TOPO_NONE;
}

/* From a node on as any packet for a host might. @return the ports of the whole way as a scenario lists them */
static void
go_on(struct odd_case *c, uint32_t node, uint32_t dst, struct route_path *way)
{
	const struct topo *topo = c->loaded->topo;

	while (node != dst && way->hops < ROUTE_MAX_HOPS) {
		const uint8_t *members;
		uint32_t choices = route_next_hops(c->loaded->routing.table, node, dst, 0, &members);

		way->ports[way->hops] = topo->nodes[node].first_port + members[odd_pick(c, 0, choices - 1)];
		node = topo->ports[way->ports[way->hops++]].peer;
	}
}

/* A bundle that comes to the circle's first-th switch. @return false: nobody is there to send or receive it */
static bool
add_bundle(struct odd_case *c, const struct circle *circle, uint32_t first, uint64_t start_ns)
{
	const struct topo *topo = c->loaded->topo;
	uint32_t src = bystander(c, circle, circle->nodes[first]), dst = bystander(c, circle, TOPO_NONE);
	struct route_path way = { .hops = 0 };
	char port[64];

	if (src == TOPO_NONE || dst == TOPO_NONE)
		return false;
	while (way.hops < CIRCLE - 1) {
		way.ports[way.hops] = circle->ports[(first + way.hops) % CIRCLE];
		way.hops++;
	}
	go_on(c, circle->nodes[(first + CIRCLE - 1) % CIRCLE], dst, &way);
	odd_add(c, ODD_PATHS, "{ src = \"%s\"; dst = \"%s\"; data = [", topo->nodes[src].name, topo->nodes[dst].name);
	for (uint32_t i = 0; i < way.hops; i++)
		odd_more(c, ODD_PATHS, "%s \"%s\"", i != 0 ? "," : "", odd_port_name(c, way.ports[i], port));
	odd_more(c, ODD_PATHS, " ]; }");
	for (uint32_t i = 0; i < FLOWS; i++)
		odd_add(c, ODD_FLOWS,
			"{ src = \"%s\"; dst = \"%s\"; sport = %u; bytes = \"%" PRIu64 "B\"; start = \"%" PRIu64 "ns\"; }",
			topo->nodes[src].name, topo->nodes[dst].name, SPORT + FLOWS * first + i,
			odd_bytes(c, 15 * ODD_MB, 30 * ODD_MB), start_ns);
	return true;
}

int
compare_deadlock(struct odd_case *c, struct err *err)
{
	struct circle circle;
	uint64_t start_ns;
	int ret = compare_begin(c, err);

	if (ret < 0)
		return ret;
	start_ns = compare_start_ns(c);
	if (!find_circle(c, &circle) || !add_bundle(c, &circle, 0, start_ns) || !add_bundle(c, &circle, 2, start_ns))
		return err_set(err, -EAGAIN, "no circle of buffers");
	return 0;
}
