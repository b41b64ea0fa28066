/* SPDX-License-Identifier: BSD-3-Clause */
#include "eval/case.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <jansson.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "collectives/schedule.h"
#include "common/err.h"
#include "common/hash.h"
#include "common/outfile.h"
#include "common/prng.h"
#include "common/units.h"
#include "emulation/outputs/outputs.h"
#include "eval/place.h"
#include "scenario/scenario.h"
#include "workload/plan.h"

/* 2 us a link as in IV-A of the paper. */
#define FAT_TREE(k, rate) "topology = { kind = \"fat-tree\"; k = " k "; rate = \"" rate "\"; delay = \"2us\"; };\n"
/* 8 hosts share two uplinks of the rate of their own links. */
#define LEAF_SPINE                                                                                                         \
	"topology = { kind = \"leaf-spine\"; leaves = 8; spines = 2; hosts_per_leaf = 8; oversubscription = 4.0;\n"        \
	"             rate = \"100Gbps\"; delay = \"2us\"; };\n"
/*
 * Buffers as in the paper's public simulator: beside every port's headroom and reserve, a pool of 0.7 MB, in proportion
 * to rate. The share of the pool that one ingress may use before it pauses must be less than a flow's window, or no
 * pause spreads. Headroom is a switch's default by rate, delay and frame: 75 kB here.
 */
#define BUFFER(size) "switch = { profile = \"ns3\"; buffer = \"" size "\"; };\n"
#define RING .op = COLL_ALLGATHER, .algorithm = COLL_RING
#define PAPERS RING, .ranks = 8, .is_papers = true

static const struct shape shape_table[] = {
	{ .name = "paper",
	  .doc = "the paper's: fat-tree K=4, 16 hosts, 100 Gbps, Ring AllGather of 8 ranks",
	  .fabric = FAT_TREE("4", "100Gbps") BUFFER("1000KiB"),
	  .host = "",
	  PAPERS },
	{ .name = "halving-doubling",
	  .doc = "the paper's fabric, halving-doubling AllReduce of 8 ranks",
	  .fabric = FAT_TREE("4", "100Gbps") BUFFER("1000KiB"),
	  .host = "",
	  .op = COLL_ALLREDUCE,
	  .algorithm = COLL_HALVING_DOUBLING,
	  .ranks = 8 },
	{ .name = "k6",
	  .doc = "fat-tree K=6, 54 hosts",
	  .fabric = FAT_TREE("6", "100Gbps") BUFFER("1155KiB"),
	  .host = "",
	  RING,
	  .ranks = 8 },
	{ .name = "ranks16",
	  .doc = "16 ranks, on fat-tree K=6: with K=4 no host would be left for others",
	  .fabric = FAT_TREE("6", "100Gbps") BUFFER("1155KiB"),
	  .host = "",
	  RING,
	  .ranks = 16 },
	{ .name = "leaf-spine",
	  .doc = "8 leaves of 8 hosts, 2 spines, 4:1 oversubscribed",
	  .fabric = LEAF_SPINE BUFFER("1465KiB"),
	  .host = "",
	  RING,
	  .ranks = 8 },
	{ .name = "25g",
	  .doc = "links of 25 Gbps, a quarter of the buffers",
	  .fabric = FAT_TREE("4", "25Gbps") BUFFER("250KiB"),
	  .host = "",
	  PAPERS },
	{ .name = "400g",
	  .doc = "links of 400 Gbps, four times the buffers",
	  .fabric = FAT_TREE("4", "400Gbps") BUFFER("4000KiB"),
	  .host = "",
	  PAPERS },
	{ .name = "dynamic-alpha",
	  .doc = "an ingress may use a quarter of the free pool before it pauses, not an eighth",
	  .fabric = FAT_TREE("4",
			     "100Gbps") "switch = { profile = \"ns3\"; buffer = \"1000KiB\"; pfc = { alpha = 0.25; }; };\n",
	  .host = "",
	  PAPERS },
	{ .name = "no-dcqcn",
	  .doc = "senders do not react to ECN",
	  .fabric = FAT_TREE("4", "100Gbps") BUFFER("1000KiB"),
	  .host = " cc = \"none\";",
	  PAPERS },
	{ .name = NULL },
};

const struct shape *const shapes = shape_table;

const struct shape *
shape_find(const char *name)
{
	for (const struct shape *shape = shapes; shape->name != NULL; shape++)
		if (strcmp(shape->name, name) == 0)
			return shape;
	return NULL;
}

