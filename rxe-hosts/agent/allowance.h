/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * N detections a step, and those that other hosts have left over (paper III-C2, Fig. 6 to 8). Detections are handed over,
 * never made: their number in a run is bounded by N times the number of steps.
 */
#pragma once

#include "rxe-hosts/agent/agent.h"

/* A step begins with N and what came before it began. */
void allowance_begin(const struct agent *agent, struct agent_slot *slot);
/* Samples concern the policy as long as a detection is left. */
void allowance_arm(struct agent_slot *slot);
/* Takes one, which is there. @return the time before which no other may be spent: a spacing later */
uint64_t allowance_spend(struct agent_slot *slot, uint64_t now_ps);
/* What is left at a step's end goes to the host that waits for it, if config->transfer says so. */
void allowance_pass_on(struct agent *agent, struct agent_slot *slot, uint64_t now_ps);
/* detection_policy.notified */
void allowance_add(struct agent *agent, struct agent_slot *slot, uint32_t serial, uint32_t detections, uint64_t now_ps);
