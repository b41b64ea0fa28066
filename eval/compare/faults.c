/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The faults of the corpus, and the findings that are right for each. docs/compare-rules.md has the same table,
 * printed by rocelab eval compare --rules; it was written before anything was scored.
 */
#include "eval/compare/corpus.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>

#include "common/array.h"
#include "eval/odd/odd.h"
#include "scenario/scenario.h"

/* Hosts of ranks, their RNICs and their links. Faults begin while the job runs and stay. */

/* @return a rank's NIC, or TOPO_NONE with err */
static uint32_t
nic(struct odd_case *c, struct err *err)
{
	return compare_begin(c, err) == 0 ? compare_rank_nic(c) : TOPO_NONE;
}

static int
compare_rnic_down(struct odd_case *c, struct err *err)
{
	uint32_t port = nic(c, err);

	if (port == TOPO_NONE)
		return -EINVAL;
	odd_fault(c, "rnic-down", port, compare_start_ns(c), 0, " ");
	return 0;
}

/* The link of an RNIC is down for 2 to 9 ms of every 20 to 100. */
static int
compare_rnic_flap(struct odd_case *c, struct err *err)
{
	uint32_t port = nic(c, err);

	if (port == TOPO_NONE)
		return -EINVAL;
	odd_fault(c, "link-down", port, compare_start_ns(c), (uint64_t)odd_log(c, 2000 * ODD_US, 9000 * ODD_US),
		  "period = \"%.0fns\"; ", odd_log(c, 20000 * ODD_US, 100000 * ODD_US));
	return 0;
}

/* The link of an RNIC damages or loses frames in one direction. */
static int
compare_rnic_loss(struct odd_case *c, struct err *err)
{
	uint32_t port = nic(c, err);

	if (port == TOPO_NONE)
		return -EINVAL;
	if (odd_chance(c, 0.5))
		port = c->loaded->topo->ports[port].peer_port;
	odd_fault(c, odd_chance(c, 0.5) ? "corruption" : "loss", port, compare_start_ns(c), 0, "rate = %.5f; ",
		  odd_log(c, 0.001, 0.3));
	return 0;
}

/* The routes, or the address, of an RNIC were removed. */
static int
compare_rnic_setup(struct odd_case *c, struct err *err)
{
	uint32_t port = nic(c, err);

	if (port == TOPO_NONE)
		return -EINVAL;
	odd_fault(c, odd_chance(c, 0.5) ? "rnic-no-routes" : "rnic-no-gid", port, compare_start_ns(c), 0, " ");
	return 0;
}

/* 16 to 63 Gbps of 100 are left. */
static int
compare_pcie(struct odd_case *c, struct err *err)
{
	static const struct {
		uint32_t generation, lanes;
	} links[] = { { 1, 8 }, { 1, 16 }, { 2, 8 }, { 3, 4 }, { 3, 8 } };
	uint32_t port = nic(c, err), at = odd_pick(c, 0, ARRAY_LEN(links) - 1);

	if (port == TOPO_NONE)
		return -EINVAL;
	odd_fault(c, "pcie-downgrade", port, compare_start_ns(c), 0, "generation = %u; lanes = %u; ", links[at].generation,
		  links[at].lanes);
	return 0;
}

static int
compare_detour(struct odd_case *c, struct err *err)
{
	uint32_t port = nic(c, err);

	if (port == TOPO_NONE)
		return -EINVAL;
	odd_fault(c, "dma-detour", port, compare_start_ns(c), 0, "delay = \"%.0fns\"; ",
		  odd_log(c, 10 * ODD_US, 100 * ODD_US));
	return 0;
}

/* ---- whole hosts ---- */

/* @return the name of a rank's host, NULL with err */
static const char *
host(struct odd_case *c, struct err *err)
{
	uint32_t port = nic(c, err);

	return port != TOPO_NONE ? c->loaded->topo->nodes[c->loaded->topo->ports[port].node].name : NULL;
}