static void
add_send(struct shape_sends *sends, uint32_t from, uint32_t to, uint32_t step)
{
	for (uint32_t i = 0; i < sends->count; i++)
		if (sends->at[i].from == from && sends->at[i].to == to)
			return;
	assert(sends->count < SHAPE_MAX_SENDS);
	sends->at[sends->count].from = from;
	sends->at[sends->count].to = to;
	sends->at[sends->count++].step = step;
}

int
shape_sends(const struct shape *shape, struct shape_sends *sends)
{
	struct err err = { 0 };
	struct coll_schedule *schedule = coll_schedule_create(&(struct coll_params){ .op = shape->op,
										     .algorithm = shape->algorithm,
										     .ranks = shape->ranks,
										     .count_elems = shape->ranks },
							      &err);

	*sends = (struct shape_sends){ 0 };
	if (schedule == NULL)
		return -ENOMEM;
	sends->steps = coll_max_steps(schedule);
	for (uint32_t rank = 0; rank < shape->ranks; rank++)
		for (uint32_t step = 1; step <= coll_steps(schedule, rank); step++)
			add_send(sends, rank, coll_step_get(schedule, rank, step).peer, step);
	coll_schedule_destroy(schedule);
	return 0;
}

static uint64_t
case_stream(const char *draws, uint32_t index, uint32_t attempt)
{
	uint64_t stream = DIGEST_INIT;

	for (const char *p = draws; *p != '\0'; p++)
		stream = digest_u64(stream, (uint64_t)*p);
	return digest_u64(stream, (uint64_t)index << 32 | attempt);
}

int
case_init(struct eval_case *c, const struct family *family, uint32_t index, uint32_t attempt,
	  const struct case_source *source)
{
	*c = (struct eval_case){
		.family = family,
		.index = index,
		.attempt = attempt,
		.source = source,
		.timeout = "0ps", /* as in the paper's simulator: senders never time out */
		.routing = source->network->routing,
		.anomalies = json_array(),
	};
	prng_init(&c->prng, source->seed, case_stream(family->draws, index, attempt));
	c->run_seed = prng_below(&c->prng, 1000000);
	c->routing.seed = c->run_seed;
	c->routing.pins = NULL;
	if (c->anomalies == NULL)
		return -ENOMEM;
	if (shape_sends(source->shape, &c->sends) < 0) {
		case_fini(c);
		return -ENOMEM;
	}
	place_apart(c);
	return 0;
}

void
case_fini(struct eval_case *c)
{
	json_decref(c->anomalies);
	c->anomalies = NULL;
}

double
case_stretch(const struct case_source *source)
{
	const struct topo *topo = source->network->topo;

	return source->scale * CASE_RATE_BPS / (double)topo_port_of(topo, topo->hosts[0], 0)->rate_bps;
}

static uint64_t
between(struct eval_case *c, double factor, double min, double max)
{
	uint64_t amount = (uint64_t)(factor * (min + prng_unit(&c->prng) * (max - min)));

	return amount > 0 ? amount : 1;
}

uint64_t
case_bytes(struct eval_case *c, double min_bytes, double max_bytes)
{
	return between(c, c->source->scale, min_bytes, max_bytes);
}

uint64_t
case_time_ns(struct eval_case *c, double min_ns, double max_ns)
{
	return between(c, case_stretch(c->source), min_ns, max_ns);
}

uint32_t
case_pick(struct eval_case *c, uint32_t min, uint32_t max)
{
	return min + (uint32_t)prng_below(&c->prng, max - min + 1);
}

struct case_flow *
case_add_flow(struct eval_case *c, uint32_t src, uint32_t dst, uint16_t sport, uint64_t bytes, uint64_t start_ns)
{
	struct case_flow *flow = &c->flows[c->nflows];

	assert(c->nflows < CASE_MAX_FLOWS);
	*flow = (struct case_flow){ src, dst, sport != 0 ? sport : (uint16_t)(CASE_FIRST_SPORT + c->nflows), bytes,
				    start_ns };
	c->nflows++;
	return flow;
}

void
case_add_fault(struct eval_case *c, const char *fmt, ...)
{
	va_list args;

	assert(c->nfaults < CASE_MAX_FAULTS);
	va_start(args, fmt);
	vsnprintf(c->faults[c->nfaults++], sizeof(c->faults[0]), fmt, args);
	va_end(args);
}

