/* SPDX-License-Identifier: BSD-3-Clause */
/* Where pauses come from, and what is too little to be a cause. 17->18 takes 80 ms instead of 30.75 ms throughout. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "common/array.h"
#include "common/wire/detection.h"
#include "common/wire/record.h"
#include "tests/unit/diag/case.h"

#define LAST 79 /* epoch */
#define OTHER records_tuple(H18, H19, 90)

static bool
near_ms(double ps, double ms)
{
	return ps / 1e9 > ms - 0.01 && ps / 1e9 < ms + 0.01;
}

/* 2:3, which 17->18 goes through, is halted by 6; all that it sends goes to 6:2. */
static void
fabric(struct records *r, uint64_t pause_ps)
{
	case_fabric(r);
	records_step(r, 1, H17, REC_NONE, 0, 80 * MS);
	case_halted(r, SW2, 2, LAST, 250000, pause_ps);
	case_flow(r, SW2, 2, 1, F17, 0, LAST, 250000, 7500000);
	records_put_meter(r, SW6, records_meter_row(0, 1, 0, LAST, 250000 * 1348));
}

/* 6:2 holds 17->18 and 13->19 and is itself halted by 3, where 13->19 meets another flow at 3:2. */
static struct verdict *
halted_root(uint64_t pause_ps)
{
	struct records r;

	fabric(&r, 40 * MS);
	case_halted(&r, SW6, 1, LAST, 500000, pause_ps);
	case_flow(&r, SW6, 1, 0, F17, 0, LAST, 250000, 7500000);
	case_flow(&r, SW6, 1, 2, BF2, 0, LAST, 250000, 7500000);
	records_put_meter(&r, SW3, records_meter_row(2, 0, 0, LAST, 1000));
	records_put_meter(&r, SW3, records_meter_row(2, 1, 0, LAST, 1000));
	records_put_port(&r, SW3, records_port_row(1, 0, LAST, 400000, 4000000, 90));
	case_flow(&r, SW3, 1, 2, BF2, 0, LAST, 250000, 2500000);
	case_flow(&r, SW3, 1, 0, OTHER, 0, LAST, 150000, 1500000);
	return case_conclude(&r, REC_END_COMPLETE);
}

static void
test_root_halted_in_part(void **state)
{
	struct verdict *v = halted_root(16 * MS);
	const struct finding *near = case_find(v, FINDING_PFC_BACKPRESSURE, "6:2", NULL);
	const struct finding *far = case_find(v, FINDING_PFC_BACKPRESSURE, "3:2", NULL);

	assert_true(near != NULL && far != NULL);
	/* unpaused for 4/5 of the time, it is the root for that part; half of the other fifth goes to 3:2 */
	assert_true(near_ms(near->explained_ps, 40 * 0.8 / 0.9));
	/* 2:3 owes 40 * 0.1 / 0.9 to it, 6:2 all of its 16 ms: the larger counts */
	assert_true(near_ms(far->explained_ps, 16));
	assert_true(near_ms(far->critical_ps, 16));
	assert_true(case_has_port(v, near, "2:3") && case_has_port(v, near, "6:2"));
	assert_true(case_has_port(v, far, "2:3") && case_has_port(v, far, "6:2") && case_has_port(v, far, "3:2"));
	assert_string_equal(v->run.flows[near->flows[0]].name, "13->19/78>78");
	verdict_destroy(v);

	/* Halted half of the time, it hands on what 3 does to it. */
	v = halted_root(40 * MS);
	assert_null(case_find(v, FINDING_PFC_BACKPRESSURE, "6:2", NULL));
	assert_non_null(case_find(v, FINDING_PFC_BACKPRESSURE, "3:2", NULL));
	verdict_destroy(v);
}

/*
 * A queue that nobody else fills, or that comes by one ingress of its own speed, is what a pause piled up; so is one that
 * the other ingress's flow did not meet.
 */
