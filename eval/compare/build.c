/* SPDX-License-Identifier: BSD-3-Clause */
/* Fabrics, workloads, and the helpers of faults that make cases. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>

#include "common/array.h"
#include "eval/compare/corpus.h"
#include "scenario/scenario.h"
#include "workload/plan.h"

#define TRIES 1000
#define ITERATIONS 8
#define COMPUTE_NS 500000ull
#define MICE_BYTES 20000 /* of a background flow */
#define DATA_PRIO 3      /* of the job, of the large flows of others, and of probes */
#define SMALL_PRIO 4     /* of the background where packets are sprayed */
#define STRIDE 7         /* so that neighbours in a round differ in fabric and workload */

#define HASHED "load_balancing = { kind = \"ecmp\"; };\nhost = { transport = \"go-back-n\"; retry_count = 255; };\n"
/* Measured data has a class of its own, before that of small flows (FlowPulse 5.1). */
#define SPRAYED(kind)                                                                                                      \
	"load_balancing = { kind = \"" kind "\"; };\nhost = { transport = \"selective\"; retry_count = 255; };\n"          \
	"switch = { strict = [ \"3\", \"6\" ]; pfc = { priorities = [ \"3\", \"4\" ]; }; };\n"
#define LEAF_SPINE "kind = \"leaf-spine\"; leaves = 4; spines = 4; hosts_per_leaf = 3;"
#define LEAF_SPINE_RANKS "h[0-1,3-4,6-7,9-10]"
#define FAT_TREE "kind = \"fat-tree\"; k = 4;"
#define FAT_TREE_RANKS "h[0,2,4,6,8,10,12,14]"

/* Ranks are hosts of every leaf or edge, the others are bystanders. */
static const struct compare_fabric fabrics[] = {
	{ "leaf-spine", "ecmp", LEAF_SPINE, HASHED, LEAF_SPINE_RANKS, false },
	{ "leaf-spine", "adaptive", LEAF_SPINE, SPRAYED("adaptive"), LEAF_SPINE_RANKS, true },
	{ "fat-tree", "ecmp", FAT_TREE, HASHED, FAT_TREE_RANKS, false },
	{ "leaf-spine", "random", LEAF_SPINE, SPRAYED("random") "flowpulse = { detector = \"pooled\"; };\n",
	  LEAF_SPINE_RANKS, true },
	{ "fat-tree", "adaptive", FAT_TREE, SPRAYED("adaptive"), FAT_TREE_RANKS, true },
};

/* All switches hash alike, as of one vendor with one seed. */
static const struct compare_fabric polarised = { "fat-tree",
						 "ecmp",
						 FAT_TREE,
						 "load_balancing = { kind = \"ecmp\"; seeds = \"shared\"; };\n"
						 "host = { transport = \"go-back-n\"; retry_count = 255; };\n",
						 "h[0-15]",
						 false };

/* Each sends about the same: seven eighths of 12 MB a rank. */
static const struct compare_workload workloads[] = {
	{ "ring AllReduce", "op = \"allreduce\"; algorithm = \"ring\"", 6e6 },
	{ "pairwise AllToAll", "op = \"alltoall\"; algorithm = \"pairwise\"", 12e6 },
	{ "ring AllGather", "op = \"allgather\"; algorithm = \"ring\"", 12e6 },
	{ "halving-doubling AllGather", "op = \"allgather\"; algorithm = \"halving-doubling\"", 12e6 },
};
_Static_assert(ARRAY_LEN(fabrics) * ARRAY_LEN(workloads) == COMPARE_ROUNDS, "a fault has a case of each");

uint32_t
compare_nfaults(void)
{
	uint32_t count = 0;

	while (compare_faults[count].group.name != NULL)
		count++;
	return count;
}

uint32_t
compare_most_cases(void)
{
	return compare_nfaults() * COMPARE_ROUNDS;
}

static struct compare_cell
cell_of(const struct compare_fault *fault, uint32_t round)
{
	uint32_t row = (uint32_t)(fault - compare_faults), at = (round + STRIDE * row) % COMPARE_ROUNDS;
	struct compare_cell cell = { .fault = fault,
				     .round = round,
				     .fabric = &fabrics[at % ARRAY_LEN(fabrics)],
				     .workload = &workloads[at / ARRAY_LEN(fabrics)],
				     .has_background = fault->is_busy || (!fault->is_clean && (round + row) % 3 == 0) };

	/* Flows of two hosts of a leaf at once, or there is nothing to balance. */
	if (fault->ecmp_only || fault->full_tree_only)
		cell.workload = &workloads[1 + 2 * (at / 2 % 2)];
	if (fault->ecmp_only)
		cell.fabric = &fabrics[2 * (at % 2)];
	if (fault->full_tree_only)
		cell.fabric = &polarised;
	return cell;
}

