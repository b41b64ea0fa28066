/* SPDX-License-Identifier: BSD-3-Clause */
/* What a sender's ledger shows by itself: its NIC, its timer, its receiver, overtaken packets; and who slowed it. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "common/array.h"
#include "common/units.h"
#include "common/wire/drop.h"
#include "common/wire/record.h"
#include "tests/unit/diag/case.h"
#include "tests/unit/unit.h"

#define LOST (20 * MS)

/* A step of 17->18 that took LOST longer than expected; 15->16 is in time. */
static struct rec_step
slow_step(struct records *r)
{
	case_fabric(r);
	records_step(r, 1, H15, REC_NONE, 0, EXPECT);
	records_step(r, 2, H15, H17, EXPECT + LOST, 2 * EXPECT + LOST);
	return (struct rec_step){ .step = 1,
				  .rank = r->rank_of[H17],
				  WAITED_NONE,
				  .bytes = 360000000,
				  .acked_bytes = 360000000,
				  .end_ps = EXPECT + LOST,
				  .wire_ps = EXPECT };
}

static const struct {
	uint64_t nic_ps, early_ps, peer_ps, reordered_ps, timeout_ps, wire_ps; /* wire_ps: 0: EXPECT */
	uint32_t waited_ns;
	const struct finding_type *type;
	const char *root, *words;
	bool innocent;
} entries[] = {
	{ .nic_ps = LOST, .type = FINDING_HOST_LIMITED, .root = "17:1", .words = "17:1 took 20.000 ms", .innocent = true },
	{ .early_ps = LOST,
	  .type = FINDING_TIMER_TOO_SHORT,
	  .root = "17",
	  .words = "--set host.timeout=66us leaves time",
	  .innocent = true },
	{ .peer_ps = LOST,
	  .type = FINDING_RECEIVER_NOT_READY,
	  .root = "18",
	  .words = "18 was not ready",
	  .innocent = true },
	{ .reordered_ps = LOST,
	  .type = FINDING_REORDERING,
	  .root = "17->18/10000>10000",
	  .words = "it sent 9 packets again that had only been overtaken" },
	{ .nic_ps = EXPECT / 200, .type = NULL },                 /* less than makes a step slow */
	{ .early_ps = LOST, .waited_ns = 4000000, .type = NULL }, /* the timer has room for round trips */
	{ .timeout_ps = LOST, /* no ACK can arrive within the timer, on a path of 10 us */
	  .waited_ns = 9000,
	  .type = FINDING_TIMER_TOO_SHORT,
	  .root = "17",
	  .words = "before an ACK can arrive on an idle path",
	  .innocent = true },
	/* all data had been sent when the timer ended: what followed held none of it back */
	{ .timeout_ps = LOST, .waited_ns = 9000, .wire_ps = 9000 * PS_PER_NS, .type = NULL },
};

static void
an_entry_of_the_ledger_is_a_cause(void **state)
{
	for (size_t i = 0; i < ARRAY_LEN(entries); i++) {
		struct records r;
		struct rec_step step = slow_step(&r);
		struct verdict *v;

		step.nic_ps = entries[i].nic_ps;
		step.early_ps = entries[i].early_ps;
		step.timeout_ps = entries[i].timeout_ps;
		step.waited_ns = entries[i].waited_ns;
		step.wire_ps = entries[i].wire_ps != 0 ? entries[i].wire_ps : step.wire_ps;
		step.peer_ps = entries[i].peer_ps;
		step.reordered_ps = entries[i].reordered_ps;
		step.retransmits = entries[i].reordered_ps + entries[i].timeout_ps != 0 ? 9 : 0;
		RECORDS_PUT(&r, step, REC_STEP, H17, step.end_ps);
		records_step(&r, 2, H17, REC_NONE, EXPECT + LOST, 2 * EXPECT + LOST);
		v = case_conclude(&r, REC_END_COMPLETE);
		assert_int_equal(v->nfindings, entries[i].type != NULL);
		if (entries[i].type != NULL) {
			const struct finding *found = case_find(v, entries[i].type, entries[i].root, NULL);

			if (found == NULL)
				fail_msg("case %zu: %s at %s", i, v->findings[0].type->key, v->findings[0].root);
			if (strstr(case_evidence(v, found), entries[i].words) == NULL)
				fail_msg("\"%s\" does not say \"%s\"", case_evidence(v, found), entries[i].words);
			assert_float_equal((float)(found->explained_ps / 1e9), 20.0f, 0.01f);
		}
		assert_int_equal(verdict_claim(v)->innocent, entries[i].innocent);
		verdict_destroy(v);
	}
}

