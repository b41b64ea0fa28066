/* SPDX-License-Identifier: BSD-3-Clause */
/* How fast steps are reported, and the budget that holds it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "common/array.h"
#include "common/units.h"
#include "common/wire/detection.h"
#include "rxe-hosts/agent/agent.h"
#include "scenario/scenario.h"
#include "tests/unit/unit.h"
#include "workload/plan.h"

static void
fastest_collective_counts(void **state)
{
	uint32_t few[] = { 0, 5, 10 }, many[] = { 0, 500, 1000 };
	struct coll_schedule small = { .ranks = 2, .first_step = few }, large = { .ranks = 2, .first_step = many };
	struct plan_collective collectives[] = {
		{ .schedule = &large, .enabled = true, .expect_ps = PS_PER_S },
		{ .schedule = &small, .enabled = true, .expect_ps = PS_PER_S / 1000 },
		{ .schedule = &large, .enabled = false, .expect_ps = 1 },
		{ .schedule = &large, .enabled = true, .expect_ps = 0 },
	};
	const struct plan plan = { .collectives = collectives, .ncollectives = ARRAY_LEN(collectives) }, none = { 0 };
	const struct detection_config keeps = { .policy = REC_POLICY_VEDRFOLNIR };
	const struct detection_config off = { .policy = REC_POLICY_OFF, .transfer = true };
	const struct detection_config hands_over = { .policy = REC_POLICY_VEDRFOLNIR, .transfer = true };
	struct report_rate rate = report_rate_of(&plan, &off);

	assert_int_equal(rate.collective, 1);
	assert_int_equal(rate.bytes_per_s, 10 * REPORT_STEP_BYTES * 1000);
	assert_int_equal(report_rate_of(&plan, &keeps).bytes_per_s, rate.bytes_per_s);
	assert_int_equal(report_rate_of(&plan, &hands_over).bytes_per_s,
			 10 * (REPORT_STEP_BYTES + REPORT_HANDED_OVER_BYTES) * 1000);
	assert_int_equal(report_rate_of(&none, &hands_over).bytes_per_s, 0);
}

static void
budget_has_room_and_two_digits(void **state)
{
	assert_int_equal(report_rate_budget(1000000000), 1500000000);
	assert_int_equal(report_rate_budget(3333333333), 5000000000);
	assert_int_equal(report_rate_budget(3410000000), 5200000000);
	assert_int_equal(report_rate_budget(50), 75);
	assert_int_equal(report_rate_budget(0), 0);
}

UNIT_TEST(report_rate)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(fastest_collective_counts),
		cmocka_unit_test(budget_has_room_and_two_digits),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
