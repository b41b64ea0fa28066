/* SPDX-License-Identifier: BSD-3-Clause */
/* Time that nothing explains: when the network is called innocent, and when that is not known. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "common/wire/record.h"
#include "tests/unit/diag/case.h"
#include "tests/unit/unit.h"

/* Nothing explains the time: the network is not called innocent, whether telemetry covers half of it or not. */
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
		assert_false(verdict_claim(v)->innocent);
		assert_true(verdict_claim(v)->lost_ps == (double)(80 * MS - EXPECT));
		assert_true(verdict_claim(v)->unexplained_ps == verdict_claim(v)->lost_ps);
		assert_non_null(strstr(case_reason(v), watched ? "no port on their path" : "without telemetry"));
		verdict_destroy(v);
	}
}

/* A port on the path of an unexplained step had a queue, of packets that waited for next to nothing: it is not denied. */
static void
test_signs_are_not_denied(void **state)
{
	struct records r;
	struct rec_port_row row = records_port_row(1, 0, 40, 250000, 100, 20);
	struct verdict *v;

	case_fabric(&r);
	records_step(&r, 1, H15, REC_NONE, 0, EXPECT);
	records_step(&r, 1, H17, REC_NONE, 0, 80 * MS);
	records_step(&r, 2, H15, H17, 80 * MS, 80 * MS + EXPECT);
	records_step(&r, 2, H17, REC_NONE, 80 * MS, 80 * MS + EXPECT);
	records_put_port(&r, SW6, row);
	case_flow(&r, SW6, 1, 0, F17, 0, 40, 250000, 100);
	v = case_conclude(&r, REC_END_COMPLETE);
	assert_int_equal(v->nfindings, 0);
	assert_int_equal(verdict_claim(v)->kind, CLAIM_NO_SIGN);
	assert_null(strstr(case_reason(v), "no port on their path"));
	assert_non_null(strstr(case_reason(v), "queues on their path explain too little"));
	verdict_destroy(v);
}

/* Others' ACKs may have cost a step 2 * 60 / 1348 of its time: that needs no watching, and is not known either. */
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
		assert_false(verdict_claim(v)->innocent);
		assert_non_null(strstr(case_reason(v), more ? "without telemetry" : "ACKs of other flows"));
		verdict_destroy(v);
	}
}

/* All was in time; it is innocent only if all steps were reported, and the run came to its end. */
static void
test_starved(void **state)
{
	for (int i = 0; i < 3; i++) {
		struct records r;
		struct verdict *v;

		case_fabric(&r);
		records_step(&r, 1, H15, REC_NONE, 0, EXPECT);
		records_step(&r, 1, H17, REC_NONE, 0, EXPECT);
		records_step(&r, 2, H15, H17, EXPECT, 2 * EXPECT);
		if (i != 1)
			records_step(&r, 2, H17, REC_NONE, EXPECT, 2 * EXPECT);
		v = case_conclude(&r, i == 2 ? REC_END_VIRTUAL_TIME : REC_END_COMPLETE);
		assert_int_equal(verdict_claim(v)->kind, CLAIM_IN_TIME);
		assert_int_equal(verdict_claim(v)->innocent, i == 0);
		verdict_destroy(v);
	}
}

UNIT_TEST(claim)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_unwatched),
		cmocka_unit_test(test_signs_are_not_denied),
		cmocka_unit_test(test_slowed_by_acks),
		cmocka_unit_test(test_starved),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