/*
 * 17->18 leaves its NIC spaced out: rows show no packet that waits there, and its ledger that its frames stood behind
 * others. Those of 17->19 are most of them, and it costs no more than they took.
 */
static void
frames_of_a_nic_stood_ahead_unseen(void **state)
{
	static const struct {
		uint64_t behind_ps, packets;
		bool found;
	} rounds[] = {
		{ LOST, 200000, true }, { LOST, 20000, true }, { LOST, 2000, false }, { EXPECT / 200, 200000, false }
	};

	for (size_t i = 0; i < ARRAY_LEN(rounds); i++) {
		struct rec_tuple other = records_tuple(H17, H19, 79);
		const struct finding *found;
		struct records r;
		struct rec_step step = slow_step(&r);
		struct verdict *v;

		step.behind_ps = rounds[i].behind_ps;
		RECORDS_PUT(&r, step, REC_STEP, H17, step.end_ps);
		case_contention(&r, H17, 0, 0, 49, 0, F17, 90000, other, rounds[i].packets);
		v = case_conclude(&r, REC_END_COMPLETE);
		found = case_find(v, FINDING_FLOW_CONTENTION, "17:1", "17->19/79>79");
		assert_int_equal(found != NULL, rounds[i].found);
		if (found != NULL) {
			double frames_ps = (double)rounds[i].packets * 1348 * 8e12 / RECORDS_RATE_BPS;

			assert_non_null(strstr(case_evidence(v, found), "its frames stood behind others at 17:1"));
			assert_float_equal((float)(found->explained_ps / 1e9), (float)(fmin(LOST, frames_ps) / 1e9), 0.3f);
		}
		verdict_destroy(v);
	}
}

/*
 * 17->18 waits little in the queue of 6:2, where 13->19 is ahead of it, and is held back for LOST: 13->19 made the queue.
 * Its next step sees no queue, and is as slow.
 */
static void
who_made_the_queue_slowed_the_sender(void **state)
{
	const struct finding *found;
	struct records r;
	struct rec_step step = slow_step(&r);
	struct verdict *v;

	step.paced_ps = LOST;
	RECORDS_PUT(&r, step, REC_STEP, H17, step.end_ps);
	case_contention(&r, SW6, 1, 0, 9, 20, F17, 90000, BF2, 90000);
	step.step = 2;
	step.waited_rank = step.rank;
	step.waited_step = 1;
	step.waited_collective = 0;
	step.start_ps = step.end_ps;
	step.end_ps += EXPECT + LOST;
	RECORDS_PUT(&r, step, REC_STEP, H17, step.end_ps);
	v = case_conclude(&r, REC_END_COMPLETE);
	found = case_find(v, FINDING_FLOW_CONTENTION, "6:2", "13->19/78>78");
	if (found == NULL)
		fail_msg("%s", case_reason(v));
	assert_int_equal(found->nsteps, 2);
	assert_float_equal((float)(found->explained_ps / 1e9), 40.0f, 0.1f);
	verdict_destroy(v);
}

/*
 * 18 pauses 3:1 for 5 ms; in the queue of 17->18 there, marks make it slow: it is held back for 15 ms more, and in its next
 * step for LOST. Or it is paused for LOST, and its marks arrive when it is done: its next step is held back alone.
 */
static void
pauses_slowed_the_sender_too(void **state)
{
	for (int at_end = 0; at_end < 2; at_end++) {
		const uint64_t paused_ps = at_end ? LOST : 5 * MS;
		const struct finding *found;
		struct records r;
		struct rec_step step = slow_step(&r);
		struct verdict *v;

		step.paced_ps = LOST - paused_ps;
		step.paused_ps = paused_ps;
		RECORDS_PUT(&r, step, REC_STEP, H17, step.end_ps);
		case_paused(&r, SW3, 0, 50, 270000, paused_ps);
		case_flow(&r, SW3, 0, 2, F17, 0, 50, 270000, 270000 * 30);
		step.step = 2;
		step.waited_rank = step.rank;
		step.waited_step = 1;
		step.waited_collective = 0;
		step.start_ps = step.end_ps;
		step.end_ps += EXPECT + LOST;
		step.paced_ps = LOST;
		step.paused_ps = 0;
		RECORDS_PUT(&r, step, REC_STEP, H17, step.end_ps);
		v = case_conclude(&r, REC_END_COMPLETE);
		found = case_find(v, FINDING_PFC_STORM, "18:1", NULL);
		if (found == NULL)
			fail_msg("%s", case_reason(v));
		assert_int_equal(v->nfindings, 1);
		assert_int_equal(found->nsteps, 2);
		assert_float_equal((float)(found->explained_ps / 1e9), 40.0f, 0.1f);
		verdict_destroy(v);
	}
}

