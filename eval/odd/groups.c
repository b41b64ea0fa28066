/* SPDX-License-Identifier: BSD-3-Clause */
#include "eval/odd/odd.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "common/array.h"
#include "common/err.h"
#include "common/prng.h"
#include "scenario/scenario.h"
#include "workload/plan.h"

/* Links and ports at fault. */

/* In a third of cases a flow of another job as well. */
static int
perhaps_disturb(struct odd_case *c, struct err *err)
{
	return odd_chance(c, 1.0 / 3) ? odd_disturb(c, err) : 0;
}

static int
no_trunk(struct err *err)
{
	return err_set(err, -EAGAIN, "no flow of the collective leaves its switch");
}

/* Those of groups.c, each in the file that its part is in. */
static int
odd_delay(struct odd_case *c, struct err *err)
{
	char more[64];
	int ret = odd_plain(c, err);

	if (ret < 0)
		return ret;
	snprintf(more, sizeof(more), "extra = \"%.0fns\"; ", odd_log(c, 5 * ODD_US, 100 * ODD_US));
	odd_fault_sometime(c, "delay", odd_port(c), more);
	return perhaps_disturb(c, err);
}

static int
odd_loss(struct odd_case *c, struct err *err)
{
	char more[64];
	int ret = odd_plain(c, err);

	if (ret < 0)
		return ret;
	snprintf(more, sizeof(more), "rate = %.6f; ", odd_log(c, 1e-5, 0.5));
	odd_fault_sometime(c, "loss", odd_port(c), more);
	return perhaps_disturb(c, err);
}

/* Does any data of the collective use this cable, in either direction? */
static bool
carries_data(const struct odd_case *c, uint32_t port)
{
	const struct plan_collective *of = &c->loaded->plan->collectives[0];
	uint32_t peer = c->loaded->topo->ports[port].peer_port;
	struct route_path path;

	for (uint32_t i = 0; i < of->nflows; i++) {
		odd_path(c, &c->loaded->plan->flows.flows[of->first_flow + i], false, &path);
		for (uint32_t hop = 0; hop < path.hops; hop++)
			if (path.ports[hop] == port || path.ports[hop] == peer)
				return true;
	}
	return false;
}

static int
odd_acks(struct odd_case *c, struct err *err)
{
	struct route_path path;
	uint32_t port;
	char more[64];
	int ret;

	odd_head(c, "routing = { convergence = \"%ums\"; };\n", odd_pick(c, 1, 10));
	ret = odd_plain(c, err);
	if (ret < 0)
		return ret;
	odd_path(c, odd_send(c), true, &path);
	port = path.ports[odd_pick(c, 0, path.hops - 1)];
	if (!carries_data(c, port)) {
		odd_fault(c, "link-down", port, odd_part_ns(c, 0, 0.7), odd_chance(c, 0.5) ? 0 : odd_part_ns(c, 0.01, 0.5),
			  " ");
		return 0;
	}
	snprintf(more, sizeof(more), "rate = %.6f; ", odd_log(c, 1e-3, 0.5));
	odd_fault_sometime(c, "loss", port, more);
	return 0;
}

static int
odd_cuts(struct odd_case *c, struct err *err)
{
	uint32_t port;
	int ret;

	odd_head(c, "routing = { convergence = \"%ums\"; };\n", odd_pick(c, 1, 20));
	ret = odd_plain(c, err);
	if (ret < 0)
		return ret;
	port = odd_trunk(c);
	if (port == TOPO_NONE)
		return no_trunk(err);
	odd_fault(c, "link-down", port, odd_part_ns(c, 0, 0.8), odd_chance(c, 0.5) ? 0 : odd_part_ns(c, 0.01, 0.5), " ");
	return perhaps_disturb(c, err);
}

static int
odd_corruption(struct odd_case *c, struct err *err)
{
	struct route_path path;
	char more[64];
	int ret = odd_plain(c, err);

	if (ret < 0)
		return ret;
	odd_path(c, odd_send(c), false, &path);
	snprintf(more, sizeof(more), "rate = %.6f; ", odd_log(c, 1e-4, 0.05));
	odd_fault_sometime(c, "corruption", path.ports[odd_chance(c, 0.5) ? 0 : path.hops - 1], more);
	return perhaps_disturb(c, err);
}

