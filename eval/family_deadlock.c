/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * PFC deadlock by cyclic buffer dependency: in one pod flows of bad routes, down and up again, close the circle edge,
 * aggregation, edge, aggregation. "In loop": two flows overrun the circle's own ports. "Out of loop": four that take
 * two hops of it each, and whose hosts have more to send elsewhere, leave room in the circle, until a host beyond it
 * that one of them goes to pauses its switch for good.
 */
#include <errno.h>

#include "eval/case.h"
#include "eval/place.h"

#define DEADLOCK_CASES 30
#define CIRCLE 4
#define PARALLEL 3  /* flows of a host by the circle, out of loop: their windows are more than its buffers hold */
#define ELSEWHERE 6 /* its flows by other paths: two thirds of its data */

/* The circle's switches in the order that packets take: e, a, e', a'. Ports: from each to the next. */
struct circle {
	uint32_t nodes[CIRCLE], ports[CIRCLE];
};

static void
find_circle(const struct topo *topo, uint32_t pod, uint32_t turn, struct circle *circle)
{
	const struct {
		char prefix;
		uint32_t number;
	} names[CIRCLE] = { { 'e', 2 * pod }, { 'a', 2 * pod + turn }, { 'e', 2 * pod + 1 }, { 'a', 2 * pod + 1 - turn } };

	for (uint32_t i = 0; i < CIRCLE; i++)
		circle->nodes[i] = place_node(topo, names[i].prefix, names[i].number);
	for (uint32_t i = 0; i < CIRCLE; i++)
		circle->ports[i] = place_port_to(topo, circle->nodes[i], circle->nodes[(i + 1) % CIRCLE]);
}

static bool
collective_crosses(const struct eval_case *c, const struct circle *circle)
{
	for (uint32_t i = 0; i < CIRCLE; i++)
		if (place_is_used(c, circle->ports[i]))
			return true;
	return false;
}

/* Adds a hop. @return the node that it leads to */
static uint32_t
step_to(const struct topo *topo, uint32_t node, uint32_t next, struct route_path *path)
{
	path->ports[path->hops++] = place_port_to(topo, node, next);
	return next;
}

/* Goes on from a node as any packet for dst might. */
static void
go_on(struct eval_case *c, uint32_t node, uint32_t dst, struct route_path *path)
{
	const struct topo *topo = c->routing.topo;

	while (node != dst) {
		const uint8_t *members;
		uint32_t choices = route_next_hops(c->routing.table, node, dst, 0, &members);

		node = step_to(topo, node, topo_port_of(topo, node, members[case_pick(c, 0, choices - 1)])->peer, path);
	}
}

/* Makes a path from the circle's first-th switch some hops along it, then to dst. */
static void
go_round(struct eval_case *c, const struct circle *circle, uint32_t first, uint32_t hops, uint32_t dst,
	 struct route_path *path)
{
	for (uint32_t i = 0; i < hops; i++)
		path->ports[path->hops++] = circle->ports[(first + i) % CIRCLE];
	go_on(c, circle->nodes[(first + hops) % CIRCLE], dst, path);
}

/* Two flows at line rate, at any time, each three hops along the circle. */
static void
begin_in_loop(struct eval_case *c, const struct circle *circle, const uint32_t pods[3])
{
	const struct topo *topo = c->routing.topo;
	uint64_t start_ns = case_time_ns(c, 0, 100 * CASE_MS);

	for (uint32_t i = 0; i < 2; i++) {
		uint32_t src = topo->hosts[4 * pods[0] + 1 + 2 * i], dst = topo->hosts[4 * pods[1] + 1 + 2 * i];
		struct route_path path = { .hops = 0 };

		go_round(c, circle, 2 * i, CIRCLE - 1, dst, &path);
		case_add_pin(c, src, dst, path.ports, path.hops);
		case_add_flow(c, src, dst, 0, case_bytes(c, 300 * CASE_MB, 600 * CASE_MB), start_ns);
	}
}

/* One host's share, out of loop: by the circle from its first-th switch on, and elsewhere. */
struct part {
	uint32_t first, src, dst, elsewhere;
	struct route_path by, round;
};

/* Into the circle: src is a host of the edge switch, or its packets arrive from another pod down at the aggregation. */
static void
find_by(struct eval_case *c, const struct circle *circle, struct part *part)
{
	const struct topo *topo = c->routing.topo;
	uint32_t node = topo_port_of(topo, part->src, 0)->peer, target = circle->nodes[part->first];

	part->by.hops = 0;
	if (node != target) {
		/* Aggregations of one place in their pods have the same two cores. */
		uint32_t place = (uint32_t)(target - place_node(topo, 'a', 0)) % 2;
		uint32_t pod = (uint32_t)(node - place_node(topo, 'e', 0)) / 2;

		node = step_to(topo, node, place_node(topo, 'a', 2 * pod + place), &part->by);
		node = step_to(topo, node, place_node(topo, 'c', 2 * place + case_pick(c, 0, 1)), &part->by);
		step_to(topo, node, target, &part->by);
	}
	go_round(c, circle, part->first, 2, part->dst, &part->by);
}

