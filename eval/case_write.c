/* SPDX-License-Identifier: BSD-3-Clause */
/* A case as files: the scenario, and what is meant by it. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "common/outfile.h"
#include "common/units.h"
#include "emulation/outputs/outputs.h"
#include "eval/case.h"
#include "eval/family.h"
#include "eval/place.h"

/* A scenario without traffic is refused. */
#define ANY_TRAFFIC "collectives = ( { step_bytes = \"1MB\"; } );\n"
/* Longer than any pause that a run comes out of: timeouts do not scale, faults do. */
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

/* What the collective sends: a ring as the paper gives it, by step; others as much as a ring of that step. */
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
		"host = { mtu = 1300; data_overhead = 48; ack_bytes = 60; timeout = \"%s\";%s };\n"
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

/* What is meant, beside what the scenario itself makes of it: its flows' names, and how long a step should take. */
static int
write_meaning(const struct eval_case *c, const struct scenario *sc, const char *dir, struct err *err)
{
	json_t *root =
		json_pack("{s:i, s:s, s:s, s:I, s:I, s:I, s:f, s:I, s:I, s:o, s:o, s:O}", "schema_version", 1, "family",
			  c->family->name, "shape", c->source->shape->name, "index", (json_int_t)c->index, "attempt",
			  (json_int_t)c->attempt, "seed", (json_int_t)c->source->seed, "scale", c->source->scale, "step_ns",
			  (json_int_t)(sc->plan->collectives[0].steps[0].ideal_ps / PS_PER_NS), "base_rtt_ns",
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
	fprintf(out.file, "%s%s", source->shape->fabric, ANY_TRAFFIC);
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