static int
odd_blackhole(struct odd_case *c, struct err *err)
{
	const struct topo *topo;
	const struct flow *flow;
	struct route_path path;
	int ret = odd_plain(c, err);

	if (ret < 0)
		return ret;
	topo = c->loaded->topo;
	flow = odd_send(c);
	odd_path(c, flow, false, &path);
	odd_add(c, ODD_FAULTS,
		"{ kind = \"blackhole\"; switch = \"%s\"; dst = \"%s\"; start = \"%" PRIu64
		"ns\"; duration = \"%.0fns\"; }",
		topo->nodes[topo->ports[path.ports[odd_pick(c, 1, path.hops - 1)]].node].name,
		topo->nodes[flow->dst_node].name, odd_part_ns(c, 0, 0.8), odd_log(c, 20 * ODD_US, 1000 * ODD_US));
	return perhaps_disturb(c, err);
}

static int
odd_storms(struct odd_case *c, struct err *err)
{
	int ret = odd_plain(c, err);

	if (ret < 0)
		return ret;
	odd_storm(c, odd_part_ns(c, 0, 0.7), (uint64_t)odd_log(c, 50 * ODD_US, 1.5 * (double)c->span_ns), 3);
	return perhaps_disturb(c, err);
}

/* Events while no host works for the collective: faults end before it starts, or begin when it is long done. */
static int
odd_around(struct odd_case *c, struct err *err)
{
	uint64_t start_ns = odd_pick(c, 2, 5) * 1000000ull, late_ns;
	int ret;

	odd_network(c);
	odd_collective(c, odd_pick(c, 4, 8), ODD_HOSTS);
	/* the list's only element: where it begins */
	c->used -= sizeof("; }\n);\n") - 1;
	odd_head(c, "; start = \"%" PRIu64 "ns\"; }\n);\n", start_ns);
	ret = odd_plan(c, err);
	if (ret < 0)
		return ret;
	late_ns = start_ns + 4 * c->span_ns;
	if (odd_chance(c, 0.7))
		odd_storm(c, 0, start_ns / 2, 3);
	else
		odd_fault(c, "loss", odd_port(c), 0, start_ns / 2, "rate = 0.01; ");
	if (odd_chance(c, 0.5))
		ret = odd_crossing(c, odd_port(c), &(struct odd_flow){ .prio = -1, .bytes = 1000000, .start_ns = 0 }, err);
	if (ret == 0 && odd_chance(c, 0.5)) {
		ret = odd_crossing(c, odd_port(c), &(struct odd_flow){ .prio = -1, .bytes = 10000000, .start_ns = late_ns },
				   err);
		odd_fault(c, "delay", odd_port(c), late_ns, 0, "extra = \"50us\"; ");
	}
	if (ret == 0 && odd_chance(c, 0.5)) /* and one within */
		ret = odd_crossing(c, odd_port(c),
				   &(struct odd_flow){ .prio = -1,
						       .bytes = odd_bytes(c, 5 * ODD_MB, 40 * ODD_MB),
						       .start_ns = start_ns + odd_part_ns(c, 0, 0.5) },
				   err);
	return ret;
}

/* Traffic of others, in other classes and of other kinds. */

#define PLACES 1000 /* tried at random */
#define MICE 12     /* flows, at least, on average */

static int
odd_classes(struct odd_case *c, struct err *err)
{
	uint32_t flows = odd_pick(c, 1, 2);
	int ret;

	odd_head(c, "switch = { pfc = { priorities = [ \"3\", \"4\" ]; }; };\n");
	ret = odd_plain(c, err);
	for (uint32_t i = 0; ret == 0 && i < flows; i++)
		ret = odd_crossing(c, odd_port(c),
				   &(struct odd_flow){ .prio = 4,
						       .bytes = odd_bytes(c, 5 * ODD_MB, 60 * ODD_MB),
						       .start_ns = odd_part_ns(c, 0, 0.5) },
				   err);
	if (ret < 0)
		return ret;
	if (odd_chance(c, 0.5))
		odd_storm(c, odd_part_ns(c, 0, 0.5), odd_part_ns(c, 0.1, 1), 4);
	if (odd_chance(c, 1.0 / 3))
		odd_storm(c, odd_part_ns(c, 0, 0.5), odd_part_ns(c, 0.05, 0.5), 3);
	return 0;
}