static int
compare_host_down(struct odd_case *c, struct err *err)
{
	const char *name = host(c, err);

	if (name == NULL)
		return -EINVAL;
	odd_add(c, ODD_FAULTS, "{ kind = \"host-down\"; host = \"%s\"; start = \"%lluns\"; }", name,
		(unsigned long long)compare_start_ns(c));
	return 0;
}

/* A host is slow from the job's first step on. */
static int
compare_slow_host(struct odd_case *c, struct err *err)
{
	const char *name = host(c, err);

	if (name == NULL)
		return -EINVAL;
	odd_add(c, ODD_FAULTS, "{ kind = \"slow-host\"; host = \"%s\"; delay = \"%.0fns\"; }", name,
		odd_log(c, 20 * ODD_US, 300 * ODD_US));
	return 0;
}

/*
 * A host's CPU has no time: the second step of every iteration begins 0.5 to 10 ms later, and with agents (the row's
 * key probed) its own completions wait as long.
 */
static int
compare_starved(struct odd_case *c, struct err *err)
{
	const char *name = host(c, err);
	double delay_ns;

	if (name == NULL)
		return -EINVAL;
	delay_ns = odd_log(c, 500 * ODD_US, 10000 * ODD_US);
	odd_add(c, ODD_FAULTS,
		"{ kind = \"cpu-overload\"; host = \"%s\"; delay = \"%.0fns\"; start = \"%lluns\"; enabled = false; }",
		name, delay_ns, COMPARE_START_NS);
	odd_add(c, ODD_FAULTS, "{ kind = \"slow-host\"; host = \"%s\"; delay = \"%.0fns\"; step = 2; }", name, delay_ns);
	return 0;
}

/* Links between switches, and switches. Faults begin while the job runs and stay. */

/* @return a port that sends to another switch, on the path of a flow of the job; TOPO_NONE with err */
static uint32_t
trunk(struct odd_case *c, struct err *err)
{
	uint32_t port = compare_begin(c, err) == 0 ? odd_trunk(c) : TOPO_NONE;

	if (port == TOPO_NONE && err->text[0] == '\0')
		err_set(err, -EAGAIN, "no flow of the job leaves its leaf");
	return port;
}

static int
lossy(struct odd_case *c, const char *kind, double least, double most, const char *more, struct err *err)
{
	uint32_t port = trunk(c, err);

	if (port == TOPO_NONE)
		return -EAGAIN;
	odd_fault(c, kind, port, compare_start_ns(c), 0, "rate = %.5f; %s", odd_log(c, least, most), more);
	return 0;
}

static int
compare_silent(struct odd_case *c, struct err *err)
{
	return lossy(c, "loss", 0.002, 0.1, "silent = true; ", err);
}

static int
compare_loss(struct odd_case *c, struct err *err)
{
	return lossy(c, "loss", 0.001, 0.1, "", err);
}

static int
compare_corruption(struct odd_case *c, struct err *err)
{
	return lossy(c, "corruption", 0.001, 0.1, "", err);
}

static int
compare_delay(struct odd_case *c, struct err *err)
{
	uint32_t port = trunk(c, err);

	if (port == TOPO_NONE)
		return -EAGAIN;
	odd_fault(c, "delay", port, compare_start_ns(c), 0, "extra = \"%.0fns\"; ", odd_log(c, 10 * ODD_US, 100 * ODD_US));
	return 0;
}

/* Down for 2 to 9 ms of every 20 to 100: never as long as routes take to avoid it. */
static int
compare_flap(struct odd_case *c, struct err *err)
{
	uint32_t port = trunk(c, err);

	if (port == TOPO_NONE)
		return -EAGAIN;
	odd_fault(c, "link-down", port, compare_start_ns(c), (uint64_t)odd_log(c, 2000 * ODD_US, 9000 * ODD_US),
		  "period = \"%.0fns\"; ", odd_log(c, 20000 * ODD_US, 100000 * ODD_US));
	return 0;
}

static int
compare_down(struct odd_case *c, struct err *err)
{
	uint32_t port = trunk(c, err);

	if (port == TOPO_NONE)
		return -EAGAIN;
	odd_fault(c, "link-down", port, compare_start_ns(c), 0, " ");
	return 0;
}

