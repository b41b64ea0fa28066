/* SPDX-License-Identifier: BSD-3-Clause */
/* The start of a step: a message is posted and watched, a local step computes. */
#include "common/tag.h"
#include "rxe-hosts/steps/rank.h"
#include "workload/imm.h"

/* How long a local step takes in this iteration. */
static uint64_t
compute_ps(const struct plan_collective *c, const struct step_rank *rank, uint32_t step)
{
	uint64_t planned_ps = coll_step_at(c->schedule, rank->rank, step)->compute_ps;

	return c->actual_ps != NULL ? c->actual_ps(c->actual_ctx, rank->rank, rank->iteration, planned_ps) : planned_ps;
}

/* What the agent has to know of a step. */
static struct agent_step
watch(const struct step_engine *engine, const struct step_rank *rank, uint32_t step, uint64_t now_ps)
{
	const struct plan_collective *c = rank_collective(engine, rank);
	const struct plan_step *known = &c->steps[plan_at(c, rank->rank, step)];
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
		.jitter_ps = engine->config.jitter_ps,
		.expect_ps = known->expect_ps,
		.start_ps = now_ps,
		.notify_flow = known->notify_flow,
		.waiter = REC_NONE,
	};

	if (known->notify_flow != PLAN_NONE)
		watched.waiter = c->ranks[coll_step_at(c->schedule, rank->rank, step)->peer].node;
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
	const struct coll_step *at = coll_step_at(c->schedule, rank->rank, step);
	uint32_t flow = c->steps[plan_at(c, rank->rank, step)].flow;
	struct device *device = engine->device;
	struct agent_step watched = watch(engine, rank, step, now_ps);
	struct send_wr wr = {
		.wr_id = step,
		.bytes = watched.bytes,
		.local_offset = payload_offset(c, rank->rank, rank->iteration, at->src_elems),
		.remote_offset = payload_offset(c, at->peer, rank->iteration, at->dst_elems),
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
	if (coll_step_at(c->schedule, rank->rank, step)->peer != rank->rank) {
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
