/* SPDX-License-Identifier: BSD-3-Clause */
/* A case as files: the scenario, and what is meant by it. */
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "cli/eval/case.h"
#include "cli/eval/family.h"
#include "common/units.h"

/* IV-A of the paper; frames, buffers and QPs as its public simulator has them (docs/reference-case.md). */
#define FABRIC                                                                                                         \
	"topology = { kind = \"fat-tree\"; k = 4; rate = \"100Gbps\"; delay = \"2us\"; };\n"                          \
	"switch = { buffer = \"1000KiB\"; pfc = { headroom = 75000; }; };\n"
/* A scenario without traffic is refused. */
#define ANY_TRAFFIC "collectives = ( { step_bytes = \"1MB\"; } );\n"
#define EPOCH_NS 1e6 /* at scale 1 */
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

static void
write_scenario(const struct eval_case *c, FILE *to)
{
	const struct topo_node *nodes = c->routing.topo->nodes;
	char flows[CASE_MAX_FLOWS][192];

	fprintf(to, "// Case %u of family %s, seed %" PRIu64 ", attempt %u, scale %g. Written by rocelab eval.\n", c->index,
		c->family->name, c->source->seed, c->attempt, c->source->scale);
	fprintf(to, "name = \"%s-%03u\";\nseed = %" PRIu64 ";\n" FABRIC, c->family->name, c->index, c->run_seed);
	fprintf(to,
		"host = { mtu = 1300; data_overhead = 48; ack_bytes = 60; timeout = \"%s\"; };\n"
		"telemetry = { epoch = \"%.0fns\"; };\nlimits = { stall = \"%.0fns\"; };\n",
		c->timeout, EPOCH_NS * c->source->scale, STALL_NS + STALL_SCALED_NS * c->source->scale);
	fprintf(to, "collectives = (\n  { op = \"allgather\"; algorithm = \"ring\"; qp = \"per-step\"; sport = %d;\n"
		    "    step_bytes = \"%.0fB\"; start = \"%" PRIu64 "ns\"; ranks = [",
		CASE_COLLECTIVE_SPORT, CASE_STEP_BYTES * c->source->scale, c->start_ns);
	for (uint32_t i = 0; i < CASE_RANKS; i++)
		fprintf(to, "%s \"%s\"", i != 0 ? "," : "", nodes[c->ranks[i]].name);
	fprintf(to, " ]; }\n);\n");
	for (uint32_t i = 0; i < c->nflows; i++)
		snprintf(flows[i], sizeof(flows[i]),
			 "{ src = \"%s\"; dst = \"%s\"; sport = %u; bytes = \"%" PRIu64 "B\"; start = \"%" PRIu64
			 "ns\"; }",
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
write_meaning(const struct eval_case *c, const struct scenario *sc, const char *path, struct err *err)
{
	json_t *root = json_pack("{s:i, s:s, s:I, s:I, s:I, s:f, s:I, s:o, s:O}", "schema_version", 1, "family",
				 c->family->name, "index", (json_int_t)c->index, "attempt", (json_int_t)c->attempt, "seed",
				 (json_int_t)c->source->seed, "scale", c->source->scale, "step_ns",
				 (json_int_t)(sc->plan->collectives[0].steps[0].ideal_ps / PS_PER_NS), "collective_flows",
				 collective_flows(sc), "anomalies", c->anomalies);
	int ret = root != NULL && json_dump_file(root, path, JSON_INDENT(1)) == 0 ? 0 : -EIO;

	json_decref(root);
	return ret == 0 ? 0 : err_set(err, ret, "%s cannot be written", path);
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
	char path[PATH_MAX];
	struct scenario *sc;
	FILE *file;
	int ret;

	snprintf(path, sizeof(path), "%s/case.cfg", dir);
	file = fopen(path, "w");
	if (file != NULL)
		write_scenario(c, file);
	if (file == NULL || fclose(file) != 0)
		return err_set(err, -errno, "%s: %s", path, strerror(errno));
	sc = load(path, c->source, err);
	if (sc == NULL)
		return -errno;
	snprintf(path, sizeof(path), "%s/case.json", dir);
	ret = write_meaning(c, sc, path, err);
	scenario_destroy(sc);
	return ret;
}

struct scenario *
case_network(const char *path, const struct case_source *source, struct err *err)
{
	FILE *file = fopen(path, "w");

	if (file == NULL || fputs(FABRIC ANY_TRAFFIC, file) < 0 || fclose(file) != 0) {
		err_set(err, -errno, "%s: %s", path, strerror(errno));
		return NULL;
	}
	return load(path, source, err);
}
