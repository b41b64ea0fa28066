/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Step-aware adaptive detection (paper III-C2, Fig. 5, 7, 8): N detections a step, spaced so that they cover its
 * expected time. Unused detections of a finished step go to the host that waits for it, whose step in flight is the
 * slower one.
 */
#include "rxe-hosts/agent/policy.h"

/* An RTT of at least this number of thresholds indicates a pause, or a very deep queue. */
#define PAUSE_THRESHOLDS 4

static void
started(struct agent *agent, struct agent_slot *slot)
{
	allowance_begin(agent, slot);
}

/*
 * Highly variable round trips spend the detections of a step before its slowdown begins. Detections of a step that is
 * certainly slow are therefore free of charge: ports keep the epochs of one spacing, and there is one detection in
 * each.
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

/* Too early, or not late yet: recorded, since the ports' telemetry covers the spacing. */
static void
miss(struct agent_slot *slot, enum rec_trigger_cause cause, uint64_t rtt_ps)
{
	if (rtt_ps <= slot->missed_ps)
		return;
	slot->missed_ps = rtt_ps;
	slot->missed_age = cause == REC_TRIGGER_STALL;
}

/*
 * @return the cause of a missed detection: an RTT above the threshold, or else packets that were sent again, a sender
 *         that was held back, or a step that is certain to be slow
 */
static enum rec_trigger_cause
missed_cause(const struct agent_slot *slot, uint32_t retransmits)
{
	if (slot->missed_ps > slot->threshold_ps)
		return slot->missed_age ? REC_TRIGGER_STALL : REC_TRIGGER_RTT;
	if (retransmits > slot->resent)
		return REC_TRIGGER_RESENT;
	return slot->missed_ps != 0 ? REC_TRIGGER_THROTTLE : REC_TRIGGER_LAG;
}

/* The first detection waits for the spacing too: the ports' telemetry then covers the time from the step's start on. */
static bool
is_first_due(const struct agent_slot *slot, uint64_t now_ps)
{
	return now_ps >= slot->step.start_ps + slot->spacing_ps;
}

/* A pause may be permanent, and is polled while it lasts. */
static bool
is_too_soon(const struct agent_slot *slot, uint64_t rtt_ps, uint64_t now_ps)
{
	bool stopped = slot->wait_ps > slot->spacing_ps; /* at the last detection */

	return (now_ps < slot->next_ps && !stopped) ||
	       (rtt_ps < PAUSE_THRESHOLDS * slot->threshold_ps && !is_first_due(slot, now_ps));
}

static void
exceeded(struct agent *agent, struct agent_slot *slot, enum rec_trigger_cause cause, uint64_t rtt_ps, uint64_t now_ps)
{
	struct qp_state qp;
	bool still;

	if (is_too_soon(slot, rtt_ps, now_ps)) {
		miss(slot, cause, rtt_ps);
		return;
	}
	agent->device->ops->query_qp(agent->device, slot->step.flow, &qp);
	still = qp.acked_bytes == slot->seen_bytes;
	/* A pause is polled at growing intervals, and once more after its end, to learn its duration. */
	if ((still && now_ps < slot->seen_ps + slot->wait_ps) || !lags(agent, slot, qp.acked_bytes, now_ps)) {
		if (cause != REC_TRIGGER_LAG) /* a step that is slow remains so */
			miss(slot, cause, rtt_ps);
		return;
	}
	slot->wait_ps = still ? 2 * slot->wait_ps : slot->spacing_ps;
	slot->seen_ps = now_ps;
	slot->seen_bytes = qp.acked_bytes;
	spend(agent, slot, cause, rtt_ps, now_ps);
	allowance_arm(slot);
}

/* An RTT that rose and fell between two detections still gets one, once the spacing allows it. */
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
 * Also at the step's end, however early it is. A step with retransmissions since the last detection gets one in
 * addition to those already spent. Before a timeout the losses are unknown, and polls of paused flows request less; now
 * nothing is in flight, and the packet counts along the path show exactly where packets were lost. A step that is
 * certainly slow gets one too, unless the last detection was less than a spacing ago.
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