struct compare_cell
compare_cell(uint32_t number)
{
	return cell_of(&compare_faults[number % compare_nfaults()], number / compare_nfaults());
}

int
compare_make(uint32_t number, uint64_t seed, double scale, const char *path, struct err *err)
{
	struct odd_case *c = calloc(1, sizeof(*c));
	struct compare_cell cell = compare_cell(number);
	int ret;

	if (c == NULL)
		return err_set(err, -ENOMEM, "out of memory");
	ret = odd_make(c, &cell.fault->group, seed, cell.round, scale, path, err);
	free(c);
	return ret;
}

/* ---- for faults ---- */

/* Small flows between all hosts while the job runs: two of a hundred bytes that NICs could send. */
static void
add_background(struct odd_case *c, bool is_sprayed)
{
	odd_add(c, ODD_GENERATORS,
		"{ kind = \"poisson\"; name = \"" COMPARE_BACKGROUND
		"\"; bytes = \"%d\"; load = 0.02; connections = 2; prio = %d; start = \"%lluns\"; until = \"%lluns\"; }",
		MICE_BYTES, is_sprayed ? SMALL_PRIO : DATA_PRIO, COMPARE_START_NS,
		COMPARE_START_NS + (unsigned long long)c->span_ns);
}

int
compare_begin(struct odd_case *c, struct err *err)
{
	const struct compare_fault *fault = (const struct compare_fault *)(const void *)c->group;
	struct compare_cell cell = cell_of(fault, c->index);
	uint64_t bytes = (uint64_t)(cell.workload->bytes * c->scale) / 64 * 64;
	int ret;

	odd_head(c, "topology = { %s rate = \"100Gbps\"; delay = \"1us\"; };\n%s", cell.fabric->topology,
		 cell.fabric->keys);
	odd_head(c,
		 "routing = { convergence = \"10ms\"; };\ndetection = { policy = \"off\"; };\n"
		 "flowtracer = { start = \"211ms\"; period = \"5ms\"; rtt = \"20us\"; };\n"
		 "pingmesh = { time_factor = 0.01; duration = \"%s\"; };\n",
		 c->scale < 1 ? "500ms" : "800ms");
	odd_head(c,
		 "jobs = ( { name = \"train\"; ranks = [ \"%s\" ]; iterations = %d; start = \"%lluns\"; compute = "
		 "\"%lluns\"; measured = true;\n  collectives = ( { name = \"sum\"; %s; bytes = \"%" PRIu64
		 "\"; } ); } );\n",
		 cell.fabric->ranks, ITERATIONS, COMPARE_START_NS, COMPUTE_NS, cell.workload->collective, bytes);
	ret = odd_plan(c, err);
	if (ret == 0 && cell.has_background)
		add_background(c, cell.fabric->is_sprayed);
	return ret;
}

int
compare_parts(const struct compare_fault *fault, const struct scenario *scenario, struct suspects *suspects,
	      struct err *err)
{
	const struct topo *topo = scenario->topo;
	int ret = suspects_list(scenario, 0, suspects, err);

	if (ret < 0 || fault->remedy == NULL)
		return ret;
	ret = suspects_add_remedy(suspects, fault->remedy, err);
	for (uint32_t node = 0; ret == 0 && node < topo->nnodes; node++)
		if (topo->nodes[node].kind == TOPO_SWITCH && topo->nodes[node].name[0] == fault->tier)
			json_array_append_new(suspects->at[suspects->count - 1].nodes, json_string(topo->nodes[node].name));
	return ret;
}

uint64_t
compare_when_ns(struct odd_case *c, double min, double max)
{
	return COMPARE_START_NS + (uint64_t)((min + prng_unit(&c->prng) * (max - min)) * (double)c->span_ns);
}

uint64_t
compare_start_ns(struct odd_case *c)
{
	return compare_when_ns(c, 0.15, 0.4);
}

bool
compare_far(struct odd_case *c, struct route_path *path)
{
	for (uint32_t i = 0; i < TRIES; i++) {
		odd_path(c, odd_send(c), false, path);
		if (path->hops >= 4)
			return true;
	}
	return false;
}

uint32_t
compare_rank_nic(struct odd_case *c)
{
	struct route_path path;

	odd_path(c, odd_send(c), false, &path);
	return path.ports[0];
}

bool
compare_is_rank(const struct odd_case *c, uint32_t host)
{
	const struct plan *plan = c->loaded->plan;
	const struct plan_collective *of = &plan->collectives[0];

	for (uint32_t i = 0; i < of->nflows; i++)
		if (plan->flows.flows[of->first_flow + i].src_node == host ||
		    plan->flows.flows[of->first_flow + i].dst_node == host)
			return true;
	return false;
}

int
compare_clean(struct odd_case *c, struct err *err)
{
	return compare_begin(c, err);
}
