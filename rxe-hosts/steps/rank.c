/* SPDX-License-Identifier: BSD-3-Clause */
#include "rxe-hosts/steps/rank.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>

#include "common/units.h"
#include "workload/imm.h"

static void complete(struct step_engine *engine, struct step_rank *rank, uint32_t chain, uint64_t now_ps);
static void try_finish(struct step_engine *engine, struct step_rank *rank, struct step_ref last, uint64_t now_ps);

int
step_rank_init(struct step_rank *rank, const struct plan *plan, uint32_t collective, uint32_t index)
{
	const struct plan_collective *c = &plan->collectives[collective];
	const struct plan_rank *at = &c->ranks[index];
	int rc = monitor_init(&rank->monitor, c->chains, index);

	if (rc != 0)
		return rc;
	rank->state = RANK_IDLE;
	rank->collective = collective;
	rank->rank = index;
	rank->slot = at->slot;
	rank->chains = calloc(rank_chains(rank) + 1u, sizeof(*rank->chains));
	rank->flying = calloc(at->nout + 1u, sizeof(*rank->flying));
	rank->in = calloc(at->nin + 1u, sizeof(*rank->in));
	rank->iterations = calloc(c->iterations, sizeof(*rank->iterations));
	if (rank->chains == NULL || rank->flying == NULL || rank->in == NULL || rank->iterations == NULL)
		return -ENOMEM;
	for (uint32_t f = c->first_flow; f < c->first_flow + c->nflows; f++)
		if (plan->of[f].peer == index)
			rank->in[plan->of[f].in].step = plan->of[f].first_step;
	return 0;
}

void
step_rank_fini(struct step_rank *rank)
{
	monitor_fini(&rank->monitor);
	free(rank->chains);
	free(rank->flying);
	free(rank->in);
	free(rank->iterations);
	rank->chains = NULL;
	rank->flying = NULL;
	rank->in = NULL;
	rank->iterations = NULL;
}

void
step_rank_begin(struct step_engine *engine, struct step_rank *rank, uint64_t now_ps)
{
	assert(rank->state == RANK_IDLE);
	rank->iterations[rank->iteration].start_ps = now_ps;
	rank->iterations[rank->iteration].started = true;
	rank->state = RANK_RUNNING;
	if (rank->iteration == 0)
		step_engine_connection(engine, rank, true, now_ps);
	for (uint32_t chain = 0; chain < rank_chains(rank); chain++) {
		rank->chains[chain].own_ps = now_ps;
		step_engine_ready(engine, rank, chain);
	}
	try_finish(engine, rank, rank->begun_by, now_ps); /* it may have no part */
}

/* What the next step of a chain waited for. */
static struct step_ref
waited_for(const struct step_rank *rank, uint32_t chain)
{
	struct coll_dep dep = monitor_waited_for(&rank->monitor, chain, rank->chains[chain].own_ps);

	return dep.rank != COLL_NONE ? (struct step_ref){ rank->collective, dep.rank, dep.step } : rank->begun_by;
}

void
step_rank_try(struct step_engine *engine, struct step_rank *rank, uint32_t chain, uint64_t now_ps)
{
	struct step_chain *at = &rank->chains[chain];
	uint64_t delay_ps = 0;

	if (rank->state != RANK_RUNNING || at->state != CHAIN_WAITING || !monitor_next_ready(&rank->monitor, chain))
		return;
	at->waited_for = waited_for(rank, chain);
	if (engine->config.start_delay_ps != NULL)
		delay_ps = engine->config.start_delay_ps(engine->config.start_ctx, engine->config.node, rank->collective,
							 monitor_next_step(&rank->monitor, chain));
	if (delay_ps != 0) {
		at->state = CHAIN_DELAYED;
		wakes_add(&engine->wakes, (struct wake){ now_ps + delay_ps, rank->slot, chain });
	} else {
		step_start(engine, rank, chain, now_ps);
	}
}

void
step_rank_wake(struct step_engine *engine, struct step_rank *rank, uint32_t chain, uint64_t now_ps)
{
	if (chain == RANK_BEGINS)
		step_engine_ready(engine, rank, RANK_BEGINS);
	else if (rank->chains[chain].state == CHAIN_DELAYED)
		step_start(engine, rank, chain, now_ps);
	else
		step_computed(engine, rank, chain, now_ps);
}

/* What waits for a step, among the rank's own. @param next  of the next iteration */
static void
let_go(struct step_engine *engine, struct step_rank *rank, struct coll_dep on, bool next, uint64_t now_ps)
{
	const struct chains *chains = rank->monitor.chains;
	size_t at = coll_step_index(chains->schedule, on.rank, on.step);

	for (uint32_t i = chains->first_waiter[at]; i < chains->first_waiter[at + 1]; i++) {
		struct coll_dep waiter = chains->waiters[i];

		if (waiter.rank != rank->rank)
			continue;
		monitor_dependency_done(&rank->monitor, waiter.step, on, next, now_ps);
		if (!next)
			step_engine_ready(engine, rank,
					  chains->chain_of[coll_step_index(chains->schedule, rank->rank, waiter.step)]);
	}
}

