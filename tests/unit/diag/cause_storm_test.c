/* SPDX-License-Identifier: BSD-3-Clause */
/* Pauses without reason: a NIC's or a port's storm, seen in passing, at a distance, by silence. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "common/array.h"
#include "common/pkt.h"
#include "common/wire/detection.h"
#include "common/wire/record.h"
#include "diag/vedrfolnir/cause/cause.h"
#include "diag/vedrfolnir/section.h"
#include "tests/unit/diag/case.h"
#include "tests/unit/diag/cause_pfc_rig.h"
#include "tests/unit/unit.h"

/* 6:1 was seen pausing 2:3 while it held nothing; the closed epoch that came later does not say so any more. */
static void
test_storm_seen_in_passing(void **state)
{
	for (int seen = 0; seen < 2; seen++) {
		struct rec_port_row row = records_port_row(0, LAST, LAST, 0, 0, 0);
		struct records r;
		struct verdict *v;

		fabric(&r, 40 * MS);
		row.ingress_xoff_bytes = 90000;
		row.pausing = seen;
		RECORDS_PUT(&r, row, REC_PORT_ROW, SW6, 79 * MS + MS / 2);
		row.ingress_xoff_bytes = row.pausing = 0;
		row.pauses_sent = 40;
		RECORDS_PUT(&r, row, REC_PORT_ROW, SW6, 81 * MS);
		v = case_conclude(&r, REC_END_COMPLETE);
		assert_int_equal(v->nfindings, seen);
		if (seen)
			assert_non_null(strstr(case_evidence(v, case_find(v, FINDING_PFC_STORM, "6:1", NULL)), "held 0 B"));
		verdict_destroy(v);
	}
}

/*
 * 18's NIC pauses 3:1, for half of the time: in one piece, which is a storm; or in each of eight parts of the time, in
 * which data passes as well. Two ends of one pause are in two parts of it at most.
 */
static void
test_nic_that_resumes_by_itself(void **state)
{
	static const uint32_t parts[] = { 1, 2, 5, 8 };

	for (size_t i = 0; i < ARRAY_LEN(parts); i++) {
		bool slow = parts[i] / 2 >= CAUSE_NIC_PAUSES;
		uint32_t span = (LAST + 1) / parts[i];
		struct records r;
		struct verdict *v;

		fabric(&r, 0);
		for (uint32_t p = 0; p < parts[i]; p++) {
			struct rec_port_row row = records_port_row(0, p * span, (p + 1) * span - 1, 250000 / parts[i],
								   7500000 / parts[i], 30);

			row.pause_ps = 40 * MS / parts[i];
			records_put_port(&r, SW3, row);
			records_put_flow(&r, SW3,
					 records_flow_row(0, F17, p * span, (p + 1) * span - 1, 250000 / parts[i],
							  7500000 / parts[i]));
		}
		v = case_conclude(&r, REC_END_COMPLETE);
		assert_int_equal(case_find(v, FINDING_HOST_LIMITED, "18:1", NULL) != NULL, slow);
		assert_int_equal(case_find(v, FINDING_PFC_STORM, "18:1", NULL) != NULL, !slow);
		if (slow)
			assert_non_null(strstr(case_evidence(v, case_find(v, FINDING_HOST_LIMITED, "18:1", NULL)),
					       "18:1 paused 3:1 for 40.000 ms of the time reported, at least 4 times"));
		verdict_destroy(v);
	}
}

/* What a paused queue behind it may have left there is no sign of a storm: 3000 of 90000 B are, 10000 are not. */
static void
test_storm_before_paused_port(void **state)
{
	for (int holds = 0; holds < 2; holds++) {
		struct rec_port_row row = records_port_row(0, LAST, LAST, 0, 0, 0);
		struct records r;
		struct verdict *v;

		fabric(&r, 40 * MS);
		case_paused(&r, SW6, 1, LAST, 250000, 40 * MS);
		row.ingress_xoff_bytes = 90000;
		row.pausing = 1;
		row.ingress_bytes = holds ? 10000 : 3000;
		RECORDS_PUT(&r, row, REC_PORT_ROW, SW6, 79 * MS + MS / 2);
		v = case_conclude(&r, REC_END_COMPLETE);
		assert_int_equal(case_find(v, FINDING_PFC_STORM, "6:1", NULL) != NULL, !holds);
		verdict_destroy(v);
	}
}