static int
odd_class0(struct odd_case *c, struct err *err)
{
	bool acks = odd_chance(c, 0.5);
	uint32_t flows = acks ? odd_pick(c, 2, 5) : odd_pick(c, 1, 2), port;
	int ret = odd_plain(c, err);

	if (ret < 0)
		return ret;
	port = odd_port(c);
	for (uint32_t i = 0; ret == 0 && i < flows; i++)
		ret = odd_crossing(c, port,
				   &(struct odd_flow){ .prio = acks ? -1 : 0,
						       .reverse = acks,
						       .bytes = odd_bytes(c, 20 * ODD_MB, 60 * ODD_MB),
						       .start_ns = odd_part_ns(c, 0, 0.5) },
				   err);
	return ret;
}

/* Mean bytes: of how many flows there will be. */
static const struct {
	const char *text;
	double mean;
} sizes[] = { { "sizes = \"websearch\"", 1.7e6 },
	      { "sizes = \"hadoop\"", 120e3 },
	      { "sizes = \"alistorage\"", 41e3 },
	      { "bytes = \"30KB\"", 30e3 } };

static int
odd_mice(struct odd_case *c, struct err *err)
{
	uint32_t which = odd_pick(c, 0, ARRAY_LEN(sizes) - 1);
	double load = odd_log(c, 0.01, 0.3), least;
	uint64_t until_ns;
	int ret = odd_plain(c, err);

	if (ret < 0)
		return ret;
	until_ns = odd_part_ns(c, 0.3, 1);
	/* so that there are some at all */
	least = MICE * 8 * sizes[which].mean / (ODD_HOSTS * 100e9 * (double)until_ns / 1e9);
	odd_add(c, ODD_GENERATORS, "{ kind = \"poisson\"; name = \"mice\"; %s; load = %.3f; until = \"%" PRIu64 "ns\"; }",
		sizes[which].text, fmin(1, fmax(load, least)), until_ns);
	if (odd_chance(c, 1.0 / 3))
		odd_storm(c, odd_part_ns(c, 0, 0.5), odd_part_ns(c, 0.05, 0.3), 3);
	return 0;
}

static int
odd_jobs(struct odd_case *c, struct err *err)
{
	static const char *const kinds[] = { "op = \"allgather\"; algorithm = \"ring\"",
					     "op = \"allreduce\"; algorithm = \"ring\"",
					     "op = \"alltoall\"; algorithm = \"pairwise\"" };
	uint32_t jobs = odd_pick(c, 2, 3), nodes[ODD_HOSTS], ranks = odd_pick(c, 3, ODD_HOSTS / jobs);
	int ret;

	odd_network(c);
	odd_shuffle(c, nodes, ODD_HOSTS);
	odd_head(c, "jobs = (\n");
	for (uint32_t j = 0; j < jobs; j++) {
		odd_head(c, "  { name = \"%c\"; iterations = %u; compute = \"%uus\"; start = \"%uus\"; ranks = [",
			 'a' + (int)j, odd_pick(c, 1, 3), odd_pick(c, 0, 200), j == 0 ? 0 : odd_pick(c, 0, 1000));
		for (uint32_t i = 0; i < ranks; i++)
			odd_head(c, "%s \"h%u\"", i != 0 ? "," : "", nodes[j * ranks + i]);
		odd_head(c, " ];\n    collectives = ( { name = \"x\"; %s; bytes = \"%" PRIu64 "B\"; } ); }%s\n",
			 kinds[odd_pick(c, 0, 2)], 4 * (odd_bytes(c, 20 * ODD_MB, 60 * ODD_MB) / 4),
			 j + 1 < jobs ? "," : "");
	}
	odd_head(c, ");\n");
	ret = odd_plan(c, err);
	if (ret == 0 && odd_chance(c, 1.0 / 3))
		odd_storm(c, odd_part_ns(c, 0, 0.5), odd_part_ns(c, 0.05, 0.3), 3);
	return ret;
}

/* Networks, hosts and telemetry with other settings. */

