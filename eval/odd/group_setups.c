/* SPDX-License-Identifier: BSD-3-Clause */
/* Networks, hosts and telemetry that are set up in other ways. */
#include <inttypes.h>
#include <stdio.h>

#include "eval/odd/build.h"

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

int
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

int
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

int
odd_k8(struct odd_case *c, struct err *err)
{
	int ret;

	odd_head(c, "topology = { kind = \"fat-tree\"; k = 8; rate = \"100Gbps\"; delay = \"1us\"; };\n");
	odd_collective(c, 16, 128);
	ret = odd_plan(c, err);
	return ret == 0 ? ordinary(c, err) : ret;
}

int
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

int
odd_window(struct odd_case *c, struct err *err)
{
	int ret;

	odd_head(c, "host = { window = \"%.0fB\"; };\n", odd_log(c, 10e3, 60e3));
	ret = odd_plain(c, err);
	return ret == 0 && odd_chance(c, 0.6) ? odd_disturb(c, err) : ret;
}

int
odd_starved(struct odd_case *c, struct err *err)
{
	int ret;

	odd_head(c, "exporter = { budget = \"%.0fB\"; };\n", odd_log(c, 100, 10000));
	ret = odd_plain(c, err);
	return ret == 0 ? ordinary(c, err) : ret;
}
