/* SPDX-License-Identifier: BSD-3-Clause */
/* The helpers of groups that make cases. */
#include "eval/odd/odd.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <math.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "common/array.h"
#include "common/err.h"
#include "common/outfile.h"
#include "common/prng.h"
#include "common/units.h"
#include "scenario/scenario.h"
#include "workload/plan.h"

#define TRIES 20000
#define FIRST_SPORT 30000

uint32_t
odd_pick(struct odd_case *c, uint32_t min, uint32_t max)
{
	return min + (uint32_t)prng_below(&c->prng, max - min + 1);
}

double
odd_log(struct odd_case *c, double min, double max)
{
	return min * pow(max / min, prng_unit(&c->prng));
}

bool
odd_chance(struct odd_case *c, double probability)
{
	return prng_unit(&c->prng) < probability;
}

static uint64_t
between(struct odd_case *c, double factor, double min, double max)
{
	uint64_t amount = (uint64_t)(factor * (min + prng_unit(&c->prng) * (max - min)));

	return amount > 0 ? amount : 1;
}

uint64_t
odd_bytes(struct odd_case *c, double min_bytes, double max_bytes)
{
	return between(c, c->scale, min_bytes, max_bytes);
}

uint64_t
odd_part_ns(struct odd_case *c, double min, double max)
{
	return between(c, (double)c->span_ns, min, max);
}

void
odd_head(struct odd_case *c, const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	c->used += (size_t)vsnprintf(c->head + c->used, sizeof(c->head) - c->used, fmt, args);
	va_end(args);
	assert(c->used < sizeof(c->head));
}

static void append(struct odd_case *c, enum odd_list list, const char *fmt, va_list args)
	__attribute__((format(printf, 3, 0)));

static void
append(struct odd_case *c, enum odd_list list, const char *fmt, va_list args)
{
	size_t used = c->lists[list].used;

	used += (size_t)vsnprintf(c->lists[list].text + used, ODD_LIST - used, fmt, args);
	assert(used < ODD_LIST);
	c->lists[list].used = used;
}

void
odd_more(struct odd_case *c, enum odd_list list, const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	append(c, list, fmt, args);
	va_end(args);
}

void
odd_add(struct odd_case *c, enum odd_list list, const char *fmt, ...)
{
	va_list args;

	odd_more(c, list, "%s  ", c->lists[list].count++ != 0 ? ",\n" : "");
	va_start(args, fmt);
	append(c, list, fmt, args);
	va_end(args);
}

void
odd_network(struct odd_case *c)
{
	if (odd_chance(c, 0.5))
		odd_head(c, "topology = { kind = \"fat-tree\"; k = 4; rate = \"100Gbps\"; delay = \"%uus\"; };\n",
			 odd_pick(c, 1, 2));
	else
		odd_head(c,
			 "topology = { kind = \"leaf-spine\"; leaves = 4; spines = %u; hosts_per_leaf = 4; rate = "
			 "\"100Gbps\"; delay = \"%uus\"; };\n",
			 odd_pick(c, 2, 4), odd_pick(c, 1, 2));
}

void
odd_shuffle(struct odd_case *c, uint32_t *nodes, uint32_t hosts)
{
	for (uint32_t i = 0; i < hosts; i++)
		nodes[i] = i;
	for (uint32_t i = hosts; i > 1; i--) {
		uint32_t other = (uint32_t)prng_below(&c->prng, i), node = nodes[i - 1];

		nodes[i - 1] = nodes[other];
		nodes[other] = node;
	}
}

void
odd_collective(struct odd_case *c, uint32_t ranks, uint32_t hosts)
{
	static const char *const kinds[] = { "op = \"allgather\"; algorithm = \"ring\"",
					     "op = \"allreduce\"; algorithm = \"ring\"",
					     "op = \"reducescatter\"; algorithm = \"ring\"",
					     "op = \"alltoall\"; algorithm = \"pairwise\"" };
	uint32_t nodes[128];

	assert(ranks <= hosts && hosts <= ARRAY_LEN(nodes));
	odd_shuffle(c, nodes, hosts);
	odd_head(c, "collectives = (\n  { %s; bytes = \"%" PRIu64 "B\"; ranks = [",
		 kinds[odd_pick(c, 0, ARRAY_LEN(kinds) - 1)], 4 * ((ranks * odd_bytes(c, 5 * ODD_MB, 20 * ODD_MB)) / 4));
	for (uint32_t i = 0; i < ranks; i++)
		odd_head(c, "%s \"h%u\"", i != 0 ? "," : "", nodes[i]);
	odd_head(c, " ]; }\n);\n");
}

