/* SPDX-License-Identifier: BSD-3-Clause */
/* When to detect. A policy is a file here and a row of REC_POLICIES (common/wire/detection.h). */
#pragma once

#include "common/wire/detection.h"
#include "rxe-hosts/agent/agent.h"

/*
 * A policy decides with the state of one slot and calls agent_detect() or agent_hand_over(). NULL: event ignored.
 * slot->step, threshold_ps, spacing_ps and next_ps (the start) are set before started(); arm_ps is UINT64_MAX.
 */
struct detection_policy {
	bool ages;        /* checks the age of the oldest unacknowledged packet, not only samples */
	bool watches_nic; /* a step that falls behind has its own NIC's rows reported, see check_nic() */
	bool every_epoch; /* switches report all ports once an epoch, unasked */
	/*
	 * Detects without a bound. Every polling packet is sent, but a host names one detection in config->retain_ps,
	 * as ports keep one report; the others are quiet.
	 */
	bool floods;
	bool asks_acks; /* retransmissions in a late step trigger a detection, which polls the ACKs' path too */
	void (*started)(struct agent *agent, struct agent_slot *slot);
	bool asks_lag; /* a step that is slow for certain is reason to detect, even if no RTT stands out of the noise */
	/*
	 * rtt_ps is above arm_ps: a sample, or with ages set an age; or, with ages set, the sender is held back and
	 * late, or, with asks_acks, had to send again and is late, or, with asks_lag, is slow (agent_is_slow()).
	 */
	void (*exceeded)(struct agent *agent, struct agent_slot *slot, enum rec_trigger_cause cause, uint64_t rtt_ps,
			 uint64_t now_ps);
	void (*completed)(struct agent *agent, struct agent_slot *slot, uint64_t now_ps);
	void (*notified)(struct agent *agent, struct agent_slot *slot, uint32_t serial, uint32_t detections,
			 uint64_t now_ps);
	/* Once a window while a step is in flight, whatever its RTT: for policies that run by time. */
	void (*tick)(struct agent *agent, struct agent_slot *slot, uint64_t now_ps);
};

#define AGENT_POLICIES ENUM_COUNT(REC_POLICIES)

extern const struct detection_policy *const agent_policies[AGENT_POLICIES]; /* by enum rec_policy */
#define POLICY_EXTERN(id, value, name, symbol, ...) extern const struct detection_policy policy_##symbol;
REC_POLICIES(POLICY_EXTERN)

/* @return the RTT above base_rtt_ps by the configured share, and by at least the noise of the step's path */
uint64_t agent_threshold_ps(const struct agent *agent, const struct agent_step *step, uint64_t base_rtt_ps);

/*
 * Sends a polling packet along the path of the step's flow and reports it, with slot->remaining as it is.
 * @return false when the host has no event id left: nothing was sent, or of a policy that floods a quiet packet
 */
bool agent_detect(struct agent *agent, struct agent_slot *slot, enum rec_trigger_cause cause, uint64_t rtt_ps,
		  uint64_t now_ps);

/*
 * Has the step in flight lost more than config->lag_percent of its expected time? The RTT alone does not show it: a
 * flow at line rate whose path also carries ACKs against it stands in a queue of its own without being late.
 */
bool agent_lags(const struct agent *agent, const struct agent_slot *slot, uint64_t acked_bytes, uint64_t now_ps);

/*
 * Has the step in flight lost so much more that it is slow, even with the largest delay by its host's scheduling? Never
 * on hosts with exact times, whose RTTs show the delay of a step.
 */
bool agent_is_slow(const struct agent *agent, const struct agent_slot *slot, uint64_t acked_bytes, uint64_t now_ps);

/*
 * N detections a step, and those that other hosts have left over (paper III-C2, Fig. 6 to 8). Detections are handed over,
 * never made: their number in a run is bounded by N times the number of steps.
 */

/* A step begins with N detections and those received before it began. */
void allowance_begin(const struct agent *agent, struct agent_slot *slot);
/* Samples concern the policy as long as a detection is left. */
void allowance_arm(struct agent_slot *slot);
/* Takes one, which is available. @return earliest time of the next one: a spacing later */
uint64_t allowance_spend(struct agent_slot *slot, uint64_t now_ps);
/* Detections left at a step's end go to the host that waits for it, if config->transfer is set. */
void allowance_pass_on(struct agent *agent, struct agent_slot *slot, uint64_t now_ps);
/* detection_policy.notified */
void allowance_add(struct agent *agent, struct agent_slot *slot, uint32_t serial, uint32_t detections, uint64_t now_ps);
