/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The variant of the poster: a finished step marks the host that needs its data as waited for. A marked host that is
 * still at an earlier step, so that it cannot deliver the marking on, detects once in that step, when its RTT is
 * above the threshold. A host that was itself waiting for the finished step has nothing to answer for. Samples only, and switches
 * only, as the poster says no more.
 */
#include "rxe-hosts/agent/policy.h"

static void
arm(struct agent_slot *slot)
{
	bool waited = slot->step.serial < slot->waited_serial;

	slot->arm_ps = waited && slot->remaining != 0 ? slot->threshold_ps : UINT64_MAX;
}

static void
started(struct agent *agent, struct agent_slot *slot)
{
	slot->remaining = 1;
	arm(slot);
}

static void
exceeded(struct agent *agent, struct agent_slot *slot, enum rec_trigger_cause cause, uint64_t rtt_ps, uint64_t now_ps)
{
	slot->remaining = 0;
	arm(slot);
	agent_detect(agent, slot, cause, rtt_ps, now_ps);
}

static void
completed(struct agent *agent, struct agent_slot *slot, uint64_t now_ps)
{
	agent_hand_over(agent, slot, 0, now_ps);
}

static void
notified(struct agent *agent, struct agent_slot *slot, uint32_t serial, uint32_t detections, uint64_t now_ps)
{
	if (serial > slot->waited_serial)
		slot->waited_serial = serial;
	if (slot->running)
		arm(slot);
}

const struct detection_policy policy_poster = {
	.started = started,
	.exceeded = exceeded,
	.completed = completed,
	.notified = notified,
};