/* Something ordinary: one or two flows, or a storm. */
static int
ordinary(struct odd_case *c, struct err *err)
{
	uint32_t flows = odd_pick(c, 0, 2);
	int ret = 0;

	for (uint32_t i = 0; ret == 0 && i < flows; i++)
		ret = odd_disturb(c, err);
	if (ret == 0 && flows == 0)
		odd_storm(c, odd_part_ns(c, 0, 0.5), odd_part_ns(c, 0.05, 0.5), 3);
	return ret;
}

static int
odd_small(struct odd_case *c, struct err *err)
{
	uint32_t ranks = odd_pick(c, 4, 8), late, nodes[ODD_HOSTS];
	double bytes = odd_log(c, 1024, 65536), delay_ns = odd_log(c, 1 * ODD_US, 50 * ODD_US);
	int ret;

	odd_network(c);
	odd_shuffle(c, nodes, ODD_HOSTS);
	odd_head(c,
		 "collectives = (\n  { op = \"allgather\"; algorithm = \"ring\"; step_bytes = \"%uB\"; iterations = %u; "
		 "ranks = [",
		 4 * (uint32_t)(bytes / 4), odd_pick(c, 1, 20));
	for (uint32_t i = 0; i < ranks; i++)
		odd_head(c, "%s \"h%u\"", i != 0 ? "," : "", nodes[i]);
	odd_head(c, " ]; }\n);\n");
	ret = odd_plan(c, err);
	if (ret < 0)
		return ret;
	late = odd_chance(c, 1.0 / 3) ? ranks : odd_pick(c, 0, 2);
	for (uint32_t i = 0; i < late; i++)
		odd_add(c, ODD_FAULTS, "{ kind = \"slow-host\"; host = \"h%u\"; delay = \"%.0fns\"; }", nodes[i], delay_ns);
	return late == 0 ? odd_disturb(c, err) : 0;
}

static int
odd_rates(struct odd_case *c, struct err *err)
{
	static const char *const slow[] = { "25Gbps", "40Gbps", "50Gbps" };
	int ret;

	if (odd_chance(c, 0.5))
		odd_head(c,
			 "topology = { kind = \"fat-tree\"; k = 4; rate = \"100Gbps\"; host_rate = \"%s\"; delay = "
			 "\"1us\"; };\n",
			 slow[odd_pick(c, 0, 2)]);
	else
		odd_head(c,
			 "topology = { kind = \"leaf-spine\"; leaves = 4; spines = %u; hosts_per_leaf = 4; rate = "
			 "\"100Gbps\"; "
			 "uplink_rate = \"%s\"; delay = \"1us\"; };\n",
			 odd_pick(c, 2, 4), slow[odd_pick(c, 0, 2)]);
	odd_collective(c, odd_pick(c, 4, 8), ODD_HOSTS);
	ret = odd_plan(c, err);
	return ret == 0 ? ordinary(c, err) : ret;
}

static int
odd_k8(struct odd_case *c, struct err *err)
{
	int ret;

	odd_head(c, "topology = { kind = \"fat-tree\"; k = 8; rate = \"100Gbps\"; delay = \"1us\"; };\n");
	odd_collective(c, 16, 128);
	ret = odd_plan(c, err);
	return ret == 0 ? ordinary(c, err) : ret;
}

static int
odd_rails(struct odd_case *c, struct err *err)
{
	uint32_t nics = odd_pick(c, 2, 4), hosts[8], ranks = odd_pick(c, 4, 8);
	bool apart = odd_chance(c, 0.5); /* a rail each, or all by one */
	int ret;

	odd_head(c,
		 "topology = { kind = \"rail\"; hosts = 8; nics = %u; hosts_per_group = 4; spines = %u; rate = "
		 "\"100Gbps\"; delay = "
		 "\"1us\"; };\n",
		 nics, odd_pick(c, 1, 3));
	odd_shuffle(c, hosts, 8);
	odd_head(c,
		 "collectives = (\n  { op = \"allgather\"; algorithm = \"ring\"; step_bytes = \"%" PRIu64 "B\"; ranks = [",
		 4 * (odd_bytes(c, 5 * ODD_MB, 20 * ODD_MB) / 4));
	for (uint32_t i = 0; i < ranks; i++)
		odd_head(c, "%s \"h%u:%u\"", i != 0 ? "," : "", hosts[i], apart ? 1 + i % nics : 1);
	odd_head(c, " ]; }\n);\n");
	ret = odd_plan(c, err);
	return ret == 0 ? ordinary(c, err) : ret;
}