/* The step of a chain is over and reported. */
static void
complete(struct step_engine *engine, struct step_rank *rank, uint32_t chain, uint64_t now_ps)
{
	struct step_chain *at = &rank->chains[chain];
	uint32_t step = rank_current(rank, chain);

	at->state = CHAIN_WAITING;
	at->own_ps = now_ps;
	rank->complete++;
	step_engine_ready(engine, rank, chain);
	let_go(engine, rank, (struct coll_dep){ rank->rank, step }, false, now_ps);
	try_finish(engine, rank, (struct step_ref){ rank->collective, rank->rank, step }, now_ps);
}

/* @return the chain of a rank whose step in flight a completion is of */
static uint32_t
chain_of(const struct step_rank *rank, const struct wc *wc)
{
	const struct chains *chains = rank->monitor.chains;

	return chains->chain_of[coll_step_index(chains->schedule, rank->rank, (uint32_t)wc->wr_id)];
}

void
step_rank_sent(struct step_engine *engine, struct step_rank *rank, const struct wc *wc)
{
	uint32_t chain = chain_of(rank, wc), step = rank_current(rank, chain);
	struct step_chain *at = &rank->chains[chain];
	struct step_result result = {
		.collective = rank->collective,
		.iteration = rank->iteration,
		.rank = rank->rank,
		.step = step,
		.flow = wc->flow,
		.waited_for = at->waited_for,
		.bytes = plan_step_bytes(rank_collective(engine, rank), rank->rank, step),
		.start_ps = at->start_ps,
		.end_ps = wc->time_ps,
		.retransmits = wc->retransmits,
		.times = wc->times,
	};

	assert(at->state == CHAIN_SENDING && wc->wr_id == step);
	result.acked_bytes = result.bytes;
	engine->sending--;
	step_report(engine, &result, wc->time_ps);
	agent_step_completed(&engine->agent, rank->first_slot + chain, wc->retransmits, wc->time_ps);
	complete(engine, rank, chain, wc->time_ps);
}

void
step_computed(struct step_engine *engine, struct step_rank *rank, uint32_t chain, uint64_t now_ps)
{
	const struct step_chain *at = &rank->chains[chain];
	uint32_t step = rank_current(rank, chain);
	struct step_result result = {
		.collective = rank->collective,
		.iteration = rank->iteration,
		.rank = rank->rank,
		.step = step,
		.flow = PLAN_NONE,
		.waited_for = at->waited_for,
		.bytes = plan_step_bytes(rank_collective(engine, rank), rank->rank, step),
		.start_ps = at->start_ps,
		.end_ps = now_ps,
	};

	assert(at->state == CHAIN_COMPUTING);
	result.acked_bytes = result.bytes;
	payload_local(engine, rank, step);
	step_report(engine, &result, now_ps);
	complete(engine, rank, chain, now_ps);
}

void
step_rank_failed(struct step_engine *engine, struct step_rank *rank, const struct wc *wc)
{
	uint32_t chain = chain_of(rank, wc);
	struct step_chain *at = &rank->chains[chain];

	if (at->state != CHAIN_SENDING || rank_current(rank, chain) != wc->wr_id)
		return;
	engine->sending--;
	at->state = CHAIN_FAILED;
	engine->failed++;
	at->failure = *wc;
	agent_step_failed(&engine->agent, rank->first_slot + chain);
}

bool
step_rank_received(struct step_engine *engine, struct step_rank *rank, const struct wc *wc)
{
	const struct plan_collective *c = rank_collective(engine, rank);
	const struct plan_flow *of = &engine->plan->of[wc->flow];
	struct step_inflow *in = &rank->in[of->in];
	struct coll_dep sent = { of->rank, in->step };
	bool next = in->iteration != rank->iteration;

	if (wc->imm != imm_encode(in->iteration, in->step) || wc->bytes != plan_step_bytes(c, of->rank, in->step) ||
	    in->iteration > rank->iteration + 1 || in->iteration >= c->iterations)
		return false;
	in->step = c->chains->behind[plan_at(c, of->rank, sent.step)];
	if (in->step == 0) {
		in->step = of->first_step;
		in->iteration++;
	}
	(*(next ? &rank->received_early : &rank->received))++;
	let_go(engine, rank, sent, next, wc->time_ps);
	if (!next)
		try_finish(engine, rank, (struct step_ref){ rank->collective, sent.rank, sent.step }, wc->time_ps);
	return true;
}

/* All sent and all received: the iteration is over here. */
static void
try_finish(struct step_engine *engine, struct step_rank *rank, struct step_ref last, uint64_t now_ps)
{
	const struct plan_collective *c = rank_collective(engine, rank);
	struct iteration_result *result = &rank->iterations[rank->iteration];

	if (rank->state != RANK_RUNNING || rank->complete < coll_steps(c->schedule, rank->rank) ||
	    rank->received < c->ranks[rank->rank].receives)
		return;
	result->end_ps = now_ps;
	result->complete = true;
	result->wrong = payload_wrong(engine, rank);
	if (rank->iteration + 1 == c->iterations) {
		rank->state = RANK_DONE;
		engine->undone--;
		step_engine_connection(engine, rank, false, now_ps);
	} else {
		if (rank->iteration + 2 < c->iterations)
			payload_fill(engine, rank, rank->iteration + 2);
		rank->iteration++;
		rank->complete = 0;
		rank->received = rank->received_early;
		rank->received_early = 0;
		monitor_next_iteration(&rank->monitor);
		rank->state = RANK_IDLE;
	}
	turns_completed(engine, rank, last, now_ps);
}
