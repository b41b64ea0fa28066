/* SPDX-License-Identifier: BSD-3-Clause */
/* VEDRFOLNIR's policy: thresholds, the budget of detections, help, paused flows, the own NIC. */
#include "common/pkt.h"
#include "tests/unit/rxe-hosts/agent_rig.h"
#include "tests/unit/unit.h"

/* What the agent recorded of one_step(). */
static void
expect_records(void)
{
	const struct rec_trigger *trigger;
	const struct rec_notify *notify;

	trigger = scripted_record(&dev, REC_TRIGGER, 0);
	assert_int_equal(trigger->hdr.event, 13 << 16 | 1);
	assert_int_equal(trigger->hdr.time_ps, 11 * MS);
	assert_int_equal(trigger->flow.sport, 10000);
	assert_int_equal(trigger->collective, 1);
	assert_int_equal(trigger->iteration, 2);
	assert_int_equal(trigger->step, 4);
	assert_int_equal(trigger->cause, REC_TRIGGER_RTT);
	assert_int_equal(trigger->rtt_ps, 12 * US + 1);
	assert_int_equal(trigger->threshold_ps, 12 * US);
	assert_int_equal(trigger->remaining, 2);
	trigger = scripted_record(&dev, REC_TRIGGER, 2);
	assert_int_equal(trigger->remaining, 2);
	notify = scripted_record(&dev, REC_NOTIFY, 0);
	assert_int_equal(notify->to, 14);
	assert_int_equal(notify->step, 4);
	assert_int_equal(notify->detections, 2);
	assert_int_equal(notify->hdr.time_ps, 42 * MS);
}

/* Fig. 8: what happens in one step, in order. */
static void
one_step(void **state)
{
	agent_step_started(&agent, 0, &step);
	assert_int_equal(agent.slots[0].threshold_ps, 12 * US);
	assert_int_equal(agent.slots[0].spacing_ps, 10 * MS);

	sample(9 * US, 1 * MS + 9 * US);   /* normal */
	sample(12 * US, 1 * MS + 12 * US); /* at the threshold, not above it */
	assert_int_equal(dev.npolls, 0);

	sample(12 * US + 1, 11 * MS - 1); /* the first spacing is not over */
	assert_int_equal(dev.npolls, 0);
	sample(12 * US + 1, 11 * MS);
	assert_int_equal(dev.npolls, 1);
	assert_int_equal(dev.polls[0].flow, FLOW);
	assert_int_equal(dev.polls[0].flags, POLL_VICTIM);
	assert_int_equal(dev.polls[0].event, 13 << 16 | 1);

	sample(50 * US, 12 * MS); /* too soon */
	sample(50 * US, 21 * MS - 1);
	assert_int_equal(dev.npolls, 1);
	sample(50 * US, 21 * MS); /* second detection, 10 ms after the first */
	assert_int_equal(dev.npolls, 2);
	assert_int_equal(dev.polls[1].event, 13 << 16 | 2);

	agent_notified(&agent, 0, 18, 2, 22 * MS); /* a faster host hands over 2: 1 + 2 left */
	assert_int_equal(agent.slots[0].remaining, 3);
	sample(50 * US, 31 * MS); /* third */
	sample(8 * US, 41 * MS);  /* over: back to normal */

	dev.now_ps = 42 * MS;
	agent_step_completed(&agent, 0, 0, 42 * MS); /* 2 unused go to the host that waits */
	assert_int_equal(dev.npolls, 3);
	assert_int_equal(dev.nnotices, 1);
	assert_int_equal(dev.notices[0].flow, NOTIFY_FLOW);
	assert_int_equal(dev.notices[0].step, 18);
	assert_int_equal(dev.notices[0].detections, 2);

	sample(99 * US, 43 * MS); /* a late ACK of no step */
	assert_int_equal(dev.npolls, 3);
	expect_records();
}

/* What passes between two detections is looked at when the spacing is over, or the step is; once. */
static void
what_was_missed_is_looked_at(void **state)
{
	const struct rec_trigger *trigger;

	agent_step_started(&agent, 0, &step);
	sample(50 * US, 2 * MS);
	sample(70 * US, 3 * MS); /* too soon */
	sample(60 * US, 4 * MS);
	sample(9 * US, 11 * MS); /* over */
	tick(12 * MS - 1, 12 * MS - 1);
	assert_int_equal(dev.npolls, 1);
	tick(12 * MS, 12 * MS);
	assert_int_equal(dev.npolls, 2);
	tick(24 * MS, 24 * MS); /* nothing since */
	assert_int_equal(dev.npolls, 2);
	trigger = scripted_record(&dev, REC_TRIGGER, 1);
	assert_int_equal(trigger->cause, REC_TRIGGER_RTT);
	assert_int_equal(trigger->rtt_ps, 70 * US);
	assert_int_equal(trigger->remaining, 1);

	agent_notified(&agent, 0, 18, 1, 25 * MS);
	sample(50 * US, 25 * MS); /* third */
	sample(40 * US, 26 * MS);
	dev.now_ps = 27 * MS;
	agent_step_completed(&agent, 0, 0, 27 * MS);
	assert_int_equal(dev.npolls, 4);
	assert_int_equal(dev.nnotices, 0);
}

