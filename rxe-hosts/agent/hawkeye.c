/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Hawkeye's trigger, as VEDRFOLNIR's evaluation compares itself with it (IV-A): one RTT threshold for all flows, fixed
 * from the largest (MaxR) or the smallest (MinR) base RTT of the collective's flows, and a detection for every ACK
 * whose sample is above it. No budget, no steps, nothing handed over. RTT samples require ACKs, so a paused flow
 * triggers nothing.
 */
#include "rxe-hosts/agent/policy.h"

static void
arm(const struct agent *agent, struct agent_slot *slot, uint64_t base_rtt_ps)
{
	slot->threshold_ps = agent_threshold_ps(agent, &slot->step, base_rtt_ps);
	slot->arm_ps = slot->threshold_ps;
}

static void
started_minr(struct agent *agent, struct agent_slot *slot)
{
	arm(agent, slot, slot->step.least_rtt_ps);
}

static void
started_maxr(struct agent *agent, struct agent_slot *slot)
{
	arm(agent, slot, slot->step.most_rtt_ps);
}

static void
exceeded(struct agent *agent, struct agent_slot *slot, enum rec_trigger_cause cause, uint64_t rtt_ps, uint64_t now_ps)
{
	agent_detect(agent, slot, cause, rtt_ps, now_ps);
}

const struct detection_policy policy_hawkeye_minr = {
	.floods = true,
	.started = started_minr,
	.exceeded = exceeded,
};

const struct detection_policy policy_hawkeye_maxr = {
	.floods = true,
	.started = started_maxr,
	.exceeded = exceeded,
};
