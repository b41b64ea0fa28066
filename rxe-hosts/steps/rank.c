/* SPDX-License-Identifier: BSD-3-Clause */
#include "rxe-hosts/steps/rank.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>

#include "common/units.h"
#include "rxe-hosts/steps/imm.h"

static void start_iteration(struct step_engine *engine, struct step_rank *rank, uint64_t now_ps);
static void try_start(struct step_engine *engine, struct step_rank *rank, uint64_t now_ps);
static void begin_step(struct step_engine *engine, struct step_rank *rank, uint64_t now_ps);
static void try_finish(struct step_engine *engine, struct step_rank *rank, uint64_t now_ps);
static void report(struct step_engine *engine, const struct step_result *result, uint64_t now_ps);

static const struct plan_collective *
collective_of(const struct step_engine *engine, const struct step_rank *rank)
{
	return &engine->plan->collectives[rank->collective];
}

/* @param source  the rank whose data it was, MONITOR_NONE: its own previous step, if there is one */
static struct step_ref
waited_for(const struct plan_collective *c, const struct step_rank *rank, uint32_t step, uint32_t source)
{
	if (source != MONITOR_NONE)
		return (struct step_ref){ rank->collective, source, coll_step_arrival(c->schedule, rank->rank, step).step };
	if (step > 1)
		return (struct step_ref){ rank->collective, rank->rank, step - 1 };
	return (struct step_ref){ REC_NONE, REC_NONE, 0 };
}

int
step_rank_init(struct step_rank *rank, const struct plan *plan, uint32_t collective, uint32_t index)
{
	const struct plan_collective *c = &plan->collectives[collective];
	int rc = monitor_init(&rank->monitor, c->schedule, index);

	if (rc != 0)
		return rc;
	rank->state = RANK_IDLE;
	rank->collective = collective;
	rank->rank = index;
	rank->slot = c->ranks[index].slot;
	rank->wake_ps = c->start_ps;
	rank->iterations = calloc(c->iterations, sizeof(*rank->iterations));
	if (rank->iterations == NULL)
		return -ENOMEM;
	for (uint32_t step = 1; step <= coll_steps(c->schedule, index); step++) {
		struct coll_dep arrival = coll_step_arrival(c->schedule, index, step);

		if (arrival.rank != COLL_NONE && plan_needed_by(c, arrival.rank, arrival.step) != step)
			monitor_exempt(&rank->monitor, step);
	}
	return 0;
}

void
step_rank_fini(struct step_rank *rank)
{
	monitor_fini(&rank->monitor);
	free(rank->iterations);
	rank->iterations = NULL;
}

void
step_rank_wake(struct step_engine *engine, struct step_rank *rank, uint64_t now_ps)
{
	rank->wake_ps = TIME_NEVER;
	if (rank->state == RANK_IDLE)
		start_iteration(engine, rank, now_ps);
	else if (rank->state == RANK_DELAYED)
		begin_step(engine, rank, now_ps);
}

void
step_rank_sent(struct step_engine *engine, struct step_rank *rank, const struct wc *wc)
{
	const struct plan_collective *c = collective_of(engine, rank);
	uint32_t step = rank->monitor.ssq;
	struct step_result result = {
		.collective = rank->collective,
		.iteration = rank->iteration,
		.rank = rank->rank,
		.step = step,
		.flow = wc->flow,
		.waited_for = rank->waited_for,
		.bytes = plan_step_bytes(c, rank->rank, step),
		.start_ps = rank->start_ps,
		.end_ps = wc->time_ps,
		.retransmits = wc->retransmits,
	};

	assert(rank->state == RANK_SENDING && wc->wr_id == step);
	result.acked_bytes = result.bytes;
	report(engine, &result, wc->time_ps);
	agent_step_completed(&engine->agent, rank->slot, wc->time_ps);
	rank->own_ps = wc->time_ps;
	if (step < coll_steps(c->schedule, rank->rank)) {
		rank->state = RANK_WAITING;
		try_start(engine, rank, wc->time_ps);
	} else {
		rank->state = RANK_RECEIVING;
		try_finish(engine, rank, wc->time_ps);
	}
}