static void
test_root_needs_culprits(void **state)
{
	for (int others = 0; others < 5; others++) {
		struct records r;
		struct verdict *v;

		fabric(&r, 40 * MS);
		records_put_port(&r, SW6, records_port_row(1, 0, LAST, 260000, 2600000, 90));
		if (others != 3)
			case_flow(&r, SW6, 1, 0, F17, 0, LAST, 250000, others == 4 ? 4999 : 5000);
		if (others == 1 || others == 2 || others == 4)
			case_flow(&r, SW6, 1, others == 1 ? 0 : 2, BF2, 0, LAST, 100000, 10000);
		v = case_conclude(&r, REC_END_COMPLETE);
		/* With a second ingress it is a root; where no flow was reported, nobody can say that it is not. */
		assert_int_equal(v->nfindings, others == 2 || others == 3);
		if (v->nfindings != 0)
			assert_int_equal(case_find(v, FINDING_PFC_BACKPRESSURE, "6:2", NULL)->nflows, others == 2);
		verdict_destroy(v);
	}
}

/*
 * A quarter of 1 ms halted is less than a twentieth of 49.25 ms lost and less than a hundredth of 30.75 ms expected; a
 * third is more.
 */
static void
test_too_little(void **state)
{
	for (int enough = 0; enough < 2; enough++) {
		struct records r;
		struct verdict *v;

		fabric(&r, MS);
		records_put_port(&r, SW6, records_port_row(1, 0, LAST, 350000, 3500000, 90));
		case_flow(&r, SW6, 1, 0, F17, 0, LAST, 250000, 7500);
		case_flow(&r, SW6, 1, 2, BF2, 0, LAST, 100000, 10000);
		records_put_meter(&r, SW6, records_meter_row(0, 2, 0, LAST, (enough ? 500000 : 750000) * 1348));
		records_put_port(&r, SW6, records_port_row(2, 0, LAST, 350000, 3500000, 90));
		case_flow(&r, SW6, 2, 0, records_tuple(H17, H13, 91), 0, LAST, 250000, 10000);
		case_flow(&r, SW6, 2, 1, records_tuple(H19, H13, 92), 0, LAST, 100000, 10000);
		v = case_conclude(&r, REC_END_COMPLETE);
		assert_non_null(case_find(v, FINDING_PFC_BACKPRESSURE, "6:3", NULL));
		assert_int_equal(case_find(v, FINDING_PFC_BACKPRESSURE, "6:2", NULL) != NULL, enough);
		verdict_destroy(v);
	}
}

/* One step of one rank, 13->19, until 80 ms. */
static void
other_collective(struct records *r, uint64_t start_ps)
{
	struct rec_tuple flow = records_tuple(H13, H19, 10000);
	struct rec_collective collective = { .id = 1, .ranks = 2, .steps = 1, .rank_steps = 1, .bytes = 1000000 };
	struct rec_schedule schedule = { .collective = 1,
					 .step = 1,
					 .flow = flow,
					 .bytes = 360000000,
					 .peer = 1,
					 .depends_rank = REC_NONE,
					 .ideal_ps = EXPECT,
					 .expect_ps = EXPECT };
	struct rec_step step = { .collective = 1,
				 .step = 1,
				 WAITED_NONE,
				 .bytes = 360000000,
				 .acked_bytes = 360000000,
				 .start_ps = start_ps,
				 .end_ps = 80 * MS };

	RECORDS_PUT(r, collective, REC_COLLECTIVE, REC_NONE, 0);
	RECORDS_PUT(r, schedule, REC_SCHEDULE, H13, 0);
	RECORDS_PUT(r, step, REC_STEP, H13, 80 * MS);
}