/* The age of a packet is no round trip: none is known to have taken that long. */
static void
what_was_missed_keeps_its_cause(void **state)
{
	(void)state;
	for (uint32_t trip = 0; trip < 2; trip++) {
		uint64_t start_ps = step.start_ps = (1 + 40 * trip) * MS;
		const struct rec_trigger *trigger;

		agent_step_started(&agent, 0, &step);
		tick(start_ps, start_ps + 20 * US); /* the first spacing is not over */
		if (trip != 0)
			sample(30 * US, start_ps + 5 * MS);
		sample(9 * US, start_ps + 9 * MS);
		tick(start_ps + 10 * MS, start_ps + 10 * MS);
		assert_int_equal(dev.npolls, trip + 1);
		trigger = scripted_record(&dev, REC_TRIGGER, trip);
		assert_int_equal(trigger->cause, trip != 0 ? REC_TRIGGER_RTT : REC_TRIGGER_STALL);
		assert_int_equal(trigger->rtt_ps, trip != 0 ? 30 * US : 20 * US);
		agent_step_completed(&agent, 0, 0, start_ps + 11 * MS);
	}
}

/* What a step meets before its first spacing is over is looked at when that is, or at its end. */
static void
the_first_look_waits(void **state)
{
	agent_step_started(&agent, 0, &step);
	sample(48 * US - 1, 2 * MS);
	tick(11 * MS - 1, 11 * MS - 1);
	assert_int_equal(dev.npolls, 0);
	tick(11 * MS, 11 * MS);
	assert_int_equal(dev.npolls, 1);
	assert_int_equal(((const struct rec_trigger *)scripted_record(&dev, REC_TRIGGER, 0))->rtt_ps, 48 * US - 1);
	agent_step_completed(&agent, 0, 0, 12 * MS);
	assert_int_equal(dev.npolls, 1);

	step.start_ps = 12 * MS;
	agent_step_started(&agent, 0, &step);
	sample(30 * US, 13 * MS);
	agent_step_completed(&agent, 0, 0, 14 * MS);
	assert_int_equal(dev.npolls, 2);

	step.start_ps = 14 * MS;
	agent_step_started(&agent, 0, &step);
	sample(48 * US, 15 * MS); /* a halt */
	assert_int_equal(dev.npolls, 3);
}

/* The next step's threshold comes from its own path. */
static void
threshold_follows_the_path(void **state)
{
	agent_step_started(&agent, 0, &step);
	agent_step_completed(&agent, 0, 0, 2 * MS);
	step.base_rtt_ps = 20 * US;
	step.start_ps = 3 * MS;
	agent_step_started(&agent, 0, &step);
	sample(24 * US, 13 * MS);
	assert_int_equal(dev.npolls, 0);
	sample(24 * US + 1, 13 * MS);
	assert_int_equal(dev.npolls, 1);
}

/* On hosts whose kernel schedules them, the measured noise keeps the threshold up. */
static void
one_threshold_can_hold_for_all(void **state)
{
	config.rtt_fixed_ps = 40 * US;
	agent_step_started(&agent, 0, &step);
	sample(40 * US, 11 * MS);
	assert_int_equal(dev.npolls, 0);
	sample(40 * US + 1, 11 * MS);
	assert_int_equal(dev.npolls, 1);
}

static void
unused_detections_can_stay(void **state)
{
	config.transfer = false;
	agent_step_started(&agent, 0, &step);
	agent_step_completed(&agent, 0, 0, 32 * MS);
	assert_int_equal(dev.nnotices, 0);
}

static void
threshold_lies_above_the_noise(void **state)
{
	step.noise_ps = 5 * US;
	agent_step_started(&agent, 0, &step);
	assert_int_equal(agent.slots[0].threshold_ps, 15 * US);
	agent_step_completed(&agent, 0, 0, 2 * MS);
	step.noise_ps = 1 * US;
	step.start_ps = 3 * MS;
	agent_step_started(&agent, 0, &step);
	assert_int_equal(agent.slots[0].threshold_ps, 12 * US);
}

static void
at_most_n_without_help(void **state)
{
	config.spacing_ps = 1 * MS;
	agent_step_started(&agent, 0, &step);
	for (uint64_t t = 1; t <= 40; t++)
		sample(50 * US, t * MS);
	assert_int_equal(dev.npolls, 3);
	assert_int_equal(dev.polls[0].time_ps, 1 * MS);
	assert_int_equal(dev.polls[1].time_ps, 2 * MS);
	assert_int_equal(dev.polls[2].time_ps, 3 * MS);

	/* All spent: nothing to hand over. */
	agent_step_completed(&agent, 0, 0, 41 * MS);
	assert_int_equal(dev.nnotices, 0);
}