/* A switch above leaves loses a part of all ingress frames, behind its MACs. */
static int
compare_switch_loss(struct odd_case *c, struct err *err)
{
	const struct topo *topo;
	struct route_path path;
	double rate = odd_log(c, 0.002, 0.05);
	uint64_t start_ns;
	uint32_t node;
	int ret = compare_begin(c, err);

	if (ret < 0)
		return ret;
	if (!compare_far(c, &path))
		return err_set(err, -EAGAIN, "no flow of the job leaves its leaf");
	topo = c->loaded->topo;
	node = topo->ports[path.ports[2]].node;
	start_ns = compare_start_ns(c);
	for (uint16_t i = 0; i < topo->nodes[node].nports; i++)
		odd_fault(c, "loss", topo_port_of(topo, node, i)->peer_port, start_ns, 0, "rate = %.5f; silent = true; ",
			  rate);
	return 0;
}

/* ---- switches that lose by addresses ---- */

struct hole {
	const char *at, *src, *dst; /* names of the switch, and of a flow's ends that passes it */
	unsigned long long start_ns;
};

static int
hole(struct odd_case *c, struct hole *hole, struct err *err)
{
	const struct topo *topo;
	const struct flow *flow;
	struct route_path path;
	int ret = compare_begin(c, err);

	if (ret < 0)
		return ret;
	topo = c->loaded->topo;
	flow = odd_send(c);
	odd_path(c, flow, false, &path);
	*hole = (struct hole){ .at = topo->nodes[topo->ports[path.ports[odd_pick(c, 1, path.hops - 1)]].node].name,
			       .src = topo->nodes[flow->src_node].name,
			       .dst = topo->nodes[flow->dst_node].name,
			       .start_ns = compare_start_ns(c) };
	return 0;
}

/* A part of all pairs of hosts, one of the job's among them. */
static int
compare_fib(struct odd_case *c, struct err *err)
{
	struct hole at;
	int ret = hole(c, &at, err);

	if (ret == 0)
		odd_add(c, ODD_FAULTS,
			"{ kind = \"fib-corruption\"; switch = \"%s\"; dst = \"%s\"; share = %.2f; start = \"%lluns\"; }",
			at.at, at.dst, odd_log(c, 0.3, 1), at.start_ns);
	return ret;
}

static int
compare_blackhole(struct odd_case *c, struct err *err)
{
	struct hole at;
	int ret = hole(c, &at, err);

	if (ret == 0)
		odd_add(c, ODD_FAULTS, "{ kind = \"blackhole\"; switch = \"%s\"; dst = \"%s\"; start = \"%lluns\"; }",
			at.at, at.dst, at.start_ns);
	return ret;
}

static int
compare_missing_route(struct odd_case *c, struct err *err)
{
	struct hole at;
	int ret = hole(c, &at, err);

	if (ret == 0)
		odd_add(c, ODD_FAULTS, "{ kind = \"missing-route\"; switch = \"%s\"; dst = \"%s\"; start = \"%lluns\"; }",
			at.at, at.dst, at.start_ns);
	return ret;
}

static int
compare_acl(struct odd_case *c, struct err *err)
{
	struct hole at;
	int ret = hole(c, &at, err);

	if (ret == 0)
		odd_add(c, ODD_FAULTS, "{ kind = \"acl\"; switch = \"%s\"; src = \"%s\"; start = \"%lluns\"; }", at.at,
			at.src, at.start_ns);
	return ret;
}

/* Traffic that shares links with the job, and ports that make it wait. */

#define TRIES 1000
#define SENDERS 4 /* of an incast */

static int
no_place(struct err *err, const char *what)
{
	return err_set(err, -EAGAIN, "no place for %s", what);
}

/* A flow at line rate, or two, that leave a switch by a port of the job's. */
static int
compare_contention(struct odd_case *c, struct err *err)
{
	struct route_path path;
	uint32_t flows = odd_pick(c, 1, 2), port;
	uint64_t start_ns;
	int ret = compare_begin(c, err);

	if (ret < 0)
		return ret;
	odd_path(c, odd_send(c), false, &path);
	port = path.ports[odd_pick(c, 1, path.hops - 1)];
	start_ns = compare_start_ns(c);
	for (uint32_t i = 0; ret == 0 && i < flows; i++)
		ret = odd_crossing(c, port,
				   &(struct odd_flow){ .prio = -1,
						       .bytes = odd_bytes(c, 20 * ODD_MB, 60 * ODD_MB),
						       .start_ns = start_ns },
				   err);
	return ret;
}

