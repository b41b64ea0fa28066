/* SPDX-License-Identifier: BSD-3-Clause */
/* The policies that VEDRFOLNIR's is compared with, what all have in common, and the table of all. */
#include "common/array.h"
#include "common/pkt.h"
#include "rxe-hosts/agent/policy.h"
#include "tests/unit/rxe-hosts/agent_rig.h"
#include "tests/unit/unit.h"

/* Poster: marked while at an earlier step than the one that waits, above the threshold, once. */
static void
poster_detects_once_when_waited_for(void **state)
{
	const struct rec_trigger *trigger;

	agent_step_started(&agent, 0, &step); /* serial 18 */
	sample(50 * US, 2 * MS);
	tick(1 * MS, 3 * MS);
	assert_int_equal(dev.npolls, 0); /* nobody waits */

	agent_notified(&agent, 0, 19, 0, 4 * MS); /* step 19 could continue but for this one */
	sample(11 * US, 5 * MS);
	assert_int_equal(dev.npolls, 0);
	sample(50 * US, 6 * MS);
	assert_int_equal(dev.npolls, 1);
	trigger = scripted_record(&dev, REC_TRIGGER, 0);
	assert_int_equal(trigger->remaining, 0);
	sample(50 * US, 60 * MS);
	tick(1 * MS, 70 * MS);
	assert_int_equal(dev.npolls, 1); /* once a step */

	agent_step_completed(&agent, 0, 0, 80 * MS); /* the marking continues */
	assert_int_equal(dev.nnotices, 1);
	assert_int_equal(dev.notices[0].detections, 0);
	step.serial = 19;
	step.start_ps = 80 * MS;
	agent_step_started(&agent, 0, &step);
	sample(50 * US, 81 * MS);
	assert_int_equal(dev.npolls, 1); /* the step that waited is not waited for itself */
}

static void
poster_ignores_who_was_waiting_itself(void **state)
{
	agent_step_started(&agent, 0, &step);
	agent_notified(&agent, 0, 18, 0, 2 * MS);
	sample(50 * US, 3 * MS);
	assert_int_equal(dev.npolls, 0);
}

static void
poster_marks_a_step_not_started(void **state)
{
	agent_notified(&agent, 0, 19, 0, 0);
	agent_step_started(&agent, 0, &step);
	sample(13 * US, 1 * MS + 13 * US);
	assert_int_equal(dev.npolls, 1);
}

/* Neither rule has anything but samples to go by: no ACK, no detection; and no NIC is looked at, however late the step. */
static void
published_rules_see_samples_only(void **state)
{
	agent_notified(&agent, 0, 19, 0, 0);
	agent_step_started(&agent, 0, &step);
	for (uint64_t t = 2; t < 60; t++)
		tick(1 * MS, t * MS);
	agent_step_completed(&agent, 0, 7, 61 * MS);
	assert_int_equal(dev.npolls, 0);
	assert_int_equal(dev.nnic_reports, 0);
}

/* Fig. 8: the first sample above the threshold is worth a detection, however early and whether the step is late or not. */
static void
paper_detects_thrice_a_step_spaced(void **state)
{
	agent_step_started(&agent, 0, &step); /* 30 ms, so 10 ms between two */
	dev.qp[FLOW].acked_bytes = 900;       /* far ahead of its time */
	sample(12 * US, 1 * MS + 12 * US);
	assert_int_equal(dev.npolls, 0);
	sample(13 * US, 1 * MS + 13 * US);
	assert_int_equal(dev.npolls, 1);
	assert_int_equal(dev.polls[0].flags, POLL_VICTIM);
	sample(50 * US, 11 * MS + 12 * US);
	assert_int_equal(dev.npolls, 1);
	sample(50 * US, 11 * MS + 13 * US);
	sample(50 * US, 22 * MS);
	assert_int_equal(dev.npolls, 3);
	sample(50 * US, 60 * MS);
	assert_int_equal(dev.npolls, 3);
	agent_step_completed(&agent, 0, 0, 61 * MS);
	assert_int_equal(dev.npolls, 3);
	assert_int_equal(dev.nnotices, 0); /* nothing is left to hand over */
}

