/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * PFC deadlock by cyclic buffer dependency. In one pod two flows of bad routes go down and up again, and together they
 * close the circle edge, aggregation, edge, aggregation. "In loop": both send at once and overrun the circle's own ports.
 * "Out of loop": they send in turn, which fits, until a host beyond the circle pauses its switch for good.
 */
#include "cli/eval/family.h"
#include "cli/eval/place.h"

#define DEADLOCK_CASES 30
#define BURSTS 8 /* of each flow, out of loop: their windows together are more than the circle's buffers hold */
#define BURST_EVERY_NS (5 * CASE_MS)
#define CIRCLE 4

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

/* From the edge switch at first three hops along the circle, then as any packet for dst would go. */
static void
pin_way(struct eval_case *c, const struct circle *circle, uint32_t first, uint32_t src, uint32_t dst)
{
	const struct topo *topo = c->routing.topo;
	uint32_t ports[ROUTE_MAX_HOPS], count = 0, node;

	for (uint32_t i = 0; i < CIRCLE - 1; i++)
		ports[count++] = circle->ports[(first + i) % CIRCLE];
	node = circle->nodes[(first + CIRCLE - 1) % CIRCLE];
	while (node != dst) {
		const uint8_t *members;
		uint32_t choices = route_next_hops(c->routing.table, node, dst, 0, &members);

		ports[count] = topo->nodes[node].first_port + members[case_pick(c, 0, choices - 1)];
		node = topo->ports[ports[count++]].peer;
	}
	case_add_pin(c, src, dst, ports, count);
}

static bool
collective_crosses(const struct eval_case *c, const struct circle *circle)
{
	for (uint32_t i = 0; i < CIRCLE; i++)
		if (place_is_used(c, circle->ports[i]))
			return true;
	return false;
}

/* Both flows at once, at any time. */
static void
send_together(struct eval_case *c, const uint32_t src[2], const uint32_t dst[2])
{
	uint64_t start_ns = case_time_ns(c, 0, 100 * CASE_MS);

	for (uint32_t i = 0; i < 2; i++)
		case_add_flow(c, src[i], dst[i], 0, case_bytes(c, 300 * CASE_MB, 600 * CASE_MB), start_ns);
}

/* In turn, before the collective starts; in the midst of it dst pauses its switch, for good. */
static void
send_in_turn(struct eval_case *c, const uint32_t src[2], const uint32_t dst[2], char *root)
{
	for (uint32_t i = 0; i < 2 * BURSTS; i++)
		case_add_flow(c, src[i % 2], dst[i % 2], 0, case_bytes(c, 20 * CASE_MB, 30 * CASE_MB),
			      (uint64_t)(BURST_EVERY_NS * i * c->scale));
	topo_port_name(c->routing.topo, c->routing.topo->nodes[dst[0]].first_port, root);
	case_add_fault(c, "{ kind = \"pfc-storm\"; port = \"%s\"; start = \"%lluns\"; }", root,
		       (unsigned long long)case_time_ns(c, 2 * BURST_EVERY_NS, 6 * BURST_EVERY_NS));
	c->start_ns = (uint64_t)(BURST_EVERY_NS * (2 * BURSTS + 2) * c->scale);
}

static int
make_deadlock(struct eval_case *c)
{
	const struct topo *topo = c->routing.topo;
	bool out_of_loop = case_pick(c, 0, 1) == 1;
	uint32_t pod = case_pick(c, 0, 3), other = (pod + case_pick(c, 1, 3)) % 4;
	/* Hosts that are no ranks: the second of each edge switch. */
	const uint32_t src[2] = { topo->hosts[4 * pod + 1], topo->hosts[4 * pod + 3] };
	uint32_t dst[2] = { topo->hosts[4 * other + 1], topo->hosts[4 * other + 3] };
	json_t *anomaly, *ports = json_array();
	struct circle circle;
	char root[64] = "";

	find_circle(topo, pod, case_pick(c, 0, 1), &circle);
	for (uint32_t i = 0; i < PLACE_TRIES && !collective_crosses(c, &circle); i++) {
		c->run_seed = prng_below(&c->prng, 1000000);
		c->routing.seed = c->run_seed;
	}
	if (out_of_loop)
		dst[1] = dst[0];
	for (uint32_t i = 0; i < 2; i++)
		pin_way(c, &circle, 2 * i, src[i], dst[i]);
	if (out_of_loop)
		send_in_turn(c, src, dst, root);
	else
		send_together(c, src, dst);
	for (uint32_t i = 0; i < CIRCLE; i++) {
		char name[64];

		json_array_append_new(ports, json_string(topo_port_name(topo, circle.ports[i], name)));
	}
	anomaly = json_pack("{s:s, s:o, s:s}", "kind", "deadlock", "ports", ports, "initiator",
			    out_of_loop ? "out of loop" : "in loop");
	if (out_of_loop)
		json_object_set_new(anomaly, "root", json_string(root));
	case_add_anomaly(c, anomaly);
	return 0;
}

const struct family family_deadlock = {
	.name = "deadlock",
	.cases = DEADLOCK_CASES,
	.doc = "bad routes close a circle of buffers, which fill from within or from without",
	.make = make_deadlock,
};
