/* SPDX-License-Identifier: BSD-3-Clause */
/* What the step engine has to say during and after a run. */
#include <assert.h>

#include "rxe-hosts/steps/rank.h"

enum step_engine_state
step_engine_state(const struct step_engine *engine)
{
	if (engine->failed != 0)
		return STEP_ENGINE_FAILED;
	return engine->undone != 0 ? STEP_ENGINE_WORKING : STEP_ENGINE_DONE;
}

bool
step_engine_background_open(const struct step_engine *engine)
{
	for (uint32_t i = 0; i < engine->nbackgrounds; i++)
		if (background_open(&engine->backgrounds[i]))
			return true;
	return engine->messages.left != 0;
}

uint64_t
step_engine_unexpected(const struct step_engine *engine)
{
	return engine->unexpected;
}

const struct agent *
step_engine_agent(const struct step_engine *engine)
{
	return &engine->agent;
}

const struct monitor *
step_engine_monitor(const struct step_engine *engine, uint32_t collective, uint32_t rank)
{
	for (uint32_t i = 0; i < engine->nranks; i++)
		if (engine->ranks[i].collective == collective && engine->ranks[i].rank == rank)
			return &engine->ranks[i].monitor;
	return NULL;
}

void
step_engine_close(struct step_engine *engine, uint64_t now_ps)
{
	assert(!engine->closed);
	for (uint32_t i = 0; i < engine->nranks; i++)
		step_rank_close(engine, &engine->ranks[i], now_ps);
	for (uint32_t i = 0; i < engine->nbackgrounds; i++)
		background_close(&engine->backgrounds[i], engine->device, now_ps);
	messages_close(&engine->messages, engine->device, now_ps);
	engine->closed = true;
}

size_t
step_engine_rows(const struct step_engine *engine)
{
	return engine->nresults + (engine->closed ? engine->nbackgrounds : 0);
}

static struct step_row
background_row(const struct step_engine *engine, const struct background *background)
{
	const struct plan_background *plan = background->plan;
	const struct flow *flow = &engine->plan->flows.flows[plan->flow];
	bool open = background->sending || background->failed || background->messages == 0;
	uint64_t messages = background->messages + (open ? 1 : 0);

	return (struct step_row){
		.src = flow->src_node,
		.dst = flow->dst_node,
		.collective = REC_NONE,
		.flow = plan->flow,
		.bytes = messages * plan->bytes,
		.acked_bytes = background->messages * plan->bytes + background->acked_bytes,
		.start_ps = background->start_ps,
		.end_ps = open ? 0 : background->end_ps,
		.ideal_ps = messages * plan->ideal_ps,
		.expect_ps = messages * plan->ideal_ps,
		.waited_for = { REC_NONE, REC_NONE, 0 },
		.retransmits = (uint32_t)background->retransmits,
		.open = open,
	};
}

struct step_row
step_engine_row(const struct step_engine *engine, size_t index)
{
	assert(index < step_engine_rows(engine));
	if (index >= engine->nresults)
		return background_row(engine, &engine->backgrounds[index - engine->nresults]);

	const struct step_result *result = &engine->results[index];
	const struct plan_collective *c = &engine->plan->collectives[result->collective];
	const struct coll_step *at = coll_step_at(c->schedule, result->rank, result->step);
	const struct plan_step *known = &c->steps[plan_at(c, result->rank, result->step)];

	return (struct step_row){
		.src = c->ranks[result->rank].node,
		.dst = c->ranks[at->peer].node,
		.job = c->job,
		.collective = result->collective,
		.iteration = result->iteration,
		.rank = result->rank,
		.step = result->step,
		.channel = at->channel,
		.flow = result->flow,
		.bytes = result->bytes,
		.acked_bytes = result->acked_bytes,
		.start_ps = result->start_ps,
		.end_ps = result->end_ps,
		.ideal_ps = known->ideal_ps,
		.expect_ps = known->expect_ps,
		.waited_for = result->waited_for,
		.retransmits = result->retransmits,
		.open = result->open,
	};
}

size_t
step_engine_flows(const struct step_engine *engine)
{
	return engine->nbackgrounds + engine->messages.count;
}

struct flow_row
step_engine_flow(const struct step_engine *engine, size_t index)
{
	assert(index < step_engine_flows(engine));
	if (index < engine->nbackgrounds) {
		const struct background *background = &engine->backgrounds[index];
		struct step_row row = background_row(engine, background);

		return (struct flow_row){
			.flow = row.flow,
			.generator = REC_NONE,
			.bytes = row.bytes,
			.start_ps = background->plan->start_ps,
			.begin_ps = row.start_ps,
			.end_ps = row.end_ps,
			.ideal_ps = row.ideal_ps,
			.retransmits = row.retransmits,
			.begun = background->started,
		};
	}
	index -= engine->nbackgrounds;

	const struct plan_message *plan = &engine->plan->messages[engine->messages.first + index];
	const struct message *message = &engine->messages.states[index];

	return (struct flow_row){
		.flow = plan->flow,
		.generator = plan->generator,
		.bytes = plan->bytes,
		.start_ps = plan->start_ps,
		.begin_ps = message->begin_ps,
		.end_ps = message->end_ps,
		.ideal_ps = plan->ideal_ps,
		.retransmits = message->retransmits,
		.begun = message->begun,
	};
}

/* Ranks without begin and end when they are told to. */
static bool
has_part(const struct step_engine *engine, const struct step_rank *rank)
{
	const struct plan_collective *c = rank_collective(engine, rank);

	return coll_steps(c->schedule, rank->rank) != 0 || c->ranks[rank->rank].receives != 0;
}

struct collective_result
step_engines_result(struct step_engine *const *engines, size_t count, uint32_t collective, uint32_t iteration)
{
	struct collective_result total = { .start_ps = UINT64_MAX, .complete = true };
	uint32_t ranks = 0;

	for (size_t e = 0; e < count; e++)
		for (uint32_t i = 0; engines[e] != NULL && i < engines[e]->nranks; i++) {
			const struct step_rank *rank = &engines[e]->ranks[i];
			const struct iteration_result *result;

			if (rank->collective != collective || !has_part(engines[e], rank))
				continue;
			result = &rank->iterations[iteration];
			ranks++;
			total.wrong += result->wrong;
			total.complete = total.complete && result->complete;
			if (result->started && result->start_ps < total.start_ps)
				total.start_ps = result->start_ps;
			if (result->end_ps > total.end_ps)
				total.end_ps = result->end_ps;
		}
	if (total.start_ps == UINT64_MAX)
		total.start_ps = 0;
	if (ranks == 0 || !total.complete) {
		total.complete = false;
		total.end_ps = 0;
	}
	return total;
}
