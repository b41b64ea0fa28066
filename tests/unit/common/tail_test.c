/* SPDX-License-Identifier: BSD-3-Clause */
/* Tails of distributions against tabulated and hand-computed ones. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "common/array.h"
#include "common/tail.h"
#include "tests/unit/unit.h"

static void
assert_share(double value, double expected, double part)
{
	if (!(fabs(value - expected) <= part * fabs(expected)))
		fail_msg("%.12g, not %.12g", value, expected);
}

/* Of every table of the normal distribution. */
static void
normal_tails(void **state)
{
	static const struct {
		double tail, z;
	} known[] = { { 0.5, 0 },
		      { 0.1, 1.2815515655446 },
		      { 0.025, 1.9599639845401 },
		      { 1e-3, 3.0902323061678 },
		      { 1e-4, 3.7190164854557 },
		      { 1e-6, 4.7534243088229 },
		      { 0.975, -1.9599639845401 } };

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(known); i++) {
		assert_float_equal(tail_normal_at(known[i].tail), known[i].z, 1e-10);
		assert_share(tail_normal(known[i].z), known[i].tail, 1e-10);
	}
}

static void
normal_quantiles_end_somewhere(void **state)
{
	(void)state;
	assert_true(isfinite(tail_normal_at(0)) && tail_normal_at(0) > 36);
	assert_true(isfinite(tail_normal_at(1)) && tail_normal_at(1) < -8);
}

/* Of every table of Student's distribution; with one degree of freedom it is Cauchy's, with two algebraic. */
static void
student_tails(void **state)
{
	(void)state;
	assert_share(tail_student(2.2281388519650, 10), 0.025, 1e-9);
	assert_share(tail_student(3.6461, 30), 0.0005, 1e-3);
	for (double t = 0.5; t < 1000; t *= 3) {
		assert_share(tail_student(t, 1), 0.5 - atan(t) / M_PI, 1e-9 * t);
		assert_share(tail_student(t, 2), 1 / (2 + t * t) / (1 + t / sqrt(2 + t * t)), 1e-10);
	}
	assert_share(tail_student(-1, 1), 0.75, 1e-12);
	assert_share(tail_student(3.7190164854557, 1e9), 1e-4, 1e-6);
}

/* Of 1, 2 and 10 degrees of freedom as tables have them; the inverse of the tail at any other. */
static void
student_limits(void **state)
{
	(void)state;
	assert_share(tail_student_at(0.025, 1), 12.7062047361747, 1e-12);
	assert_share(tail_student_at(0.025, 2), 4.30265272974946, 1e-12);
	assert_share(tail_student_at(0.025, 10), 2.2281388519650, 1e-10);
	assert_float_equal(tail_student_at(0.5, 7), 0, 1e-12);
	for (double dof = 0.5; dof < 1e6; dof *= 7)
		for (double tail = 0.4; tail > 1e-9; tail /= 10)
			assert_share(tail_student(tail_student_at(tail, dof), dof), tail, 1e-9);
}

static void
binomial_tails_by_their_sum(void **state)
{
	const uint64_t n = 60;
	double sum = 0, p = 0.3;

	(void)state;
	for (int64_t k = 0; k < (int64_t)n; k++) {
		sum += exp(lgamma(61) - lgamma((double)k + 1) - lgamma(61 - (double)k) + (double)k * log(p) +
			   (60 - (double)k) * log1p(-p));
		assert_share(tail_binomial(k, n, p), sum, 1e-10);
	}
	assert_float_equal(tail_binomial(-1, n, p), 0, 0);
	assert_float_equal(tail_binomial(60, n, p), 1, 0);
	assert_share(tail_binomial(2, 10, 0.5), 56.0 / 1024, 1e-12);
}

/* Of a million packets a normal distribution's, with continuity and skewness (Feller, XVI.4). */
static void
binomial_tails_of_many(void **state)
{
	const double n = 16e6, p = 1.0 / 16, deviation = sqrt(n * p * (1 - p)), skew = (1 - 2 * p) / deviation;

	(void)state;
	for (int64_t z = 1; z <= 5; z++) {
		int64_t k = (int64_t)(n * p - (double)z * deviation);
		double x = (n * p - (double)k - 0.5) / deviation;
		double edge = skew / 6 * (x * x - 1) * exp(-x * x / 2) / sqrt(2 * M_PI);

		assert_share(tail_binomial(k, (uint64_t)n, p), tail_normal(x) - edge, 3e-4);
	}
}

UNIT_TEST(tail)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(normal_tails),           cmocka_unit_test(normal_quantiles_end_somewhere),
		cmocka_unit_test(student_tails),          cmocka_unit_test(binomial_tails_by_their_sum),
		cmocka_unit_test(binomial_tails_of_many), cmocka_unit_test(student_limits),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
