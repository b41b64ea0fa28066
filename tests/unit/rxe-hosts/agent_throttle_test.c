/* SPDX-License-Identifier: BSD-3-Clause */
/* A sender whose congestion control keeps queues empty: being held back by it, and late, is what detections go to. */
#include "tests/unit/rxe-hosts/agent_rig.h"
#include "tests/unit/unit.h"

/* A step of 1000 B in 30 ms from 1 ms on, with RTTs that say nothing. */
static void
begin(bool throttled)
{
	config.lag_percent = 1;
	agent_step_started(&agent, 0, &step);
	dev.qp[FLOW] = (struct qp_state){ .last_rtt_ps = 10 * US, .throttled = throttled };
}

static void
progress(uint64_t acked_bytes, uint64_t now_ps)
{
	dev.qp[FLOW].acked_bytes = acked_bytes;
	tick(now_ps - 5 * US, now_ps);
}

/* 333 B are due after 10 ms, the first spacing; a detection more each 10 ms while the step is late. */
static void
held_back_and_late(void **state)
{
	const struct rec_trigger *trigger;

	begin(true);
	progress(400, 11 * MS);
	assert_int_equal(dev.npolls, 0); /* not late */
	progress(400, 14 * MS);
	assert_int_equal(dev.npolls, 1); /* 433 were due */
	progress(410, 20 * MS);
	assert_int_equal(dev.npolls, 1); /* too soon */
	progress(420, 24 * MS);
	assert_int_equal(dev.npolls, 2);
	trigger = scripted_record(&dev, REC_TRIGGER, 0);
	assert_int_equal(trigger->cause, REC_TRIGGER_THROTTLE);
	assert_int_equal(trigger->rtt_ps, 10 * US);
	assert_int_equal(trigger->threshold_ps, 12 * US);
	assert_int_equal(trigger->remaining, 2);
}

static void
late_for_another_reason(void **state)
{
	begin(false);
	progress(100, 14 * MS);
	progress(110, 24 * MS);
	dev.now_ps = 50 * MS;
	agent_step_completed(&agent, 0, 0, 50 * MS);
	assert_int_equal(dev.npolls, 0);
}

/* Late before the first spacing is over: looked at when it is. */
static void
too_soon_is_remembered(void **state)
{
	const struct rec_trigger *trigger;

	begin(true);
	progress(10, 9 * MS);
	assert_int_equal(dev.npolls, 0);
	dev.qp[FLOW].throttled = false;
	progress(20, 11 * MS);
	assert_int_equal(dev.npolls, 1);
	trigger = scripted_record(&dev, REC_TRIGGER, 0);
	assert_int_equal(trigger->cause, REC_TRIGGER_THROTTLE);
}

/* A round trip above the threshold is reported as that. */
static void
a_long_round_trip_is_one(void **state)
{
	const struct rec_trigger *trigger;

	begin(true);
	progress(10, 9 * MS);
	sample(20 * US, 9 * MS + 1);
	progress(20, 11 * MS);
	trigger = scripted_record(&dev, REC_TRIGGER, 0);
	assert_int_equal(trigger->cause, REC_TRIGGER_RTT);
	assert_int_equal(trigger->rtt_ps, 20 * US);
}

/* Who sent packets again asks for the way of the ACKs too: while the step runs, and at its end. */
static void
what_was_sent_again_asks_for_the_acks_path(void **state)
{
	agent_step_started(&agent, 0, &step);
	sample(50 * US, 11 * MS);
	assert_int_equal(dev.polls[0].flags, POLL_VICTIM);
	dev.qp[FLOW].retransmits = 1;
	sample(50 * US, 21 * MS);
	assert_int_equal(dev.polls[1].flags, POLL_VICTIM | POLL_ACKS);
	sample(50 * US, 30 * MS); /* too soon: spent at the end, when the QP knows of no message any more */
	dev.qp[FLOW].retransmits = 0;
	agent_step_completed(&agent, 0, 1, 42 * MS);
	assert_int_equal(dev.npolls, 3);
	assert_int_equal(dev.polls[2].flags, POLL_VICTIM | POLL_ACKS);
}

/* What a step sent again after its last detection is looked at when it ends: one more, and none is handed on. */
static void
sent_again_with_nothing_left(void **state)
{
	for (uint32_t resent = 0; resent < 2; resent++) {
		begin(false);
		for (int i = 0; i < 3; i++)
			sample(50 * US, (11 + 10 * i) * MS);
		assert_int_equal(dev.npolls, 3 * (resent + 1));
		agent_step_completed(&agent, 0, resent, 42 * MS);
		assert_int_equal(dev.npolls, 3 * (resent + 1) + resent);
		assert_int_equal(dev.nnotices, 0);
	}
	assert_int_equal(dev.polls[6].flags, POLL_VICTIM | POLL_ACKS);
}