void
case_add_pin(struct eval_case *c, uint32_t src, uint32_t dst, const uint32_t *ports, uint32_t count)
{
	const struct topo *topo = c->routing.topo;
	char *text = c->pins[c->npins];
	size_t cap = sizeof(c->pins[0]), used;

	assert(c->npins < CASE_MAX_PINS);
	c->npins++;
	used = (size_t)snprintf(text, cap, "{ src = \"%s\"; dst = \"%s\"; data = [", topo->nodes[src].name,
				topo->nodes[dst].name);
	for (uint32_t i = 0; i < count; i++) {
		char port[64];

		used += (size_t)snprintf(text + used, cap - used, "%s \"%s\"", i != 0 ? "," : "",
					 topo_port_name(topo, ports[i], port));
		assert(used < cap);
	}
	used += (size_t)snprintf(text + used, cap - used, " ]; }");
	assert(used < cap);
}

void
case_add_anomaly(struct eval_case *c, json_t *anomaly)
{
	json_array_append_new(c->anomalies, anomaly);
}

char *
case_flow_name(const struct eval_case *c, const struct case_flow *flow, char *buf)
{
	const struct topo_node *nodes = c->routing.topo->nodes;

	snprintf(buf, CASE_NAME, "%s->%s/%u>%u", nodes[flow->src].name, nodes[flow->dst].name, flow->sport,
		 ROCEV2_UDP_PORT);
	return buf;
}

/* A case as files: the scenario, and its intended anomalies. */

/* A scenario without traffic is refused. */
#define ANY_TRAFFIC "collectives = ( { step_bytes = \"1MB\"; } );\n"
/* Longer than any pause that a run recovers from: timeouts do not scale, faults do. */
#define STALL_NS 2e8
#define STALL_SCALED_NS 5e8

static void
write_list(FILE *to, const char *key, const char *groups, size_t width, uint32_t count)
{
	if (count == 0)
		return;
	fprintf(to, "%s = (\n", key);
	for (uint32_t i = 0; i < count; i++)
		fprintf(to, "  %s%s\n", groups + i * width, i + 1 < count ? "," : "");
	fprintf(to, ");\n");
}

/* The collective's data: a ring as in the paper, by step; others the same bytes as a ring of that step. */
static void
write_size(const struct eval_case *c, FILE *to)
{
	const struct shape *shape = c->source->shape;
	double step_bytes = CASE_STEP_BYTES * c->source->scale;

	if (coll_block_steps(shape->algorithm, shape->op))
		fprintf(to, "step_bytes = \"%.0fB\"", step_bytes);
	else
		fprintf(to, "bytes = \"%.0fB\"", shape->ranks * step_bytes);
}

static void
write_scenario(const struct eval_case *c, FILE *to)
{
	const struct topo_node *nodes = c->routing.topo->nodes;
	const struct shape *shape = c->source->shape;
	double stretch = case_stretch(c->source);
	char flows[CASE_MAX_FLOWS][192];

	fprintf(to, "// Case %u of family %s, shape %s, seed %" PRIu64 ", attempt %u, scale %g. Written by rocelab eval.\n",
		c->index, c->family->name, shape->name, c->source->seed, c->attempt, c->source->scale);
	fprintf(to, "name = \"%s-%03u\";\nseed = %" PRIu64 ";\n%s", c->family->name, c->index, c->run_seed, shape->fabric);
	fprintf(to,
		/* Frames and QPs as the paper's public simulator has them (docs/reference-case.md). */
		"host = { profile = \"ns3\"; mtu = 1300; data_overhead = 48; ack_bytes = 60; timeout = \"%s\";%s };\n"
		"telemetry = { epoch = \"%.0fns\"; };\nlimits = { stall = \"%.0fns\"; };\n",
		c->timeout, shape->host, CASE_EPOCH_NS * stretch, STALL_NS + STALL_SCALED_NS * stretch);
	fprintf(to, "collectives = (\n  { op = \"%s\"; algorithm = \"%s\"; qp = \"per-step\"; sport = %d;\n    ",
		coll_op_name(shape->op), coll_algorithm_name(shape->algorithm), CASE_COLLECTIVE_SPORT);
	write_size(c, to);
	fprintf(to, "; start = \"%" PRIu64 "ns\"; ranks = [", c->start_ns);
	for (uint32_t i = 0; i < shape->ranks; i++)
		fprintf(to, "%s \"%s\"", i != 0 ? "," : "", nodes[c->ranks[i]].name);
	fprintf(to, " ]; }\n);\n");
	for (uint32_t i = 0; i < c->nflows; i++)
		snprintf(flows[i], sizeof(flows[i]),
			 "{ src = \"%s\"; dst = \"%s\"; sport = %u; bytes = \"%" PRIu64 "B\"; start = \"%" PRIu64 "ns\"; }",
			 nodes[c->flows[i].src].name, nodes[c->flows[i].dst].name, c->flows[i].sport, c->flows[i].bytes,
			 c->flows[i].start_ns);
	write_list(to, "flows", flows[0], sizeof(flows[0]), c->nflows);
	write_list(to, "faults", c->faults[0], sizeof(c->faults[0]), c->nfaults);
	write_list(to, "paths", c->pins[0], sizeof(c->pins[0]), c->npins);
}