/*
 * 6:1 pauses with 40000 of 90000 B held, which wait in the queue of 6:2: the threshold was lower when they arrived, and
 * only a frame that leaves resumes the peer. With 3000 B held, or without that queue, there is no reason.
 */
static void
test_storm_before_queue(void **state)
{
	static const struct {
		uint64_t held_bytes;
		bool is_queue, is_storm;
	} cases[] = { { 40000, true, false }, { 3000, true, true }, { 40000, false, true } };

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct rec_port_row row = records_port_row(0, LAST, LAST, 0, 0, 0);
		struct records r;
		struct verdict *v;

		fabric(&r, 40 * MS);
		if (cases[i].is_queue)
			case_contention(&r, SW6, 1, 0, LAST, 60, F17, 250000, BF2, 60000);
		row.ingress_xoff_bytes = 90000;
		row.pausing = 1;
		row.ingress_bytes = cases[i].held_bytes;
		RECORDS_PUT(&r, row, REC_PORT_ROW, SW6, 79 * MS + MS / 2);
		v = case_conclude(&r, REC_END_COMPLETE);
		assert_int_equal(case_find(v, FINDING_PFC_STORM, "6:1", NULL) != NULL, cases[i].is_storm);
		verdict_destroy(v);
	}
}

/*
 * Nobody reports of the NIC of 17, but 2:2 says that it has paused it since 10 ms, and holds nothing (or too much) of
 * it.
 */
static void
test_storm_at_unseen_nic(void **state)
{
	for (int holds = 0; holds < 2; holds++) {
		static const uint64_t pausing_ms[] = { 30, 40 };
		const struct finding *storm;
		struct records r;
		struct verdict *v;

		case_fabric(&r);
		records_step(&r, 1, H17, REC_NONE, 0, 80 * MS);
		for (int i = 0; i < 2; i++) {
			struct rec_port_row row =
				records_port_row(1, (uint32_t)pausing_ms[i], (uint32_t)pausing_ms[i], 0, 0, 0);

			row.pausing = 1;
			row.pausing_since_ps = 10 * MS;
			row.ingress_xoff_bytes = 90000;
			row.ingress_bytes = holds ? 10000 : 0;
			RECORDS_PUT(&r, row, REC_PORT_ROW, SW2, pausing_ms[i] * MS);
		}
		v = case_conclude(&r, REC_END_COMPLETE);
		storm = case_find(v, FINDING_PFC_STORM, "2:2", NULL);
		assert_int_equal(storm != NULL, !holds);
		if (!holds) {
			assert_true(case_has_port(v, storm, "17:1"));
			assert_true(near_ms(storm->explained_ps, 30));
			assert_int_equal(v->nfindings, 1);
		}
		verdict_destroy(v);
	}
}

/* A polling packet asks 2, paused, and 6, which holds nothing, each at the end of an epoch. */
static void
poll_silent(struct records *r, uint32_t event, uint32_t epoch, uint32_t answered)
{
	struct rec_poll poll = {
		.hdr.event = event,
		.victim = F17,
		.in_port = 1,
		.out_port = 2,
		.flags = 3,
		.out_paused = 1,
	};
	struct rec_port_row reply = records_port_row(0, answered, answered, 0, 0, 0);

	reply.hdr.event = event;
	reply.ingress_xoff_bytes = 90000;
	RECORDS_PUT(r, poll, REC_POLL, SW2, epoch * MS);
	records_put_port(r, SW6, reply);
}

/*
 * Nothing behind 6:1 is queued or paused. That is a storm if 6 was polled: by a polling packet, or because all are. 2:3
 * was paused throughout, so that the replies have to cover all of the 80 ms.
 */
