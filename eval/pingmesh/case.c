/* SPDX-License-Identifier: BSD-3-Clause */
#include "eval/pingmesh/case.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <math.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "common/array.h"
#include "common/err.h"
#include "common/outfile.h"
#include "common/prng.h"
#include "scenario/scenario.h"
#include "topo/route.h"

#define TRIES 1000
#define ROUND 12 /* cases, after which their sorts repeat */
#define RESTARTS 0.25

static const struct {
	const char *name, *topology;
} fabrics[] = {
	{ "leaf-spine", "kind = \"leaf-spine\"; leaves = 4; spines = 4; hosts_per_leaf = 4;" },
	{ "fat-tree", "kind = \"fat-tree\"; k = 4;" },
	{ "rail", "kind = \"rail\"; hosts = 16; nics = 2; hosts_per_group = 4; spines = 4;" },
	{ "one-way", "kind = \"rail\"; hosts = 12; nics = 3; hosts_per_group = 4; spines = 4;" },
	{ "two-nics", NULL }, /* both at one ToR */
};

static void add(char *text, size_t *used, const char *fmt, va_list args) __attribute__((format(printf, 3, 0)));

static void
add(char *text, size_t *used, const char *fmt, va_list args)
{
	*used += (size_t)vsnprintf(text + *used, PM_TEXT - *used, fmt, args);
	assert(*used < PM_TEXT);
}