/* A detection that arrives when all are spent can be used at once. */
static void
help_rearms(void **state)
{
	config.spacing_ps = 1 * MS;
	agent_step_started(&agent, 0, &step);
	for (uint64_t t = 1; t <= 10; t++)
		sample(50 * US, t * MS);
	assert_int_equal(dev.npolls, 3);
	agent_notified(&agent, 0, 18, 1, 11 * MS);
	sample(50 * US, 11 * MS);
	sample(50 * US, 20 * MS);
	assert_int_equal(dev.npolls, 4);
}

static void
help_between_steps_is_kept(void **state)
{
	agent_notified(&agent, 0, 18, 2, 0);
	agent_notified(&agent, 0, 18, 4, 0);
	agent_step_started(&agent, 0, &step);
	assert_int_equal(agent.slots[0].remaining, 9);
	agent_step_completed(&agent, 0, 0, 2 * MS);
	assert_int_equal(dev.notices[0].detections, 9);
	agent_step_started(&agent, 0, &step);
	assert_int_equal(agent.slots[0].remaining, 3);
}

static void
none_waits_for_the_last_step(void **state)
{
	step.notify_flow = AGENT_NONE;
	step.waiter = REC_NONE;
	agent_step_started(&agent, 0, &step);
	agent_step_completed(&agent, 0, 0, 2 * MS);
	assert_int_equal(dev.nnotices, 0);
	assert_null(scripted_record(&dev, REC_NOTIFY, 0));
}

/* A receiver that acknowledges several packets at once lets the oldest grow old: that much is no stall. */
static void
coalesced_acks_are_no_stall(void **state)
{
	const struct rec_trigger *trigger;

	step.ack_wait_ps = 21 * US;
	agent_step_started(&agent, 0, &step);
	tick(1 * MS, 1 * MS + 21 * US + 48 * US - 1);
	assert_int_equal(dev.npolls, 0);
	tick(1 * MS, 1 * MS + 21 * US + 48 * US);
	assert_int_equal(dev.npolls, 1);
	trigger = scripted_record(&dev, REC_TRIGGER, 0);
	assert_int_equal(trigger->rtt_ps, 48 * US);
}

/* No ACK at all: the age of the oldest packet passes the threshold. */
static void
stall_triggers_without_ack(void **state)
{
	const struct rec_trigger *trigger;

	agent_step_started(&agent, 0, &step);
	tick(1 * MS, 1 * MS + 2 * US);
	tick(1 * MS, 1 * MS + 12 * US);
	assert_int_equal(dev.npolls, 0);
	tick(1 * MS, 1 * MS + 48 * US - 1);
	assert_int_equal(dev.npolls, 0);
	tick(1 * MS, 1 * MS + 48 * US); /* no queue: looked at as it is */
	assert_int_equal(dev.npolls, 1);
	tick(1 * MS, 11 * MS + 48 * US - 1);
	assert_int_equal(dev.npolls, 1);
	tick(1 * MS, 11 * MS + 48 * US);
	assert_int_equal(dev.npolls, 2);
	trigger = scripted_record(&dev, REC_TRIGGER, 0);
	assert_int_equal(trigger->cause, REC_TRIGGER_STALL);
	assert_int_equal(trigger->rtt_ps, 48 * US);
	trigger = scripted_record(&dev, REC_TRIGGER, 1);
	assert_int_equal(trigger->rtt_ps, 10 * MS + 48 * US);
}

/* The last sample was slow and the spacing has passed since: the tick uses it. */
static void
tick_sees_the_last_sample(void **state)
{
	const struct rec_trigger *trigger;

	agent_step_started(&agent, 0, &step);
	sample(50 * US, 2 * MS);
	tick(12 * MS - 5 * US, 12 * MS);
	assert_int_equal(dev.npolls, 2);
	trigger = scripted_record(&dev, REC_TRIGGER, 1);
	assert_int_equal(trigger->cause, REC_TRIGGER_RTT);
	assert_int_equal(trigger->rtt_ps, 50 * US);
}

/* A NIC that is paused from the start has nothing in flight; what it cannot send grows old all the same. */
static void
pause_in_the_own_nic_triggers(void **state)
{
	agent_step_started(&agent, 0, &step);
	dev.qp[FLOW] = (struct qp_state){ .acked_bytes = 500 };
	agent_tick(&agent, 2 * MS); /* progress seen */
	agent_tick(&agent, 2 * MS + 12 * US);
	assert_int_equal(dev.npolls, 0);
	agent_tick(&agent, 2 * MS + 48 * US);
	assert_int_equal(dev.npolls, 1);
}