static void
test_storm_by_silence(void **state)
{
	static const struct {
		uint64_t polled_ms[2];
		uint32_t kept; /* epochs that an answer reports */
		bool all_polled, storm;
		uint32_t paused_last; /* last epoch of the row that reports the pause */
		uint32_t all_last;    /* last epoch that 6 reports where all are polled */
	} cases[] = {
		{ { 0 }, 80, false, false, LAST, 0 },
		{ { 0 }, 80, true, true, LAST, LAST },
		{ { 0 }, 80, true, true, LAST, 77 },
		{ { 0 }, 80, true, false, LAST, 70 }, /* not all of the pause */
		{ { 0 }, 80, true, false, LAST, 0 },
		{ { 0 }, 75, true, false, LAST, LAST }, /* its reports leave epochs out */
		{ { 79 }, 80, false, true, LAST, 0 },
		{ { 79 }, 70, false, false, LAST, 0 },
		{ { 79 }, 2, false, false, LAST, 0 },
		{ { 20 }, 80, false, false, LAST, 0 },
		{ { 38, 79 }, 42, false, true, LAST, 0 },  /* two answers: 0 to 38 ms, 38 to 79 ms */
		{ { 70, 79 }, 42, false, false, LAST, 0 }, /* the time that both report counts once */
		{ { 79 }, 80, false, true, 140, 0 },
		{ { 79 }, 80, false, false, 180, 0 }, /* most of that row's time is after the step */
	};

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct rec_run *run;
		struct records r;
		struct verdict *v;

		fabric(&r, 40 * MS);
		case_paused(&r, SW2, 2, cases[i].paused_last, 250000, 40 * MS); /* replaces the other row */
		run = (struct rec_run *)(r.data + sizeof(struct rec_stream));
		run->epochs_kept = cases[i].kept;
		if (cases[i].all_polled)
			run->policy = REC_POLICY_FULL_POLLING;
		for (uint16_t p = 0; p < 3 && cases[i].all_last != 0; p++) {
			struct rec_port_row all = records_port_row(p, 0, cases[i].all_last, 0, 0, 0);

			all.ingress_xoff_bytes = 90000;
			records_put_port(&r, SW6, all);
		}
		for (uint32_t p = 0; p < 2 && cases[i].polled_ms[p] != 0; p++)
			poll_silent(&r, 9 + p, (uint32_t)cases[i].polled_ms[p], (uint32_t)cases[i].polled_ms[p]);
		v = case_conclude(&r, REC_END_COMPLETE);
		if ((case_find(v, FINDING_PFC_STORM, "6:1", NULL) != NULL) != cases[i].storm)
			fail_msg("case %zu: %s", i, case_reason(v));
		verdict_destroy(v);
	}
}

/* Sets the delay of the link between 2 and 6. */
static void
delay_link(struct records *r, uint64_t delay_ps)
{
	for (size_t at = sizeof(struct rec_stream); at < r->used_bytes;) {
		struct rec_port *port = (struct rec_port *)(void *)(r->data + at);

		if (port->hdr.type == REC_PORT &&
		    ((port->hdr.node == SW2 && port->peer == SW6) || (port->hdr.node == SW6 && port->peer == SW2)))
			port->delay_ps = delay_ps;
		at += port->hdr.size;
	}
}

/*
 * A PAUSE that acts at 2:3 was sent a link's delay before, and 6 answers that much after the polling packet left 2: what
 * it keeps then may leave out when it paused 2:3. A pause that lasts when the packet leaves is of a cause that is still
 * there.
 */
static void
test_silence_behind_a_long_link(void **state)
{
	static const struct {
		uint32_t delay_ms, kept;
		bool lasts, storm;
	} cases[] = {
		{ 0, 80, false, true }, { 20, 80, false, false }, { 20, 120, false, false }, { 20, 120, true, true }
	};

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct rec_port_row now = records_port_row(2, 79, 79, 0, 0, 0);
		struct records r;
		struct verdict *v;

		fabric(&r, 40 * MS);
		((struct rec_run *)(r.data + sizeof(struct rec_stream)))->epochs_kept = cases[i].kept;
		delay_link(&r, cases[i].delay_ms * MS);
		poll_silent(&r, 9, 79, 79 + cases[i].delay_ms);
		now.paused = cases[i].lasts;
		now.paused_since_ps = 35 * MS;
		if (cases[i].lasts)
			RECORDS_PUT(&r, now, REC_PORT_ROW, SW2, 79 * MS);
		v = case_conclude(&r, REC_END_COMPLETE);
		if ((case_find(v, FINDING_PFC_STORM, "6:1", NULL) != NULL) != cases[i].storm)
			fail_msg("case %zu: %s", i, case_reason(v));
		assert_int_equal(vedrfolnir_of(v)->unjudged.storms, !cases[i].storm);
		verdict_destroy(v);
	}
}

