/* SPDX-License-Identifier: BSD-3-Clause */
#include "eval/disturb.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "common/array.h"
#include "common/hash.h"
#include "common/outfile.h"
#include "common/units.h"

#define RATE_DELAY "rate = \"100Gbps\"; delay = \"1us\"; };\n"
#define MAX_RANKS 8
/* So long a collective takes alone, about: a few hundredths of the paper's. */
#define MIN_STEP_BYTES 2e6
#define MAX_STEP_BYTES 6e6

const struct disturb_fabric disturb_fabrics[] = {
	{ "fat-tree", "topology = { kind = \"fat-tree\"; k = 4; " RATE_DELAY, 16, 1 },
	{ "leaf-spine", "topology = { kind = \"leaf-spine\"; leaves = 4; spines = 2; hosts_per_leaf = 4; " RATE_DELAY, 16,
	  1 },
	{ "rail", "topology = { kind = \"rail\"; hosts = 8; nics = 2; hosts_per_group = 4; spines = 2; " RATE_DELAY, 8, 2 },
	{ NULL, NULL, 0, 0 },
};

const struct disturb_fabric *
disturb_fabric_of(uint32_t index)
{
	return &disturb_fabrics[index % (ARRAY_LEN(disturb_fabrics) - 1)];
}

static double
between(struct disturb_case *c, double min, double max)
{
	return min + prng_unit(&c->prng) * (max - min);
}

/* As likely between 1 and 10 as between 10 and 100. */
static double
log_between(struct disturb_case *c, double min, double max)
{
	return min * pow(max / min, prng_unit(&c->prng));
}

static uint32_t
pick(struct disturb_case *c, uint32_t count)
{
	return (uint32_t)prng_below(&c->prng, count);
}

/* An end of a flow. @param buf  of 32 @return buf */
static char *
any_end(struct disturb_case *c, char *buf)
{
	uint32_t host = pick(c, c->fabric->hosts), nic = pick(c, c->fabric->nics);

	snprintf(buf, 32, c->fabric->nics > 1 ? "h%u:%u" : "h%u", host, nic + 1);
	return buf;
}

/* Different hosts in their order, as rings are laid, at one of their NICs: [ "h0", "h3", ... ]. */
static void
any_ranks(struct disturb_case *c, uint32_t ranks, char *buf, size_t cap)
{
	uint32_t nic = 1 + pick(c, c->fabric->nics), left = ranks;
	size_t used = 0;

	for (uint32_t host = 0; host < c->fabric->hosts && left > 0; host++) {
		if (pick(c, c->fabric->hosts - host) >= left)
			continue;
		used += (size_t)snprintf(buf + used, cap - used, left-- != ranks ? ", \"h%u" : "[ \"h%u", host);
		if (c->fabric->nics > 1)
			used += (size_t)snprintf(buf + used, cap - used, ":%u", nic);
		used += (size_t)snprintf(buf + used, cap - used, "\"");
	}
	snprintf(buf + used, cap - used, " ]");
}

/* A port that data of the collective leaves by: of a flow and a hop of it. */
static uint32_t
any_port(struct disturb_case *c)
{
	const struct plan_collective *main = &c->quiet->plan->collectives[0];
	struct route_path path;

	if (scenario_path(c->quiet, main->first_flow + pick(c, main->nflows), false, &path) < 0)
		return 0;
	return path.ports[pick(c, path.hops)];
}

static unsigned long long
any_start_ns(struct disturb_case *c)
{
	return (unsigned long long)between(c, 0, 0.7 * (double)c->quiet_ns);
}

static void __attribute__((format(printf, 3, 4)))
add(char groups[DISTURB_MAX][DISTURB_TEXT], uint32_t *count, const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	vsnprintf(groups[(*count)++], DISTURB_TEXT, fmt, args);
	va_end(args);
}

static void
add_flow(struct disturb_case *c)
{
	char src[32], dst[32];

	any_end(c, src);
	do
		any_end(c, dst);
	while (strncmp(src, dst, strcspn(src, ":")) == 0);
	add(c->groups.flows, &c->groups.nflows,
	    "{ src = \"%s\"; dst = \"%s\"; sport = %u; bytes = \"%.0fB\"; start = \"%lluns\"; }", src, dst,
	    20000 + 1000 * c->groups.nflows + pick(c, 1000), log_between(c, 3e6, 40e6), any_start_ns(c));
}

static void
add_job(struct disturb_case *c)
{
	char ranks[160];
	uint32_t number = c->groups.njobs, count = 2 + pick(c, 3);

	any_ranks(c, count, ranks, sizeof(ranks));
	add(c->groups.jobs, &c->groups.njobs,
	    "{ name = \"other%u\"; ranks = %s; start = \"%lluns\"; iterations = %u;\n"
	    "    collectives = ( { op = \"allreduce\"; bytes = \"%.0fB\"; sport = %u; } ); }",
	    number, ranks, any_start_ns(c), 1 + pick(c, 3), 4 * floor(log_between(c, 1e6, 16e6) / 4), 12000 + 100 * number);
}

static void
add_storm(struct disturb_case *c)
{
	const struct topo *topo = c->quiet->topo;
	char port[64];

	topo_port_name(topo, topo->ports[any_port(c)].peer_port, port);
	add(c->groups.faults, &c->groups.nfaults,
	    "{ kind = \"pfc-storm\"; port = \"%s\"; start = \"%lluns\"; duration = \"%.0fns\"; }", port, any_start_ns(c),
	    log_between(c, 0.02, 0.5) * (double)c->quiet_ns);
}