/*
 * 6:2 runs at 95 % of its rate for the step, in whose queue there marks slow 17->18: its next step is held back for LOST,
 * when the cable has its rate again.
 */
static void
a_slow_cable_slowed_the_sender_too(void **state)
{
	struct rec_link_rate rate = { .port = 1, .rate_bps = 95000000000 };
	const struct finding *found;
	struct records r;
	struct rec_step step = slow_step(&r);
	struct verdict *v;

	step.paced_ps = LOST;
	RECORDS_PUT(&r, rate, REC_LINK_RATE, SW6, 0);
	rate.rate_bps = 100000000000;
	RECORDS_PUT(&r, rate, REC_LINK_RATE, SW6, step.end_ps);
	RECORDS_PUT(&r, step, REC_STEP, H17, step.end_ps);
	case_paused(&r, SW6, 1, 50, 270000, 0);
	case_flow(&r, SW6, 1, 0, F17, 0, 50, 270000, 270000 * 30);
	step.step = 2;
	step.waited_rank = step.rank;
	step.waited_step = 1;
	step.waited_collective = 0;
	step.start_ps = step.end_ps + PS_PER_US;
	step.end_ps += EXPECT + LOST;
	RECORDS_PUT(&r, step, REC_STEP, H17, step.end_ps);
	v = case_conclude(&r, REC_END_COMPLETE);
	found = case_find(v, FINDING_LINK_RATE, "6:2", NULL);
	if (found == NULL)
		fail_msg("%s", case_reason(v));
	assert_int_equal(v->nfindings, 1);
	assert_int_equal(found->nsteps, 2);
	assert_float_equal((float)(found->explained_ps / 1e9), 40.0f, 0.1f);
	verdict_destroy(v);
}

/*
 * 2:2 pauses 17:1 with nothing held. Reports of either cover a part of the step; 17 knows that it was paused for LOST. With
 * a report of 17:1, or without.
 */
static void
a_paused_sender_knows_for_how_long(void **state)
{
	for (int reported = 0; reported < 2; reported++) {
		struct rec_port_row row = records_port_row(1, 12, 12, 0, 0, 0);
		const struct finding *found;
		struct records r;
		struct rec_step step = slow_step(&r);
		struct verdict *v;

		step.paused_ps = LOST;
		RECORDS_PUT(&r, step, REC_STEP, H17, step.end_ps);
		records_step(&r, 2, H17, REC_NONE, EXPECT + LOST, 2 * EXPECT + LOST);
		if (reported)
			case_paused(&r, H17, 0, 20, 90000, 5 * MS);
		row.pausing = 1;
		row.pausing_since_ps = 7 * MS;
		row.ingress_xoff_bytes = 90000;
		RECORDS_PUT(&r, row, REC_PORT_ROW, SW2, 12 * MS);
		v = case_conclude(&r, REC_END_COMPLETE);
		found = case_find(v, FINDING_PFC_STORM, "2:2", NULL);
		if (found == NULL)
			fail_msg("%s", case_reason(v));
		assert_int_equal(v->nfindings, 1);
		assert_float_equal((float)(found->explained_ps / 1e9), 20.0f, 0.1f);
		verdict_destroy(v);
	}
}