/* Flows of collectives from two ingresses overrun the root only while both have a step to send. */
static void
test_root_needs_them_at_once(void **state)
{
	for (int at_once = 0; at_once < 2; at_once++) {
		const struct finding *finding;
		struct records r;
		struct verdict *v;

		fabric(&r, 40 * MS);
		other_collective(&r, at_once ? 36 * MS : 37 * MS);
		records_step(&r, 1, H15, REC_NONE, 0, 39 * MS);
		records_step(&r, 2, H15, REC_NONE, 39 * MS, 40 * MS);
		records_put_port(&r, SW6, records_port_row(1, 0, LAST, 500000, 5000000, 90));
		case_flow(&r, SW6, 1, 0, F15, 0, LAST, 250000, 2500000);
		case_flow(&r, SW6, 1, 2, records_tuple(H13, H19, 10000), 0, LAST, 250000, 2500000);
		v = case_conclude(&r, REC_END_COMPLETE);
		finding = case_find(v, FINDING_PFC_BACKPRESSURE, "6:2", NULL);
		assert_int_equal(finding != NULL, at_once);
		if (finding != NULL)
			assert_int_equal(finding->nflows, 2);
		verdict_destroy(v);
	}
}

/*
 * Rows that reach beyond the step, which ran in their second half: of 16 packets that met pauses half would be cf's, had
 * the pauses gone on in its time. Without a row of cf nobody knows.
 */
static void
test_pauses_before_the_step(void **state)
{
	static const struct {
		uint64_t all, own;
		bool halted;
		uint64_t port_packets; /* fewer than cf's: an older row, of which the newer one was lost */
	} tests[] = { { 16, 0, false, 500000 }, { 16, 1, true, 500000 }, { 14, 0, true, 500000 }, { 16, 0, true, 0 } };

	for (size_t i = 0; i < ARRAY_LEN(tests); i++) {
		struct rec_port_row port = records_port_row(2, 0, LAST, tests[i].port_packets, 5000000, 90);
		struct rec_flow_row flow = records_flow_row(2, F17, 0, LAST, 250000, 2500000);
		struct records r;
		struct verdict *v;

		case_fabric(&r);
		records_step(&r, 1, H17, REC_NONE, 40 * MS, 80 * MS);
		port.pause_ps = 20 * MS;
		port.paused_packets = tests[i].all;
		flow.paused_packets = tests[i].own;
		records_put_port(&r, SW2, port);
		records_put_flow(&r, SW2, flow);
		records_put_meter(&r, SW6, records_meter_row(0, 1, 0, LAST, 250000 * 1348));
		records_put_port(&r, SW6, records_port_row(1, 0, LAST, 500000, 5000000, 90));
		case_flow(&r, SW6, 1, 0, F17, 0, LAST, 250000, 2500000);
		case_flow(&r, SW6, 1, 2, BF2, 0, LAST, 250000, 2500000);
		v = case_conclude(&r, REC_END_COMPLETE);
		assert_int_equal(case_find(v, FINDING_PFC_BACKPRESSURE, "6:2", NULL) != NULL, tests[i].halted);
		verdict_destroy(v);
	}
}

/* A flow that met no queue at the root came before it grew, or after: the root's other flow made it. */
static void
test_passed_root(void **state)
{
	for (int met = 0; met < 2; met++) {
		const struct finding *finding;
		struct records r;
		struct verdict *v;

		fabric(&r, 40 * MS);
		records_put_port(&r, SW6, records_port_row(1, 0, LAST, 450000, 4500000, 90));
		case_flow(&r, SW6, 1, 2, BF2, 0, LAST, 100000, 3000000);
		case_flow(&r, SW6, 1, 0, records_tuple(H16, H19, 93), 0, LAST, 100000, 3000000);
		case_flow(&r, SW6, 1, 2, records_tuple(H15, H19, 94), 0, LAST, 100000, met ? 2000 : 1999);
		v = case_conclude(&r, REC_END_COMPLETE);
		finding = case_find(v, FINDING_PFC_BACKPRESSURE, "6:2", NULL);
		assert_non_null(finding);
		assert_int_equal(finding->nflows, 2 + met);
		verdict_destroy(v);
	}
}

