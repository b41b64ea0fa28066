/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Step-aware adaptive detection (paper III-C2, Fig. 5, 7, 8): N detections a step, spaced so that they cover its
 * expected time. What a finished step has not used goes to the host that waits for it, whose step in flight is the
 * slower one.
 */
#include "rxe-hosts/agent/policy.h"

/* An RTT of so many thresholds is that of a halt, or of a very deep queue. */
#define PAUSE_THRESHOLDS 4

static void
started(struct agent *agent, struct agent_slot *slot)
{
	allowance_begin(agent, slot);
}

/*
 * Round trips that vary much spend the detections of a step before what slows it begins, so that looks at one that is slow for
 * certain cost it none: ports keep a spacing's epochs, and there is one look in each.
 */
static void
spend(struct agent *agent, struct agent_slot *slot, enum rec_trigger_cause cause, uint64_t rtt_ps, uint64_t now_ps)
{
	slot->next_ps = cause == REC_TRIGGER_LAG ? now_ps + slot->spacing_ps : allowance_spend(slot, now_ps);
	slot->missed_ps = 0;
	agent_detect(agent, slot, cause, rtt_ps, now_ps);
}

static bool
lags(const struct agent *agent, const struct agent_slot *slot, uint64_t acked_bytes, uint64_t now_ps)
{
	return agent->config->lag_percent == 0 || agent_lags(agent, slot, acked_bytes, now_ps);
}

/* Too soon, or not late yet: remembered, since what the ports keep of it covers the spacing. */
static void
miss(struct agent_slot *slot, uint64_t rtt_ps)
{
	slot->missed_ps = rtt_ps > slot->missed_ps ? rtt_ps : slot->missed_ps;
}

/* Where no RTT was above the threshold, packets were sent again, the sender was held back, or the step is slow for certain. */
static enum rec_trigger_cause
missed_cause(const struct agent_slot *slot, uint32_t retransmits)
{
	if (slot->missed_ps > slot->threshold_ps)
		return REC_TRIGGER_RTT;
	if (retransmits > slot->resent)
		return REC_TRIGGER_RESENT;
	return slot->missed_ps != 0 ? REC_TRIGGER_THROTTLE : REC_TRIGGER_LAG;
}

/* The first look waits for the spacing too: what ports keep then reaches from the step's start, and on to its end. */
static bool
is_first_due(const struct agent_slot *slot, uint64_t now_ps)
{
	return now_ps >= slot->step.start_ps + slot->spacing_ps;
}

/* A halt may last for ever, and is looked at while it does. */
static bool
is_too_soon(const struct agent_slot *slot, uint64_t rtt_ps, uint64_t now_ps)
{
	bool stopped = slot->wait_ps > slot->spacing_ps; /* when last looked at */

	return (now_ps < slot->next_ps && !stopped) ||
	       (rtt_ps < PAUSE_THRESHOLDS * slot->threshold_ps && !is_first_due(slot, now_ps));
}

static void
exceeded(struct agent *agent, struct agent_slot *slot, enum rec_trigger_cause cause, uint64_t rtt_ps, uint64_t now_ps)
{
	struct qp_state qp;
	bool still;

	if (is_too_soon(slot, rtt_ps, now_ps)) {
		miss(slot, rtt_ps);
		return;
	}
	agent->device->ops->query_qp(agent->device, slot->step.flow, &qp);
	still = qp.acked_bytes == slot->seen_bytes;
	/* A halt is looked at ever less, and once more when it is over, to tell how long it was. */
	if ((still && now_ps < slot->seen_ps + slot->wait_ps) || !lags(agent, slot, qp.acked_bytes, now_ps)) {
		if (cause != REC_TRIGGER_LAG) /* a step that is slow remains so */
			miss(slot, rtt_ps);
		return;
	}
	slot->wait_ps = still ? 2 * slot->wait_ps : slot->spacing_ps;
	slot->seen_ps = now_ps;
	slot->seen_bytes = qp.acked_bytes;
	spend(agent, slot, cause, rtt_ps, now_ps);
	allowance_arm(slot);
}

/* What came and went between two detections is looked at all the same, once the spacing allows it. */
static void
tick(struct agent *agent, struct agent_slot *slot, uint64_t now_ps)
{
	struct qp_state qp;

	if (slot->missed_ps == 0 || slot->remaining == 0 || now_ps < slot->next_ps || !is_first_due(slot, now_ps))
		return;
	agent->device->ops->query_qp(agent->device, slot->step.flow, &qp);
	if (qp.acked_bytes == slot->seen_bytes || !lags(agent, slot, qp.acked_bytes, now_ps))
		return;
	slot->seen_ps = now_ps;
	slot->seen_bytes = qp.acked_bytes;
	spend(agent, slot, missed_cause(slot, qp.retransmits), slot->missed_ps, now_ps);
	allowance_arm(slot);
}

/*
 * Also at the step's end, however soon that is; and of one that sent packets again since the last look, however many were
 * spent. Before a timeout nobody knows that packets were lost, and looks at what is halted ask less; now nothing is under
 * way, and what has passed everywhere tells exactly where they were. The same of one that is slow for certain, unless the last
 * look was less than a spacing ago.
 */
static void
completed(struct agent *agent, struct agent_slot *slot, uint64_t now_ps)
{
	bool resent = slot->retransmits > slot->resent;
	bool slow = now_ps >= slot->next_ps && agent_is_slow(agent, slot, slot->step.bytes, now_ps);

	if ((resent || slow || (slot->missed_ps != 0 && slot->remaining != 0)) &&
	    lags(agent, slot, slot->step.bytes, now_ps)) {
		enum rec_trigger_cause cause = missed_cause(slot, slot->retransmits);

		slot->remaining += cause != REC_TRIGGER_LAG && slot->remaining == 0;
		spend(agent, slot, cause, slot->missed_ps, now_ps);
	}
	allowance_pass_on(agent, slot, now_ps);
}

const struct detection_policy policy_vedrfolnir = {
	.ages = true,
	.watches_nic = true,
	.asks_acks = true,
	.asks_lag = true,
	.started = started,
	.exceeded = exceeded,
	.tick = tick,
	.completed = completed,
	.notified = allowance_add,
};
