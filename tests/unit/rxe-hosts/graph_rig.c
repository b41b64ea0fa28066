/* SPDX-License-Identifier: BSD-3-Clause */
#include "tests/unit/rxe-hosts/graph_rig.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "common/units.h"
#include "workload/plan_build.h"

static void
add(struct plan_builder *b, uint32_t ranks, const struct graph *graph, uint32_t index)
{
	struct plan_collective *c = &b->plan->collectives[index];
	uint64_t elems = graph->memory_elems != 0 ? graph->memory_elems : 8;
	struct collective_config config = { .dport = 4791 };
	uint32_t *after = malloc(sizeof(graph->after));
	struct err err = { .text = "" };

	memcpy(after, graph->after, sizeof(graph->after));
	*c = (struct plan_collective){
		.job = graph->job,
		.enabled = true,
		.after = after,
		.nafter = graph->nafter,
		.actual_ps = graph->actual_ps,
		.real = true,
		.verify = graph->verify,
		.iterations = graph->iterations != 0 ? graph->iterations : 1,
		.buffers = graph->iterations > 1 ? 2 : 1,
		.vector_bytes = (elems * 4 + 63) & ~63ull,
		.gap_ps = graph->gap_ps,
	};
	c->schedule = coll_builder_finish(
		graph->builder, &(struct coll_params){ .op = COLL_ALLGATHER, .ranks = ranks, .count_elems = elems },
		&(struct coll_layout){ .memory_elems = elems }, &err);
	assert(c->schedule != NULL);
	c->chains = chains_create(c->schedule);
	c->ranks = calloc(ranks, sizeof(*c->ranks));
	c->steps = calloc(coll_all_steps(c->schedule) + 1u, sizeof(*c->steps));
	for (uint32_t r = 0; r < ranks; r++) {
		c->ranks[r].node = r;
		c->ranks[r].slot = b->slots[r]++;
		c->ranks[r].region_offset = b->region_bytes[r];
		b->region_bytes[r] += c->buffers * c->vector_bytes;
	}
	b->plan->ncollectives++;
	assert(plan_make_flows(b, index, &config) == 0);
}

struct plan *
graph_rig_plan(const struct topo *topo, uint32_t ranks, bool notify, const struct graph *graphs, uint32_t count)
{
	const struct plan_options options = { .data_prio = 3, .notify = notify };
	uint32_t slots[STAR_MAX_HOSTS] = { 0 };
	uint64_t region_bytes[STAR_MAX_HOSTS] = { 0 };
	struct plan_builder b = {
		.plan = calloc(1, sizeof(*b.plan)),
		.topo = topo,
		.options = &options,
		.next_sport = PLAN_FIRST_SPORT,
		.slots = slots,
		.region_bytes = region_bytes,
	};

	b.plan->collectives = calloc(count, sizeof(*b.plan->collectives));
	b.plan->real = true;
	for (uint32_t i = 0; i < count; i++)
		add(&b, ranks, &graphs[i], i);
	assert(plan_check_tuples(&b) == 0 && b.plan->flows.count <= SCRIPTED_FLOWS);
	return b.plan;
}

void
graph_rig_init(struct steps_rig *rig, uint32_t ranks, enum rec_policy policy, const struct graph *graphs, uint32_t count,
	       uint64_t (*delay_ps)(const void *ctx, uint32_t node, uint32_t collective, uint32_t step))
{
	struct err err = { .text = "" };

	*rig = (struct steps_rig){
		.hosts = ranks,
		.detection = { .policy = (int)policy, .detections = 3, .rtt_percent = 120, .transfer = true },
	};
	star_init(&rig->star, ranks);
	rig->plan = graph_rig_plan(&rig->star.topo, ranks, policy != REC_POLICY_OFF, graphs, count);
	for (uint32_t f = 0; f < rig->plan->flows.count; f++)
		rig->plan->of[f].base_rtt_ps = 10 * PS_PER_US;
	for (uint32_t c = 0; c < count; c++)
		for (uint32_t i = 0; i < coll_all_steps(rig->plan->collectives[c].schedule); i++)
			rig->plan->collectives[c].steps[i].expect_ps = 30 * PS_PER_MS;
	for (uint32_t h = 0; h < ranks; h++) {
		struct step_engine_config config = {
			.plan = rig->plan,
			.node = h,
			.device = &rig->dev[h].device,
			.detection = &rig->detection,
			.start_delay_ps = delay_ps,
		};

		scripted_init(&rig->dev[h], h);
		rig->engine[h] = step_engine_create(&config, &err);
		assert(rig->engine[h] != NULL);
		step_engine_start(rig->engine[h]);
	}
}

int32_t *
graph_rig_memory(const struct steps_rig *rig, uint32_t collective, uint32_t rank, uint32_t iteration)
{
	return (int32_t *)(rig->engine[rank]->region +
			   payload_offset(&rig->plan->collectives[collective], rank, iteration, 0));
}
