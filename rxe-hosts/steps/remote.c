/* SPDX-License-Identifier: BSD-3-Clause */
#include "rxe-hosts/steps/remote.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>

#include "rxe-hosts/steps/rank.h"

struct step_engine *
step_engine_create_remote(const struct plan *plan, uint32_t node, struct err *err)
{
	struct step_engine *engine = calloc(1, sizeof(*engine));

	if (engine != NULL) {
		engine->plan = plan;
		engine->config.node = node;
		engine->closed = true;
	}
	if (engine != NULL && step_engine_place(engine) == 0)
		return engine;
	err_set(err, -ENOMEM, "no memory for the steps of a host");
	step_engine_destroy(engine);
	errno = ENOMEM;
	return NULL;
}

static bool
put_background(struct step_engine *engine, const struct manage_step *step)
{
	for (uint32_t i = 0; i < engine->nbackgrounds; i++) {
		struct background *background = &engine->backgrounds[i];
		uint64_t complete;

		if (background->plan->flow != step->flow)
			continue;
		if (step->bytes % background->plan->bytes != 0 || step->bytes == 0)
			return false;
		complete = step->bytes / background->plan->bytes - (step->open != 0);
		if (step->acked_bytes < complete * background->plan->bytes || step->acked_bytes > step->bytes)
			return false;
		background->messages = complete;
		background->acked_bytes = step->acked_bytes - complete * background->plan->bytes;
		background->retransmits = step->retransmits;
		background->start_ps = step->start_ps;
		background->end_ps = step->end_ps;
		background->sending = step->open != 0;
		return true;
	}
	return false;
}

static struct step_rank *
rank_of(const struct step_engine *engine, uint32_t collective, uint32_t rank)
{
	for (uint32_t i = 0; i < engine->nranks; i++)
		if (engine->ranks[i].collective == collective && engine->ranks[i].rank == rank)
			return &engine->ranks[i];
	return NULL;
}

/* A step of the plan, or none. */
static bool
is_step(const struct plan *plan, uint32_t collective, uint32_t rank, uint32_t step)
{
	if (step == 0)
		return collective == REC_NONE && rank == REC_NONE;
	return collective < plan->ncollectives && rank < plan->collectives[collective].schedule->ranks &&
	       step <= coll_steps(plan->collectives[collective].schedule, rank);
}

bool
step_engine_put_step(struct step_engine *engine, const struct manage_step *step)
{
	const struct plan_collective *collective;

	if (step->collective == REC_NONE)
		return put_background(engine, step);
	if (rank_of(engine, step->collective, step->rank) == NULL || engine->nresults == engine->results_cap)
		return false;
	collective = &engine->plan->collectives[step->collective];
	if (step->iteration >= collective->iterations || step->step < 1 ||
	    step->step > coll_steps(collective->schedule, step->rank) ||
	    step->flow != collective->steps[plan_at(collective, step->rank, step->step)].flow ||
	    !is_step(engine->plan, step->waited_collective, step->waited_rank, step->waited_step) ||
	    step->acked_bytes > step->bytes)
		return false;
	engine->results[engine->nresults++] = (struct step_result){
		.collective = step->collective,
		.iteration = step->iteration,
		.rank = step->rank,
		.step = step->step,
		.flow = step->flow,
		.waited_for = { step->waited_collective, step->waited_rank, step->waited_step },
		.bytes = step->bytes,
		.acked_bytes = step->acked_bytes,
		.start_ps = step->start_ps,
		.end_ps = step->end_ps,
		.retransmits = step->retransmits,
		.open = step->open != 0,
	};
	return true;
}

bool
step_engine_put_iteration(struct step_engine *engine, const struct manage_iteration *iteration)
{
	struct step_rank *rank = rank_of(engine, iteration->collective, iteration->rank);

	if (rank == NULL || iteration->iteration >= engine->plan->collectives[iteration->collective].iterations)
		return false;
	rank->iterations[iteration->iteration] = (struct iteration_result){
		.start_ps = iteration->start_ps,
		.end_ps = iteration->end_ps,
		.wrong = iteration->wrong,
		.started = iteration->started != 0,
		.complete = iteration->end_ps != 0,
	};
	return true;
}

void
step_engine_put_unexpected(struct step_engine *engine, uint64_t messages)
{
	engine->unexpected = messages;
}

bool
step_engine_put_flow(struct step_engine *engine, size_t index, const struct flow_row *row)
{
	if (index >= step_engine_flows(engine))
		return false;
	if (index < engine->nbackgrounds) {
		engine->backgrounds[index].started = row->begun;
		engine->backgrounds[index].start_ps = row->begin_ps;
		return true;
	}
	engine->messages.states[index - engine->nbackgrounds] = (struct message){
		.begin_ps = row->begin_ps,
		.end_ps = row->end_ps,
		.retransmits = row->retransmits,
		.begun = row->begun,
	};
	return true;
}

struct manage_step
step_engine_get_step(const struct step_engine *engine, size_t index)
{
	struct step_row row = step_engine_row(engine, index);

	return (struct manage_step){
		.collective = row.collective,
		.iteration = row.iteration,
		.rank = row.rank,
		.step = row.step,
		.flow = row.flow,
		.waited_collective = row.waited_for.collective,
		.waited_rank = row.waited_for.rank,
		.waited_step = row.waited_for.step,
		.retransmits = row.retransmits,
		.open = row.open,
		.bytes = row.bytes,
		.acked_bytes = row.acked_bytes,
		.start_ps = row.start_ps,
		.end_ps = row.end_ps,
	};
}

size_t
step_engine_iterations(const struct step_engine *engine)
{
	size_t count = 0;

	for (uint32_t i = 0; i < engine->nranks; i++)
		count += engine->plan->collectives[engine->ranks[i].collective].iterations;
	return count;
}

struct manage_iteration
step_engine_get_iteration(const struct step_engine *engine, size_t index)
{
	const struct step_rank *rank = engine->ranks;
	const struct iteration_result *result;

	assert(index < step_engine_iterations(engine));
	for (; index >= engine->plan->collectives[rank->collective].iterations; rank++)
		index -= engine->plan->collectives[rank->collective].iterations;
	result = &rank->iterations[index];
	return (struct manage_iteration){
		.collective = rank->collective,
		.rank = rank->rank,
		.iteration = (uint32_t)index,
		.started = result->started,
		.start_ps = result->start_ps,
		.end_ps = result->end_ps,
		.wrong = result->wrong,
	};
}
