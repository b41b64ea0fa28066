/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A flow that no collective sends, where it is judged: a step to its host's agent and in reports, which depends on nothing.
 * Its queue pair is a chain of such steps.
 */
#pragma once

#include "rxe-hosts/agent/agent.h"
#include "rxe-hosts/device/device.h"
#include "workload/plan.h"

/* Who watches, and by which of the agent's slots. agent NULL: nobody. */
struct judge {
	const struct plan *plan;
	struct agent *agent;
	uint32_t slot;
};

/* It is posted. */
void judged_started(const struct judge *judge, const struct plan_judged *flow, uint64_t now_ps);
/* It is complete, as its completion says. */
void judged_complete(const struct judge *judge, const struct plan_judged *flow, struct device *device, uint64_t start_ps,
		     const struct wc *wc);
/* Its queue pair is in error. */
void judged_failed(const struct judge *judge);
static inline void
judged_rtt(const struct judge *judge, uint64_t rtt_ps, uint64_t now_ps)
{
	if (judge->agent != NULL)
		agent_rtt(judge->agent, judge->slot, rtt_ps, now_ps);
}
/* The run ends, and it is open. @param state  of its queue pair, zero where it has not begun; so is start_ps */
void judged_open(const struct judge *judge, const struct plan_judged *flow, struct device *device, uint64_t start_ps,
		 const struct qp_state *state, uint64_t now_ps);
