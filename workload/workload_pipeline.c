/* SPDX-License-Identifier: BSD-3-Clause */
/* A job with a pipeline, written out: stage by stage and micro-batch by micro-batch. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "workload/jobs/pipeline.h"
#include "workload/workload_state.h"

#define NO_WORK UINT32_MAX

/* A pipeline while it is written out. */
struct writing {
	struct reading *reading;
	uint32_t job;
	const struct phases *phases;
	const struct pipeline_config *config;
	uint32_t stages, micro_batches;
	uint32_t *turns;       /* [stages] turns that are written */
	uint32_t *first, *end; /* [stages] collectives of the latest turn */
	uint32_t *activations; /* [stages * micro_batches] that come to the stage; NO_WORK: not yet */
	uint32_t *gradients;
	uint32_t *inputs; /* of a turn */
};

/* Whether what a turn needs of other stages is there. @param input  out: it; NO_WORK: it needs nothing */
static bool
is_due(const struct writing *w, uint32_t stage, struct pipeline_turn turn, uint32_t *input)
{
	bool edge = turn.backward ? stage + 1 == w->stages : stage == 0;

	*input = (turn.backward ? w->gradients : w->activations)[stage * w->micro_batches + turn.micro_batch];
	return edge || *input != NO_WORK;
}

/* What a stage sends to its neighbour at the end of a turn. */
static int
add_transfer(struct writing *w, uint32_t stage, struct pipeline_turn turn)
{
	struct collective_config config = w->phases->configs[0];
	uint32_t to = turn.backward ? stage - 1 : stage + 1, from;
	struct work_item *work;
	char suffix[32];
	int rc = 0;

	config.name = turn.backward ? "gradients" : "activations";
	config.where = w->config->where;
	config.op = COLL_SENDRECV;
	config.algorithm = COLL_LINEAR;
	config.root = 0;
	config.chunks = 0;
	config.pairs.count = 0;
	config.stride = 1;
	config.measured = false;
	config.measured_pairs.count = 0;
	config.bytes = w->config->bytes;
	config.step_bytes = 0;
	config.sport = 0;
	config.compute_ps = 0;
	snprintf(suffix, sizeof(suffix), ".m%u.s%u", turn.micro_batch, stage);
	work = workload_add(w->reading, w->job, &config, suffix);
	if (work == NULL)
		return -EINVAL;
	work->stage = stage;
	work->to_stage = to;
	for (from = w->first[stage]; from < w->end[stage] && rc == 0; from++)
		rc = workload_add_after(w->reading, from);
	(turn.backward ? w->gradients : w->activations)[to * w->micro_batches + turn.micro_batch] =
		w->reading->workload->nworks - 1;
	return rc;
}

static int
add_turn(struct writing *w, uint32_t stage, struct pipeline_turn turn, uint32_t input)
{
	bool last = turn.backward ? stage == 0 : stage + 1 == w->stages;
	size_t ninputs = 0;
	char suffix[32];
	int rc;

	for (uint32_t before = w->first[stage]; before < w->end[stage]; before++)
		w->inputs[ninputs++] = before;
	if (input != NO_WORK)
		w->inputs[ninputs++] = input;
	snprintf(suffix, sizeof(suffix), ".m%u.s%u", turn.micro_batch, stage);
	w->first[stage] = w->reading->workload->nworks;
	rc = workload_add_phase(w->reading, w->job, w->phases, turn.backward ? PHASE_BACKWARD : PHASE_FORWARD, stage,
				w->inputs, ninputs, suffix);
	w->end[stage] = w->reading->workload->nworks;
	w->turns[stage]++;
	return rc == 0 && !last ? add_transfer(w, stage, turn) : rc;
}

/* Every turn once what it needs is written, so that each collective comes behind those that it comes after. */
static int
add_turns(struct writing *w)
{
	uint32_t left = 2 * w->micro_batches * w->stages, input;
	int rc = 0;

	while (left != 0 && rc == 0)
		for (uint32_t stage = 0; stage < w->stages && rc == 0; stage++) {
			struct pipeline_turn turn;

			if (w->turns[stage] == 2 * w->micro_batches)
				continue;
			turn = pipeline_turn((enum pipeline_schedule)w->config->order, w->stages, stage, w->micro_batches,
					     w->turns[stage]);
			if (!is_due(w, stage, turn, &input))
				continue;
			rc = add_turn(w, stage, turn, input);
			left--;
		}
	return rc;
}

/* What has no phase comes after all that the stages did last, and all that they received. */
static int
add_rest(struct writing *w)
{
	size_t ninputs = 0;

	for (uint32_t stage = 0; stage < w->stages; stage++) {
		uint32_t received = w->gradients[stage * w->micro_batches + w->micro_batches - 1];

		for (uint32_t last = w->first[stage]; last < w->end[stage]; last++)
			w->inputs[ninputs++] = last;
		if (received != NO_WORK)
			w->inputs[ninputs++] = received;
	}
	return workload_add_phase(w->reading, w->job, w->phases, PHASE_NONE, WORK_NO_STAGE, w->inputs, ninputs, "");
}

/* @return 0 or -EINVAL: a phase without collectives */
static int
check_phases(const struct writing *w)
{
	size_t forward = 0, backward = 0;

	for (size_t i = 0; i < w->phases->count; i++) {
		forward += w->phases->configs[i].phase == PHASE_FORWARD;
		backward += w->phases->configs[i].phase == PHASE_BACKWARD;
	}
	if (forward != 0 && backward != 0)
		return 0;
	return cfg_fail(
		&w->config->where, NULL, w->reading->err,
		"the job has no collective of phase \"%s\": what does a stage do then? In groups of one rank it only "
		"computes",
		forward == 0 ? "forward" : "backward");
}

int
workload_add_pipeline(struct reading *r, uint32_t job, const struct phases *phases, const struct pipeline_config *config)
{
	const struct grid *grid = &r->workload->jobs[job].grid;
	struct writing w = { r, job, phases, config, .micro_batches = (uint32_t)config->micro_batches };
	uint32_t mask, *memory;
	size_t cells;
	int rc = grid_parse(grid, config->dim, &config->where, "dim", &mask, r->err);

	if (rc != 0)
		return rc;
	if (mask == GRID_ALL || (mask & (mask - 1)) != 0)
		return cfg_fail(&config->where, "dim", r->err, "\"%s\": one of the job's dims would be right", config->dim);
	r->workload->jobs[job].pipeline = mask;
	w.stages = grid_group_ranks(grid, mask);
	if (w.stages < 2)
		return cfg_fail(&config->where, "dim", r->err, "\"%s\" has size 1; a pipeline has 2 stages or more",
				config->dim);
	rc = check_phases(&w);
	if (rc != 0)
		return rc;
	cells = (size_t)w.stages * w.micro_batches;
	memory = calloc(3 * w.stages + 2 * cells + (phases->count + 1) * w.stages + 1, sizeof(*memory));
	if (memory == NULL)
		return err_set(r->err, -ENOMEM, "out of memory for a pipeline");
	w.turns = memory;
	w.first = w.turns + w.stages;
	w.end = w.first + w.stages;
	w.activations = w.end + w.stages;
	w.gradients = w.activations + cells;
	w.inputs = w.gradients + cells;
	memset(w.activations, 0xff, 2 * cells * sizeof(*memory));
	rc = add_turns(&w);
	if (rc == 0)
		rc = add_rest(&w);
	free(memory);
	return rc;
}
