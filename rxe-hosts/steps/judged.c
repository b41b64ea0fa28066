/* SPDX-License-Identifier: BSD-3-Clause */
#include "rxe-hosts/steps/judged.h"

#include "rxe-hosts/monitor/monitor.h"

void
judged_started(const struct judge *judge, const struct plan_judged *flow, uint64_t now_ps)
{
	const struct plan *plan = judge->plan;
	const struct agent_step step = {
		.flow = flow->flow,
		.tuple = plan_tuple(plan, flow->flow),
		.collective = flow->collective,
		.rank = plan->rank_of[plan->flows.flows[flow->flow].src_node],
		.step = flow->step,
		.serial = flow->step,
		.bytes = flow->bytes,
		.base_rtt_ps = plan->of[flow->flow].base_rtt_ps,
		.least_rtt_ps = plan->least_rtt_ps,
		.most_rtt_ps = plan->most_rtt_ps,
		.expect_ps = flow->ideal_ps,
		.start_ps = now_ps,
		.notify_flow = AGENT_NONE,
		.waiter = REC_NONE,
	};

	if (judge->agent != NULL)
		agent_step_started(judge->agent, judge->slot, &step);
}

static struct step_result
result_of(const struct judge *judge, const struct plan_judged *flow, uint64_t start_ps)
{
	return (struct step_result){
		.collective = flow->collective,
		.rank = judge->plan->rank_of[judge->plan->flows.flows[flow->flow].src_node],
		.step = flow->step,
		.flow = flow->flow,
		.waited_for = { .collective = REC_NONE, .rank = REC_NONE },
		.bytes = flow->bytes,
		.start_ps = start_ps,
	};
}

void
judged_complete(const struct judge *judge, const struct plan_judged *flow, struct device *device, uint64_t start_ps,
		const struct wc *wc)
{
	struct step_result result = result_of(judge, flow, start_ps);

	if (judge->agent == NULL)
		return;
	agent_step_completed(judge->agent, judge->slot, wc->retransmits, wc->time_ps);
	result.acked_bytes = flow->bytes;
	result.end_ps = wc->time_ps;
	result.retransmits = wc->retransmits;
	result.times = wc->times;
	monitor_report(device->ops->records(device), &result, wc->time_ps);
}

void
judged_failed(const struct judge *judge)
{
	if (judge->agent != NULL)
		agent_step_failed(judge->agent, judge->slot);
}

void
judged_open(const struct judge *judge, const struct plan_judged *flow, struct device *device, uint64_t start_ps,
	    const struct qp_state *state, uint64_t now_ps)
{
	struct step_result result = result_of(judge, flow, start_ps);

	if (judge->agent == NULL)
		return;
	result.acked_bytes = state->acked_bytes;
	result.retransmits = state->retransmits;
	result.times = state->times;
	result.open = true;
	monitor_report(device->ops->records(device), &result, now_ps);
}