/* Fig. 6, 7: what is left goes to the host that waits, in its step under way or the next. */
static void
paper_hands_over_what_is_left(void **state)
{
	agent_notified(&agent, 0, 18, 2, 0);
	agent_step_started(&agent, 0, &step);
	sample(50 * US, 2 * MS);
	agent_notified(&agent, 0, 19, 1, 3 * MS);
	agent_step_completed(&agent, 0, 0, 31 * MS);
	assert_int_equal(dev.npolls, 1);
	assert_int_equal(dev.nnotices, 1);
	assert_int_equal(dev.notices[0].detections, 3 + 2 + 1 - 1);
	step.start_ps = 31 * MS;
	agent_step_started(&agent, 0, &step);
	agent_step_completed(&agent, 0, 0, 61 * MS);
	assert_int_equal(dev.notices[1].detections, 3);
}

static void
paper_keeps_what_is_left_without_transfer(void **state)
{
	config.transfer = false;
	agent_step_started(&agent, 0, &step);
	agent_step_completed(&agent, 0, 0, 31 * MS);
	assert_int_equal(dev.nnotices, 0);
}

/* One threshold for all flows, whatever their own path: 120 % of the smallest base RTT, or of the largest. */
static void
hawkeye_minr_goes_by_the_smallest_rtt(void **state)
{
	agent_step_started(&agent, 0, &step);
	sample(6 * US, 2 * MS);
	assert_int_equal(dev.npolls, 0);
	sample(6 * US + 1, 2 * MS);
	assert_int_equal(dev.npolls, 1);
}

static void
hawkeye_maxr_goes_by_the_largest_rtt(void **state)
{
	const struct rec_trigger *trigger;

	agent_step_started(&agent, 0, &step);
	sample(36 * US, 2 * MS);
	assert_int_equal(dev.npolls, 0);
	sample(36 * US + 1, 2 * MS);
	assert_int_equal(dev.npolls, 1);
	trigger = scripted_record(&dev, REC_TRIGGER, 0);
	assert_int_equal(trigger->threshold_ps, 36 * US);
}

/* Every sample above the threshold sends a packet: no budget, no spacing. One in 50 us is reported, others are quiet. */
static void
hawkeye_has_no_budget(void **state)
{
	agent_step_started(&agent, 0, &step);
	for (uint64_t i = 0; i < 200; i++)
		sample(50 * US, 2 * MS + i * US);
	assert_int_equal(dev.npolls, 200);
	for (uint32_t i = 0; i < 200; i++) {
		assert_int_equal(dev.polls[i].flags, i % 50 == 0 ? POLL_VICTIM : POLL_VICTIM | POLL_QUIET);
		assert_int_equal(dev.polls[i].event >> 16, 13);
		assert_int_equal((dev.polls[i].event & 0xffff) >= AGENT_FIRST_FLOOD, i % 50 != 0);
		for (uint32_t k = 0; k < i; k++)
			assert_int_not_equal(dev.polls[i].event, dev.polls[k].event);
	}
	assert_non_null(scripted_record(&dev, REC_TRIGGER, 3));
	assert_null(scripted_record(&dev, REC_TRIGGER, 4));
	agent_step_completed(&agent, 0, 0, 40 * MS);
	assert_int_equal(dev.nnotices, 0);
	assert_int_equal(dev.nnic_reports, 0);
}

/* Samples only: no ACK, no detection, however old the oldest packet is. */
static void
hawkeye_does_not_see_a_paused_flow(void **state)
{
	agent_step_started(&agent, 0, &step);
	for (uint64_t t = 2; t < 30; t++)
		tick(1 * MS, t * MS);
	assert_int_equal(dev.npolls, 0);
}

/* The ids of quiet packets start over, those that are reported run out into quiet ones. */
static void
hawkeye_ids_of_quiet_packets_return(void **state)
{
	agent.events = AGENT_FIRST_FLOOD - 1;
	agent.flooded = 0xffff - AGENT_FIRST_FLOOD;
	agent_step_started(&agent, 0, &step);
	sample(50 * US, 2 * MS);
	sample(50 * US, 3 * MS);
	assert_int_equal(dev.npolls, 2);
	assert_int_equal(dev.polls[0].event, 13 << 16 | 0xffff);
	assert_int_equal(dev.polls[1].event, 13 << 16 | AGENT_FIRST_FLOOD);
	assert_null(scripted_record(&dev, REC_TRIGGER, 0));
}