/* 1 and 2 send to each other. The NIC of 2 is slow: it sends below its line's rate, and pauses s:2 when 1 sends. */
static void
pauses_of_a_slow_nic_are_its_own(void **state)
{
	static const uint32_t path[][2] = { { 1, 0 }, { 0, 1 } };
	struct rec_step step = { .step = 1,
				 WAITED_NONE,
				 .bytes = 360000000,
				 .acked_bytes = 360000000,
				 .end_ps = EXPECT + LOST,
				 .wire_ps = EXPECT };
	const struct finding *found;
	struct records r;
	struct verdict *v;

	records_init(&r);
	records_run(&r);
	records_node(&r, 0, "s", false, 2);
	records_node(&r, 1, "1", true, 1);
	records_node(&r, 2, "2", true, 1);
	records_link(&r, 0, 0, false, 1, 0, true);
	records_link(&r, 0, 1, false, 2, 0, true);
	records_collective(&r, 2, 1);
	records_schedule(&r, 0, 1, 1, 2, REC_NONE, EXPECT);
	records_schedule(&r, 1, 1, 2, 1, REC_NONE, EXPECT);
	records_route(&r, records_tuple(1, 2, 10000), path, 2);
	step.rank = r.rank_of[1];
	step.paused_ps = LOST;
	RECORDS_PUT(&r, step, REC_STEP, 1, step.end_ps);
	step.rank = r.rank_of[2];
	step.paused_ps = 0;
	step.nic_ps = LOST;
	RECORDS_PUT(&r, step, REC_STEP, 2, step.end_ps);
	case_paused(&r, 0, 1, 50, 270000, LOST);
	case_flow(&r, 0, 1, 0, records_tuple(1, 2, 10000), 0, 50, 270000, 270000 * 30);
	v = case_conclude(&r, REC_END_COMPLETE);
	found = case_find(v, FINDING_HOST_LIMITED, "2:1", NULL);
	assert_non_null(found);
	assert_int_equal(v->nfindings, 1);
	assert_int_equal(found->nvictims, 2);
	assert_true(found->explained_ps > 2 * (double)LOST * 0.98);
	assert_true(verdict_claim(v)->innocent);
	verdict_destroy(v);
}

/*
 * 18's NIC pauses 3:1 in each of eight parts of the time, 15 ms in sum. In its buffer packets waited before the first pause
 * and behind the last, which no port reports: ACKs were late by LOST.
 */
static void
what_waited_in_a_slow_nic_is_its_own(void **state)
{
	const uint32_t parts = 8, span = (uint32_t)((EXPECT + LOST) / RECORDS_EPOCH_PS) / parts;
	const struct finding *found;
	struct records r;
	struct rec_step step = slow_step(&r);
	struct verdict *v;

	step.late_ps = LOST;
	RECORDS_PUT(&r, step, REC_STEP, H17, step.end_ps);
	records_step(&r, 2, H17, REC_NONE, EXPECT + LOST, 2 * EXPECT + LOST);
	for (uint32_t p = 0; p < parts; p++) {
		struct rec_port_row row =
			records_port_row(0, p * span, (p + 1) * span - 1, 250000 / parts, 7500000 / parts, 30);

		row.pause_ps = 15 * MS / parts;
		records_put_port(&r, SW3, row);
		case_flow(&r, SW3, 0, 2, F17, p * span, (p + 1) * span - 1, 250000 / parts, 7500000 / parts);
	}
	v = case_conclude(&r, REC_END_COMPLETE);
	found = case_find(v, FINDING_HOST_LIMITED, "18:1", NULL);
	assert_non_null(found);
	assert_int_equal(v->nfindings, 1);
	assert_float_equal((float)(found->explained_ps / 1e9), 20.0f, 0.1f);
	assert_true(verdict_claim(v)->innocent);
	verdict_destroy(v);
}

/*
 * 18's NIC pauses 3:1 in each of eight parts of the time. Congestion control holds 17->18 back for what waits in both, and
 * in its next step for LOST, when no port is paused any more.
 */
static void
a_slow_nic_slows_the_sender_too(void **state)
{
	const uint32_t parts = 8, span = (uint32_t)((EXPECT + LOST) / RECORDS_EPOCH_PS) / parts;
	const struct finding *found;
	struct records r;
	struct rec_step step = slow_step(&r);
	struct verdict *v;

	step.paced_ps = LOST;
	RECORDS_PUT(&r, step, REC_STEP, H17, step.end_ps);
	for (uint32_t p = 0; p < parts; p++) {
		struct rec_port_row row =
			records_port_row(0, p * span, (p + 1) * span - 1, 250000 / parts, 7500000 / parts, 30);

		row.pause_ps = MS;
		records_put_port(&r, SW3, row);
		case_flow(&r, SW3, 0, 2, F17, p * span, (p + 1) * span - 1, 250000 / parts, 7500000 / parts);
	}
	step.step = 2;
	step.waited_rank = step.rank;
	step.waited_step = 1;
	step.waited_collective = 0;
	step.start_ps = step.end_ps;
	step.end_ps += EXPECT + LOST;
	RECORDS_PUT(&r, step, REC_STEP, H17, step.end_ps);
	v = case_conclude(&r, REC_END_COMPLETE);
	found = case_find(v, FINDING_HOST_LIMITED, "18:1", NULL);
	assert_non_null(found);
	assert_int_equal(v->nfindings, 1);
	assert_int_equal(found->nsteps, 2);
	assert_float_equal((float)(found->explained_ps / 1e9), 40.0f, 0.1f);
	assert_true(case_has_port(v, found, "3:1"));
	verdict_destroy(v);
}