static int
odd_window(struct odd_case *c, struct err *err)
{
	int ret;

	odd_head(c, "host = { window = \"%.0fB\"; };\n", odd_log(c, 10e3, 60e3));
	ret = odd_plain(c, err);
	return ret == 0 && odd_chance(c, 0.6) ? odd_disturb(c, err) : ret;
}

static int
odd_starved(struct odd_case *c, struct err *err)
{
	int ret;

	odd_head(c, "exporter = { budget = \"%.0fB\"; };\n", odd_log(c, 100, 10000));
	ret = odd_plain(c, err);
	return ret == 0 ? ordinary(c, err) : ret;
}

/* Packets that vanish where no port counts them. */

/*
 * A switch on the path of one of the collective's flows drops the packets of its source to its destination, all
 * packets to that destination, or the packets of the flow's ingress; of such pairs all, or a share.
 */
static int
odd_fib(struct odd_case *c, struct err *err)
{
	const struct topo *topo;
	const struct flow *flow;
	struct route_path path;
	char in[64];
	uint32_t hop;
	int ret = odd_plain(c, err);

	if (ret < 0)
		return ret;
	topo = c->loaded->topo;
	flow = odd_send(c);
	odd_path(c, flow, false, &path);
	hop = odd_pick(c, 1, path.hops - 1);
	odd_add(c, ODD_FAULTS,
		"{ kind = \"fib-corruption\"; switch = \"%s\"; start = \"%" PRIu64 "ns\"; duration = \"%.0fns\"; ",
		topo->nodes[topo->ports[path.ports[hop]].node].name, odd_part_ns(c, 0, 0.8),
		odd_log(c, 20 * ODD_US, 1000 * ODD_US));
	switch (odd_pick(c, 0, 2)) {
	case 0:
		odd_more(c, ODD_FAULTS, "src = \"%s\"; dst = \"%s\"; }", topo->nodes[flow->src_node].name,
			 topo->nodes[flow->dst_node].name);
		break;
	case 1:
		odd_more(c, ODD_FAULTS, "dst = \"%s\"; share = %.3f; }", topo->nodes[flow->dst_node].name,
			 odd_log(c, 0.2, 1));
		break;
	default:
		odd_more(c, ODD_FAULTS, "in = \"%s\"; share = %.3f; }",
			 odd_port_name(c, topo->ports[path.ports[hop - 1]].peer_port, in), odd_log(c, 0.2, 1));
		break;
	}
	return odd_chance(c, 1.0 / 3) ? odd_disturb(c, err) : 0;
}

/* Every packet has a path of its own, and one link between switches loses some behind the far MAC. */
static int
odd_sprayed(struct odd_case *c, struct err *err)
{
	static const char *const kinds[] = { "adaptive", "random", "round-robin" };
	uint32_t port;
	char more[64];
	int ret;

	odd_head(c, "load_balancing = { kind = \"%s\"; };\nhost = { transport = \"selective\"; };\n",
		 kinds[odd_pick(c, 0, ARRAY_LEN(kinds) - 1)]);
	ret = odd_plain(c, err);
	if (ret < 0)
		return ret;
	port = odd_trunk(c);
	if (port == TOPO_NONE)
		return err_set(err, -EAGAIN, "no flow of the collective leaves its switch");
	snprintf(more, sizeof(more), "rate = %.6f; silent = true; ", odd_log(c, 1e-4, 0.3));
	odd_fault_sometime(c, "loss", port, more);
	return odd_chance(c, 1.0 / 3) ? odd_disturb(c, err) : 0;
}

/* What hosts and switches are set to, and parts of them that are slow. */

/* A class without PFC, in which flows of others fill a queue until it drops. */
static int
odd_lossy(struct odd_case *c, struct err *err)
{
	uint32_t flows = odd_pick(c, 1, 3);
	int ret;

	odd_head(c, "switch = { pfc = { enabled = false; }; lossy_queue = \"%uKiB\"; };\n", odd_pick(c, 64, 512));
	odd_head(c, "host = { timeout = \"500us\"; transport = \"%s\"; };\n",
		 odd_chance(c, 0.5) ? "selective" : "go-back-n");
	ret = odd_plain(c, err);
	for (uint32_t i = 0; i < flows && ret == 0; i++)
		ret = odd_disturb(c, err);
	return ret;
}

