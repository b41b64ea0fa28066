/* SPDX-License-Identifier: BSD-3-Clause */
/* Hosts of ranks, their RNICs and their links. Faults begin while the job runs and stay. */
#include <errno.h>
#include <stdio.h>

#include "common/array.h"
#include "eval/compare/corpus.h"

/* @return a rank's NIC, or TOPO_NONE with err */
static uint32_t
nic(struct odd_case *c, struct err *err)
{
	return compare_begin(c, err) == 0 ? compare_rank_nic(c) : TOPO_NONE;
}

int
compare_rnic_down(struct odd_case *c, struct err *err)
{
	uint32_t port = nic(c, err);

	if (port == TOPO_NONE)
		return -EINVAL;
	odd_fault(c, "rnic-down", port, compare_start_ns(c), 0, " ");
	return 0;
}

/* Its link is down for 2 to 9 ms of every 20 to 100. */
int
compare_rnic_flap(struct odd_case *c, struct err *err)
{
	uint32_t port = nic(c, err);

	if (port == TOPO_NONE)
		return -EINVAL;
	odd_fault(c, "link-down", port, compare_start_ns(c), (uint64_t)odd_log(c, 2000 * ODD_US, 9000 * ODD_US),
		  "period = \"%.0fns\"; ", odd_log(c, 20000 * ODD_US, 100000 * ODD_US));
	return 0;
}

/* Its link damages or loses frames, one way. */
int
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

/* Somebody took its routes, or its address. */
int
compare_rnic_setup(struct odd_case *c, struct err *err)
{
	uint32_t port = nic(c, err);

	if (port == TOPO_NONE)
		return -EINVAL;
	odd_fault(c, odd_chance(c, 0.5) ? "rnic-no-routes" : "rnic-no-gid", port, compare_start_ns(c), 0, " ");
	return 0;
}

/* 16 to 63 Gbps of 100 are left. */
int
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

int
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

int
compare_host_down(struct odd_case *c, struct err *err)
{
	const char *name = host(c, err);

	if (name == NULL)
		return -EINVAL;
	odd_add(c, ODD_FAULTS, "{ kind = \"host-down\"; host = \"%s\"; start = \"%lluns\"; }", name,
		(unsigned long long)compare_start_ns(c));
	return 0;
}

/* From the job's first step on. */
int
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
 * Its CPU has no time: the second step of every iteration begins 0.5 to 10 ms later, and where there are agents (the row's key
 * probed) completions of its own wait as long.
 */
int
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