static json_t *
collective_flows(const struct scenario *sc)
{
	const struct flow_table *table = &sc->plan->flows;
	json_t *list = json_array();

	for (uint32_t i = 0; i < table->count; i++) {
		const struct flow *flow = &table->flows[i];
		char name[CASE_NAME];

		if (flow->kind != FLOW_COLLECTIVE)
			continue;
		snprintf(name, sizeof(name), "%s->%s/%u>%u", sc->topo->nodes[flow->src_node].name,
			 sc->topo->nodes[flow->dst_node].name, flow->sport, flow->dport);
		json_array_append_new(list, json_string(name));
	}
	return list;
}

/* The case's intent, beside the scenario: its flows' names, and how long a step should take. */
static int
write_meaning(const struct eval_case *c, const struct scenario *sc, const char *dir, struct err *err)
{
	json_t *root =
		json_pack("{s:i, s:s, s:s, s:I, s:I, s:I, s:f, s:I, s:I, s:o, s:o, s:O}", "schema_version", 1, "family",
			  c->family->name, "shape", c->source->shape->name, "index", (json_int_t)c->index, "attempt",
			  (json_int_t)c->attempt, "seed", (json_int_t)c->source->seed, "scale", c->source->scale, "step_ns",
			  (json_int_t)(plan_known(&sc->plan->collectives[0], 0)->ideal_ps / PS_PER_NS), "base_rtt_ns",
			  (json_int_t)(sc->plan->collectives[0].most_rtt_ps / PS_PER_NS), "collective_flows",
			  collective_flows(sc), "imbalanced", place_imbalanced(c), "anomalies", c->anomalies);

	return output_json(root, dir, "case.json", err);
}

/* Loads a scenario as the runs will. */
static struct scenario *
load(const char *path, const struct case_source *source, struct err *err)
{
	struct scenario_options options = { .path = path, .nsets = source->nsets };

	memcpy(options.sets, source->sets, source->nsets * sizeof(source->sets[0]));
	return scenario_load(&options, err);
}

int
case_write(const struct eval_case *c, const char *dir, struct err *err)
{
	struct scenario *sc;
	struct outfile out;
	int ret = outfile_open(&out, dir, "case.cfg", err);

	if (ret < 0)
		return ret;
	write_scenario(c, out.file);
	ret = outfile_close(&out, 0, err);
	if (ret < 0)
		return ret;
	sc = load(out.path, c->source, err);
	if (sc == NULL)
		return -errno;
	ret = write_meaning(c, sc, dir, err);
	scenario_destroy(sc);
	return ret;
}

struct scenario *
case_network(const char *path, const struct case_source *source, struct err *err)
{
	struct case_source with = *source;
	struct scenario *network;
	struct outfile out;
	double epoch_ns;

	if (outfile_open_path(&out, path, err) < 0)
		return NULL;
	fprintf(out.file, "%shost = { profile = \"ns3\"; };\n" ANY_TRAFFIC, source->shape->fabric);
	if (outfile_close(&out, 0, err) < 0)
		return NULL;
	with.network = network = load(path, source, err);
	if (network == NULL)
		return NULL;
	epoch_ns = CASE_EPOCH_NS * case_stretch(&with);
	if (epoch_ns >= CASE_MIN_EPOCH_NS)
		return network;
	err_set(err, -EINVAL, "--scale %g on shape %s makes epochs of %.0f ns, and %.0f is the least: give %g to 1",
		source->scale, source->shape->name, epoch_ns, CASE_MIN_EPOCH_NS,
		source->scale * CASE_MIN_EPOCH_NS / epoch_ns);
	scenario_destroy(network);
	return NULL;
}

const struct family *const families[] = {
	&family_contention,
	&family_incast,
	&family_storm,
	&family_backpressure,
	&family_deadlock,
	&family_loop,
	&family_imbalance,
	&family_mixed,
	&family_clean,
	&family_slow_host,
	NULL,
};

const struct family *
family_find(const char *name)
{
	for (size_t i = 0; families[i] != NULL; i++)
		if (strcmp(families[i]->name, name) == 0)
			return families[i];
	return NULL;
}