/*
 * 6 was asked and answered for all of the pause. That means nothing where another port of it may have been the reason:
 * a queue of a few packets, one that nobody joined and that stood there at a report, a paused port; nor where 6:1 was
 * seen pausing because it was full, or an answer has no counters of the pause's time, or comes so late that its oldest
 * epoch began after that; nor where the polling packet was on the path of ACKs, and traced no pauses.
 */
static void
test_silence_beside_a_reason(void **state)
{
	enum { NOTHING, SHALLOW, FEW, STANDING, PAUSED, FULL, QUIET, LATE, ACKS, REASONS };

	for (int reason = NOTHING; reason < REASONS; reason++) {
		struct rec_poll poll = { .hdr.event = 9, .victim = F17, .in_port = 1, .out_port = 2, .out_paused = 1 };
		struct rec_port_row answer = records_port_row(0, LAST, LAST, 0, 0, 0);
		struct rec_port_row other = records_port_row(2, 10, 20, 5, 5,
							     reason == SHALLOW ? 1
							     : reason == FEW   ? 2
									       : 0);
		struct rec_port_row now = records_port_row(2, LAST, LAST, 0, 0, 0);
		const uint64_t polled_ps = reason == LATE ? 80 * MS - 20 * PS_PER_US : 79 * MS;
		struct records r;
		struct verdict *v;

		poll.flags = reason == ACKS ? POLL_VICTIM | POLL_BACK : POLL_BOTH;
		fabric(&r, 40 * MS);
		((struct rec_run *)(r.data + sizeof(struct rec_stream)))->epochs_kept = 80;
		RECORDS_PUT(&r, poll, REC_POLL, SW2, polled_ps);
		answer.hdr.event = now.hdr.event = poll.hdr.event;
		answer.ingress_xoff_bytes = now.ingress_xoff_bytes = 90000;
		answer.pausing = reason == FULL;
		answer.ingress_bytes = reason == FULL ? 60000 : 0;
		RECORDS_PUT(&r, answer, REC_PORT_ROW, SW6, polled_ps);
		other.pause_ps = reason == PAUSED ? MS : 0;
		records_put_port(&r, SW6, other);
		now.queue_packets = reason == STANDING ? 100 : 0;
		now.state_only = reason == QUIET;
		now.from_ps = reason == QUIET ? 40 * MS : now.from_ps;
		RECORDS_PUT(&r, now, REC_PORT_ROW, SW6, polled_ps + (reason == LATE ? 30 * PS_PER_US : 0));
		v = case_conclude(&r, REC_END_COMPLETE);
		if ((case_find(v, FINDING_PFC_STORM, "6:1", NULL) != NULL) != (reason <= SHALLOW))
			fail_msg("reason %d: %s", reason, case_reason(v));
		assert_int_equal(vedrfolnir_of(v)->unjudged.storms, reason > SHALLOW);
		verdict_destroy(v);
	}
}

/* 6 was asked and 2:3 fed little to the paused 6:3 behind it: what is held there makes 6:1 pause all the same. */
static void
test_little_fed_to_paused_port(void **state)
{
	for (int paused = 0; paused < 2; paused++) {
		struct rec_poll poll = { .victim = F17, .in_port = 1, .out_port = 2, .flags = 3, .out_paused = 1 };
		struct records r;
		struct verdict *v;

		fabric(&r, 40 * MS);
		RECORDS_PUT(&r, poll, REC_POLL, SW2, 79 * MS);
		case_paused(&r, SW6, 2, LAST, 2500, paused ? 40 * MS : 0);
		records_put_meter(&r, SW6, records_meter_row(0, 2, 0, LAST, 2500 * 1348));
		v = case_conclude(&r, REC_END_COMPLETE);
		assert_null(case_find(v, FINDING_PFC_STORM, "6:1", NULL));
		verdict_destroy(v);
	}
}

/* A row of epochs [first, last] of 2:3, paused for so long, which only 17->18 goes through. */
static void
paused_part(struct records *r, uint32_t first, uint32_t last, uint64_t pause_ps)
{
	struct rec_port_row row = records_port_row(2, first, last, 130000, 130000 * 30, 60);

	row.pause_ps = pause_ps;
	row.pauses_received = 100;
	records_put_port(r, SW2, row);
	case_flow(r, SW2, 2, 1, F17, first, last, 130000, 130000 * 30);
	records_put_meter(r, SW6, records_meter_row(0, 1, first, last, 130000 * 1348));
}

