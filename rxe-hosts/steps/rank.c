/* SPDX-License-Identifier: BSD-3-Clause */
#include "rxe-hosts/steps/rank.h"

#include <assert.h>
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>

#include "common/minmax.h"
#include "common/tag.h"
#include "common/units.h"
#include "common/wire/detection.h"
#include "workload/plan.h"

static void complete(struct step_engine *engine, struct step_rank *rank, uint32_t chain, uint64_t now_ps);
static void try_finish(struct step_engine *engine, struct step_rank *rank, struct step_ref last, uint64_t now_ps);

static void step_computed(struct step_engine *engine, struct step_rank *rank, uint32_t chain, uint64_t now_ps);
static void step_report(struct step_engine *engine, const struct step_rank *rank, const struct step_result *result,
			const struct send_times *times, uint64_t now_ps);

static const struct send_times no_times; /* of a local step */
static void turns_completed(struct step_engine *engine, struct step_rank *rank, struct step_ref last, uint64_t now_ps);

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
	for (uint32_t i = 0; i < at->nin; i++)
		rank->in[i].step = plan->of[c->in_flows[at->first_in + i]].first_step;
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

/* @return the dependency that the next step of a chain waited for */
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

/* Completes a dependency for the rank's own steps that wait for it. @param next  of the next iteration */
static void
let_go(struct step_engine *engine, struct step_rank *rank, struct coll_dep on, bool next, uint64_t now_ps)
{
	const struct chains *chains = rank->monitor.chains;
	uint32_t waiters = chains_waiters(chains, on.rank, on.step);

	for (uint32_t i = 0; i < waiters; i++) {
		struct coll_dep waiter = chains_waiter(chains, on.rank, on.step, i);

		if (waiter.rank != rank->rank)
			continue;
		monitor_dependency_done(&rank->monitor, waiter.step, on, next, now_ps);
		if (!next)
			step_engine_ready(engine, rank, chains_of(chains, rank->rank, waiter.step));
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

/* @return the chain of a rank to whose step in flight a completion belongs */
static uint32_t
chain_of(const struct step_rank *rank, const struct wc *wc)
{
	return chains_of(rank->monitor.chains, rank->rank, (uint32_t)wc->wr_id);
}

/*
 * A device that keeps no ledger: of the step's time its frames' on an idle path, and the path, are known as planned. All
 * else is unknown.
 */
static struct send_times
with_plan(const struct step_engine *engine, const struct step_result *result, const struct send_times *times)
{
	const struct plan *plan = engine->plan;
	const struct plan_collective *c = &plan->collectives[result->collective];
	const struct plan_step *known = plan_step_at(c, result->rank, result->step);
	const struct plan_flow *of = &plan->of[known->flow];
	uint64_t took_ps = result->end_ps - result->start_ps;
	struct send_times all = *times;

	if (engine->config.detection->policy == REC_POLICY_OFF || all.ledger_ps[LEDGER_WIRE] != 0)
		return all;
	all.ledger_ps[LEDGER_WIRE] = min_u64(took_ps, known->ideal_ps - min_u64(known->ideal_ps, of->base_rtt_ps));
	took_ps -= all.ledger_ps[LEDGER_WIRE];
	all.ledger_ps[LEDGER_THERE] = min_u64(took_ps, of->there_ps);
	took_ps -= all.ledger_ps[LEDGER_THERE];
	all.ledger_ps[LEDGER_BACK] = min_u64(took_ps, of->base_rtt_ps - of->there_ps);
	return all;
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
	};
	struct send_times times;

	assert(at->state == CHAIN_SENDING && wc->wr_id == step);
	result.acked_bytes = result.bytes;
	engine->sending--;
	monitor_audit(&engine->audit, &result, &wc->times, wc->time_ps);
	times = with_plan(engine, &result, &wc->times);
	step_report(engine, rank, &result, &times, wc->time_ps);
	agent_step_completed(&engine->agent, rank->first_slot + chain, wc->retransmits, wc->time_ps);
	complete(engine, rank, chain, wc->time_ps);
}

/* A local step is over, at once or after its time. */
static void
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
	step_report(engine, rank, &result, &no_times, now_ps);
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
	in->step = chains_behind(c->chains, of->rank, sent.step);
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

/* The start of a step: a message is posted and watched, a local step computes. */

/* How long a local step takes in this iteration. */
static uint64_t
compute_ps(const struct plan_collective *c, const struct step_rank *rank, uint32_t step)
{
	uint64_t planned_ps = coll_step_get(c->schedule, rank->rank, step).compute_ps;

	return c->actual_ps != NULL ? c->actual_ps(c->actual_ctx, rank->rank, rank->iteration, planned_ps) : planned_ps;
}

/* @return the facts about a step that the agent needs to watch it */
static struct agent_step
watch(const struct step_engine *engine, const struct step_rank *rank, uint32_t step, uint64_t now_ps)
{
	const struct plan_collective *c = rank_collective(engine, rank);
	const struct plan_step *known = plan_step_at(c, rank->rank, step);
	struct device *device = engine->device;
	struct path_rtt measured;
	struct agent_step watched = {
		.flow = known->flow,
		.tuple = plan_tuple(engine->plan, known->flow),
		.collective = rank->collective,
		.iteration = rank->iteration,
		.rank = rank->rank,
		.step = step,
		.serial = rank->iteration * coll_max_steps(c->schedule) + step,
		.bytes = plan_step_bytes(c, rank->rank, step),
		.base_rtt_ps = engine->plan->of[known->flow].base_rtt_ps,
		.least_rtt_ps = c->least_rtt_ps,
		.most_rtt_ps = c->most_rtt_ps,
		.ack_wait_ps = engine->plan->of[known->flow].ack_wait_ps,
		.jitter_ps = engine->config.jitter_ps,
		.expect_ps = known->expect_ps,
		.start_ps = now_ps,
		.notify_flow = known->notify_flow,
		.waiter = REC_NONE,
	};

	if (known->notify_flow != PLAN_NONE)
		watched.waiter = c->ranks[coll_step_get(c->schedule, rank->rank, step).peer].node;
	if (device->ops->path_rtt != NULL && device->ops->path_rtt(device, known->flow, &measured)) {
		uint64_t more_ps = measured.base_ps > watched.base_rtt_ps ? measured.base_ps - watched.base_rtt_ps : 0;

		watched.base_rtt_ps = measured.base_ps;
		watched.least_rtt_ps += more_ps; /* other hosts' paths are as much slower than configured */
		watched.most_rtt_ps += more_ps;
		watched.noise_ps = measured.noise_ps;
	}
	return watched;
}

static void
post(struct step_engine *engine, struct step_rank *rank, uint32_t chain, uint32_t step, uint64_t now_ps)
{
	const struct plan_collective *c = rank_collective(engine, rank);
	const struct coll_step at = coll_step_get(c->schedule, rank->rank, step);
	uint32_t flow = plan_step_at(c, rank->rank, step)->flow;
	struct device *device = engine->device;
	struct agent_step watched = watch(engine, rank, step, now_ps);
	struct send_wr wr = {
		.wr_id = step,
		.bytes = watched.bytes,
		.local_offset = payload_offset(c, rank->rank, rank->iteration, at.src_elems),
		.remote_offset = payload_offset(c, at.peer, rank->iteration, at.dst_elems),
		.there_ps = engine->plan->of[flow].there_ps,
		.back_ps = engine->plan->of[flow].base_rtt_ps - engine->plan->of[flow].there_ps,
		.imm = imm_encode(rank->iteration, step),
		.tag = engine->plan->of[flow].measured ? tag_make(rank->iteration) : 0,
	};

	if (c->qp_per_step)
		device->ops->reset_qp(device, flow);
	if (device->ops->post_send(device, flow, &wr) != 0) {
		rank->chains[chain].state = CHAIN_FAILED; /* -EBUSY: the QP failed before; one message cannot fill it */
		engine->failed++;
		return;
	}
	rank->chains[chain].state = CHAIN_SENDING;
	rank->flying[engine->plan->of[flow].out] = rank->first_slot + chain;
	engine->sending++;
	agent_step_started(&engine->agent, rank->first_slot + chain, &watched);
}

void
step_start(struct step_engine *engine, struct step_rank *rank, uint32_t chain, uint64_t now_ps)
{
	const struct plan_collective *c = rank_collective(engine, rank);
	struct step_chain *at = &rank->chains[chain];
	uint32_t step = monitor_next_step(&rank->monitor, chain);
	uint64_t takes_ps;

	monitor_started(&rank->monitor, chain);
	at->start_ps = now_ps;
	if (coll_step_get(c->schedule, rank->rank, step).peer != rank->rank) {
		post(engine, rank, chain, step, now_ps);
		return;
	}
	at->state = CHAIN_COMPUTING;
	takes_ps = compute_ps(c, rank, step);
	if (takes_ps != 0)
		wakes_add(&engine->wakes, (struct wake){ now_ps + takes_ps, rank->slot, chain });
	else
		step_computed(engine, rank, chain, now_ps);
}

/* Reports of steps; at the end of the run, also of open ones. */

/* @return the dependency that a chain's next step waits for, or would have waited for */
static struct step_ref
waits_for(const struct step_rank *rank, uint32_t chain)
{
	struct coll_dep dep = monitor_waits_for(&rank->monitor, chain);

	if (rank->chains[chain].state == CHAIN_DELAYED)
		return rank->chains[chain].waited_for;
	if (dep.rank == COLL_NONE && rank->monitor.queues[chain].ssq != 0)
		dep = (struct coll_dep){ rank->rank, rank_current(rank, chain) };
	return dep.rank != COLL_NONE ? (struct step_ref){ rank->collective, dep.rank, dep.step } : rank->begun_by;
}

/* @return false: the chain has nothing to do any more */
static bool
open_step(const struct step_engine *engine, const struct step_rank *rank, uint32_t chain, struct step_result *result,
	  struct send_times *times)
{
	const struct plan_collective *c = rank_collective(engine, rank);
	const struct step_chain *at = &rank->chains[chain];
	bool begun = at->state == CHAIN_SENDING || at->state == CHAIN_COMPUTING || at->state == CHAIN_FAILED;
	uint32_t step = begun ? rank_current(rank, chain) : monitor_next_step(&rank->monitor, chain);

	if (step == 0)
		return false;
	*times = no_times;
	*result = (struct step_result){
		.collective = rank->collective,
		.iteration = rank->iteration,
		.rank = rank->rank,
		.step = step,
		.flow = plan_step_at(c, rank->rank, step)->flow,
		.waited_for = begun ? at->waited_for : waits_for(rank, chain),
		.bytes = plan_step_bytes(c, rank->rank, step),
		.start_ps = begun ? at->start_ps : 0,
		.state = begun ? REC_STEP_OPEN : REC_STEP_WAITS,
	};
	if (at->state == CHAIN_FAILED) {
		result->acked_bytes = at->failure.bytes;
		result->retransmits = at->failure.retransmits;
		*times = at->failure.times;
	} else if (at->state == CHAIN_SENDING) {
		struct qp_state qp;

		engine->device->ops->query_qp(engine->device, result->flow, &qp);
		result->acked_bytes = qp.acked_bytes;
		result->retransmits = qp.retransmits;
		engine->device->ops->query_times(engine->device, result->flow, times);
	}
	return true;
}

void
step_rank_close(struct step_engine *engine, struct step_rank *rank, uint64_t now_ps)
{
	struct step_result result;
	struct send_times times;

	for (uint32_t chain = 0; rank->state != RANK_DONE && chain < rank_chains(rank); chain++) {
		const struct step_chain *at = &rank->chains[chain];

		if (!open_step(engine, rank, chain, &result, &times))
			continue;
		monitor_audit(&engine->audit, &result, &times, at->state == CHAIN_FAILED ? at->failure.time_ps : now_ps);
		step_report(engine, rank, &result, &times, now_ps);
	}
}

static void
step_report(struct step_engine *engine, const struct step_rank *rank, const struct step_result *result,
	    const struct send_times *times, uint64_t now_ps)
{
	const struct step_done row = {
		.start_ps = result->start_ps,
		.end_ps = result->end_ps,
		.waited_for = result->waited_for,
		.slot = rank->slot,
		.iteration = result->iteration,
		.step = result->step,
		.unacked_bytes = (uint32_t)(result->bytes - result->acked_bytes),
		.retransmits = result->retransmits,
		.state = result->state,
	};

	done_log_add(&engine->done, &row);
	monitor_report(engine->device->ops->records(engine->device), result, times, now_ps);
}

/* The order in which a rank takes part in the collectives of its job (struct plan_collective.after). */

static const struct step_ref nothing = { REC_NONE, REC_NONE, 0 };

static uint32_t
find_turn(struct step_engine *engine, uint32_t job, uint32_t rank)
{
	for (uint32_t t = 0; t < engine->nturns; t++)
		if (engine->turns[t].job == job && engine->turns[t].rank == rank)
			return t;
	engine->turns[engine->nturns] = (struct step_turn){ .job = job, .rank = rank };
	return engine->nturns++;
}

/* An iteration is due; a collective without predecessors in it begins at its time. */
static void
prepare(struct step_engine *engine, struct step_rank *rank, uint64_t begin_ps)
{
	rank->before = rank_collective(engine, rank)->nafter;
	rank->begun_by = nothing;
	if (rank->before == 0)
		wakes_add(&engine->wakes, (struct wake){ begin_ps, rank->slot, RANK_BEGINS });
}

int
turns_init(struct step_engine *engine)
{
	engine->turns = calloc(engine->nranks + 1u, sizeof(*engine->turns));
	if (engine->turns == NULL)
		return -ENOMEM;
	for (uint32_t i = 0; i < engine->nranks; i++) {
		struct step_rank *rank = &engine->ranks[i];
		struct step_turn *turn;

		rank->turn = find_turn(engine, rank_collective(engine, rank)->job, rank->rank);
		turn = &engine->turns[rank->turn];
		turn->open = ++turn->members;
		prepare(engine, rank, rank_collective(engine, rank)->start_ps);
	}
	return 0;
}

static bool
is_after(const struct plan_collective *c, uint32_t collective)
{
	for (uint32_t i = 0; i < c->nafter; i++)
		if (c->after[i] == collective)
			return true;
	return false;
}

/* All of a job's collectives are complete at a rank: those that are after nothing begin anew. */
static void
next_iteration(struct step_engine *engine, uint32_t index, uint64_t now_ps)
{
	struct step_turn *turn = &engine->turns[index];

	turn->open = turn->members;
	for (uint32_t i = 0; i < engine->nranks; i++) {
		struct step_rank *rank = &engine->ranks[i];

		if (rank->turn == index && rank->state != RANK_DONE)
			prepare(engine, rank, now_ps + rank_collective(engine, rank)->gap_ps);
	}
}

/* A rank has completed an iteration of its collective. @param last  its latest dependency */
static void
turns_completed(struct step_engine *engine, struct step_rank *rank, struct step_ref last, uint64_t now_ps)
{
	uint32_t turn = rank->turn;

	for (uint32_t i = 0; engine->turns[turn].members > 1 && i < engine->nranks; i++) {
		struct step_rank *other = &engine->ranks[i];

		if (other->turn != turn || !is_after(rank_collective(engine, other), rank->collective))
			continue;
		other->begun_by = last;
		if (--other->before == 0)
			step_engine_ready(engine, other, RANK_BEGINS);
	}
	if (--engine->turns[turn].open == 0)
		next_iteration(engine, turn, now_ps);
}

/* Wake-ups of chains. */

int
wakes_init(struct wakes *wakes, uint32_t cap)
{
	*wakes = (struct wakes){ .heap = calloc(cap + 1u, sizeof(*wakes->heap)), .cap = cap };
	return wakes->heap == NULL ? -ENOMEM : 0;
}

void
wakes_fini(struct wakes *wakes)
{
	free(wakes->heap);
	*wakes = (struct wakes){ 0 };
}

uint64_t
wakes_next_ps(const struct wakes *wakes)
{
	return wakes->count != 0 ? wakes->heap[0].time_ps : TIME_NEVER;
}

static bool
earlier(const struct wake *a, const struct wake *b)
{
	if (a->time_ps != b->time_ps)
		return a->time_ps < b->time_ps;
	if (a->slot != b->slot)
		return a->slot < b->slot;
	return a->chain < b->chain;
}

void
wakes_add(struct wakes *wakes, struct wake wake)
{
	uint32_t at = wakes->count++;

	assert(at < wakes->cap);
	for (; at > 0 && earlier(&wake, &wakes->heap[(at - 1) / 2]); at = (at - 1) / 2)
		wakes->heap[at] = wakes->heap[(at - 1) / 2];
	wakes->heap[at] = wake;
}

struct wake
wakes_take(struct wakes *wakes)
{
	struct wake first = wakes->heap[0], last;
	uint32_t at = 0;

	assert(wakes->count > 0);
	last = wakes->heap[--wakes->count];
	for (;;) {
		uint32_t child = 2 * at + 1;

		if (child + 1 < wakes->count && earlier(&wakes->heap[child + 1], &wakes->heap[child]))
			child++;
		if (child >= wakes->count || !earlier(&wakes->heap[child], &last))
			break;
		wakes->heap[at] = wakes->heap[child];
		at = child;
	}
	wakes->heap[at] = last;
	return first;
}
