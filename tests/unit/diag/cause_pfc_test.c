/* SPDX-License-Identifier: BSD-3-Clause */
/* Where pauses come from: the root, its culprits, and what is too little to be one. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "common/array.h"
#include "common/wire/record.h"
#include "tests/unit/diag/case.h"
#include "tests/unit/diag/cause_pfc_rig.h"
#include "tests/unit/unit.h"

#define OTHER records_tuple(H18, H19, 90)

/* 6:2 holds 17->18 and 13->19 and is itself paused by 3, where 13->19 meets another flow at 3:2. */
static struct verdict *
paused_root(uint64_t pause_ps)
{
	struct records r;

	fabric(&r, 40 * MS);
	case_paused(&r, SW6, 1, LAST, 500000, pause_ps);
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
test_root_paused_in_part(void **state)
{
	struct verdict *v = paused_root(16 * MS);
	const struct finding *near = case_find(v, FINDING_PFC_BACKPRESSURE, "6:2", NULL);
	const struct finding *far = case_find(v, FINDING_PFC_BACKPRESSURE, "3:2", NULL), *queue;

	assert_true(near != NULL && far != NULL);
	/*
	 * In 6:2's queue 13->19 cost what its 250000 packets take there (seen are 250000 of the step's 276923 packets). For
	 * 16 ms 6:2 was paused itself, by 3:2, where it has 250000 of 400000 packets, and the other flow the rest.
	 */
	queue = case_find(v, FINDING_FLOW_CONTENTION, "6:2", NULL);
	assert_non_null(queue);
	assert_string_equal(v->run.flows[far->flows[0]].name, "13->19/78>78");
	assert_true(near_ms(near->flow_ps[0] + queue->flow_ps[0], 250000 * 1348 * 8e-8 * 1.107692));
	assert_true(near_ms(far->flow_ps[0], 10) && near_ms(far->flow_ps[1], 6));
	assert_true(near->critical_ps == near->flow_ps[0] && far->critical_ps == far->flow_ps[0] + far->flow_ps[1]);
	assert_true(near->critical_ps == rint(near->explained_ps) && far->critical_ps == rint(far->explained_ps));
	assert_true(near->explained_ps > far->explained_ps);
	assert_true(case_has_port(v, near, "2:3") && case_has_port(v, near, "6:2"));
	assert_true(case_has_port(v, far, "2:3") && case_has_port(v, far, "6:2") && case_has_port(v, far, "3:2"));
	assert_string_equal(v->run.flows[near->flows[0]].name, "13->19/78>78");
	verdict_destroy(v);

	/* Halted half of the time, it hands on what 3 does to it. */
	v = paused_root(40 * MS);
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
		bool paused;
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
		assert_int_equal(case_find(v, FINDING_PFC_BACKPRESSURE, "6:2", NULL) != NULL, tests[i].paused);
		verdict_destroy(v);
	}
}

/*
 * A quarter of 1 ms paused is less than a twentieth of 49.25 ms lost and less than a hundredth of 30.75 ms expected; a
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

/* A flow that met no queue at the root came before it grew, or after: the root's other flow made it. */
static void
test_passed_root(void **state)
{
	for (int reached = 0; reached < 2; reached++) {
		const struct finding *finding;
		struct records r;
		struct verdict *v;

		fabric(&r, 40 * MS);
		records_put_port(&r, SW6, records_port_row(1, 0, LAST, 450000, 4500000, 90));
		case_flow(&r, SW6, 1, 2, BF2, 0, LAST, 100000, 3000000);
		case_flow(&r, SW6, 1, 0, records_tuple(H16, H19, 93), 0, LAST, 100000, 3000000);
		case_flow(&r, SW6, 1, 2, records_tuple(H15, H19, 94), 0, LAST, 100000, reached ? 2000 : 1999);
		v = case_conclude(&r, REC_END_COMPLETE);
		finding = case_find(v, FINDING_PFC_BACKPRESSURE, "6:2", NULL);
		assert_non_null(finding);
		assert_int_equal(finding->nflows, 2 + reached);
		verdict_destroy(v);
	}
}

/* A NIC paused by the first queue in which its flow stands: contention there, not a second finding. */
static void
test_own_queue(void **state)
{
	for (int stands = 0; stands < 2; stands++) {
		struct records r;
		struct verdict *v;

		case_fabric(&r);
		records_step(&r, 1, H17, REC_NONE, 0, 80 * MS);
		case_paused(&r, H17, 0, LAST, 250000, 40 * MS);
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

/* A fiftieth of what 2:3 sends goes to the only queue there is: it is the root of all that it was paused. */
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

UNIT_TEST(cause_pfc)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_root_paused_in_part),
		cmocka_unit_test(test_root_needs_culprits),
		cmocka_unit_test(test_root_needs_them_at_once),
		cmocka_unit_test(test_pauses_before_the_step),
		cmocka_unit_test(test_too_little),
		cmocka_unit_test(test_passed_root),
		cmocka_unit_test(test_own_queue),
		cmocka_unit_test(test_little_fed_to_root),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
