/* SPDX-License-Identifier: BSD-3-Clause */
/* What class 0 took from a step is reported, by whom if that is known; else nobody is guilty, and nobody innocent. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "common/wire/record.h"
#include "tests/unit/diag/case.h"
#include "tests/unit/unit.h"

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
test_acks_are_distinguished_by_their_flow(void **state)
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

/*
 * Polling packets of 15->16, whose data is in class 3: half of the step is reported, and they have the time that they took,
 * without a culprit.
 */
static void
test_polls_have_no_more_than_their_time(void **state)
{
	struct rec_overtake_row row = { .flow = F15, .port = 1, .epoch_last = 29, .packets = 60000, .bytes = 6000000 };
	struct rec_port_row port = records_port_row(1, 0, 29, 135000, 2700000, 40);
	const struct finding *found;
	struct records r;
	struct verdict *v;

	case_fabric(&r);
	records_class(&r, 3);
	records_step(&r, 1, H15, REC_NONE, 0, EXPECT);
	records_step(&r, 1, H17, REC_NONE, 0, 60 * MS);
	port.prio = 3;
	records_put_port(&r, SW6, port);
	case_flow(&r, SW6, 1, 2, F17, 0, 29, 135000, 2700000);
	RECORDS_PUT(&r, row, REC_OVERTAKE_ROW, SW6, 30 * MS);
	v = case_conclude(&r, REC_END_COMPLETE);
	assert_int_equal(v->nfindings, 1);
	found = case_find(v, FINDING_STRICT_PRIORITY, "6:2", NULL);
	assert_non_null(found);
	assert_int_equal(found->nflows, 0);
	/* 6 MB at 100 Gbps */
	assert_float_equal((float)(found->explained_ps / 1e9), 0.48f, 0.001f);
	assert_non_null(strstr(case_evidence(v, found), "60000 polling packets of the diagnosis went ahead"));
	verdict_destroy(v);
}

static void
test_without_a_name_none_is_guilty_nor_innocent(void **state)
{
	struct verdict *v = overtaken((struct rec_tuple){ .src_ip = 0 }, false, 250000000);
	const struct finding *found = case_find(v, FINDING_STRICT_PRIORITY, "6:2", NULL);

	assert_non_null(found);
	assert_int_equal(found->nflows, 0);
	assert_float_equal((float)(found->explained_ps / 1e9), 20.0f, 0.01f);
	assert_non_null(strstr(case_evidence(v, found), "their flows were not reported"));
	assert_int_equal(verdict_claim(v)->kind, CLAIM_UNNAMED);
	assert_false(verdict_claim(v)->innocent);
	assert_non_null(strstr(case_reason(v), "the owners of these frames were not reported"));
	verdict_destroy(v);
}

/* Who is served first depends on the step's own class. @param prio  of the frames that went ahead  strict  classes */
static bool
is_blamed(uint32_t prio, uint16_t strict)
{
	struct rec_overtake_row row = {
		.flow = BF2, .port = 1, .prio = prio, .epoch_last = 59, .packets = 2500000, .bytes = 250000000
	};
	struct rec_port_row port = records_port_row(1, 0, 59, 270000, 5400000, 40);
	struct rec_run *run;
	struct records r;
	struct verdict *v;
	const struct finding *found;
	bool blamed;

	case_fabric(&r);
	records_class(&r, 3);
	run = (struct rec_run *)(void *)(r.data + sizeof(struct rec_stream));
	assert_int_equal(run->hdr.type, REC_RUN);
	run->strict_classes = strict;
	records_step(&r, 1, H15, REC_NONE, 0, EXPECT);
	records_step(&r, 1, H17, REC_NONE, 0, 60 * MS);
	records_step(&r, 2, H15, H17, 60 * MS, 60 * MS + EXPECT);
	records_step(&r, 2, H17, REC_NONE, 60 * MS, 60 * MS + EXPECT);
	port.prio = 3;
	records_put_port(&r, SW6, port);
	case_flow(&r, SW6, 1, 2, F17, 0, 59, 270000, 5400000);
	RECORDS_PUT(&r, row, REC_OVERTAKE_ROW, SW6, 60 * MS);
	v = case_conclude(&r, REC_END_COMPLETE);
	found = case_find(v, FINDING_STRICT_PRIORITY, "6:2", "13->19/78>78");
	blamed = found != NULL;
	if (blamed && prio != 0)
		assert_non_null(strstr(case_evidence(v, found), "2500000 frames of 13->19/78>78, whose class is served "
								"before its own, went ahead"));
	verdict_destroy(v);
	return blamed;
}

static void
test_strict_classes_overtake_those_behind_them(void **state)
{
	(void)state;
	/* The step's class is 3. */
	assert_true(is_blamed(5, 1 << 5));
	assert_true(is_blamed(2, 1 << 2));           /* whatever its number, the step's class only shares */
	assert_true(is_blamed(5, 1 << 5 | 1 << 3));  /* both are strict: the higher one first */
	assert_false(is_blamed(2, 1 << 2 | 1 << 3)); /* the step's own is */
	assert_false(is_blamed(3, 1 << 3));          /* the same class: they stand in one queue */
	assert_true(is_blamed(0, 1 << 3));           /* class 0 is before all */
}

/* Less than 5 % of what the step lost is no reason. */
static void
test_a_little_is_no_reason(void **state)
{
	struct verdict *v = overtaken(BF2, false, 2500000);

	assert_int_equal(v->nfindings, 0);
	verdict_destroy(v);
}

UNIT_TEST(cause_priority)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_who_sends_in_class_0_is_named),
		cmocka_unit_test(test_acks_are_distinguished_by_their_flow),
		cmocka_unit_test(test_acks_of_the_collective_are_expected),
		cmocka_unit_test(test_polls_have_no_more_than_their_time),
		cmocka_unit_test(test_without_a_name_none_is_guilty_nor_innocent),
		cmocka_unit_test(test_strict_classes_overtake_those_behind_them),
		cmocka_unit_test(test_a_little_is_no_reason),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