void
step_rank_failed(struct step_engine *engine, struct step_rank *rank, const struct wc *wc)
{
	if (rank->state != RANK_SENDING)
		return;
	rank->state = RANK_FAILED;
	rank->failed_bytes = wc->bytes;
	rank->failed_retransmits = wc->retransmits;
	agent_step_failed(&engine->agent, rank->slot);
}

bool
step_rank_received(struct step_engine *engine, struct step_rank *rank, const struct wc *wc)
{
	const struct plan_collective *c = collective_of(engine, rank);
	const struct plan_flow *of = &engine->plan->of[wc->flow];
	struct imm imm = imm_decode(wc->imm);
	bool next = imm_encode(rank->iteration, imm.step) != wc->imm;
	uint32_t *received = next ? &rank->received_early : &rank->received;
	uint32_t step;

	if (imm.step < 1 || imm.step > coll_steps(c->schedule, of->rank) ||
	    coll_step_at(c->schedule, of->rank, imm.step)->peer != rank->rank ||
	    wc->bytes != plan_step_bytes(c, of->rank, imm.step))
		return false;
	if (next && (imm_encode(rank->iteration + 1, imm.step) != wc->imm || rank->iteration + 1 >= c->iterations))
		return false;
	step = plan_needed_by(c, of->rank, imm.step);
	if (*received == c->ranks[rank->rank].receives ||
	    (step != 0 && !monitor_arrived(&rank->monitor, step, next, wc->time_ps)))
		return false;
	(*received)++;
	if (next)
		return true;
	if (rank->state == RANK_WAITING)
		try_start(engine, rank, wc->time_ps);
	else
		try_finish(engine, rank, wc->time_ps);
	return true;
}

void
step_rank_close(struct step_engine *engine, struct step_rank *rank, uint64_t now_ps)
{
	const struct plan_collective *c = collective_of(engine, rank);
	struct step_result result = {
		.collective = rank->collective,
		.iteration = rank->iteration,
		.rank = rank->rank,
		.open = true,
	};

	if (rank->state == RANK_DONE || rank->state == RANK_RECEIVING)
		return;
	if (rank->state == RANK_SENDING || rank->state == RANK_FAILED) {
		result.step = rank->monitor.ssq;
		result.start_ps = rank->start_ps;
		result.waited_for = rank->waited_for;
		result.acked_bytes = rank->failed_bytes;
		result.retransmits = rank->failed_retransmits;
	} else {
		result.step = monitor_next_step(&rank->monitor);
		result.waited_for = rank->state == RANK_DELAYED
					    ? rank->waited_for
					    : waited_for(c, rank, result.step, monitor_waits_for(&rank->monitor));
	}
	result.flow = c->steps[plan_at(c, rank->rank, result.step)].flow;
	result.bytes = plan_step_bytes(c, rank->rank, result.step);
	if (rank->state == RANK_SENDING) {
		struct qp_state qp;

		engine->device->ops->query_qp(engine->device, result.flow, &qp);
		result.acked_bytes = qp.acked_bytes;
		result.retransmits = qp.retransmits;
	}
	report(engine, &result, now_ps);
}

static void
start_iteration(struct step_engine *engine, struct step_rank *rank, uint64_t now_ps)
{
	rank->iterations[rank->iteration].start_ps = now_ps;
	rank->iterations[rank->iteration].started = true;
	rank->own_ps = now_ps;
	rank->state = RANK_WAITING;
	try_start(engine, rank, now_ps);
}

static void
try_start(struct step_engine *engine, struct step_rank *rank, uint64_t now_ps)
{
	const struct plan_collective *c = collective_of(engine, rank);
	uint64_t delay_ps = 0;

	if (!monitor_next_ready(&rank->monitor))
		return;
	rank->waited_for =
		waited_for(c, rank, monitor_next_step(&rank->monitor), monitor_waited_for(&rank->monitor, rank->own_ps));
	if (engine->config.start_delay_ps != NULL)
		delay_ps = engine->config.start_delay_ps(engine->config.start_ctx, engine->config.node, rank->collective,
							 monitor_next_step(&rank->monitor));
	if (delay_ps != 0) {
		rank->state = RANK_DELAYED;
		rank->wake_ps = now_ps + delay_ps;
	} else {
		begin_step(engine, rank, now_ps);
	}
}