static void head(struct pm_case *c, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

static void
head(struct pm_case *c, const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	add(c->head, &c->head_used, fmt, args);
	va_end(args);
}

/* ---- for kinds ---- */

double
pm_between(struct pm_case *c, double min, double max)
{
	return min + (max - min) * prng_unit(&c->prng);
}

double
pm_log(struct pm_case *c, double min, double max)
{
	return min * pow(max / min, prng_unit(&c->prng));
}

struct pm_time
pm_time(const struct pm_case *c, double seconds)
{
	struct pm_time time;

	snprintf(time.text, sizeof(time.text), "%.0fns", seconds * c->factor * 1e9);
	return time;
}

void
pm_fault(struct pm_case *c, const struct pm_problem *problem, const char *kind, const char *fmt, ...)
{
	static const char *const texts[] = { "", ",\n" };
	va_list args;

	c->faults_used += (size_t)snprintf(c->faults + c->faults_used, PM_TEXT - c->faults_used,
					   "%s  { kind = \"%s\"; start = \"%s\"; ", texts[c->faults_used != 0], kind,
					   pm_time(c, problem->start_s).text);
	va_start(args, fmt);
	add(c->faults, &c->faults_used, fmt, args);
	va_end(args);
	c->faults_used += (size_t)snprintf(c->faults + c->faults_used, PM_TEXT - c->faults_used, " }");
	assert(c->faults_used < PM_TEXT);
}

static bool
is_host(const struct pm_case *c, uint32_t node)
{
	return c->loaded->topo->nodes[node].kind == TOPO_HOST;
}

/* Has a host, or its links, a problem already? */
static bool
is_taken(const struct pm_case *c, uint32_t host)
{
	const struct topo *topo = c->loaded->topo;

	for (uint32_t i = 0; i < c->nproblems; i++) {
		const struct pm_problem *p = &c->problems[i];

		if (p->node == host ||
		    (p->port != TOPO_NONE && (topo->ports[p->port].node == host || topo->ports[p->port].peer == host)))
			return true;
	}
	return false;
}

uint32_t
pm_free_port(struct pm_case *c, bool of_host)
{
	const struct topo *topo = c->loaded->topo;

	for (uint32_t i = 0; i < TRIES; i++) {
		uint32_t port = (uint32_t)prng_below(&c->prng, topo->nports);
		const struct topo_port *p = &topo->ports[port];
		uint32_t host = is_host(c, p->node) ? p->node : is_host(c, p->peer) ? p->peer : TOPO_NONE;
		bool is_free = (host != TOPO_NONE) == of_host && (host == TOPO_NONE || !is_taken(c, host));

		for (uint32_t k = 0; k < c->nproblems; k++)
			is_free &= c->problems[k].port == TOPO_NONE || topo->ports[c->problems[k].port].link != p->link;
		if (is_free)
			return port;
	}
	return TOPO_NONE;
}

uint32_t
pm_free_host(struct pm_case *c)
{
	const struct topo *topo = c->loaded->topo;

	for (uint32_t i = 0; i < TRIES; i++) {
		uint32_t host = topo->hosts[prng_below(&c->prng, topo->nhosts)];

		if (!is_taken(c, host))
			return host;
	}
	return TOPO_NONE;
}

/* ---- the fabric ---- */

/* Three hosts of two RNICs each at each of four leaves, three spines. */
static void
two_nics(struct pm_case *c)
{
	const uint32_t hosts = 12, leaves = 4, spines = 3;

	head(c, "topology = { kind = \"explicit\"; delay = \"1us\"; rate = \"100Gbps\"; hosts = [");
	for (uint32_t host = 0; host < hosts; host++)
		head(c, "%s \"h%u\"", host != 0 ? "," : "", host);
	head(c, " ]; switches = [");
	for (uint32_t leaf = 0; leaf < leaves; leaf++)
		head(c, " \"l%u\",", leaf);
	for (uint32_t spine = 0; spine < spines; spine++)
		head(c, "%s \"s%u\"", spine != 0 ? "," : "", spine);
	head(c, " ];\n  links = (");
	for (uint32_t host = 0; host < hosts; host++)
		head(c, "%s \"h%u l%u\", \"h%u l%u\"", host != 0 ? "," : "", host, host * leaves / hosts, host,
		     host * leaves / hosts);
	for (uint32_t leaf = 0; leaf < leaves; leaf++)
		for (uint32_t spine = 0; spine < spines; spine++)
			head(c, ", \"l%u s%u\"", leaf, spine);
	head(c, " ); };\n");
}

/* A job of eight hosts that computes most of the time, so that some problems are on the paths of a service. */
static void
job(struct pm_case *c)
{
	uint32_t first = (uint32_t)prng_below(&c->prng, 5);

	head(c,
	     "jobs = ( { name = \"train\"; ranks = [ \"h[%u-%u]\" ]; iterations = 10; compute = \"%s\"; collectives = "
	     "( { name = \"sum\"; op = \"allreduce\"; algorithm = \"ring\"; bytes = \"2MB\"; } ); } );\n",
	     first, first + 7, pm_time(c, PM_DURATION_S / 11).text);
}

static int
make_fabric(struct pm_case *c, struct err *err)
{
	struct scenario_options from = { .path = c->path };
	struct outfile out;
	uint32_t fabric = (uint32_t)prng_below(&c->prng, ARRAY_LEN(fabrics));
	int ret;

	c->fabric = fabrics[fabric].name;
	c->has_job = prng_unit(&c->prng) < 0.3;
	head(c, "// Case %u of seed %" PRIu64 " for R-Pingmesh's analyzer.\nname = \"pingmesh-%03u\";\nseed = %u;\n",
	     c->index, c->seed, c->index, 1 + (uint32_t)prng_below(&c->prng, 1000000));
	if (fabrics[fabric].topology != NULL)
		head(c, "topology = { %s rate = \"100Gbps\"; delay = \"1us\"; };\n", fabrics[fabric].topology);
	else
		two_nics(c);
	head(c, "pingmesh = { enabled = true; time_factor = %g; duration = \"%s\"; rails = %s; };\n", c->factor,
	     pm_time(c, PM_DURATION_S).text, strcmp(c->fabric, "one-way") == 0 ? "true" : "false");
	head(c, "routing = { convergence = \"%s\"; };\n", pm_time(c, PM_CONVERGENCE_S).text);
	head(c, "limits = { virtual_time = \"%s\"; stall = \"%s\"; };\n", pm_time(c, PM_DURATION_S + 1).text,
	     pm_time(c, 2 * PM_DURATION_S).text);
	if (c->has_job)
		job(c);
	ret = outfile_open_path(&out, c->path, err);
	if (ret < 0)
		return ret;
	fputs(c->head, out.file);
	ret = outfile_close(&out, 0, err);
	if (ret < 0)
		return ret;
	c->loaded = scenario_load(&from, err);
	return c->loaded != NULL ? 0 : -EINVAL;
}

/* ---- problems ---- */

static uint32_t
weight_of(const struct pm_case *c, const struct pm_kind *kind, enum pm_class class)
{
	return kind->class == class && (!kind->has_traffic || c->factor != 1) ? kind->weight : 0;
}

static const struct pm_kind *
draw_kind(struct pm_case *c, enum pm_class class)
{
	const struct pm_kind *kind = pm_kinds;
	uint32_t all = 0, at;

	for (; kind->name != NULL; kind++)
		all += weight_of(c, kind, class);
	at = (uint32_t)prng_below(&c->prng, all);
	for (kind = pm_kinds; at >= weight_of(c, kind, class); kind++)
		at -= weight_of(c, kind, class);
	return kind;
}

static int
add_problem(struct pm_case *c, enum pm_class class, struct err *err)
{
	struct pm_problem problem = { .kind = draw_kind(c, class), .port = TOPO_NONE, .node = TOPO_NONE };

	problem.start_s = pm_between(c, PM_PERIOD_S, 2.5 * PM_PERIOD_S);
	if (!problem.kind->inject(c, &problem))
		return err_set(err, -EAGAIN, "no place for a problem: %s", problem.kind->name);
	c->problems[c->nproblems++] = problem;
	return 0;
}

/* The outage is short: for longer it would be a host that is down. */
static void
restart_agent(struct pm_case *c)
{
	uint32_t host = pm_free_host(c);
	struct pm_problem restart = { .start_s = pm_between(c, PM_PERIOD_S, 2.5 * PM_PERIOD_S) };

	if (host == TOPO_NONE)
		return;
	pm_fault(c, &restart, "agent-restart", "host = \"%s\"; duration = \"%s\";", c->loaded->topo->nodes[host].name,
		 pm_time(c, pm_log(c, 0.5, 0.7 * PM_PERIOD_S)).text);
	c->has_restart = true;
}

static int
draw_problems(struct pm_case *c, struct err *err)
{
	uint32_t sort = c->index % ROUND, count = sort < 9 ? 1 : 2 + (uint32_t)prng_below(&c->prng, 2);
	int ret = 0;

	count = sort == 8 ? 0 : count; /* nothing is wrong */
	for (uint32_t i = 0; ret == 0 && i < count; i++) {
		double chance = prng_unit(&c->prng);
		enum pm_class any = chance < 0.5 ? PM_SWITCH : chance < 0.7 ? PM_RNIC : chance < 0.9 ? PM_CPU : PM_HOST;

		ret = add_problem(c, sort < 6 ? PM_SWITCH : sort == 6 ? PM_RNIC : sort == 7 ? PM_CPU : any, err);
	}
	if (ret == 0 && prng_unit(&c->prng) < RESTARTS)
		restart_agent(c);
	return ret;
}

int
pm_case_make(struct pm_case *c, uint64_t seed, uint32_t index, const char *path, struct err *err)
{
	struct outfile out;
	int ret;

	*c = (struct pm_case){ .seed = seed,
			       .index = index,
			       .factor = index % PM_PLAIN_EVERY == PM_PLAIN_EVERY - 1 ? 1 : PM_FACTOR };
	snprintf(c->path, sizeof(c->path), "%s", path);
	prng_init(&c->prng, seed, index);
	ret = make_fabric(c, err);
	if (ret == 0)
		ret = draw_problems(c, err);
	if (ret < 0)
		return ret;
	ret = outfile_open_path(&out, c->path, err);
	if (ret < 0)
		return ret;
	fputs(c->head, out.file);
	if (c->has_job || c->flows_used != 0)
		fprintf(out.file, "host = { retry_count = 255; timeout = \"%s\";%s };\n", pm_time(c, 0.4).text,
			c->flows_used != 0 ? " cc = \"none\"; window = \"256KB\";" : "");
	if (c->flows_used != 0)
		fprintf(out.file, "switch = { buffer = \"32MB\"; };\nflows = (\n%s\n);\n", c->flows);
	if (c->faults_used != 0)
		fprintf(out.file, "faults = (\n%s\n);\n", c->faults);
	return outfile_close(&out, 0, err);
}

void
pm_case_fini(struct pm_case *c)
{
	scenario_destroy(c->loaded);
	c->loaded = NULL;
}

/*
 * Traffic that makes some problems visible: flows from several NICs, each as fast as its window allows, whose paths
 * have no link in common but the one to be congested, and the links after it.
 */

#define TRAFFIC_TRIES 4000
#define MOST_FLOWS 4
#define FIRST_PORT 20000u

struct chosen {
	const struct pm_case *c;
	struct flow flows[MOST_FLOWS];
	struct route_path paths[MOST_FLOWS];
	uint32_t before[MOST_FLOWS]; /* hops of a path until the place */
	uint32_t count;
};

static struct flow
draw_flow(struct pm_case *c)
{
	const struct topo *topo = c->loaded->topo;
	struct flow flow = { .src_node = topo->hosts[prng_below(&c->prng, topo->nhosts)],
			     .dst_node = topo->hosts[prng_below(&c->prng, topo->nhosts)],
			     .sport = (uint16_t)(FIRST_PORT + prng_below(&c->prng, FIRST_PORT)),
			     .dport = 4791 };

	flow.src_nic = (uint16_t)prng_below(&c->prng, topo->nodes[flow.src_node].nports);
	flow.dst_nic = (uint16_t)prng_below(&c->prng, topo->nodes[flow.dst_node].nports);
	flow.src_ip = topo_nic_ip(flow.src_node, flow.src_nic);
	flow.dst_ip = topo_nic_ip(flow.dst_node, flow.dst_nic);
	return flow;
}

/* @return hops until the flow is where it leaves by the port, or could by a poor choice; UINT32_MAX: it is never there */
static uint32_t
hops_until(const struct pm_case *c, const struct flow *flow, const struct route_path *path, uint32_t port, bool could)
{
	const struct topo *topo = c->loaded->topo;

	for (uint32_t i = 0; i < path->hops; i++) {
		struct route_choice choice;

		if (path->ports[i] == port)
			return i;
		if (!could || topo->ports[path->ports[i]].node != topo->ports[port].node ||
		    route_choose(&c->loaded->routing, topo->ports[port].node, flow, false, &choice) != 0)
			continue;
		for (uint32_t m = 0; m < choice.nmembers; m++)
			if (choice.members[m] == topo->ports[port].index)
				return i;
	}
	return UINT32_MAX;
}

static bool
is_apart(const struct chosen *chosen, const struct route_path *path, uint32_t before)
{
	for (uint32_t f = 0; f < chosen->count; f++)
		for (uint32_t a = 0; a < before; a++)
			for (uint32_t b = 0; b < chosen->before[f]; b++)
				if (path->ports[a] == chosen->paths[f].ports[b])
					return false;
	return true;
}

static const char *
nic_name(const struct topo *topo, uint32_t node, uint16_t nic, char buf[64])
{
	return topo_port_name(topo, topo->nodes[node].first_port + nic, buf);
}

static void
put(struct pm_case *c, const struct pm_problem *problem, const struct flow *flow)
{
	const struct topo *topo = c->loaded->topo;
	char from[64], to[64];

	c->flows_used +=
		(size_t)snprintf(c->flows + c->flows_used, PM_TEXT - c->flows_used,
				 "%s  { src = \"%s\"; dst = \"%s\"; sport = %u; bytes = \"4MB\"; mode = \"repeat\"; start "
				 "= \"%s\"; until = \"%s\"; }",
				 c->flows_used != 0 ? ",\n" : "", nic_name(topo, flow->src_node, flow->src_nic, from),
				 nic_name(topo, flow->dst_node, flow->dst_nic, to), flow->sport,
				 pm_time(c, problem->start_s).text, pm_time(c, PM_DURATION_S).text);
}

bool
pm_traffic(struct pm_case *c, const struct pm_problem *problem, uint32_t port, uint32_t least, bool could)
{
	struct chosen chosen = { .c = c };

	for (uint32_t i = 0; i < TRAFFIC_TRIES && chosen.count < MOST_FLOWS; i++) {
		struct flow flow = draw_flow(c);
		struct route_path *path = &chosen.paths[chosen.count];

		if (flow.src_node == flow.dst_node || route_flow_path(&c->loaded->routing, &flow, false, path) != 0)
			continue;
		chosen.before[chosen.count] = hops_until(c, &flow, path, port, could);
		if (chosen.before[chosen.count] == UINT32_MAX || !is_apart(&chosen, path, chosen.before[chosen.count]))
			continue;
		chosen.flows[chosen.count++] = flow;
	}
	for (uint32_t i = 0; chosen.count >= least && i < chosen.count; i++)
		put(c, problem, &chosen.flows[i]);
	return chosen.count >= least;
}