/* A NIC halted by the first queue in which its flow stands: contention there, not a second finding. */
static void
test_own_queue(void **state)
{
	for (int stands = 0; stands < 2; stands++) {
		struct records r;
		struct verdict *v;

		case_fabric(&r);
		records_step(&r, 1, H17, REC_NONE, 0, 80 * MS);
		case_halted(&r, H17, 0, LAST, 250000, 40 * MS);
		case_flow(&r, H17, 0, REC_NO_PORT, F17, 0, LAST, 250000, 0);
		records_put_meter(&r, SW2, records_meter_row(1, 2, 0, LAST, 250000 * 1348));
		records_put_port(&r, SW2, records_port_row(2, 0, LAST, 500000, 30000000, 90));
		if (stands)
			case_flow(&r, SW2, 2, 1, F17, 0, LAST, 250000, 15000000);
		else
			case_flow(&r, SW2, 2, 1, records_tuple(H17, H13, 91), 0, LAST, 250000, 15000000);
		case_flow(&r, SW2, 2, 0, records_tuple(H16, H19, 90), 0, LAST, 250000, 15000000);
		v = case_conclude(&r, REC_END_COMPLETE);
		assert_int_equal(v->nfindings, 1);
		if (stands)
			assert_non_null(case_find(v, FINDING_FLOW_CONTENTION, "2:3", NULL));
		else
			assert_non_null(case_find(v, FINDING_PFC_BACKPRESSURE, "2:3", NULL));
		verdict_destroy(v);
	}
}

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

/* Nobody reports of the NIC of 17, but 2:2 says that it has paused it since 10 ms, and holds nothing (or too much) of it. */
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

/* What a halted queue behind it may have left there is no sign of a storm: 3000 of 90000 B are, 10000 are not. */
static void
test_storm_before_halted_port(void **state)
{
	for (int holds = 0; holds < 2; holds++) {
		struct rec_port_row row = records_port_row(0, LAST, LAST, 0, 0, 0);
		struct records r;
		struct verdict *v;

		fabric(&r, 40 * MS);
		case_halted(&r, SW6, 1, LAST, 250000, 40 * MS);
		row.ingress_xoff_bytes = 90000;
		row.pausing = 1;
		row.ingress_bytes = holds ? 10000 : 3000;
		RECORDS_PUT(&r, row, REC_PORT_ROW, SW6, 79 * MS + MS / 2);
		v = case_conclude(&r, REC_END_COMPLETE);
		assert_int_equal(case_find(v, FINDING_PFC_STORM, "6:1", NULL) != NULL, !holds);
		verdict_destroy(v);
	}
}

/* 6 was asked and 2:3 fed little to the halted 6:3 behind it: what is held there makes 6:1 pause all the same. */
static void
test_little_fed_to_halted_port(void **state)
{
	for (int halted = 0; halted < 2; halted++) {
		struct rec_poll poll = { .victim = F17, .in_port = 1, .out_port = 2, .flags = 3, .out_paused = 1 };
		struct records r;
		struct verdict *v;

		fabric(&r, 40 * MS);
		RECORDS_PUT(&r, poll, REC_POLL, SW2, 79 * MS);
		case_halted(&r, SW6, 2, LAST, 2500, halted ? 40 * MS : 0);
		records_put_meter(&r, SW6, records_meter_row(0, 2, 0, LAST, 2500 * 1348));
		v = case_conclude(&r, REC_END_COMPLETE);
		assert_null(case_find(v, FINDING_PFC_STORM, "6:1", NULL));
		verdict_destroy(v);
	}
}

/*
 * Nothing behind 6:1 is queued or halted. That is a storm if 6 was asked: by a polling packet, or because all are. 2:3
 * was halted throughout, so that the answers have to tell of half of the 80 ms.
 */