static void
begin_step(struct step_engine *engine, struct step_rank *rank, uint64_t now_ps)
{
	const struct plan_collective *c = collective_of(engine, rank);
	uint32_t step = monitor_next_step(&rank->monitor);
	const struct coll_step *at = coll_step_at(c->schedule, rank->rank, step);
	const struct plan_step *known = &c->steps[plan_at(c, rank->rank, step)];
	struct device *device = engine->device;
	struct path_rtt measured;
	struct send_wr wr = {
		.wr_id = step,
		.bytes = plan_step_bytes(c, rank->rank, step),
		.local_offset = payload_offset(c, rank->rank, rank->iteration, at->src_elems),
		.remote_offset = payload_offset(c, at->peer, rank->iteration, at->dst_elems),
		.imm = imm_encode(rank->iteration, step),
	};
	struct agent_step watched = {
		.flow = known->flow,
		.tuple = plan_tuple(engine->plan, known->flow),
		.collective = rank->collective,
		.iteration = rank->iteration,
		.rank = rank->rank,
		.step = step,
		.serial = rank->iteration * coll_max_steps(c->schedule) + step,
		.bytes = wr.bytes,
		.base_rtt_ps = engine->plan->of[known->flow].base_rtt_ps,
		.least_rtt_ps = c->least_rtt_ps,
		.most_rtt_ps = c->most_rtt_ps,
		.expect_ps = known->expect_ps,
		.start_ps = now_ps,
		.notify_flow = known->notify_flow,
		.waiter = known->notify_flow != PLAN_NONE ? c->ranks[at->peer].node : REC_NONE,
	};

	if (device->ops->path_rtt != NULL && device->ops->path_rtt(device, known->flow, &measured)) {
		uint64_t more_ps = measured.base_ps > watched.base_rtt_ps ? measured.base_ps - watched.base_rtt_ps : 0;

		watched.base_rtt_ps = measured.base_ps;
		watched.least_rtt_ps += more_ps; /* other hosts' paths are as much slower than configured */
		watched.most_rtt_ps += more_ps;
		watched.noise_ps = measured.noise_ps;
	}
	monitor_started(&rank->monitor);
	rank->start_ps = now_ps;
	if (c->qp_per_step)
		device->ops->reset_qp(device, known->flow);
	if (device->ops->post_send(device, known->flow, &wr) != 0) {
		rank->state = RANK_FAILED; /* -EBUSY: the queue pair failed before; one message cannot fill it */
		return;
	}
	rank->state = RANK_SENDING;
	agent_step_started(&engine->agent, rank->slot, &watched);
}

/* All sent and all received: the iteration is over here. */
static void
try_finish(struct step_engine *engine, struct step_rank *rank, uint64_t now_ps)
{
	const struct plan_collective *c = collective_of(engine, rank);
	struct iteration_result *result = &rank->iterations[rank->iteration];

	if (rank->state != RANK_RECEIVING || rank->received < c->ranks[rank->rank].receives)
		return;
	result->end_ps = now_ps;
	result->wrong = payload_wrong(engine, rank);
	if (rank->iteration + 1 == c->iterations) {
		rank->state = RANK_DONE;
		return;
	}
	if (rank->iteration + 2 < c->iterations)
		payload_fill(engine, rank, rank->iteration + 2);
	rank->iteration++;
	rank->received = rank->received_early;
	rank->received_early = 0;
	monitor_next_iteration(&rank->monitor);
	rank->state = RANK_IDLE;
	if (c->gap_ps != 0)
		rank->wake_ps = now_ps + c->gap_ps;
	else
		start_iteration(engine, rank, now_ps);
}

static void
report(struct step_engine *engine, const struct step_result *result, uint64_t now_ps)
{
	assert(engine->nresults < engine->results_cap);
	engine->results[engine->nresults++] = *result;
	monitor_report(engine->device->ops->records(engine->device), result, now_ps);
}