#define TIMER_TRIPS 16 /* round trips that a timer has room for */

/* Cables so long that the timer ends before a round trip does. */
static int
odd_timers(struct odd_case *c, struct err *err)
{
	double delay_ns = odd_log(c, 20 * ODD_US, 200 * ODD_US), trip_ns = 8 * delay_ns, right_ns = TIMER_TRIPS * trip_ns,
	       short_ns = trip_ns * odd_log(c, 0.3, 0.95);

	odd_head(c, "host = { retry_count = 255; timeout = \"%.0fns\"; };\n",
		 c->group->clean_of != NULL ? right_ns : short_ns);
	snprintf(c->remedy, sizeof(c->remedy), "host.timeout=%.0fns", right_ns);
	odd_head(c,
		 "topology = { kind = \"leaf-spine\"; leaves = 4; spines = %u; hosts_per_leaf = 4; rate = \"100Gbps\"; "
		 "delay = \"%.0fns\"; };\n",
		 odd_pick(c, 2, 4), delay_ns);
	odd_collective(c, odd_pick(c, 4, 8), ODD_HOSTS);
	return odd_plan(c, err);
}

/* Does any data of the collective leave by this port? */
static bool
sends_data(const struct odd_case *c, uint32_t port)
{
	const struct plan_collective *of = &c->loaded->plan->collectives[0];
	struct route_path path;

	for (uint32_t i = 0; i < of->nflows; i++) {
		odd_path(c, &c->loaded->plan->flows.flows[of->first_flow + i], false, &path);
		for (uint32_t hop = 0; hop < path.hops; hop++)
			if (path.ports[hop] == port)
				return true;
	}
	return false;
}

/* Class 0 full of others' data, where ACKs of the collective alone pass if there is such a port. */
static int
odd_ack_load(struct odd_case *c, struct err *err)
{
	uint32_t flows = odd_pick(c, 2, 4), port = TOPO_NONE;
	struct route_path path;
	int ret = odd_plain(c, err);

	for (uint32_t i = 0; i < PLACES && ret == 0 && (port == TOPO_NONE || sends_data(c, port)); i++) {
		odd_path(c, odd_send(c), true, &path);
		port = path.ports[odd_pick(c, 1, path.hops - 1)];
	}
	for (uint32_t i = 0; i < flows && ret == 0; i++)
		ret = odd_crossing(c, port,
				   &(struct odd_flow){ .prio = 0,
						       .bytes = odd_bytes(c, 20 * ODD_MB, 60 * ODD_MB),
						       .start_ns = odd_part_ns(c, 0, 0.3) },
				   err);
	return ret;
}

/* A rank's NIC is slower than its link, in both directions. */
static int
odd_nics(struct odd_case *c, struct err *err)
{
	struct route_path path;
	char more[64];
	int ret = odd_plain(c, err);

	if (ret < 0)
		return ret;
	odd_path(c, odd_send(c), false, &path);
	if (odd_chance(c, 0.5)) {
		snprintf(more, sizeof(more), "generation = 3; lanes = %u; ", 1u << odd_pick(c, 1, 3));
		odd_fault_sometime(c, "pcie-downgrade", path.ports[0], more);
	} else {
		snprintf(more, sizeof(more), "rate = \"%.0fMbps\"; ", odd_log(c, 15e3, 80e3));
		odd_fault_sometime(c, "dma-detour", path.ports[0], more);
	}
	return perhaps_disturb(c, err);
}

/* The same in the direction alone in which it receives. */
static int
odd_receivers(struct odd_case *c, struct err *err)
{
	struct route_path path;
	char more[64];
	int ret = odd_plain(c, err);

	if (ret < 0)
		return ret;
	odd_path(c, odd_send(c), false, &path);
	snprintf(more, sizeof(more), "rate = \"%.0fMbps\"; ", odd_log(c, 15e3, 80e3));
	odd_fault_sometime(c, "slow-receiver", c->loaded->topo->ports[path.ports[path.hops - 1]].peer_port, more);
	return perhaps_disturb(c, err);
}