/*
 * 3 has no route to 18, and counts the packets at 3:2, of which the last is of 15->18. 17->18 does not pass that port; its
 * timer ended, and all that it sent again had arrived: its sender was held up by late ACKs for LOST.
 */
static void
ports_without_a_route_cost_the_timers(void **state)
{
	struct rec_drop_row drop = {
		.last = BF1, .port = 1, .reason = REC_DROP_NO_ROUTE, .packets = 9, .first_ps = 10 * MS, .last_ps = 12 * MS
	};
	const struct finding *found;
	struct records r;
	struct rec_step step = slow_step(&r);
	struct verdict *v;

	step.retransmits = 9;
	step.waited_ns = 4000000;
	step.early_ps = PS_PER_US;
	step.late_ps = LOST;
	RECORDS_PUT(&r, step, REC_STEP, H17, step.end_ps);
	RECORDS_PUT(&r, drop, REC_DROP_ROW, SW3, 13 * MS);
	records_step(&r, 2, H17, REC_NONE, EXPECT + LOST, 2 * EXPECT + LOST);
	v = case_conclude(&r, REC_END_COMPLETE);
	found = case_find(v, FINDING_BLACKHOLE, "3:2", NULL);
	assert_non_null(found);
	assert_float_equal((float)(found->explained_ps / 1e9), 20.0f, 0.1f);
	verdict_destroy(v);
}

/*
 * The timers of 15 and 17 cost 5 ms each, side by side: neither alone regains anything, both together do. 13->19 costs as
 * much in the next step, and regains it alone.
 */
static void
equal_causes_side_by_side_have_an_effect(void **state)
{
	const uint64_t lost = 5 * MS, next = EXPECT + lost;
	struct rec_step step = { .step = 1,
				 WAITED_NONE,
				 .bytes = 360000000,
				 .acked_bytes = 360000000,
				 .end_ps = next,
				 .wire_ps = EXPECT,
				 .early_ps = lost };
	struct records r;
	struct verdict *v;

	case_fabric(&r);
	step.rank = r.rank_of[H17];
	RECORDS_PUT(&r, step, REC_STEP, H17, next);
	step.rank = r.rank_of[H15];
	RECORDS_PUT(&r, step, REC_STEP, H15, next);
	records_step(&r, 2, H15, H17, next, next + EXPECT);
	records_step(&r, 2, H17, H15, next, next + EXPECT + lost);
	case_contention(&r, SW6, 1, next / MS, (next + EXPECT) / MS, 20, F17, 250000, BF2, 60000);
	v = case_conclude(&r, REC_END_COMPLETE);
	assert_non_null(case_find(v, FINDING_FLOW_CONTENTION, "6:2", "13->19/78>78"));
	for (uint32_t i = 0; i < v->nfindings; i++)
		assert_false(v->findings[i].costless);
	assert_true(case_find(v, FINDING_TIMER_TOO_SHORT, "15", NULL)->regained_ps == 0);
	assert_true(case_find(v, FINDING_TIMER_TOO_SHORT, "17", NULL)->regained_ps == 0);
	verdict_destroy(v);
}

UNIT_TEST(cause_ledger)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_entry_of_the_ledger_is_a_cause),
		cmocka_unit_test(frames_of_a_nic_stood_ahead_unseen),
		cmocka_unit_test(who_made_the_queue_slowed_the_sender),
		cmocka_unit_test(pauses_slowed_the_sender_too),
		cmocka_unit_test(a_slow_cable_slowed_the_sender_too),
		cmocka_unit_test(a_paused_sender_knows_for_how_long),
		cmocka_unit_test(pauses_of_a_slow_nic_are_its_own),
		cmocka_unit_test(what_waited_in_a_slow_nic_is_its_own),
		cmocka_unit_test(a_slow_nic_slows_the_sender_too),
		cmocka_unit_test(ports_without_a_route_cost_the_timers),
		cmocka_unit_test(equal_causes_side_by_side_have_an_effect),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