/*
 * 2:3 is paused for 10 ms while 13->19 fills 6:2, and for 30 ms after that, when 6:1 was seen pausing it with nothing held:
 * each has its own part. If the queue is there in both, the storm was seen in the second only; if 6 saw no queue before
 * the storm, that has all.
 */
static void
test_storm_and_queue_share_by_time(void **state)
{
	enum { APART, BOTH, UNREPORTED };

	for (int queue = APART; queue <= UNREPORTED; queue++) {
		struct rec_port_row seen = records_port_row(0, 60, 60, 0, 0, 0);
		const struct finding *storm;
		struct records r;
		struct verdict *v;

		case_fabric(&r);
		records_step(&r, 1, H17, REC_NONE, 0, 80 * MS);
		paused_part(&r, 0, 39, 10 * MS);
		paused_part(&r, 40, 79, 30 * MS);
		if (queue != UNREPORTED)
			case_contention(&r, SW6, 1, 0, 39, 60, F17, 130000, BF2, 30000);
		if (queue == BOTH)
			case_contention(&r, SW6, 1, 40, 79, 60, F17, 130000, BF2, 30000);
		else
			records_put_port(&r, SW6, records_port_row(1, 40, 79, 130000, 0, 1));
		seen.pausing = 1;
		seen.pausing_since_ps = 45 * MS;
		seen.ingress_xoff_bytes = 90000;
		RECORDS_PUT(&r, seen, REC_PORT_ROW, SW6, 60 * MS);
		v = case_conclude(&r, REC_END_COMPLETE);
		storm = case_find(v, FINDING_PFC_STORM, "6:1", NULL);
		assert_non_null(storm);
		assert_true(near_ms(storm->explained_ps, queue == UNREPORTED ? 40 : 30));
		assert_int_equal(case_find(v, FINDING_PFC_BACKPRESSURE, "6:2", "13->19/78>78") != NULL,
				 queue != UNREPORTED);
		verdict_destroy(v);
	}
}

/* Pauses of another class do not halt the step's, whether these are a port's time, a meter's or an ingress's (802.1Qbb). */
static void
test_pauses_of_another_class(void **state)
{
	for (uint16_t prio = 3; prio < 5; prio++) {
		struct rec_port_row row = records_port_row(2, 0, LAST, 250000, 7500000, 60);
		struct rec_meter_row meter = records_meter_row(0, 1, 0, LAST, 250000 * 1348);
		struct records r;
		struct verdict *v;

		case_fabric(&r);
		records_class(&r, 3);
		records_step(&r, 1, H17, REC_NONE, 0, 80 * MS);
		row.prio = meter.prio = prio;
		row.pause_ps = 40 * MS;
		records_put_port(&r, SW2, row);
		if (prio != 3) { /* its own rows know of no pause */
			row.prio = 3;
			row.pause_ps = 0;
			records_put_port(&r, SW2, row);
		}
		case_flow(&r, SW2, 2, 1, F17, 0, LAST, 250000, 7500000);
		records_put_meter(&r, SW6, meter);
		row = records_port_row(0, LAST, LAST, 0, 0, 0);
		row.ingress_xoff_bytes = 90000;
		row.pausing = 1;
		row.prio = prio;
		RECORDS_PUT(&r, row, REC_PORT_ROW, SW6, 79 * MS + MS / 2);
		v = case_conclude(&r, REC_END_COMPLETE);
		assert_int_equal(case_find(v, FINDING_PFC_STORM, "6:1", NULL) != NULL, prio == 3);
		assert_int_equal(v->nfindings, prio == 3);
		verdict_destroy(v);
	}
}

UNIT_TEST(cause_storm)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_nic_that_resumes_by_itself), cmocka_unit_test(test_storm_seen_in_passing),
		cmocka_unit_test(test_storm_before_paused_port),   cmocka_unit_test(test_storm_before_queue),
		cmocka_unit_test(test_storm_at_unseen_nic),        cmocka_unit_test(test_storm_by_silence),
		cmocka_unit_test(test_silence_behind_a_long_link), cmocka_unit_test(test_silence_beside_a_reason),
		cmocka_unit_test(test_little_fed_to_paused_port),  cmocka_unit_test(test_storm_and_queue_share_by_time),
		cmocka_unit_test(test_pauses_of_another_class),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
