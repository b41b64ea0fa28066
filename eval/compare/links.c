/* SPDX-License-Identifier: BSD-3-Clause */
/* Links between switches, and switches. Faults begin while the job runs and stay. */
#include <errno.h>
#include <stdio.h>

#include "eval/compare/corpus.h"

/* @return a port that sends to another switch, on the way of a flow of the job; TOPO_NONE with err */
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

int
compare_silent(struct odd_case *c, struct err *err)
{
	return lossy(c, "loss", 0.002, 0.1, "silent = true; ", err);
}

int
compare_loss(struct odd_case *c, struct err *err)
{
	return lossy(c, "loss", 0.001, 0.1, "", err);
}

int
compare_corruption(struct odd_case *c, struct err *err)
{
	return lossy(c, "corruption", 0.001, 0.1, "", err);
}

int
compare_delay(struct odd_case *c, struct err *err)
{
	uint32_t port = trunk(c, err);

	if (port == TOPO_NONE)
		return -EAGAIN;
	odd_fault(c, "delay", port, compare_start_ns(c), 0, "extra = \"%.0fns\"; ", odd_log(c, 10 * ODD_US, 100 * ODD_US));
	return 0;
}

/* Down for 2 to 9 ms of every 20 to 100: never as long as routes take to avoid it. */
int
compare_flap(struct odd_case *c, struct err *err)
{
	uint32_t port = trunk(c, err);

	if (port == TOPO_NONE)
		return -EAGAIN;
	odd_fault(c, "link-down", port, compare_start_ns(c), (uint64_t)odd_log(c, 2000 * ODD_US, 9000 * ODD_US),
		  "period = \"%.0fns\"; ", odd_log(c, 20000 * ODD_US, 100000 * ODD_US));
	return 0;
}

int
compare_down(struct odd_case *c, struct err *err)
{
	uint32_t port = trunk(c, err);

	if (port == TOPO_NONE)
		return -EAGAIN;
	odd_fault(c, "link-down", port, compare_start_ns(c), 0, " ");
	return 0;
}

/* A switch above leaves loses a part of all that comes in, behind its MACs. */
int
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
int
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

int
compare_blackhole(struct odd_case *c, struct err *err)
{
	struct hole at;
	int ret = hole(c, &at, err);

	if (ret == 0)
		odd_add(c, ODD_FAULTS, "{ kind = \"blackhole\"; switch = \"%s\"; dst = \"%s\"; start = \"%lluns\"; }",
			at.at, at.dst, at.start_ns);
	return ret;
}

int
compare_missing_route(struct odd_case *c, struct err *err)
{
	struct hole at;
	int ret = hole(c, &at, err);

	if (ret == 0)
		odd_add(c, ODD_FAULTS, "{ kind = \"missing-route\"; switch = \"%s\"; dst = \"%s\"; start = \"%lluns\"; }",
			at.at, at.dst, at.start_ns);
	return ret;
}

int
compare_acl(struct odd_case *c, struct err *err)
{
	struct hole at;
	int ret = hole(c, &at, err);

	if (ret == 0)
		odd_add(c, ODD_FAULTS, "{ kind = \"acl\"; switch = \"%s\"; src = \"%s\"; start = \"%lluns\"; }", at.at,
			at.src, at.start_ns);
	return ret;
}