int
odd_plain(struct odd_case *c, struct err *err)
{
	odd_network(c);
	odd_collective(c, odd_pick(c, 4, 8), ODD_HOSTS);
	return odd_plan(c, err);
}

static int
write_case(const struct odd_case *c, struct err *err)
{
	static const char *const names[] = {
		[ODD_FLOWS] = "flows", [ODD_FAULTS] = "faults", [ODD_GENERATORS] = "generators", [ODD_PATHS] = "paths"
	};
	struct outfile out;
	int ret = outfile_open_path(&out, c->path, err);

	if (ret < 0)
		return ret;
	fputs(c->head, out.file);
	for (size_t i = 0; i < ODD_LISTS; i++)
		if (c->lists[i].count != 0)
			fprintf(out.file, "%s = (\n%s\n);\n", names[i], c->lists[i].text);
	return outfile_close(&out, 0, err);
}

/* Settings that are a cause are right already: their groups look whether they make a clean case. */
static void
leave_out_causes(struct odd_case *c)
{
	c->lists[ODD_FLOWS].count = c->lists[ODD_FAULTS].count = c->lists[ODD_GENERATORS].count = 0;
	c->remedy[0] = '\0';
}

static struct scenario *
load(const struct odd_case *c, struct err *err)
{
	struct scenario_options options = { .path = c->path };

	return scenario_load(&options, err);
}

int
odd_plan(struct odd_case *c, struct err *err)
{
	const struct plan *plan;
	int ret = write_case(c, err);

	if (ret < 0)
		return ret;
	c->loaded = load(c, err);
	if (c->loaded == NULL)
		return -EINVAL;
	plan = c->loaded->plan;
	for (uint32_t i = 0; i < plan->ncollectives; i++)
		if (plan->collectives[i].job == 0)
			c->span_ns += plan->collectives[i].expect_ps / PS_PER_NS * plan->collectives[i].iterations;
	return 0;
}

int
odd_make(struct odd_case *c, const struct odd_group *group, uint64_t seed, uint32_t index, double scale, const char *path,
	 struct err *err)
{
	uint64_t stream = index;
	struct scenario *whole = NULL;
	int ret;

	for (const char *p = group->clean_of != NULL ? group->clean_of : group->name; *p != '\0'; p++)
		stream = stream * 1099511628211u + (uint64_t)*p; /* FNV-1's prime */
	*c = (struct odd_case){ .group = group, .seed = seed, .index = index, .scale = scale };
	snprintf(c->path, sizeof(c->path), "%s", path);
	prng_init(&c->prng, seed, stream);
	odd_head(c, "// Case %u of group %s, seed %" PRIu64 ", scale %g: %s.\n", index, group->name, seed, scale,
		 group->doc);
	odd_head(c, "name = \"%s-%03u\";\nseed = %u;\nlimits = { %s; };\n", group->name, index, odd_pick(c, 1, 1000000),
		 group->limits != NULL ? group->limits : "stall = \"300ms\"");
	odd_head(c, "telemetry = { epoch = \"%s\"; };\n", odd_chance(c, 0.5) ? "100us" : "1ms");
	ret = group->make(c, err);
	if (group->clean_of != NULL)
		leave_out_causes(c);
	if (ret == 0)
		ret = write_case(c, err);
	scenario_destroy(c->loaded);
	c->loaded = NULL;
	if (ret == 0)
		whole = load(c, err);
	if (ret == 0 && whole == NULL)
		ret = -EINVAL;
	scenario_destroy(whole);
	return ret;
}

const struct flow *
odd_send(struct odd_case *c)
{
	const struct plan *plan = c->loaded->plan;
	const struct plan_collective *of = &plan->collectives[0];

	return &plan->flows.flows[of->first_flow + odd_pick(c, 0, of->nflows - 1)];
}

void
odd_path(const struct odd_case *c, const struct flow *flow, bool reverse, struct route_path *path)
{
	int ret = route_flow_path(&c->loaded->routing, flow, reverse, path);

	assert(ret == 0);
	(void)ret;
}

uint32_t
odd_port(struct odd_case *c)
{
	struct route_path path;

	odd_path(c, odd_send(c), false, &path);
	return path.ports[odd_pick(c, 0, path.hops - 1)];
}

