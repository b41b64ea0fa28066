/* SPDX-License-Identifier: BSD-3-Clause */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "eval/bootstrap.h"
#include "tests/unit/unit.h"

static void
no_values_have_no_interval(void **state)
{
	struct bootstrap result;

	(void)state;
	assert_int_equal(bootstrap(NULL, 0, BOOTSTRAP_MEAN, &result), 0);
	assert_int_equal(result.count, 0);
	assert_true(result.value == 0 && result.low == 0 && result.high == 0);
}

static void
equal_values_have_an_interval_without_width(void **state)
{
	const double values[] = { 3, 3, 3, 3 };
	struct bootstrap result;

	(void)state;
	assert_int_equal(bootstrap(values, 4, BOOTSTRAP_MEDIAN, &result), 0);
	assert_true(result.value == 3 && result.low == 3 && result.high == 3);
}

/* 50 of 100: the normal approximation is 0.402 to 0.598. */
static void
a_share_has_about_the_normal_interval(void **state)
{
	double values[100];
	struct bootstrap result, again;

	(void)state;
	for (int i = 0; i < 100; i++)
		values[i] = i % 2;
	assert_int_equal(bootstrap(values, 100, BOOTSTRAP_MEAN, &result), 0);
	assert_true(result.value == 0.5);
	assert_true(result.low > 0.38 && result.low < 0.42);
	assert_true(result.high > 0.58 && result.high < 0.62);
	assert_int_equal(bootstrap(values, 100, BOOTSTRAP_MEAN, &again), 0);
	assert_memory_equal(&again, &result, sizeof(again));
}

static void
the_median_is_of_the_values_in_order(void **state)
{
	const double values[] = { 9, 1, 5, 100 };
	struct bootstrap result;

	(void)state;
	assert_int_equal(bootstrap(values, 4, BOOTSTRAP_MEDIAN, &result), 0);
	assert_true(result.value == 7);
	assert_true(result.low >= 1 && result.low <= 7 && result.high >= 7 && result.high <= 100);
}

UNIT_TEST(bootstrap)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(no_values_have_no_interval),
		cmocka_unit_test(equal_values_have_an_interval_without_width),
		cmocka_unit_test(a_share_has_about_the_normal_interval),
		cmocka_unit_test(the_median_is_of_the_values_in_order),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
