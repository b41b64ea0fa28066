/* SPDX-License-Identifier: BSD-3-Clause */
/* Pauses: a port that sends them without a reason, and a queue elsewhere that has one (IV-A). */
#include <assert.h>
#include <errno.h>

#include "eval/case.h"
#include "eval/place.h"

#define STORM_CASES 40
#define STORM_FLOWS 4 /* of the collective, on whose paths the storm may be */
#define BACKPRESSURE_CASES 60
#define BACKPRESSURE_MIN_FLOWS 3
#define BACKPRESSURE_MAX_FLOWS 6
#define USAGE_PORTS 512
#define START_MAX_NS (150 * CASE_MS)

/* The port that pauses this one. */
static uint32_t
peer_of(const struct topo *topo, uint32_t port)
{
	return topo->ports[port].peer_port;
}

/* A port of a switch that feeds on one of some flows of the collective. */
static uint32_t
storm_port(struct eval_case *c)
{
	const struct topo *topo = c->routing.topo;
	uint32_t some[STORM_FLOWS], port;

	for (uint32_t i = 0; i < STORM_FLOWS; i++)
		some[i] = case_pick(c, 0, c->sends.count - 1);
	do {
		struct route_path path;

		place_send_path(c, some[case_pick(c, 0, STORM_FLOWS - 1)], &path);
		port = path.ports[case_pick(c, 0, path.hops - 1)];
	} while (topo->nodes[topo->ports[port].peer].kind != TOPO_SWITCH);
	return peer_of(topo, port);
}

int
inject_storm(struct eval_case *c)
{
	const struct topo *topo = c->routing.topo;
	uint32_t port = storm_port(c);
	char root[64], paused_port[64];

	topo_port_name(topo, port, root);
	case_add_fault(c, "{ kind = \"pfc-storm\"; port = \"%s\"; start = \"%lluns\"; duration = \"%lluns\"; }", root,
		       (unsigned long long)case_time_ns(c, 0, START_MAX_NS),
		       (unsigned long long)case_time_ns(c, 10 * CASE_MS, 100 * CASE_MS));
	case_add_anomaly(c, json_pack("{s:s, s:s, s:s}", "kind", "pfc-storm", "root", root, "pauses",
				      topo_port_name(topo, peer_of(topo, port), paused_port)));
	return 0;
}

static int
make_storm(struct eval_case *c)
{
	if (case_pick(c, 0, 1) == 0)
		place_beside(c);
	return inject_storm(c);
}

/* Per port: does a flow of the collective send by it, and how many of the others do? */
struct usage {
	bool collective[USAGE_PORTS];
	uint8_t others[USAGE_PORTS];
};

static void
use(const struct eval_case *c, struct usage *usage)
{
	struct route_path path;

	*usage = (struct usage){ 0 };
	assert(c->routing.topo->nports <= USAGE_PORTS);
	for (uint32_t send = 0; send < c->sends.count; send++) {
		place_send_path(c, send, &path);
		for (uint32_t hop = 0; hop < path.hops; hop++)
			usage->collective[path.ports[hop]] = true;
	}
	for (uint32_t i = 0; i < c->nflows; i++) {
		place_path(c, c->flows[i].src, c->flows[i].dst, c->flows[i].sport, &path);
		for (uint32_t hop = 0; hop < path.hops; hop++)
			usage->others[path.ports[hop]]++;
	}
}

/* Ports that flows of the collective and flows towards the target both send by: pauses may occur there. */
static json_t *
shared_ports(const struct topo *topo, const struct usage *usage)
{
	json_t *list = json_array();
	char name[64];

	for (uint32_t port = 0; port < topo->nports; port++)
		if (usage->collective[port] && usage->others[port] != 0)
			json_array_append_new(list, json_string(topo_port_name(topo, port, name)));
	return list;
}

/*
 * Ports where pauses of flows towards the target may begin: two of them share it. The last hop is one; others are
 * where flows share a queue by chance before.
 */