/* A link between switches is down all the time: routes avoid it at once, or operators know of it. */
static int
odd_lasting(struct odd_case *c, struct err *err)
{
	uint32_t port;
	int ret;

	odd_head(c, "routing = { convergence = \"0us\"; };\n");
	ret = odd_plain(c, err);
	if (ret < 0)
		return ret;
	port = odd_trunk(c);
	if (port == TOPO_NONE)
		return no_trunk(err);
	odd_fault(c, "link-down", port, 0, 0, odd_chance(c, 0.5) ? "known = true; " : " ");
	return perhaps_disturb(c, err);
}

/* A cable that runs at a lower rate. */
static int
odd_slow_cable(struct odd_case *c, struct err *err)
{
	static const char *const rates[] = { "rate = \"25Gbps\"; ", "rate = \"40Gbps\"; ", "rate = \"50Gbps\"; " };
	int ret = odd_plain(c, err);

	if (ret < 0)
		return ret;
	odd_fault_sometime(c, "link-rate", odd_port(c), rates[odd_pick(c, 0, ARRAY_LEN(rates) - 1)]);
	return perhaps_disturb(c, err);
}

/* A storm that switches' watchdogs act upon: packets of its class are dropped, or pauses ignored. */
static int
odd_watchdog(struct odd_case *c, struct err *err)
{
	static const char *const actions[] = { "drop", "forward", "alert" };
	int ret;

	odd_head(c,
		 "switch = { watchdog = { enabled = true; detection_time = \"%.0fns\"; restoration_time = \"%.0fns\"; "
		 "action = \"%s\"; }; };\n",
		 odd_log(c, 50 * ODD_US, 300 * ODD_US), odd_log(c, 50 * ODD_US, 300 * ODD_US),
		 actions[odd_pick(c, 0, ARRAY_LEN(actions) - 1)]);
	ret = odd_plain(c, err);
	if (ret == 0)
		odd_storm(c, odd_part_ns(c, 0, 0.7), (uint64_t)odd_log(c, 50 * ODD_US, 1000 * ODD_US), 3);
	return ret;
}

/* Errors in bursts, as FEC leaves them, at a host's link. */
static int
odd_bursts(struct odd_case *c, struct err *err)
{
	struct route_path path;
	char more[64];
	int ret = odd_plain(c, err);

	if (ret < 0)
		return ret;
	odd_path(c, odd_send(c), false, &path);
	snprintf(more, sizeof(more), "rate = %.6f; burst = \"%.0fns\"; ", odd_log(c, 1e-4, 0.05),
		 odd_log(c, 0.2 * ODD_US, 10 * ODD_US));
	odd_fault_sometime(c, "corruption", path.ports[odd_chance(c, 0.5) ? 0 : path.hops - 1], more);
	return perhaps_disturb(c, err);
}

/* ACKs alone are lost, also where data passes. */
static int
odd_ack_loss(struct odd_case *c, struct err *err)
{
	struct route_path path;
	char more[64];
	int ret = odd_plain(c, err);

	if (ret < 0)
		return ret;
	odd_path(c, odd_send(c), true, &path);
	snprintf(more, sizeof(more), "rate = %.6f; packets = \"acks\"; ", odd_log(c, 1e-3, 0.5));
	odd_fault_sometime(c, "loss", path.ports[odd_pick(c, 0, path.hops - 1)], more);
	return 0;
}

/* A telemetry budget of some frames a millisecond, and a fault that hosts notice themselves. */
static int
odd_thin(struct odd_case *c, struct err *err)
{
	char more[64];
	int ret;

	odd_head(c, "exporter = { budget = \"%.0fB\"; };\n", odd_log(c, 10e3, 1e6));
	ret = odd_plain(c, err);
	if (ret < 0)
		return ret;
	if (odd_chance(c, 0.5)) {
		snprintf(more, sizeof(more), "extra = \"%.0fns\"; ", odd_log(c, 20 * ODD_US, 100 * ODD_US));
		odd_fault(c, "delay", odd_port(c), 0, 0, "%s", more);
	} else {
		odd_fault(c, "loss", odd_port(c), 0, 0, "rate = %.6f; ", odd_log(c, 1e-3, 0.1));
	}
	return 0;
}

/* The same cases without the fault. */
#define CLEAN(name_, make_)                                                                                                \
	{                                                                                                                  \
		.name = name_ "-clean", .doc = "the same without it", .make = make_, .clean_of = name_                     \
	}