static void
test_storm_by_silence(void **state)
{
	static const struct {
		uint64_t polled_ms[2];
		uint32_t kept; /* epochs that an answer tells of */
		bool all_polled, storm;
		uint32_t halted_last; /* last epoch of the row that tells of the pause */
	} cases[] = {
		{ { 0 }, 80, false, false, LAST },
		{ { 0 }, 80, true, true, LAST },
		{ { 79 }, 80, false, true, LAST },
		{ { 79 }, 42, false, true, LAST },
		{ { 79 }, 2, false, false, LAST },
		{ { 20 }, 80, false, false, LAST },
		{ { 20, 79 }, 22, false, true, LAST },  /* two answers: 0 to 20 ms, 58 to 79 ms */
		{ { 70, 79 }, 22, false, false, LAST }, /* the time that both tell of counts once */
		{ { 79 }, 80, false, true, 140 },
		{ { 79 }, 80, false, false, 180 }, /* most of that row's time is after the step */
	};

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct rec_run *run;
		struct records r;
		struct verdict *v;

		fabric(&r, 40 * MS);
		case_halted(&r, SW2, 2, cases[i].halted_last, 250000, 40 * MS); /* replaces the other row */
		run = (struct rec_run *)(r.data + sizeof(struct rec_stream));
		run->epochs_kept = cases[i].kept;
		if (cases[i].all_polled)
			run->policy = REC_POLICY_FULL_POLLING;
		for (uint32_t p = 0; p < 2 && cases[i].polled_ms[p] != 0; p++) {
			uint32_t epoch = (uint32_t)cases[i].polled_ms[p];
			struct rec_poll poll = {
				.hdr.event = 9 + p,
				.victim = F17,
				.in_port = 1,
				.out_port = 2,
				.flags = 3,
				.out_paused = 1,
			};
			struct rec_port_row answer = records_port_row(0, epoch, epoch, 0, 0, 0);

			answer.hdr.event = poll.hdr.event;
			answer.ingress_xoff_bytes = 90000;
			RECORDS_PUT(&r, poll, REC_POLL, SW2, epoch * MS);
			records_put_port(&r, SW6, answer);
		}
		v = case_conclude(&r, REC_END_COMPLETE);
		if ((case_find(v, FINDING_PFC_STORM, "6:1", NULL) != NULL) != cases[i].storm)
			fail_msg("case %zu: %s", i, case_reason(v));
		verdict_destroy(v);
	}
}

/* A fiftieth of what 2:3 sends goes to the only queue there is: it is the root of all that it was halted. */
static void
test_little_fed_to_root(void **state)
{
	const struct finding *finding;
	struct records r;
	struct verdict *v;

	fabric(&r, 40 * MS);
	records_put_meter(&r, SW6, records_meter_row(0, 2, 0, LAST, 5000 * 1348));
	records_put_port(&r, SW6, records_port_row(2, 0, LAST, 60000, 600000, 90));
	case_flow(&r, SW6, 2, 0, records_tuple(H17, H13, 91), 0, LAST, 5000, 50000);
	case_flow(&r, SW6, 2, 1, records_tuple(H19, H13, 92), 0, LAST, 55000, 550000);
	v = case_conclude(&r, REC_END_COMPLETE);
	finding = case_find(v, FINDING_PFC_BACKPRESSURE, "6:3", NULL);
	assert_non_null(finding);
	assert_true(near_ms(finding->explained_ps, 40));
	verdict_destroy(v);
}

