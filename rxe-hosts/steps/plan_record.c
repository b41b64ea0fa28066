/* SPDX-License-Identifier: BSD-3-Clause */
/* The plan as header records: the analyzer learns from them what was configured. */
#include "rxe-hosts/steps/plan.h"

struct rec_tuple
plan_tuple(const struct plan *plan, uint32_t flow)
{
	return flow_tuple(&plan->flows.flows[flow]);
}

void
plan_collective_record(const struct plan *plan, uint32_t collective, uint32_t iteration, struct rec_collective *rec)
{
	const struct plan_collective *c = &plan->collectives[collective];

	*rec = (struct rec_collective){
		.hdr.node = REC_NONE,
		.id = collective,
		.iteration = iteration,
		.algorithm = c->schedule->algorithm,
		.op = c->schedule->op,
		.ranks = c->schedule->ranks,
		.steps = coll_max_steps(c->schedule),
		.bytes = coll_size_bytes(c->schedule, coll_elem_bytes(c->type)),
		.ideal_ps = c->ideal_ps,
		.expect_ps = c->expect_ps,
	};
}

void
plan_schedule_record(const struct plan *plan, uint32_t collective, uint32_t iteration, uint32_t rank, uint32_t step,
		     struct rec_schedule *rec)
{
	const struct plan_collective *c = &plan->collectives[collective];
	struct coll_dep arrival = coll_step_arrival(c->schedule, rank, step);
	const struct plan_step *known = &c->steps[plan_at(c, rank, step)];

	*rec = (struct rec_schedule){
		.hdr.node = c->ranks[rank].node,
		.collective = collective,
		.iteration = iteration,
		.step = step,
		.rank = rank,
		.flow = plan_tuple(plan, known->flow),
		.bytes = plan_step_bytes(c, rank, step),
		.depends_on = arrival.rank == COLL_NONE ? REC_NONE : c->ranks[arrival.rank].node,
		.depends_step = arrival.rank == COLL_NONE ? 0 : arrival.step,
		.ideal_ps = known->ideal_ps,
		.expect_ps = known->expect_ps,
		.base_rtt_ps = plan->of[known->flow].base_rtt_ps,
	};
}
