/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Flows that are over within a round trip: at 6:2, in the first 40 ms of 17->18's step, which takes 80 ms instead of
 * 30.75.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "common/wire/record.h"
#include "tests/unit/diag/case.h"
#include "tests/unit/unit.h"

#define LAST 39 /* epoch */

/* @param mice  flows of so many packets each, and one of the others there */
static struct verdict *
conclude(uint32_t mice, uint64_t packets, uint64_t others)
{
	const uint64_t victims = 100000, all = victims + mice * packets + others;
	struct records r;

	case_fabric(&r);
	records_step(&r, 1, H17, REC_NONE, 0, 80 * MS);
	records_put_port(&r, SW6, records_port_row(1, 0, LAST, all, all * 20, 40));
	case_flow(&r, SW6, 1, 0, F17, 0, LAST, victims, victims * 20);
	for (uint32_t i = 0; i < mice; i++)
		case_flow(&r, SW6, 1, 2, records_tuple(H13, H19, (uint16_t)(100 + i)), 0, LAST, packets, packets * 20);
	if (others != 0)
		case_flow(&r, SW6, 1, 2, BF1, 0, LAST, others, others * 20);
	return case_conclude(&r, REC_END_COMPLETE);
}

/* A round trip of 10 us is 92 frames. 80 flows of 90 packets are a crowd; one that is longer stands for itself. */
static void
test_crowd(void **state)
{
	struct verdict *v = conclude(80, 90, 20000);
	const struct finding *crowd = case_find(v, FINDING_FLOW_CONTENTION, "6:2", "13->19/100>100");
	double sum_ps = 0;

	assert_int_equal(v->nfindings, 2);
	assert_non_null(case_find(v, FINDING_FLOW_CONTENTION, "6:2", "15->18/77>77"));
	assert_non_null(crowd);
	assert_int_equal(crowd->nflows, 80);
	for (uint32_t i = 0; i < crowd->nflows; i++) {
		assert_true(crowd->flow_ps[i] > 0);
		sum_ps += crowd->flow_ps[i];
	}
	assert_true(sum_ps > 0.99 * crowd->critical_ps && sum_ps < 1.01 * crowd->critical_ps);
	assert_non_null(
		strstr(case_evidence(v, crowd), "of 13->19/100>100 and 79 others, none of which was there for longer"));
	verdict_destroy(v);
}

/* No crowd: flows that are longer than a round trip; a single short one. */
static void
test_no_crowd(void **state)
{
	struct verdict *v = conclude(3, 5000, 0);

	assert_int_equal(v->nfindings, 3);
	for (uint32_t i = 0; i < v->nfindings; i++)
		assert_int_equal(v->findings[i].nflows, 1);
	verdict_destroy(v);
	v = conclude(1, 90, 20000);
	for (uint32_t i = 0; i < v->nfindings; i++)
		assert_int_equal(v->findings[i].nflows, 1);
	verdict_destroy(v);
}

UNIT_TEST(cause_crowd)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_crowd),
		cmocka_unit_test(test_no_crowd),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
