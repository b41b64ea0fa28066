/* SPDX-License-Identifier: BSD-3-Clause */
/* What a step lost, divided among those that claim it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "common/array.h"
#include "diag/vedrfolnir/rating/rating.h"
#include "tests/unit/unit.h"

#define A 1
#define B 2

static void
assert_shares(struct budget_claim *claims, uint32_t count, double lost_ps, const double *want)
{
	budget_split(claims, count, lost_ps);
	for (uint32_t i = 0; i < count; i++)
		assert_float_equal((float)claims[i].share_ps, (float)want[claims[i].owner], 1e-3f);
}

/* Claims that fit are granted, and what nobody claims stays. */
static void
test_claims_fit(void **state)
{
	struct budget_claim claims[] = {
		{ .flow = B, .owner = 1, .most_ps = 10, .waited_ps = 1 },
		{ .flow = A, .owner = 0, .most_ps = 30, .waited_ps = 90 },
	};

	assert_shares(claims, ARRAY_LEN(claims), 100, (const double[]){ 30, 10 });
}

/* More than was lost: by the waits, but none gets more than it claims, and what that leaves is the others'. */
static void
test_weighed_by_waits(void **state)
{
	struct budget_claim claims[] = {
		{ .flow = A, .owner = 0, .most_ps = 100, .waited_ps = 90 },
		{ .flow = B, .owner = 1, .most_ps = 100, .waited_ps = 10 },
	};
	struct budget_claim capped[] = {
		{ .flow = A, .owner = 0, .most_ps = 20, .waited_ps = 90 },
		{ .flow = B, .owner = 1, .most_ps = 100, .waited_ps = 10 },
	};

	assert_shares(claims, ARRAY_LEN(claims), 100, (const double[]){ 90, 10 });
	assert_shares(capped, ARRAY_LEN(capped), 100, (const double[]){ 20, 80 });
}

/*
 * A flow met twice cost what its packets took once; where it was waited for longer it cost more. Claims of no flow add
 * up.
 */
static void
test_reached_twice(void **state)
{
	struct budget_claim twice[] = {
		{ .flow = A, .owner = 0, .most_ps = 40, .waited_ps = 30 },
		{ .flow = B, .owner = 1, .most_ps = 20, .waited_ps = 5 },
		{ .flow = A, .owner = 2, .most_ps = 36, .waited_ps = 10 },
	};
	struct budget_claim pauses[] = {
		{ .flow = BUDGET_NO_FLOW, .owner = 0, .most_ps = 40, .waited_ps = 40 },
		{ .flow = BUDGET_NO_FLOW, .owner = 1, .most_ps = 40, .waited_ps = 40 },
	};

	assert_shares(twice, ARRAY_LEN(twice), 100, (const double[]){ 30, 20, 10 });
	assert_shares(pauses, ARRAY_LEN(pauses), 100, (const double[]){ 40, 40 });
}

/* What cannot be measured has what the others leave. */
static void
test_rest(void **state)
{
	struct budget_claim claims[] = {
		{ .flow = BUDGET_NO_FLOW, .owner = 0, .rest = true, .most_ps = 100, .waited_ps = 100 },
		{ .flow = A, .owner = 1, .most_ps = 30, .waited_ps = 3 },
		{ .flow = BUDGET_NO_FLOW, .owner = 2, .rest = true, .most_ps = 100, .waited_ps = 100 },
	};
	struct budget_claim little[] = {
		{ .flow = BUDGET_NO_FLOW, .owner = 0, .rest = true, .most_ps = 10, .waited_ps = 10 },
		{ .flow = A, .owner = 1, .most_ps = 30, .waited_ps = 3 },
	};

	assert_shares(claims, ARRAY_LEN(claims), 100, (const double[]){ 35, 30, 35 });
	assert_shares(little, ARRAY_LEN(little), 100, (const double[]){ 10, 30 });
}

/* Whatever is claimed: no share below 0, none above its claim, and in sum what was lost or what was claimed. */
static void
test_bounds(void **state)
{
	struct budget_claim nothing[] = { { .flow = A, .owner = 0, .most_ps = 30, .waited_ps = 0 } };
	struct budget_claim many[64];
	double sum_ps = 0;

	assert_shares(nothing, 1, 100, (const double[]){ 30 });
	assert_shares(nothing, 1, 0, (const double[]){ 0 });
	budget_split(NULL, 0, 100);
	for (uint32_t i = 0; i < ARRAY_LEN(many); i++)
		many[i] = (struct budget_claim){
			.flow = i % 7, .owner = i, .rest = i % 5 == 0, .most_ps = 1 + i * 37 % 11, .waited_ps = i * 53 % 17
		};
	budget_split(many, ARRAY_LEN(many), 50);
	for (uint32_t i = 0; i < ARRAY_LEN(many); i++) {
		assert_true(many[i].share_ps >= 0 && many[i].share_ps <= many[i].most_ps + 11);
		sum_ps += many[i].share_ps;
	}
	assert_float_equal((float)sum_ps, 50.0f, 1e-3f);
}

UNIT_TEST(budget)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_claims_fit),    cmocka_unit_test(test_weighed_by_waits),
		cmocka_unit_test(test_reached_twice), cmocka_unit_test(test_rest),
		cmocka_unit_test(test_bounds),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