static void
add_loss(struct disturb_case *c)
{
	char port[64];

	topo_port_name(c->quiet->topo, any_port(c), port);
	add(c->groups.faults, &c->groups.nfaults, "{ kind = \"loss\"; port = \"%s\"; rate = %.3g; }", port,
	    log_between(c, 1e-4, 1e-2));
}

static void
add_delay(struct disturb_case *c)
{
	char port[64];

	topo_port_name(c->quiet->topo, any_port(c), port);
	add(c->groups.faults, &c->groups.nfaults, "{ kind = \"delay\"; port = \"%s\"; extra = \"%.0fns\"; }", port,
	    log_between(c, 5e3, 100e3));
}

/* A rank of the collective is late in one step, or a little in all. */
static void
add_slow_host(struct disturb_case *c)
{
	const struct plan_collective *main = &c->quiet->plan->collectives[0];
	uint32_t steps = coll_max_steps(main->schedule);
	const char *host = c->quiet->topo->nodes[main->ranks[pick(c, main->schedule->ranks)].node].name;

	if (pick(c, 2) == 0)
		add(c->groups.faults, &c->groups.nfaults,
		    "{ kind = \"slow-host\"; host = \"%s\"; collective = 0; step = %u; delay = \"%.0fns\"; }", host,
		    1 + pick(c, steps), log_between(c, 0.02, 0.4) * (double)c->quiet_ns);
	else
		add(c->groups.faults, &c->groups.nfaults,
		    "{ kind = \"slow-host\"; host = \"%s\"; collective = 0; delay = \"%.0fns\"; }", host,
		    log_between(c, 0.002, 0.04) * (double)c->quiet_ns);
}

/* Every second one is a flow: that is what most often shares a fabric. */
static void (*const kinds[])(struct disturb_case *) = { add_flow, add_job, add_storm, add_loss, add_delay, add_slow_host };

static void
write_list(FILE *to, const char *key, char groups[DISTURB_MAX][DISTURB_TEXT], uint32_t count)
{
	if (count == 0)
		return;
	fprintf(to, "%s = (\n", key);
	for (uint32_t i = 0; i < count; i++)
		fprintf(to, "  %s%s\n", groups[i], i + 1 < count ? "," : "");
	fprintf(to, ");\n");
}

static int
write_case(struct disturb_case *c, const char *collective, const char *dir, struct outfile *out, struct err *err)
{
	int ret = outfile_open(out, dir, "case.cfg", err);

	if (ret < 0)
		return ret;
	fprintf(out->file,
		"// Case %u of seed %" PRIu64 ", %s. Written by rocelab eval counterfactual.\n"
		"name = \"case-%u\";\nseed = %" PRIu64 "L;\n%shost = { timeout = \"1ms\"; };\n"
		"telemetry = { epoch = \"100us\"; };\n%s",
		c->index, c->seed, c->fabric->name, c->index, (c->seed * 1000000 + c->index) % PRNG_SEEDS,
		c->fabric->topology, collective);
	write_list(out->file, "flows", c->groups.flows, c->groups.nflows);
	write_list(out->file, "jobs", c->groups.jobs, c->groups.njobs);
	write_list(out->file, "faults", c->groups.faults, c->groups.nfaults);
	return outfile_close(out, 0, err);
}

/* The collective whose time counts: a ring or halving and doubling, of 4 or 8 ranks, anywhere. */
static void
make_collective(struct disturb_case *c, char *buf, size_t cap)
{
	static const char *const algorithms[][2] = { { "allgather", "ring" },
						     { "allreduce", "ring" },
						     { "allreduce", "halving-doubling" } };
	uint32_t algorithm = pick(c, ARRAY_LEN(algorithms)), ranks = pick(c, 2) == 0 ? MAX_RANKS / 2 : MAX_RANKS;
	double bytes = between(c, MIN_STEP_BYTES, MAX_STEP_BYTES) * ranks / (algorithm == 0 ? 1 : 2);
	char list[160];

	any_ranks(c, ranks, list, sizeof(list));
	snprintf(buf, cap,
		 "collectives = ( { name = \"main\"; op = \"%s\"; algorithm = \"%s\"; bytes = \"%.0fB\"; sport = 10000;\n"
		 "  ranks = %s; } );\n",
		 algorithms[algorithm][0], algorithms[algorithm][1], 64 * floor(bytes / 64), list);
}

int
disturb_write(uint64_t seed, uint32_t index, const char *dir, struct err *err)
{
	struct disturb_case c = { .seed = seed, .index = index };
	struct scenario *quiet;
	struct outfile out;
	char collective[512];
	uint32_t causes;
	int ret;

	prng_init(&c.prng, seed, digest_u64(digest_u64(DIGEST_INIT, 0x636175736573ULL), index));
	c.fabric = disturb_fabric_of(index);
	make_collective(&c, collective, sizeof(collective));
	ret = write_case(&c, collective, dir, &out, err);
	if (ret < 0)
		return ret;
	c.quiet = quiet = scenario_load(&(struct scenario_options){ .path = out.path }, err);
	if (quiet == NULL)
		return -EINVAL;
	c.quiet_ns = quiet->plan->collectives[0].expect_ps / PS_PER_NS;
	causes = DISTURB_MIN + pick(&c, DISTURB_MAX - DISTURB_MIN + 1);
	for (uint32_t i = 0; i < causes; i++)
		kinds[pick(&c, 2) == 0 ? 0 : pick(&c, ARRAY_LEN(kinds))](&c);
	ret = write_case(&c, collective, dir, &out, err);
	scenario_destroy(quiet);
	return ret;
}