/* Others' ACKs may have cost a step 2 * 60 / 1348 of its time: that needs no watching. */
static void
test_slowed_by_acks(void **state)
{
	for (int more = 0; more < 2; more++) {
		uint64_t end_ps = EXPECT / 1000 * (more ? 1092 : 1088);
		struct records r;
		struct verdict *v;

		case_fabric(&r);
		records_step(&r, 1, H15, REC_NONE, 0, EXPECT);
		records_step(&r, 1, H17, REC_NONE, 0, end_ps);
		records_step(&r, 2, H15, H17, end_ps, end_ps + EXPECT);
		records_step(&r, 2, H17, REC_NONE, end_ps, end_ps + EXPECT);
		v = case_conclude(&r, REC_END_COMPLETE);
		assert_int_equal(v->nfindings, 0);
		assert_int_equal(verdict_claim(v)->innocent, !more);
		assert_non_null(strstr(case_reason(v), more ? "without telemetry" : "ACKs of other flows"));
		verdict_destroy(v);
	}
}

/*
 * 2:3, 6:2, 3:3 and 6:1 wait for each other in a circle that 17->18 stands in, or comes to from its NIC. Where 18 pauses
 * its switch, the circle began out of the loop.
 */
static struct verdict *
deadlock(bool stands_in, bool storm)
{
	struct records r;

	case_fabric(&r);
	records_step(&r, 1, H17, REC_NONE, 0, 80 * MS);
	case_halted(&r, stands_in ? SW2 : H17, stands_in ? 2 : 0, LAST, 100, 70 * MS);
	case_flow(&r, stands_in ? SW2 : H17, stands_in ? 2 : 0, stands_in ? 1 : 0, F17, 0, LAST, 100, 0);
	if (!stands_in) {
		case_halted(&r, SW2, 2, LAST, 100, 70 * MS);
		records_put_meter(&r, SW2, records_meter_row(1, 2, 0, LAST, 1000));
	}
	case_halted(&r, SW6, 1, LAST, 100, 70 * MS);
	case_halted(&r, SW3, 2, LAST, 100, 70 * MS);
	case_halted(&r, SW6, 0, LAST, 100, 70 * MS);
	records_put_meter(&r, SW6, records_meter_row(0, 1, 0, LAST, 1000));
	records_put_meter(&r, SW3, records_meter_row(2, 2, 0, LAST, 1000));
	records_put_meter(&r, SW6, records_meter_row(1, 0, 0, LAST, 1000));
	records_put_meter(&r, SW2, records_meter_row(2, 2, 0, LAST, 1000));
	if (storm) {
		case_halted(&r, SW3, 0, LAST, 100, 70 * MS);
		records_put_meter(&r, SW3, records_meter_row(2, 0, 0, LAST, 1000));
	}
	return case_conclude(&r, REC_END_COMPLETE);
}

static void
test_deadlock_begins(void **state)
{
	for (int i = 0; i < 4; i++) {
		bool stands_in = i % 2 == 0, storm = i / 2 == 1;
		struct verdict *v = deadlock(stands_in, storm);
		const struct finding *finding = case_find(v, FINDING_PFC_DEADLOCK, "2:3", NULL);

		if (finding == NULL)
			fail_msg("%s", case_reason(v));
		assert_int_equal(finding->nports, 4);
		assert_non_null(strstr(case_evidence(v, finding), stands_in ? "is part of it" : "waits behind it"));
		assert_int_equal(finding->origin_port != RUN_NONE, storm);
		assert_int_equal(case_find(v, FINDING_PFC_STORM, "18:1", NULL) != NULL, storm);
		if (storm)
			assert_string_equal(v->run.ports[finding->origin_port].name, "18:1");
		assert_non_null(
			strstr(case_evidence(v, finding), storm ? "out of the loop, by the pauses" : "began in the loop"));
		verdict_destroy(v);
	}
}

static void
put_standing(struct records *r, uint32_t node, uint16_t port)
{
	struct rec_port_row row = records_port_row(port, LAST, LAST, 0, 0, 0);

	row.paused = 1;
	row.paused_since_ps = MS;
	row.queue_packets = 100;
	records_put_port(r, node, row);
}

