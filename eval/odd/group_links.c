/* SPDX-License-Identifier: BSD-3-Clause */
/* Links and ports at fault. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>

#include "eval/odd/build.h"

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

int
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

int
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

/* Does any data of the collective go by this cable, either way? */
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

int
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

int
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

int
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

int
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

int
odd_storms(struct odd_case *c, struct err *err)
{
	int ret = odd_plain(c, err);

	if (ret < 0)
		return ret;
	odd_storm(c, odd_part_ns(c, 0, 0.7), (uint64_t)odd_log(c, 50 * ODD_US, 1.5 * (double)c->span_ns), 3);
	return perhaps_disturb(c, err);
}

/* What happens while nobody works for the collective: faults end before it starts, or begin when it is long done. */
int
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