static bool
is_trunk(const struct topo *topo, uint32_t port)
{
	return topo->nodes[topo->ports[port].node].kind == TOPO_SWITCH &&
	       topo->nodes[topo->ports[port].peer].kind == TOPO_SWITCH;
}

uint32_t
odd_trunk(struct odd_case *c)
{
	for (uint32_t i = 0; i < TRIES; i++) {
		uint32_t port = odd_port(c);

		if (is_trunk(c->loaded->topo, port))
			return port;
	}
	return TOPO_NONE;
}

const char *
odd_port_name(const struct odd_case *c, uint32_t port, char *buf)
{
	return topo_port_name(c->loaded->topo, port, buf);
}

static bool
crosses(const struct odd_case *c, const struct flow *flow, bool reverse, uint32_t port)
{
	struct route_path path;

	odd_path(c, flow, reverse, &path);
	for (uint32_t hop = 0; hop < path.hops; hop++)
		if (path.ports[hop] == port)
			return true;
	return false;
}

int
odd_crossing(struct odd_case *c, uint32_t port, const struct odd_flow *flow, struct err *err)
{
	const struct topo *topo = c->loaded->topo;
	char name[64];

	for (uint32_t i = 0; i < TRIES; i++) {
		uint32_t src = topo->hosts[odd_pick(c, 0, topo->nhosts - 1)],
			 dst = topo->hosts[odd_pick(c, 0, topo->nhosts - 1)];
		uint16_t nics[2] = { (uint16_t)odd_pick(c, 0, topo->nodes[src].nports - 1), 0 };
		const struct flow tried = {
			.src_node = src,
			.dst_node = dst,
			.src_nic = nics[0],
			.dst_nic = nics[1] = (uint16_t)odd_pick(c, 0, topo->nodes[dst].nports - 1),
			.src_ip = topo_nic_ip(src, nics[0]),
			.dst_ip = topo_nic_ip(dst, nics[1]),
			.sport = (uint16_t)(FIRST_SPORT + 64 * c->flows + odd_pick(c, 0, 63)),
			.dport = ROCEV2_UDP_PORT,
		};

		if (src == dst || !crosses(c, &tried, flow->reverse, port))
			continue;
		c->flows++;
		odd_add(c, ODD_FLOWS,
			"{ src = \"%s:%u\"; dst = \"%s:%u\"; sport = %u; bytes = \"%" PRIu64 "B\"; start = \"%" PRIu64
			"ns\"; prio = %d; }",
			topo->nodes[src].name, nics[0] + 1u, topo->nodes[dst].name, nics[1] + 1u, tried.sport, flow->bytes,
			flow->start_ns, flow->prio);
		return 0;
	}
	return err_set(err, -EAGAIN, "no flow of two hosts crosses %s", odd_port_name(c, port, name));
}

int
odd_disturb(struct odd_case *c, struct err *err)
{
	struct odd_flow flow = { .prio = -1,
				 .bytes = odd_bytes(c, 2 * ODD_MB, 40 * ODD_MB),
				 .start_ns = odd_part_ns(c, 0, 0.7) };

	return odd_crossing(c, odd_port(c), &flow, err);
}

void
odd_fault(struct odd_case *c, const char *kind, uint32_t port, uint64_t start_ns, uint64_t duration_ns, const char *fmt,
	  ...)
{
	char more[128], name[64];
	va_list args;

	va_start(args, fmt);
	vsnprintf(more, sizeof(more), fmt, args);
	va_end(args);
	odd_add(c, ODD_FAULTS,
		"{ kind = \"%s\"; port = \"%s\"; start = \"%" PRIu64 "ns\"; duration = \"%" PRIu64 "ns\"; %s}", kind,
		odd_port_name(c, port, name), start_ns, duration_ns, more);
}

void
odd_fault_sometime(struct odd_case *c, const char *kind, uint32_t port, const char *more)
{
	if (odd_chance(c, 0.5))
		odd_fault(c, kind, port, 0, 0, "%s", more);
	else
		odd_fault(c, kind, port, odd_part_ns(c, 0, 0.5), odd_part_ns(c, 0.2, 1), "%s", more);
}

void
odd_storm(struct odd_case *c, uint64_t start_ns, uint64_t duration_ns, int priority)
{
	odd_fault(c, "pfc-storm", c->loaded->topo->ports[odd_port(c)].peer_port, start_ns, duration_ns, "priority = %d; ",
		  priority);
}
