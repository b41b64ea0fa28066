/* SPDX-License-Identifier: BSD-3-Clause */
/* What is reported of steps, and at the end of the run of those that are open. */
#include <assert.h>

#include "rxe-hosts/steps/rank.h"

/* What a chain's next step waits for, or would have waited for. */
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
open_step(const struct step_engine *engine, const struct step_rank *rank, uint32_t chain, struct step_result *result)
{
	const struct plan_collective *c = rank_collective(engine, rank);
	const struct step_chain *at = &rank->chains[chain];
	bool begun = at->state == CHAIN_SENDING || at->state == CHAIN_COMPUTING || at->state == CHAIN_FAILED;
	uint32_t step = begun ? rank_current(rank, chain) : monitor_next_step(&rank->monitor, chain);

	if (step == 0)
		return false;
	*result = (struct step_result){
		.collective = rank->collective,
		.iteration = rank->iteration,
		.rank = rank->rank,
		.step = step,
		.flow = c->steps[plan_at(c, rank->rank, step)].flow,
		.waited_for = begun ? at->waited_for : waits_for(rank, chain),
		.bytes = plan_step_bytes(c, rank->rank, step),
		.start_ps = begun ? at->start_ps : 0,
		.open = true,
	};
	if (at->state == CHAIN_FAILED) {
		result->acked_bytes = at->failure.bytes;
		result->retransmits = at->failure.retransmits;
		result->times = at->failure.times;
	} else if (at->state == CHAIN_SENDING) {
		struct qp_state qp;

		engine->device->ops->query_qp(engine->device, result->flow, &qp);
		result->acked_bytes = qp.acked_bytes;
		result->retransmits = qp.retransmits;
		result->times = qp.times;
	}
	return true;
}

void
step_rank_close(struct step_engine *engine, struct step_rank *rank, uint64_t now_ps)
{
	struct step_result result;

	for (uint32_t chain = 0; rank->state != RANK_DONE && chain < rank_chains(rank); chain++)
		if (open_step(engine, rank, chain, &result))
			step_report(engine, &result, now_ps);
}

void
step_report(struct step_engine *engine, const struct step_result *result, uint64_t now_ps)
{
	assert(engine->nresults < engine->results_cap);
	engine->results[engine->nresults++] = *result;
	monitor_report(engine->device->ops->records(engine->device), result, now_ps);
}