/* Elsewhere: any path to any host. */
static void
find_round(struct eval_case *c, struct part *part)
{
	uint32_t node = topo_port_of(c->routing.topo, part->src, 0)->peer;

	do
		part->elsewhere = place_any_host(c);
	while (part->elsewhere == part->src || part->elsewhere == part->dst);
	part->round.hops = 0;
	go_on(c, node, part->elsewhere, &part->round);
}

/* The circle has room for the hosts' flows by it; their flows elsewhere share a queue with nothing. */
static bool
find_paths(struct eval_case *c, const struct circle *circle, struct part parts[CIRCLE])
{
	for (uint32_t i = 0; i < PLACE_TRIES; i++) {
		bool shared = false;

		for (uint32_t p = 0; p < CIRCLE; p++) {
			find_by(c, circle, &parts[p]);
			find_round(c, &parts[p]);
		}
		for (uint32_t p = 0; p < CIRCLE; p++)
			for (uint32_t q = 0; q < CIRCLE; q++)
				shared |= place_shares(&parts[p].round, &parts[q].by) ||
					  (p != q && place_shares(&parts[p].round, &parts[q].round));
		if (!shared)
			return true;
	}
	return false;
}

/* All of it starts at once; when it stands still the collective starts. @param root  set to the port that pauses */
static int
begin_out_of_loop(struct eval_case *c, const struct circle *circle, const uint32_t pods[3], char *root)
{
	const struct topo *topo = c->routing.topo;
	const uint32_t *in = &topo->hosts[4 * pods[0]], *from = &topo->hosts[4 * pods[1]], *to = &topo->hosts[4 * pods[2]];
	/* Hosts that are no ranks: the second of each edge switch. */
	struct part parts[CIRCLE] = { { .first = 0, .src = in[1], .dst = in[3] },
				      { .first = 1, .src = from[1], .dst = to[1] },
				      { .first = 2, .src = in[3], .dst = in[1] },
				      { .first = 3, .src = from[3], .dst = to[3] } };

	if (!find_paths(c, circle, parts))
		return -EAGAIN;
	for (uint32_t p = 0; p < CIRCLE; p++) {
		const struct part *part = &parts[p];

		case_add_pin(c, part->src, part->dst, part->by.ports, part->by.hops);
		case_add_pin(c, part->src, part->elsewhere, part->round.ports, part->round.hops);
		for (uint32_t i = 0; i < PARALLEL + ELSEWHERE; i++)
			case_add_flow(c, part->src, i < PARALLEL ? part->dst : part->elsewhere, 0,
				      case_bytes(c, 60 * CASE_MB, 80 * CASE_MB), 0);
	}
	topo_port_name(topo, topo->nodes[parts[1].dst].first_port, root);
	case_add_fault(c, "{ kind = \"pfc-storm\"; port = \"%s\"; start = \"%lluns\"; }", root,
		       (unsigned long long)case_time_ns(c, 2 * CASE_MS, 6 * CASE_MS));
	c->start_ns = (uint64_t)(12 * CASE_MS * case_stretch(c->source));
	return 0;
}

static json_t *
port_names(const struct topo *topo, const struct circle *circle)
{
	json_t *ports = json_array();

	for (uint32_t i = 0; i < CIRCLE; i++) {
		char name[64];

		json_array_append_new(ports, json_string(topo_port_name(topo, circle->ports[i], name)));
	}
	return ports;
}

static int
make_deadlock(struct eval_case *c)
{
	const struct topo *topo = c->routing.topo;
	bool out_of_loop = case_pick(c, 0, 1) == 1;
	uint32_t first = case_pick(c, 0, 3), turn = case_pick(c, 1, 3);
	const uint32_t pods[3] = { first, (first + turn) % 4, (first + turn % 3 + 1) % 4 };
	struct circle circle;
	json_t *anomaly;
	char root[64];

	find_circle(topo, pods[0], case_pick(c, 0, 1), &circle);
	for (uint32_t i = 0; i < PLACE_TRIES && !collective_crosses(c, &circle); i++) {
		c->run_seed = prng_below(&c->prng, 1000000);
		c->routing.seed = c->run_seed;
	}
	if (out_of_loop && begin_out_of_loop(c, &circle, pods, root) < 0)
		return -EAGAIN;
	if (!out_of_loop)
		begin_in_loop(c, &circle, pods);
	anomaly = json_pack("{s:s, s:o, s:s}", "kind", "deadlock", "ports", port_names(topo, &circle), "initiator",
			    out_of_loop ? "out of loop" : "in loop");
	if (out_of_loop)
		json_object_set_new(anomaly, "root", json_string(root));
	case_add_anomaly(c, anomaly);
	return 0;
}

const struct family family_deadlock = {
	.name = "deadlock",
	.draws = "deadlock",
	.cases = DEADLOCK_CASES,
	.needs_paper = true,
	.doc = "bad routes close a circle of buffers, which fill from within or from without",
	.make = make_deadlock,
};