/* Several flows at once to the host behind a port. */
static int
converge(struct odd_case *c, uint32_t port, struct err *err)
{
	uint64_t start_ns = compare_start_ns(c);
	int ret = 0;

	for (uint32_t i = 0; ret == 0 && i < SENDERS; i++)
		ret = odd_crossing(c, port,
				   &(struct odd_flow){ .prio = -1,
						       .bytes = odd_bytes(c, 8 * ODD_MB, 20 * ODD_MB),
						       .start_ns = start_ns },
				   err);
	return ret;
}

/* Converges flows on a rank's host. */
static int
compare_incast(struct odd_case *c, struct err *err)
{
	struct route_path path;
	int ret = compare_begin(c, err);

	if (ret < 0)
		return ret;
	odd_path(c, odd_send(c), false, &path);
	return converge(c, path.ports[path.hops - 1], err);
}

/* Converges flows on a host without a rank beside one with: no data of the job takes that port, and pauses lead to it. */
static int
compare_backpressure(struct odd_case *c, struct err *err)
{
	const struct topo *topo;
	int ret = compare_begin(c, err);

	if (ret < 0)
		return ret;
	topo = c->loaded->topo;
	for (uint32_t i = 0; i < TRIES; i++) {
		uint32_t host = topo->hosts[odd_pick(c, 0, topo->nhosts - 1)];

		if (!compare_is_rank(c, host))
			return converge(c, topo_port_of(topo, host, 0)->peer_port, err);
	}
	return no_place(err, "an incast beside the job");
}

/* Most flows that could go up by several ports go up by one. */
static int
compare_imbalance(struct odd_case *c, struct err *err)
{
	struct route_path path;
	char more[64];
	int ret = compare_begin(c, err);

	if (ret < 0)
		return ret;
	if (!compare_far(c, &path))
		return no_place(err, "a port of equal cost");
	snprintf(more, sizeof(more), "share = %.2f; ", 0.7 + 0.3 * prng_unit(&c->prng));
	odd_fault(c, "ecmp-imbalance", path.ports[1], 0, 0, "%s", more);
	return 0;
}

/* Polarisation is a property of the fabric's hash. */
static int
compare_polarisation(struct odd_case *c, struct err *err)
{
	return compare_begin(c, err);
}

/* A port that pauses its peer on the job's path: for good, or for 0.5 to 3 ms of every 10 to 30. */
static int
compare_storm(struct odd_case *c, struct err *err)
{
	uint32_t port;
	int ret = compare_begin(c, err);

	if (ret < 0)
		return ret;
	port = c->loaded->topo->ports[odd_port(c)].peer_port;
	if (odd_chance(c, 0.5))
		odd_fault(c, "pfc-storm", port, compare_start_ns(c), 0, " ");
	else
		odd_fault(c, "pfc-storm", port, compare_start_ns(c), (uint64_t)odd_log(c, 500 * ODD_US, 3000 * ODD_US),
			  "period = \"%.0fns\"; ", odd_log(c, 10000 * ODD_US, 30000 * ODD_US));
	return 0;
}

/* A rank's own switch sends the rank's packets up again, for 0.2 to 2 ms, or for good. */
static int
compare_loop(struct odd_case *c, struct err *err)
{
	const struct topo *topo;
	struct route_path path;
	char port[64];
	int ret = compare_begin(c, err);

	if (ret < 0)
		return ret;
	if (!compare_far(c, &path))
		return no_place(err, "a loop");
	topo = c->loaded->topo;
	odd_add(c, ODD_FAULTS,
		"{ kind = \"misroute\"; dst = \"%s\"; port = \"%s\"; start = \"%lluns\"; duration = \"%.0fns\"; }",
		topo->nodes[topo->ports[path.ports[0]].node].name, odd_port_name(c, path.ports[1], port),
		(unsigned long long)compare_start_ns(c), odd_chance(c, 0.5) ? 0 : odd_log(c, 200 * ODD_US, 2000 * ODD_US));
	return 0;
}

