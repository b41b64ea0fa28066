/* SPDX-License-Identifier: BSD-3-Clause */
/* What class 0 took from a step is told, by whom if that is known; else nobody is guilty, and nobody innocent. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "common/wire/record.h"
#include "tests/unit/diag/case.h"

/*
 * 17->18 took 60 ms instead of 30.75; its packets stood in a queue of their own at 6:2, 100 Gbps.
 * @param flow  whose frames of class 0 went ahead there; all 0: nobody knows
 */
static struct verdict *
overtaken(struct rec_tuple flow, bool acks, uint64_t bytes)
{
	struct rec_overtake_row row = {
		.flow = flow, .port = 1, .acks = acks, .epoch_last = 59, .packets = bytes / 100, .bytes = bytes
	};
	struct records r;

	case_fabric(&r);
	records_step(&r, 1, H15, REC_NONE, 0, EXPECT);
	records_step(&r, 1, H17, REC_NONE, 0, 60 * MS);
	records_step(&r, 2, H15, H17, 60 * MS, 60 * MS + EXPECT);
	records_step(&r, 2, H17, REC_NONE, 60 * MS, 60 * MS + EXPECT);
	records_put_port(&r, SW6, records_port_row(1, 0, 59, 270000, 5400000, 40));
	case_flow(&r, SW6, 1, 2, F17, 0, 59, 270000, 5400000);
	RECORDS_PUT(&r, row, REC_OVERTAKE_ROW, SW6, 60 * MS);
	return case_conclude(&r, REC_END_COMPLETE);
}

static void
test_who_sends_in_class_0_is_named(void **state)
{
	struct verdict *v = overtaken(BF2, false, 250000000);
	const struct finding *found = case_find(v, FINDING_STRICT_PRIORITY, "6:2", "13->19/78>78");

	if (found == NULL)
		fail_msg("not found: %s", case_reason(v));
	assert_int_equal(v->nfindings, 1);
	/* 250 MB at 100 Gbps */
	assert_float_equal((float)(found->explained_ps / 1e9), 20.0f, 0.01f);
	assert_non_null(strstr(case_evidence(v, found), "while its packets waited at 6:2, 2500000 frames of 13->19/78>78 "
							"in class 0 went ahead, 20.000 ms of the link's time"));
	assert_int_equal(verdict_claim(v)->kind, CLAIM_FAULT);
	verdict_destroy(v);
}

static void
test_acks_are_told_by_whose_they_are(void **state)
{
	struct verdict *v = overtaken(BF2, true, 250000000);
	const struct finding *found = case_find(v, FINDING_STRICT_PRIORITY, "6:2", "13->19/78>78");

	assert_non_null(found);
	assert_non_null(strstr(case_evidence(v, found), "2500000 ACKs of 13->19/78>78 went ahead"));
	verdict_destroy(v);
}

/* The expected time has the collective's own ACKs in it. */
static void
test_acks_of_the_collective_are_expected(void **state)
{
	struct verdict *v = overtaken(F15, true, 250000000);

	assert_int_equal(v->nfindings, 0);
	verdict_destroy(v);
	v = overtaken(F15, false, 250000000);
	assert_int_equal(v->nfindings, 1);
	verdict_destroy(v);
}

static void
test_without_a_name_nobody_is_guilty_nor_innocent(void **state)
{
	struct verdict *v = overtaken((struct rec_tuple){ .src_ip = 0 }, false, 250000000);
	const struct finding *found = case_find(v, FINDING_STRICT_PRIORITY, "6:2", NULL);

	assert_non_null(found);
	assert_int_equal(found->nflows, 0);
	assert_float_equal((float)(found->explained_ps / 1e9), 20.0f, 0.01f);
	assert_non_null(strstr(case_evidence(v, found), "whose they were was not told"));
	assert_int_equal(verdict_claim(v)->kind, CLAIM_UNNAMED);
	assert_false(verdict_claim(v)->innocent);
	assert_non_null(strstr(case_reason(v), "whose frames these were was not told"));
	verdict_destroy(v);
}

/* Less than 5 % of what the step lost is no reason. */
static void
test_a_little_is_no_reason(void **state)
{
	struct verdict *v = overtaken(BF2, false, 2500000);

	assert_int_equal(v->nfindings, 0);
	verdict_destroy(v);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_who_sends_in_class_0_is_named),
		cmocka_unit_test(test_acks_are_told_by_whose_they_are),
		cmocka_unit_test(test_acks_of_the_collective_are_expected),
		cmocka_unit_test(test_without_a_name_nobody_is_guilty_nor_innocent),
		cmocka_unit_test(test_a_little_is_no_reason),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
