/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * PFC deadlocks by cyclic buffer dependency (Hawkeye): by bad routes flows of others go along a circle of four switches, up, down,
 * up and down again. Begun from within, two bundles go three hops of it each, and two of its ports get twice what they can send;
 * what they hold back holds back all others. Begun from without, four streams go two hops each and leave room, until a host that
 * one of them goes to pauses its switch for good: what that stream fills holds back the next, and so on round the circle.
 */
#include <errno.h>
#include <inttypes.h>

#include "common/array.h"
#include "eval/compare/corpus.h"

#define TRIES 1000
#define CIRCLE 4
#define FLOWS 2 /* of a bundle */
#define SPORT 30000
/* A stream's: less than the job's own, so that queues in the circle that the job makes hold back the job, and not a stream. */
#define LOAD 0.05
#define MESSAGE_BYTES 65536
#define LEAD_NS 300000       /* streams are there for so long before the pause, */
#define BEHIND_NS 20000000.0 /* and behind it for as long as all their buffers take to fill */

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
go_on(struct odd_case *c, uint32_t node, uint32_t dst, struct route_path *path)
{
	const struct topo *topo = c->loaded->topo;

	while (node != dst && path->hops < ROUTE_MAX_HOPS) {
		const uint8_t *members;
		uint32_t choices = route_next_hops(c->loaded->routing.table, node, dst, 0, &members);

		path->ports[path->hops] = topo->nodes[node].first_port + members[odd_pick(c, 0, choices - 1)];
		node = topo->ports[path->ports[path->hops++]].peer;
	}
}

static void
add_path(struct odd_case *c, uint32_t src, uint32_t dst, const struct route_path *path)
{
	const struct topo *topo = c->loaded->topo;
	char port[64];

	odd_add(c, ODD_PATHS, "{ src = \"%s\"; dst = \"%s\"; data = [", topo->nodes[src].name, topo->nodes[dst].name);
	for (uint32_t i = 0; i < path->hops; i++)
		odd_more(c, ODD_PATHS, "%s \"%s\"", i != 0 ? "," : "", odd_port_name(c, path->ports[i], port));
	odd_more(c, ODD_PATHS, " ]; }");
}

/* From the circle's first-th switch so many hops along it, and on to a host. */
static void
go_round(struct odd_case *c, const struct circle *circle, uint32_t first, uint32_t hops, uint32_t dst,
	 struct route_path *path)
{
	for (uint32_t i = 0; i < hops; i++)
		path->ports[path->hops++] = circle->ports[(first + i) % CIRCLE];
	go_on(c, circle->nodes[(first + hops) % CIRCLE], dst, path);
}

/* A bundle that comes to the circle's first-th switch. @return false: nobody is there to send or receive it */
static bool
add_bundle(struct odd_case *c, const struct circle *circle, uint32_t first, uint64_t start_ns)
{
	const struct topo *topo = c->loaded->topo;
	uint32_t src = bystander(c, circle, circle->nodes[first]), dst = bystander(c, circle, TOPO_NONE);
	struct route_path path = { .hops = 0 };

	if (src == TOPO_NONE || dst == TOPO_NONE)
		return false;
	go_round(c, circle, first, CIRCLE - 1, dst, &path);
	add_path(c, src, dst, &path);
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

/* The way that a packet for a host would take, backwards: from the host's switch to the node. */
static void
approach(struct odd_case *c, uint32_t src, uint32_t node, struct route_path *path)
{
	const struct topo *topo = c->loaded->topo;
	struct route_path there = { .hops = 0 };

	go_on(c, node, src, &there);
	for (uint32_t i = there.hops - 1; i-- > 0;)
		path->ports[path->hops++] = topo->ports[there.ports[i]].peer_port;
}

static bool
add_stream(struct odd_case *c, const struct circle *circle, uint32_t first, const uint32_t ends[2], uint64_t start_ns)
{
	const struct topo_node *nodes = c->loaded->topo->nodes;
	struct route_path path = { .hops = 0 };

	if (ends[0] == TOPO_NONE || ends[1] == TOPO_NONE)
		return false;
	if (!is_edge(c->loaded->topo, circle->nodes[first]))
		approach(c, ends[0], circle->nodes[first], &path);
	go_round(c, circle, first, CIRCLE / 2, ends[1], &path);
	add_path(c, ends[0], ends[1], &path);
	odd_add(c, ODD_GENERATORS,
		"{ kind = \"poisson\"; name = \"stream%u\"; src = [ \"%s\" ]; dst = [ \"%s\" ]; bytes = \"%d\"; load = "
		"%.2f; "
		"connections = 4; start = \"%" PRIu64 "ns\"; until = \"%" PRIu64 "ns\"; }",
		first, nodes[ends[0]].name, nodes[ends[1]].name, MESSAGE_BYTES, LOAD, start_ns - LEAD_NS,
		start_ns + (uint64_t)(BEHIND_NS * c->scale));
	return true;
}

/* @return a host of none of the circle's switches, nor of another's; TOPO_NONE: there is none */
static uint32_t
beyond(struct odd_case *c, const struct circle *circle, uint32_t but)
{
	const struct topo *topo = c->loaded->topo;

	for (uint32_t i = 0; i < TRIES; i++) {
		uint32_t host = bystander(c, circle, TOPO_NONE);

		if (host == TOPO_NONE || but == TOPO_NONE ||
		    topo_port_of(topo, host, 0)->peer != topo_port_of(topo, but, 0)->peer)
			return host;
	}
	return TOPO_NONE;
}

int
compare_deadlock_elsewhere(struct odd_case *c, struct err *err)
{
	struct circle circle;
	uint32_t within[2], there, back;
	uint64_t start_ns;
	int ret = compare_begin(c, err);

	if (ret < 0)
		return ret;
	start_ns = compare_start_ns(c);
	if (!find_circle(c, &circle))
		return err_set(err, -EAGAIN, "no circle of buffers");
	within[0] = bystander(c, &circle, circle.nodes[0]);
	within[1] = bystander(c, &circle, circle.nodes[2]);
	there = beyond(c, &circle, TOPO_NONE);
	back = there != TOPO_NONE ? beyond(c, &circle, there) : TOPO_NONE;

	const uint32_t ends[CIRCLE][2] = {
		{ within[0], within[1] }, { back, there }, { within[1], within[0] }, { there, back }
	};

	for (uint32_t first = 0; first < ARRAY_LEN(ends); first++)
		if (!add_stream(c, &circle, first, ends[first], start_ns))
			return err_set(err, -EAGAIN, "no hosts for the streams of a circle");
	odd_fault(c, "pfc-storm", c->loaded->topo->nodes[there].first_port, start_ns, 0, " ");
	return 0;
}
