/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * VEDRFOLNIR's rule as published (III-C2, Fig. 5 and 8), without our additions: a detection for a sample above the
 * step's threshold, as long as one is left and the last is at least a spacing ago, whether the step is late or not. A
 * paused flow has no samples; NICs and the path of ACKs are not examined.
 */
#include "rxe-hosts/agent/policy.h"

static void
started(struct agent *agent, struct agent_slot *slot)
{
	allowance_begin(agent, slot);
}

static void
exceeded(struct agent *agent, struct agent_slot *slot, enum rec_trigger_cause cause, uint64_t rtt_ps, uint64_t now_ps)
{
	if (now_ps < slot->next_ps)
		return;
	slot->next_ps = allowance_spend(slot, now_ps);
	agent_detect(agent, slot, cause, rtt_ps, now_ps);
	allowance_arm(slot);
}

static void
completed(struct agent *agent, struct agent_slot *slot, uint64_t now_ps)
{
	allowance_pass_on(agent, slot, now_ps);
}

const struct detection_policy policy_paper = {
	.started = started,
	.exceeded = exceeded,
	.completed = completed,
	.notified = allowance_add,
};
