/* SPDX-License-Identifier: BSD-3-Clause */
/* What findings of strict priority are worth, by what the fabric saw go ahead of data. */
#include "tests/unit/eval/score_rig.h"
#include "tests/unit/unit.h"

#define SLOW MEANING("{ 'kind': 'slow-host', 'host': 'b', 'step': 2 }")

/* ACKs go ahead of data in any family: that they did may be said, and need not be; where they did not, it is wrong. */
static void
strict_priority(void **state)
{
	static const char clean[] = MEANING("");
	static const char fabric[] = FABRIC_OF("", "", OVERTOOK("s:1", "x->b") ", " OVERTOOK("s:2", "a->b"));

	(void)state;
	assert_int_equal(outcome(clean, fabric, "", "true"), OUTCOME_TP);
	assert_int_equal(outcome(clean, fabric, QUEUE("strict-priority", "s:1", "'x->b'"), "false"), OUTCOME_TP);
	assert_int_equal(outcome(clean, fabric, QUEUE("strict-priority", "s:1", "'y->b'"), "false"), OUTCOME_FP);
	assert_int_equal(outcome(clean, fabric, QUEUE("strict-priority", "s:3", "'x->b'"), "false"), OUTCOME_FP);
	/* Nobody is named: somebody did, who is not of the collective. */
	assert_int_equal(outcome(clean, fabric, PLAIN("strict-priority", "s:1"), "false"), OUTCOME_TP);
	assert_int_equal(outcome(clean, fabric, PLAIN("strict-priority", "s:2"), "false"), OUTCOME_FP);
	/* It excuses nothing else. */
	assert_int_equal(outcome(clean, fabric,
				 QUEUE("strict-priority", "s:1", "'x->b'") ", " QUEUE("flow-contention", "s:1", "'x->b'"),
				 "false"),
			 OUTCOME_FP);
	assert_int_equal(outcome(SLOW, fabric, QUEUE("strict-priority", "s:1", "'x->b'"), "true"), OUTCOME_FP);
}

UNIT_TEST(eval_overtaken)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(strict_priority),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
