/* SPDX-License-Identifier: BSD-3-Clause */
/* Faulty routes: packets that return, and hashes that choose alike. */
#include <errno.h>

#include "eval/case.h"
#include "eval/place.h"

#define LOOP_CASES 30
#define IMBALANCE_CASES 30

/* A pair of switches on the path of a flow of the collective sends its packets to and fro. */
static int
make_loop(struct eval_case *c)
{
	const struct topo *topo = c->routing.topo;
	struct route_path path;
	uint32_t send, hop, out, back;
	unsigned long long start_ns = case_time_ns(c, 0, 150 * CASE_MS),
			   duration_ns = case_time_ns(c, CASE_MS, 20 * CASE_MS);
	char ports[2][64];
	const char *dst;

	c->timeout = "4ms"; /* nothing else detects a loss at the end of a message */
	if (case_pick(c, 0, 1) == 0)
		place_beside(c);
	do
		send = place_any_send(c, &path);
	while (path.hops < 3); /* host, switch, switch */
	hop = case_pick(c, 1, path.hops - 2);
	out = path.ports[hop];
	back = topo->ports[out].peer_port;
	dst = topo->nodes[c->ranks[c->sends.at[send].to]].name;
	topo_port_name(topo, out, ports[0]);
	topo_port_name(topo, back, ports[1]);
	for (uint32_t i = 0; i < 2; i++)
		case_add_fault(c,
			       "{ kind = \"misroute\"; dst = \"%s\"; port = \"%s\"; start = \"%lluns\"; duration = "
			       "\"%lluns\"; }",
			       dst, ports[i], start_ns, duration_ns);
	case_add_anomaly(c, json_pack("{s:s, s:[s, s]}", "kind", "loop", "ports", ports[0], ports[1]));
	return 0;
}

/*
 * Neighbours in the ring are in different pods and the edge switches full, so that every uplink is needed; the run's seed,
 * which the hashes depend on, is one that puts two flows on one uplink.
 */
static int
make_imbalance(struct eval_case *c)
{
	uint32_t pods[2] = { case_pick(c, 0, 3), 0 };

	pods[1] = (pods[0] + case_pick(c, 1, 3)) % 4;
	for (uint32_t i = 0; i < c->source->shape->ranks; i++)
		c->ranks[i] = pods[i % 2] * 4 + i / 2;
	for (uint32_t i = 0; i < PLACE_TRIES; i++) {
		json_t *ports;

		c->run_seed = prng_below(&c->prng, 1000000);
		c->routing.seed = c->run_seed;
		ports = place_imbalanced(c);
		if (json_array_size(ports) > 0) {
			case_add_anomaly(c, json_pack("{s:s, s:o}", "kind", "imbalance", "ports", ports));
			return 0;
		}
		json_decref(ports);
	}
	return -EAGAIN;
}

const struct family family_loop = {
	.name = "loop",
	.draws = "loop",
	.cases = LOOP_CASES,
	.doc = "two switches send the packets for a rank to each other for 1 to 20 ms",
	.make = make_loop,
};

const struct family family_imbalance = {
	.name = "imbalance",
	.draws = "imbalance",
	.cases = IMBALANCE_CASES,
	.needs_paper = true,
	.doc = "ECMP puts flows of the collective on one uplink while another idles",
	.make = make_imbalance,
};
