/* SPDX-License-Identifier: BSD-3-Clause */
/* A comparison by pairs: medians, what noise a machine has, and when a build is slower. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "bench/bench.h"
#include "common/array.h"
#include "tests/unit/unit.h"

#define NEAR 1e-6

static void
median_is_the_middle(void **state)
{
	double odd[] = { 3, 1, 2 }, even[] = { 4, 1, 3, 2 }, one[] = { 7 };

	(void)state;
	assert_float_equal(pairs_median(odd, ARRAY_LEN(odd)), 2, NEAR);
	assert_float_equal(pairs_median(even, ARRAY_LEN(even)), 2.5, NEAR);
	assert_float_equal(pairs_median(one, 1), 7, NEAR);
}

static void
a_machine_at_rest_has_no_noise(void **state)
{
	const double own[] = { 1, 1, 1, 1, 1 };

	(void)state;
	assert_float_equal(pairs_noise(own, ARRAY_LEN(own)), 0, NEAR);
}

/* exp(2 x sqrt(pi/2) x 1.4826 x 0.02 / sqrt(4)) - 1 */
static void
noise_is_two_errors_of_a_median(void **state)
{
	const double own[] = { 1.02020134, 0.98019867, 1.02020134, 0.98019867 }; /* exp(+-0.02) */

	(void)state;
	assert_float_equal(pairs_noise(own, ARRAY_LEN(own)), 0.0378620, NEAR);
}

/* A run that another program disturbed moves neither. */
static void
one_disturbed_pair_is_no_noise(void **state)
{
	const double own[] = { 1, 1.01, 3, 0.99, 1 };
	double other[] = { 1.01, 0.99, 0.2, 1, 1 };

	(void)state;
	assert_true(pairs_noise(own, ARRAY_LEN(own)) < 0.02);
	assert_float_equal(pairs_median(other, ARRAY_LEN(other)), 1, NEAR);
}

static void
more_pairs_have_less_noise(void **state)
{
	double own[16];

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(own); i++)
		own[i] = i % 2 == 0 ? 1.02 : 1 / 1.02;
	assert_float_equal(log1p(pairs_noise(own, 16)), log1p(pairs_noise(own, 4)) / 2, NEAR);
}

static void
slower_is_what_noise_does_not_explain(void **state)
{
	(void)state;
	assert_false(pairs_slower(1, 0));
	assert_false(pairs_slower(0.951, 0));
	assert_true(pairs_slower(0.949, 0));
	assert_false(pairs_slower(0.93, 0.03));
	assert_true(pairs_slower(0.91, 0.03));
	assert_true(pairs_slower(0.1, 2)); /* no noise hides this */
	assert_false(pairs_slower(1.2, 0.01));
}

/* 0.95 / 0.9 - 1 */
static void
noise_that_hides_a_tenth_is_noted(void **state)
{
	(void)state;
	assert_false(pairs_noisy(0));
	assert_false(pairs_noisy(0.055));
	assert_true(pairs_noisy(0.056));
	assert_false(pairs_slower(0.9001, 0.056));
	assert_true(pairs_slower(0.8999, 0.055));
}

UNIT_TEST(pairs)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(median_is_the_middle),
		cmocka_unit_test(a_machine_at_rest_has_no_noise),
		cmocka_unit_test(noise_is_two_errors_of_a_median),
		cmocka_unit_test(one_disturbed_pair_is_no_noise),
		cmocka_unit_test(more_pairs_have_less_noise),
		cmocka_unit_test(slower_is_what_noise_does_not_explain),
		cmocka_unit_test(noise_that_hides_a_tenth_is_noted),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
