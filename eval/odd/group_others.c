/* SPDX-License-Identifier: BSD-3-Clause */
/* Traffic of others, in other classes and of other kinds. */
#include <inttypes.h>
#include <math.h>

#include "common/array.h"
#include "eval/odd/build.h"

#define MICE 12 /* flows, at least, on average */

int
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

int
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

int
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

int
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