/*
 * A step of 1000 B in 30 ms should have 333 B after its first spacing of 10 ms. Short of that by more than 1 % it has
 * its own NIC looked at, once a spacing and at its end; no detection is spent.
 */
static void
a_step_behind_looks_at_its_nic(void **state)
{
	agent_step_started(&agent, 0, &step);
	dev.qp[FLOW] = (struct qp_state){ .acked_bytes = 1 };
	agent_tick(&agent, 11 * MS - 1);
	assert_int_equal(dev.nnic_reports, 0); /* too early to know */
	dev.qp[FLOW].acked_bytes = 331;
	agent_tick(&agent, 11 * MS);
	assert_int_equal(dev.nnic_reports, 0);
	dev.qp[FLOW].acked_bytes = 659; /* of 666 */
	agent_tick(&agent, 21 * MS);
	assert_int_equal(dev.nnic_reports, 1);
	agent_tick(&agent, 22 * MS);
	assert_int_equal(dev.nnic_reports, 1);
	agent_step_completed(&agent, 0, 0, 1 * MS + 30 * MS + 300 * US); /* 1 % late: as expected */
	assert_int_equal(dev.nnic_reports, 1);

	agent_step_started(&agent, 0, &step);
	agent_step_completed(&agent, 0, 0, 1 * MS + 30 * MS + 310 * US);
	assert_int_equal(dev.nnic_reports, 2);
}

/*
 * 1000 B in 30 ms, of which the first 10 us bring nothing: a step that has lost 300 us is 1 % late. One whose RTT is high
 * and which is not late has nothing to explain.
 */
static void
a_step_on_time_is_not_looked_at(void **state)
{
	config.lag_percent = 1;
	agent_step_started(&agent, 0, &step);
	dev.qp[FLOW].acked_bytes = 499; /* 500 with the next ACK: half of it after half the time and 310 us is due */
	sample(50 * US, 1 * MS + 15 * MS + 305 * US);
	assert_int_equal(dev.npolls, 0);
	dev.qp[FLOW].acked_bytes = 499;
	sample(50 * US, 1 * MS + 15 * MS + 306 * US);
	assert_int_equal(dev.npolls, 1);
	sample(50 * US, 1 * MS + 20 * MS);
	assert_int_equal(dev.npolls, 1); /* too soon */
	dev.qp[FLOW].acked_bytes = 900;
	sample(50 * US, 1 * MS + 26 * MS); /* it has caught up */
	assert_int_equal(dev.npolls, 1);
	assert_int_equal(agent.slots[0].remaining, 2);
}

/* Nothing is acknowledged between two looks: the next one comes after twice the time. */
static void
a_pause_is_examined_ever_less(void **state)
{
	agent_step_started(&agent, 0, &step);
	agent.slots[0].remaining = 99;
	for (uint64_t t = 1; t <= 100; t++)
		tick(1 * MS, t * MS);
	assert_int_equal(dev.npolls, 4);
	assert_int_equal(dev.polls[0].time_ps, 2 * MS);
	assert_int_equal(dev.polls[1].time_ps, 12 * MS);
	assert_int_equal(dev.polls[2].time_ps, 32 * MS);
	assert_int_equal(dev.polls[3].time_ps, 72 * MS);
	tick(1 * MS, 151 * MS);
	assert_int_equal(dev.npolls, 4);
	tick(1 * MS, 152 * MS);
	assert_int_equal(dev.npolls, 5);
	sample(151 * MS, 153 * MS); /* it is over: once more, to report how long it was */
	assert_int_equal(dev.npolls, 6);
	sample(50 * US, 154 * MS);
	assert_int_equal(dev.npolls, 6);
	sample(50 * US, 163 * MS);
	assert_int_equal(dev.npolls, 7);
}

#define T(name) AGENT_TEST(name, REC_POLICY_VEDRFOLNIR)

UNIT_TEST(agent)
{
	const struct CMUnitTest tests[] = {
		T(one_step),
		T(what_was_missed_is_looked_at),
		T(what_was_missed_keeps_its_cause),
		T(threshold_follows_the_path),
		T(one_threshold_can_hold_for_all),
		T(the_first_look_waits),
		T(unused_detections_can_stay),
		T(threshold_lies_above_the_noise),
		T(at_most_n_without_help),
		T(help_rearms),
		T(help_between_steps_is_kept),
		T(none_waits_for_the_last_step),
		T(coalesced_acks_are_no_stall),
		T(stall_triggers_without_ack),
		T(tick_sees_the_last_sample),
		T(pause_in_the_own_nic_triggers),
		T(a_step_on_time_is_not_looked_at),
		T(a_pause_is_examined_ever_less),
		T(a_step_behind_looks_at_its_nic),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