static json_t *
contention_ports(const struct topo *topo, const struct usage *usage)
{
	json_t *list = json_array();
	char name[64];

	for (uint32_t port = 0; port < topo->nports; port++)
		if (usage->others[port] > 1)
			json_array_append_new(list, json_string(topo_port_name(topo, port, name)));
	return list;
}

/*
 * Do the pauses begin at the root? Each uplink of its switch carries the same number of flows to it, so that it is
 * overrun to the end; and on the collective's paths no two of the flows share a queue before.
 */
static bool
begins_at_root(const struct topo *topo, const struct usage *usage, uint32_t root)
{
	const struct topo_node *edge = &topo->nodes[topo->ports[root].node];
	uint32_t most = 0, least = UINT32_MAX;

	for (uint32_t port = edge->first_port; port < edge->first_port + edge->nports; port++) {
		uint32_t count = usage->others[peer_of(topo, port)];

		if (topo->nodes[topo->ports[port].peer].kind != TOPO_SWITCH)
			continue;
		most = count > most ? count : most;
		least = count < least ? count : least;
	}
	if (most - least > 1)
		return false;
	for (uint32_t port = 0; port < topo->nports; port++)
		if (usage->collective[port] && usage->others[port] > 1)
			return false;
	return true;
}

/* Flows of one size from hosts that are no ranks to one that is none. */
static void
send_to(struct eval_case *c, uint32_t target, uint32_t flows, uint64_t bytes, uint64_t start_ns)
{
	c->nflows = 0;
	while (c->nflows < flows) {
		uint32_t src = place_any_host(c);
		bool taken = src == target || place_is_rank(c, src);

		for (uint32_t f = 0; f < c->nflows; f++)
			taken |= c->flows[f].src == src;
		if (!taken)
			case_add_flow(c, src, target, place_any_sport(c), bytes, start_ns);
	}
}

/* An incast whose last hop is not on the collective's paths, but whose flows share others with it. */
static int
make_backpressure(struct eval_case *c)
{
	const struct topo *topo = c->routing.topo;
	uint32_t flows = case_pick(c, BACKPRESSURE_MIN_FLOWS, BACKPRESSURE_MAX_FLOWS);
	uint64_t start_ns = case_time_ns(c, 0, START_MAX_NS), bytes = case_bytes(c, 20 * CASE_MB, 200 * CASE_MB);

	/* Beside each rank there is room for no more than three, of which one arrives by the rank's path. */
	if (flows > 3 || case_pick(c, 0, 1) == 0)
		place_pairs(c);
	for (uint32_t i = 0; i < PLACE_TRIES; i++) {
		struct usage usage;
		uint32_t target, root;
		json_t *shared;
		char name[64];
		bool picked;

		do
			target = place_any_host(c);
		while (place_is_rank(c, target));
		root = peer_of(topo, topo->nodes[target].first_port);
		send_to(c, target, flows, bytes, start_ns);
		use(c, &usage);
		picked = (c->source->picks & CASE_PICKS_ROOTS) == 0 || begins_at_root(topo, &usage, root);
		shared = picked ? shared_ports(topo, &usage) : NULL;
		if (json_array_size(shared) > 0) {
			json_t *roots = (c->source->picks & CASE_PICKS_ROOTS) == 0
						? contention_ports(topo, &usage)
						: json_pack("[s]", topo_port_name(topo, root, name));

			case_add_anomaly(
				c, json_pack("{s:s, s:o, s:o}", "kind", "backpressure", "roots", roots, "pauses", shared));
			return 0;
		}
		json_decref(shared);
	}
	return -EAGAIN;
}

const struct family family_storm = {
	.name = "pfc-storm",
	.draws = "storm",
	.cases = STORM_CASES,
	.doc = "a switch port on the collective's path sends PAUSE for 10 to 100 ms",
	.make = make_storm,
};

const struct family family_backpressure = {
	.name = "backpressure",
	.draws = "backpressure",
	.cases = BACKPRESSURE_CASES,
	.doc = "an incast off the collective's path, whose pauses reach it",
	.make = make_backpressure,
};