static void
full_polling_triggers_nothing(void **state)
{
	agent_step_started(&agent, 0, &step);
	sample(50 * MS, 2 * MS);
	dev.qp[FLOW].acked_bytes = 1000;
	tick(1 * MS, 3 * MS);
	agent_step_completed(&agent, 0, 0, 30 * MS);
	assert_int_equal(dev.npolls, 0);
	assert_int_equal(dev.nnotices, 0);
	assert_int_equal(dev.records.used_bytes, 0);
}

static void
off_does_nothing(void **state)
{
	agent_step_started(&agent, 0, &step);
	sample(50 * MS, 2 * MS);
	tick(1 * MS, 50 * MS);
	agent_notified(&agent, 0, 19, 3, 51 * MS);
	agent_step_completed(&agent, 0, 0, 52 * MS);
	assert_int_equal(dev.npolls, 0);
	assert_int_equal(dev.nnotices, 0);
	assert_int_equal(dev.nnic_reports, 0);
	assert_int_equal(dev.records.used_bytes, 0);
	assert_false(agent_listens(&agent));
}

static void
event_ids_run_out_counted(void **state)
{
	assert_true(agent_listens(&agent));
	agent.events = AGENT_MAX_EVENTS - 1;
	config.spacing_ps = 1;
	agent_step_started(&agent, 0, &step);
	sample(50 * US, 2 * MS);
	sample(50 * US, 3 * MS);
	assert_int_equal(dev.npolls, 1);
	assert_int_equal(dev.polls[0].event, 13 << 16 | 0xffff);
	assert_int_equal(agent.refused, 1);
	assert_int_equal(agent_event(0, 1), 1); /* never 0 */
}

/* Scenarios name every policy, by the number that records have for it, which is fixed; and the registry has it. */
static void
every_policy_is_a_word_of_scenarios(void **state)
{
	static const char *const words[] = { "off",          "vedrfolnir",   "vedrfolnir-poster", "hawkeye-minr",
					     "hawkeye-maxr", "full-polling", "vedrfolnir-paper" };
	const struct cfg_choice *choices = detection_table.fields[0].choices;

	for (int i = 0; i < AGENT_POLICIES; i++) {
		assert_int_equal(choices[i].value, i);
		assert_non_null(choices[i].doc);
		assert_non_null(agent_policies[i]);
		for (int other = 0; other < i; other++)
			assert_ptr_not_equal(agent_policies[i], agent_policies[other]);
	}
	assert_null(choices[AGENT_POLICIES].name);
	for (uint32_t i = 0; i < ARRAY_LEN(words); i++)
		assert_string_equal(choices[i].name, words[i]);
}

UNIT_TEST(agent_policies)
{
	const struct CMUnitTest tests[] = {
		AGENT_TEST(poster_detects_once_when_waited_for, REC_POLICY_POSTER),
		AGENT_TEST(poster_ignores_who_was_waiting_itself, REC_POLICY_POSTER),
		AGENT_TEST(poster_marks_a_step_not_started, REC_POLICY_POSTER),
		AGENT_TEST(published_rules_see_samples_only, REC_POLICY_POSTER),
		AGENT_TEST(published_rules_see_samples_only, REC_POLICY_PAPER),
		AGENT_TEST(paper_detects_thrice_a_step_spaced, REC_POLICY_PAPER),
		AGENT_TEST(paper_hands_over_what_is_left, REC_POLICY_PAPER),
		AGENT_TEST(paper_keeps_what_is_left_without_transfer, REC_POLICY_PAPER),
		AGENT_TEST(hawkeye_minr_goes_by_the_smallest_rtt, REC_POLICY_HAWKEYE_MINR),
		AGENT_TEST(hawkeye_maxr_goes_by_the_largest_rtt, REC_POLICY_HAWKEYE_MAXR),
		AGENT_TEST(hawkeye_has_no_budget, REC_POLICY_HAWKEYE_MINR),
		AGENT_TEST(hawkeye_does_not_see_a_paused_flow, REC_POLICY_HAWKEYE_MINR),
		AGENT_TEST(hawkeye_ids_of_quiet_packets_return, REC_POLICY_HAWKEYE_MINR),
		AGENT_TEST(full_polling_triggers_nothing, REC_POLICY_FULL_POLLING),
		AGENT_TEST(off_does_nothing, REC_POLICY_OFF),
		AGENT_TEST(event_ids_run_out_counted, REC_POLICY_VEDRFOLNIR),
		cmocka_unit_test(every_policy_is_a_word_of_scenarios),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