/*
 * PFC deadlocks by cyclic buffer dependency (Hawkeye): by bad routes flows of others go along a circle of four
 * switches, up, down, up and down again. Begun from within, two bundles go three hops of it each, and two of its
 * ports get twice the data that they can send; the packets that they hold block all others. Begun from without, four
 * streams go two hops each and leave room, until a host that one of them goes to pauses its switch for good: the
 * buffers that this stream fills block the next, and so on round the circle.
 */

#define CIRCLE 4
#define FLOWS 2 /* of a bundle */
#define SPORT 30000
/*
 * A stream's: less than the job's own, so that queues in the circle that the job makes hold back the job, and not a
 * stream.
 */
#define LOAD 0.05
#define MESSAGE_BYTES 65536
#define LEAD_NS 300000       /* streams run for this long before the pause, */
#define BEHIND_NS 20000000.0 /* and behind it for as long as all their buffers take to fill */

/* A circle in the order that packets take: a leaf or edge, one above, another leaf or edge below both, another above. */
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

/*
 * @return a random switch beside a node, not this one: one that has hosts, or one that has none; TOPO_NONE: chance
 * found none
 */
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

/*
 * Continues a path from a node as any packet for a host might.
 * @return the ports of the whole path as a scenario lists them
 */
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

/* Makes a path from the circle's first-th switch a number of hops along it, and on to a host. */
static void
go_round(struct odd_case *c, const struct circle *circle, uint32_t first, uint32_t hops, uint32_t dst,
	 struct route_path *path)
{
	for (uint32_t i = 0; i < hops; i++)
		path->ports[path->hops++] = circle->ports[(first + i) % CIRCLE];
	go_on(c, circle->nodes[(first + hops) % CIRCLE], dst, path);
}

/* A bundle that enters at the circle's first-th switch. @return false: it has no sender or receiver */
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

static int
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

/* The path of a packet for a host, backwards: from the host's switch to the node. */
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

static int
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

/* R-Pingmesh's horizon after a job that never ends is no longer than after one that does. */
#define GROUP(name_, doc_, make_)                                                                                          \
	.group = { .name = name_, .doc = doc_, .limits = "virtual_time = \"310ms\"; stall = \"2400ms\"", .make = make_ }

/* The fault by its name: right at its place, partly so at one near, or with no more than a flow that suffers. */
#define NAMES(type)                                                                                                        \
	{                                                                                                                  \
		type, COMPARE_RIGHT, COMPARE_PARTLY, COMPARE_PARTLY                                                        \
	}
/* The fault has no single place: a port on the path of the flows that cause it is right, too. */
#define SPREADS(type)                                                                                                      \
	{                                                                                                                  \
		type, COMPARE_RIGHT, COMPARE_RIGHT, COMPARE_PARTLY                                                         \
	}
/* A consequence of the fault, or a finding that is easily confused with it: partly right at its place and near. */
#define SHOWS(type)                                                                                                        \
	{                                                                                                                  \
		type, COMPARE_PARTLY, COMPARE_PARTLY, COMPARE_PARTLY                                                       \
	}

/*
 * Flows of others that share links with the job: a finding that names one of them is right; its port alone is partly
 * right.
 */
#define TRAFFIC                                                                                                            \
	NAMES("flow-contention"), NAMES("incast"), NAMES("pfc-backpressure"), NAMES("load-imbalance"), SHOWS("high-rtt"),  \
		NAMES("path-imbalance"), SHOWS("deep-queue")
/* A link or switch loses some of its packets. */
#define LOSSES NAMES("packet-loss"), NAMES("silent-fault"), NAMES("switch-problem"), SHOWS("blackhole")
/* A switch loses all of some hosts. */
#define HOLES                                                                                                              \
	NAMES("blackhole"), SHOWS("packet-loss"), SHOWS("silent-fault"), NAMES("switch-problem"), SHOWS("rnic-problem")