const struct odd_group odd_groups[] = {
	{ .name = "delay", .doc = "5 to 100 us more delay on a link", .make = odd_delay },
	{ .name = "loss", .doc = "frames of a port are lost, 1 in 100,000 to half", .make = odd_loss },
	{ .name = "ack-side", .doc = "the path of ACKs is down, or loses packets", .make = odd_acks },
	{ .name = "cuts", .doc = "a link between switches is cut", .make = odd_cuts },
	{ .name = "corruption", .doc = "frames are damaged at a host's link", .make = odd_corruption },
	{ .name = "blackhole", .doc = "a switch loses all for a host, for 20 us to 1 ms", .make = odd_blackhole },
	{ .name = "fib",
	  .doc = "a corrupt FIB: a switch swallows all between some hosts, for 20 us to 1 ms",
	  .make = odd_fib },
	{ .name = "sprayed",
	  .doc = "packets are sprayed, and a link loses some that no port misses, 1 in 10,000 to a third",
	  .make = odd_sprayed },
	{ .name = "storms", .doc = "PAUSE for 50 us to the whole run", .make = odd_storms },
	{ .name = "outside", .doc = "before the collective, after it, or both", .make = odd_around },
	{ .name = "classes", .doc = "two lossless classes, with flows and a storm in the other", .make = odd_classes },
	{ .name = "class0", .doc = "traffic in class 0, or ACK streams of others", .make = odd_class0 },
	{ .name = "mice", .doc = "generated flows of others", .make = odd_mice },
	{ .name = "jobs", .doc = "two or three jobs", .make = odd_jobs },
	{ .name = "small", .doc = "messages of 1 to 64 KB, late hosts", .make = odd_small },
	{ .name = "rates", .doc = "links of unequal rates", .make = odd_rates },
	{ .name = "k8", .doc = "fat-tree K=8, 16 ranks of 128 hosts", .make = odd_k8 },
	{ .name = "rails", .doc = "hosts of several NICs, a rail each", .make = odd_rails },
	{ .name = "window", .doc = "windows below the bandwidth-delay product", .make = odd_window },
	{ .name = "starved", .doc = "a telemetry budget that is nothing", .make = odd_starved },
	{ .name = "lossy", .doc = "a class without PFC: flows of others fill a queue that drops", .make = odd_lossy },
	{ .name = "timers", .doc = "a timer that ends before a round trip does", .make = odd_timers },
	{ .name = "ack-load",
	  .doc = "class 0 is full where ACKs of the collective pass, and no data if there is such a port",
	  .make = odd_ack_load },
	{ .name = "nics", .doc = "a NIC below its line rate: PCIe or DMA", .make = odd_nics },
	{ .name = "receivers", .doc = "a NIC that receives below its line rate", .make = odd_receivers },
	{ .name = "lasting", .doc = "a link between switches is down all the time", .make = odd_lasting },
	{ .name = "slow-cable", .doc = "a cable runs at a quarter to half its rate", .make = odd_slow_cable },
	{ .name = "watchdog", .doc = "a storm that PFC watchdogs act upon", .make = odd_watchdog },
	{ .name = "bursts", .doc = "frames are damaged in bursts at a host's link", .make = odd_bursts },
	{ .name = "ack-loss", .doc = "ACKs alone are lost, 1 in 1,000 to half", .make = odd_ack_loss },
	{ .name = "thin", .doc = "a telemetry budget of 10 kB to 1 MB a second, beside delay or loss", .make = odd_thin },
	CLEAN("lossy", odd_lossy),
	CLEAN("timers", odd_timers),
	CLEAN("ack-load", odd_ack_load),
	CLEAN("nics", odd_nics),
	CLEAN("receivers", odd_receivers),
	CLEAN("lasting", odd_lasting),
	CLEAN("slow-cable", odd_slow_cable),
	CLEAN("watchdog", odd_watchdog),
	CLEAN("bursts", odd_bursts),
	CLEAN("ack-loss", odd_ack_loss),
	CLEAN("thin", odd_thin),
	{ .name = NULL },
};

const struct odd_group *
odd_group_find(const char *name)
{
	for (const struct odd_group *group = odd_groups; group->name != NULL; group++)
		if (strcmp(group->name, name) == 0)
			return group;
	return NULL;
}