/* However short the round trips are. */
static void
sent_again_and_late(void **state)
{
	const struct rec_trigger *trigger;

	begin(false);
	dev.qp[FLOW].retransmits = 3;
	progress(10, 9 * MS);
	assert_int_equal(dev.npolls, 0); /* the first look waits */
	progress(20, 11 * MS);
	assert_int_equal(dev.npolls, 1);
	assert_int_equal(dev.polls[0].flags, POLL_VICTIM | POLL_ACKS);
	trigger = scripted_record(&dev, REC_TRIGGER, 0);
	assert_int_equal(trigger->cause, REC_TRIGGER_RESENT);
	progress(30, 22 * MS); /* no more of them since */
	assert_int_equal(dev.npolls, 1);
}

/*
 * Of a host with its own kernel: round trips vary by more than what delays the step, 100 ms here. What it lost shows it:
 * 5 ms, beyond what scheduling may cost, and the share from which on a step is slow.
 */
static void
slow_below_the_noise(void **state)
{
	const struct rec_trigger *trigger;

	step.noise_ps = 100 * MS;
	step.jitter_ps = 5 * MS;
	begin(false);
	progress(170, 11 * MS); /* 4.9 ms behind */
	assert_int_equal(dev.npolls, 0);
	progress(170, 12 * MS); /* 5.9 ms: more than the jitter and 1 % */
	assert_int_equal(dev.npolls, 1);
	trigger = scripted_record(&dev, REC_TRIGGER, 0);
	assert_int_equal(trigger->cause, REC_TRIGGER_LAG);
	progress(200, 21 * MS);
	assert_int_equal(dev.npolls, 1); /* too soon */
	progress(200, 22 * MS);
	assert_int_equal(dev.npolls, 2);
}

/* A look in each spacing for as long as it is slow, and one at its end: they cost none of its detections. */
static void
slow_for_long(void **state)
{
	const struct rec_trigger *trigger;

	config.detections = 1;
	config.spacing_ps = 10 * MS;
	step.jitter_ps = 5 * MS;
	begin(false);
	progress(100, 12 * MS);
	progress(150, 21 * MS);
	assert_int_equal(dev.npolls, 1);
	progress(200, 30 * MS);
	assert_int_equal(dev.npolls, 2);
	agent_step_completed(&agent, 0, 0, 40 * MS);
	assert_int_equal(dev.npolls, 3);
	trigger = scripted_record(&dev, REC_TRIGGER, 2);
	assert_int_equal(trigger->cause, REC_TRIGGER_LAG);
	assert_int_equal(trigger->remaining, 1);
}

static void
slow_and_looked_at_just_now(void **state)
{
	config.spacing_ps = 10 * MS;
	step.jitter_ps = 5 * MS;
	begin(false);
	progress(500, 35 * MS);
	assert_int_equal(dev.npolls, 1);
	agent_step_completed(&agent, 0, 0, 40 * MS);
	assert_int_equal(dev.npolls, 1);
}

/* Late before the first spacing is over, or within the jitter: nothing is remembered of either. */
static void
late_within_the_jitter(void **state)
{
	step.noise_ps = 100 * MS;
	step.jitter_ps = 5 * MS;
	begin(false);
	progress(0, 9 * MS);
	progress(200, 11 * MS);
	progress(900, 30 * MS);
	dev.now_ps = 34 * MS;
	agent_step_completed(&agent, 0, 0, 34 * MS);
	assert_int_equal(dev.npolls, 0);
}

UNIT_TEST(agent_throttle)
{
	const struct CMUnitTest tests[] = {
		AGENT_TEST(held_back_and_late, REC_POLICY_VEDRFOLNIR),
		AGENT_TEST(late_for_another_reason, REC_POLICY_VEDRFOLNIR),
		AGENT_TEST(too_soon_is_remembered, REC_POLICY_VEDRFOLNIR),
		AGENT_TEST(a_long_round_trip_is_one, REC_POLICY_VEDRFOLNIR),
		AGENT_TEST(sent_again_and_late, REC_POLICY_VEDRFOLNIR),
		AGENT_TEST(what_was_sent_again_asks_for_the_acks_path, REC_POLICY_VEDRFOLNIR),
		AGENT_TEST(sent_again_with_nothing_left, REC_POLICY_VEDRFOLNIR),
		AGENT_TEST(slow_below_the_noise, REC_POLICY_VEDRFOLNIR),
		AGENT_TEST(slow_for_long, REC_POLICY_VEDRFOLNIR),
		AGENT_TEST(slow_and_looked_at_just_now, REC_POLICY_VEDRFOLNIR),
		AGENT_TEST(late_within_the_jitter, REC_POLICY_VEDRFOLNIR),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