/* What an ingress fed to an egress before all stood still, and holds for it now. */
static void
put_held(struct records *r, uint32_t node, uint16_t in_port, uint16_t port, uint64_t moved_bytes, uint64_t held_bytes)
{
	struct rec_meter_row row = records_meter_row(in_port, port, LAST, LAST, 0);

	records_put_meter(r, node, records_meter_row(in_port, port, 0, 0, moved_bytes));
	row.held_bytes = held_bytes;
	records_put_meter(r, node, row);
}

/*
 * The same circle, standing still. All that 3:3 put into switch 6 is held for 6:3, but 6:1 had its share of it before: it
 * closes the circle, and no score passes there.
 */
static void
test_standing_circle(void **state)
{
	for (int fed = 0; fed < 2; fed++) {
		struct rec_flow_row flow = records_flow_row(2, F17, LAST, LAST, 0, 0);
		const struct finding *finding;
		struct records r;
		struct verdict *v;

		case_fabric(&r);
		records_step(&r, 1, H17, REC_NONE, 0, 80 * MS);
		put_standing(&r, SW2, 2);
		put_standing(&r, SW6, 1);
		put_standing(&r, SW3, 2);
		put_standing(&r, SW6, 0);
		put_standing(&r, SW6, 2);
		flow.queue_packets = 50;
		records_put_flow(&r, SW2, flow);
		put_held(&r, SW6, 0, 1, 1000, 1000);
		put_held(&r, SW3, 2, 2, 1000, 1000);
		put_held(&r, SW6, 1, 0, fed ? 1000 : 0, 0);
		put_held(&r, SW6, 1, 2, 1000, 1000);
		put_held(&r, SW2, 2, 2, 1000, 1000);
		v = case_conclude(&r, REC_END_COMPLETE);
		finding = case_find(v, FINDING_PFC_DEADLOCK, "2:3", NULL);
		assert_int_equal(finding != NULL, fed);
		if (fed)
			assert_int_equal(finding->nports, 4);
		verdict_destroy(v);
	}
}

/* Nothing explains the time; the network is innocent only where telemetry covers half of it. */
static void
test_unwatched(void **state)
{
	for (int watched = 0; watched < 2; watched++) {
		struct records r;
		struct verdict *v;

		case_fabric(&r);
		records_step(&r, 1, H15, REC_NONE, 0, EXPECT);
		records_step(&r, 1, H17, REC_NONE, 0, 80 * MS);
		records_step(&r, 2, H15, H17, 80 * MS, 80 * MS + EXPECT);
		records_step(&r, 2, H17, REC_NONE, 80 * MS, 80 * MS + EXPECT);
		records_put_port(&r, SW6, records_port_row(1, 0, watched ? 40 : 38, 250000, 0, 1));
		case_flow(&r, SW6, 1, 0, F17, 0, watched ? 40 : 38, 250000, 0);
		v = case_conclude(&r, REC_END_COMPLETE);
		assert_int_equal(v->nfindings, 0);
		assert_int_equal(verdict_claim(v)->innocent, watched);
		assert_non_null(strstr(case_reason(v), watched ? "no port that they met" : "without telemetry"));
		verdict_destroy(v);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_root_halted_in_part),
		cmocka_unit_test(test_root_needs_culprits),
		cmocka_unit_test(test_root_needs_them_at_once),
		cmocka_unit_test(test_pauses_before_the_step),
		cmocka_unit_test(test_too_little),
		cmocka_unit_test(test_passed_root),
		cmocka_unit_test(test_own_queue),
		cmocka_unit_test(test_storm_seen_in_passing),
		cmocka_unit_test(test_storm_before_halted_port),
		cmocka_unit_test(test_storm_at_unseen_nic),
		cmocka_unit_test(test_storm_by_silence),
		cmocka_unit_test(test_little_fed_to_halted_port),
		cmocka_unit_test(test_little_fed_to_root),
		cmocka_unit_test(test_deadlock_begins),
		cmocka_unit_test(test_standing_circle),
		cmocka_unit_test(test_unwatched),
		cmocka_unit_test(test_slowed_by_acks),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