#define CUTS NAMES("link-down"), SHOWS("packet-loss"), SHOWS("blackhole")

const struct compare_fault compare_faults[] = {
	{ GROUP("clean", "no fault, and no other traffic", compare_clean), .is_clean = true },
	{ GROUP("contention", "one or two background flows at line rate on the job's path", compare_contention),
	  .rules = { TRAFFIC } },
	{ GROUP("silent-loss", "a link between switches loses 0.2 to 10 % in one direction, and no counter shows it",
		compare_silent),
	  .rules = { LOSSES } },
	{ GROUP("blackhole", "a switch on the job's path drops all packets to one rank", compare_blackhole),
	  .rules = { HOLES } },
	{ GROUP("rnic-down", "a rank's RNIC hangs, its link is up", compare_rnic_down),
	  .rules = { NAMES("rnic-problem"), SHOWS("host-down"), SHOWS("blackhole"), SHOWS("packet-loss"),
		     SHOWS("slow-host") } },
	{ GROUP("pfc-storm", "a port pauses its peer, for good or for 0.5 to 3 ms of every 10 to 30", compare_storm),
	  .rules = { NAMES("pfc-storm"), SHOWS("pfc-deadlock"), SHOWS("pfc-backpressure"), SHOWS("high-rtt"),
		     SHOWS("switch-problem"), SHOWS("rnic-problem"), SHOWS("deep-queue") } },
	{ GROUP("pfc-deadlock",
		"flows of others go down and up again by bad routes: they close a circle of four buffers, and fill it",
		compare_deadlock),
	  .rules = { SPREADS("pfc-deadlock"), SHOWS("pfc-backpressure"), SHOWS("flow-contention"), SHOWS("incast"),
		     SHOWS("load-imbalance"), SPREADS("switch-problem"), SHOWS("rnic-problem"), SHOWS("high-rtt"),
		     SHOWS("path-imbalance"), SHOWS("deep-queue") } },
	{ GROUP("pfc-deadlock-outside",
		"the same circle has room for its flows, until a host that some of them go to pauses its switch for good",
		compare_deadlock_elsewhere),
	  .rules = { SPREADS("pfc-deadlock"), NAMES("pfc-storm"), SHOWS("pfc-backpressure"), SHOWS("flow-contention"),
		     SHOWS("incast"), SHOWS("load-imbalance"), SPREADS("switch-problem"), SHOWS("rnic-problem"),
		     SHOWS("high-rtt"), SHOWS("path-imbalance"), SHOWS("deep-queue") } },
	{ GROUP("slow-host", "a rank begins every step 20 to 300 us late", compare_slow_host),
	  .rules = { NAMES("slow-host") } },
	{ GROUP("link-down", "a link between switches is cut; routes avoid it after 10 ms", compare_down),
	  .rules = { CUTS, SHOWS("silent-fault"), NAMES("switch-problem") } },
	{ GROUP("delay", "a link between switches has 10 to 100 us more delay in one direction", compare_delay),
	  .rules = { NAMES("path-delay"), NAMES("high-rtt") } },
	{ GROUP("imbalance", "70 to 100 % of the flows that could go up by several ports go up by one", compare_imbalance),
	  .ecmp_only = true,
	  .rules = { NAMES("load-imbalance"), NAMES("path-imbalance"), SHOWS("flow-contention"), SHOWS("incast"),
		     SHOWS("pfc-backpressure"), SHOWS("high-rtt"), SHOWS("deep-queue") } },
	{ GROUP("polarisation", "all switches hash alike: those of the second tier send all up by one half of their ports",
		compare_polarisation),
	  .full_tree_only = true, .remedy = "load_balancing.seeds=own", .tier = 'a',
	  .rules = { NAMES("load-imbalance"), NAMES("path-imbalance"), SHOWS("flow-contention"), SHOWS("incast"),
		     SHOWS("pfc-backpressure"), SHOWS("high-rtt"), SHOWS("deep-queue") } },
	{ GROUP("incast", "four flows of others to a rank's host", compare_incast), .rules = { TRAFFIC } },
	{ GROUP("backpressure", "four background flows to a host beside a rank's: pauses spread to the job's path",
		compare_backpressure),
	  .rules = { TRAFFIC } },
	{ GROUP("loss", "a cable between switches loses 0.1 to 10 % in one direction", compare_loss), .rules = { LOSSES } },
	{ GROUP("corruption", "a cable between switches damages 0.1 to 10 % in one direction", compare_corruption),
	  .rules = { LOSSES } },
	{ GROUP("switch-loss", "a switch above leaves drops 0.2 to 5 % of all packets that arrive", compare_switch_loss),
	  .rules = { LOSSES } },
	{ GROUP("fib-corruption", "a switch on the job's path drops all packets of 30 to 100 % of hosts to one rank",
		compare_fib),
	  .rules = { NAMES("blackhole"), NAMES("packet-loss"), SHOWS("silent-fault"), NAMES("switch-problem"),
		     SHOWS("rnic-problem") } },
	{ GROUP("missing-route", "a switch on the job's path has no route to one rank", compare_missing_route),
	  .rules = { HOLES } },
	{ GROUP("acl", "a switch on the job's path denies all packets from one rank", compare_acl), .rules = { HOLES } },
	{ GROUP("link-flap", "a link between switches is down for 2 to 9 ms of every 20 to 100", compare_flap),
	  .rules = { CUTS, SHOWS("silent-fault"), NAMES("switch-problem") } },
	{ GROUP("loop", "a rank's switch sends its packets up again, for 0.2 to 2 ms or permanently", compare_loop),
	  .rules = { NAMES("forwarding-loop"), SHOWS("pfc-deadlock"), SHOWS("packet-loss"), SHOWS("blackhole"),
		     SHOWS("switch-problem"), SHOWS("rnic-problem"), SHOWS("high-rtt"), SHOWS("deep-queue") } },
	{ GROUP("rnic-flap", "a rank's link is down for 2 to 9 ms of every 20 to 100", compare_rnic_flap),
	  .rules = { CUTS, NAMES("rnic-problem") } },
	{ GROUP("rnic-loss", "a rank's cable loses or damages 0.1 to 30 % in one direction", compare_rnic_loss),
	  .rules = { NAMES("packet-loss"), NAMES("rnic-problem"), SHOWS("blackhole") } },
	{ GROUP("rnic-setup", "a rank's RNIC has lost its routes or its address", compare_rnic_setup),
	  .rules = { NAMES("rnic-problem"), SHOWS("host-down"), SHOWS("blackhole"), SHOWS("packet-loss"),
		     SHOWS("slow-host") } },
	{ GROUP("pcie-downgrade", "16 to 63 of a rank's 100 Gbps are left", compare_pcie),
	  .rules = { NAMES("host-limited"), NAMES("pfc-storm"), SHOWS("pfc-backpressure"), SHOWS("path-delay"),
		     SHOWS("slow-host"), NAMES("high-rtt"), SHOWS("deep-queue") } },
	/* Packets that wait for memory fill the RNIC, which then pauses its switch. */
	{ GROUP("dma-detour", "DMA of a rank's RNIC takes 10 to 100 us longer", compare_detour),
	  .rules = { NAMES("path-delay"), NAMES("host-limited"), NAMES("pfc-storm"), SHOWS("pfc-backpressure"),
		     SHOWS("slow-host"), NAMES("high-rtt"), SHOWS("deep-queue") } },
	{ GROUP("host-down", "a rank's host hangs", compare_host_down),
	  .rules = { NAMES("host-down"), SHOWS("rnic-problem"), NAMES("slow-host"), SHOWS("blackhole"),
		     SHOWS("packet-loss") } },
	{ GROUP("starved-cpu", "a rank's CPU has no time: 0.5 to 10 ms for a step and for its agent", compare_starved),
	  .probed = "faults.[0].enabled=true", .rules = { NAMES("slow-host"), NAMES("cpu-overload") } },
	{ GROUP("busy", "nothing is wrong, small flows of others are everywhere", compare_clean), .is_clean = true,
	  .is_busy = true },
	{ .group = { .name = NULL } },
};
