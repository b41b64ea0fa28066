/* SPDX-License-Identifier: BSD-3-Clause */
#include "rxe-hosts/agent/allowance.h"

#include "rxe-hosts/agent/policy.h"

void
allowance_begin(const struct agent *agent, struct agent_slot *slot)
{
	slot->remaining = (uint32_t)agent->config->detections + slot->pending;
	slot->pending = 0;
	allowance_arm(slot);
}

void
allowance_arm(struct agent_slot *slot)
{
	slot->arm_ps = slot->remaining != 0 ? slot->threshold_ps : UINT64_MAX;
}

uint64_t
allowance_spend(struct agent_slot *slot, uint64_t now_ps)
{
	slot->remaining--;
	return now_ps + slot->spacing_ps;
}

void
allowance_pass_on(struct agent *agent, struct agent_slot *slot, uint64_t now_ps)
{
	uint32_t unused = slot->remaining;

	slot->remaining = 0;
	if (unused != 0 && agent->config->transfer)
		agent_hand_over(agent, slot, unused, now_ps);
}

void
allowance_add(struct agent *agent, struct agent_slot *slot, uint32_t serial, uint32_t detections, uint64_t now_ps)
{
	if (!slot->running) {
		slot->pending += detections;
		return;
	}
	slot->remaining += detections;
	allowance_arm(slot);
}
