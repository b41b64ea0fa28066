/* SPDX-License-Identifier: BSD-3-Clause */
/* One iteration of one port: the paper's threshold, and scores against the noise of spraying. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "common/prng.h"
#include "common/tail.h"
#include "telemetry/volumes/detect.h"
#include "tests/unit/unit.h"

#define PACKET_BYTES 1000.0

static void
deviations_of_both_signs(void **state)
{
	(void)state;
	assert_float_equal(detect_deviation(&(struct volume_sample){ 200, 197 }), -0.015, 1e-12);
	assert_float_equal(detect_deviation(&(struct volume_sample){ 200, 203 }), 0.015, 1e-12);
	assert_float_equal(detect_deviation(&(struct volume_sample){ 0, 0 }), 0, 0);
	assert_true(isinf(detect_deviation(&(struct volume_sample){ 0, 1 })));
}

/* At the threshold it is no fault, beyond it is one; more than predicted is none. */
static void
the_papers_threshold(void **state)
{
	(void)state;
	assert_false(detect_threshold(&(struct volume_sample){ 1000000, 990000 }, 10000));
	assert_true(detect_threshold(&(struct volume_sample){ 1000000, 989999 }, 10000));
	assert_false(detect_threshold(&(struct volume_sample){ 1000000, 2000000 }, 10000));
	assert_false(detect_threshold(&(struct volume_sample){ 0, 1 }, 10000));
	assert_true(detect_threshold(&(struct volume_sample){ UINT64_MAX, 0 }, DETECT_PPM - 1));
	assert_false(detect_threshold(&(struct volume_sample){ UINT64_MAX, 0 }, DETECT_PPM));
}

static void
differences_in_either_direction(void **state)
{
	(void)state;
	assert_true(detect_differs(&(struct volume_sample){ 1000000, 989999 }, 10000));
	assert_false(detect_differs(&(struct volume_sample){ 1000000, 1010000 }, 10000));
	assert_true(detect_differs(&(struct volume_sample){ 1000000, 1010001 }, 10000));
	assert_true(detect_differs(&(struct volume_sample){ 0, 1 }, 10000));
}

static void
what_is_missing_is_counted_in_packets(void **state)
{
	(void)state;
	assert_float_equal(detect_missing(&(struct volume_sample){ 100000, 93000 }, PACKET_BYTES), 7, 0);
	assert_float_equal(detect_missing(&(struct volume_sample){ 100000, 101000 }, PACKET_BYTES), -1, 0);
}

/* Where counts do not vary, a share that is rounded to whole packets is no fault, and some packets are one. */
static void
rounding_is_no_fault(void **state)
{
	const struct detect_noise none = { 0 };
	double limit = detect_limit(1e-4, 1);

	(void)state;
	assert_true(detect_score(0.5, &none) <= 0);
	assert_true(detect_score(1, &none) < detect_limit(1e-2, 1));
	assert_true(detect_score(1.5, &none) < limit);
	assert_true(detect_score(2, &none) > limit);
}

/* The integral of a normal distribution's tail from z on. */
static double
tail_integral(double z)
{
	return exp(-z * z / 2) / sqrt(2 * M_PI) - z * tail_normal(z);
}

/* P(X + U > at) of X normal, U uniform on [0, 1). */
static double
dithered_tail(double at, double deviation)
{
	return deviation * (tail_integral((at - 1) / deviation) - tail_integral(at / deviation));
}

/*
 * Noise from a hundredth of a packet to 5, about a prediction of any fraction of a packet, rounded so that counts are
 * right on average: whatever is missing, a score of 2.3 and more is as unlikely as it says. Exactly, without drawing.
 */
static void
whole_packets_keep_the_rate(void **state)
{
	(void)state;
	for (double deviation = 0.01; deviation < 6; deviation *= 1.4)
		for (double fraction = 0; fraction < 0.99; fraction += 0.05) {
			int most = (int)(8 * deviation) + 3;
			struct detect_noise noise = { 0 };

			for (int k = -most; k <= most; k++)
				noise.variance += (k - fraction) * (k - fraction) *
						  (dithered_tail(k - fraction, deviation) -
						   dithered_tail(k + 1 - fraction, deviation));
			for (int k = 0; k <= most; k++) {
				double score = detect_score(k - fraction, &noise);

				assert_true(score < 2.3 || score > 7 ||
					    dithered_tail(k - fraction, deviation) <= tail_normal(score));
			}
		}
}

static void
an_estimate_of_the_variance_is_trusted_less(void **state)
{
	const double variance = 100 + DETECT_ROUNDING_VARIANCE;
	const struct detect_noise known = { .variance = variance }, estimate = { .variance = variance, .dof = 5 };

	(void)state;
	assert_float_equal(detect_score(30.5, &known), 3, 1e-12);
	assert_float_equal(tail_normal(detect_score(30.5, &estimate)), tail_student(3, 5), 1e-12);
	assert_true(detect_score(30.5, &estimate) < 2.2);
}

static void
limits_share_the_rate(void **state)
{
	(void)state;
	assert_float_equal(tail_normal(detect_limit(1e-3, 1)), 1e-3, 1e-12);
	assert_float_equal(tail_normal(detect_limit(1e-3, 16)), 1e-3 / 16, 1e-12);
}

/* A count of n trials by bits of a random number: exactly binomial, with chance 1 / 4. */
static uint32_t
quarter_of(struct prng *prng, uint32_t words)
{
	uint32_t count = 0;

	for (uint32_t i = 0; i < words; i++)
		count += (uint32_t)__builtin_popcountll(prng_next(prng) & prng_next(prng));
	return count;
}

/*
 * 1,024 packets over 4 spines, 1,000,000 times: false alarms come at the rate that is asked for, or up to a third less
 * often: rounding is not held against anybody, and a binomial distribution's lower tail is lighter than the normal
 * one's.
 */
static void
false_alarms_of_random_spraying(void **state)
{
	const struct detect_noise noise = detect_noise_random(256, 0.25);
	const uint32_t trials = unit_wide(60000, 1000000, "false alarms of random spraying");
	const double rates[] = { 1e-2, 1e-3, 1e-4 };
	uint32_t alarms[3] = { 0 };
	struct prng prng;

	(void)state;
	assert_float_equal(noise.variance, 192, 1e-12);
	prng_init(&prng, 1, 0);
	for (uint32_t t = 0; t < trials; t++) {
		double score = detect_score(256.0 - quarter_of(&prng, 16), &noise);

		for (int i = 0; i < 3; i++)
			alarms[i] += score > detect_limit(rates[0], 1) && score > detect_limit(rates[i], 1);
	}
	for (int i = 0; i < 3; i++) {
		double expected = trials * rates[i];

		assert_in_range(alarms[i], (uint32_t)(0.5 * expected), (uint32_t)(expected + 2 * sqrt(expected)));
	}
}

UNIT_TEST(detect)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(deviations_of_both_signs),
		cmocka_unit_test(the_papers_threshold),
		cmocka_unit_test(differences_in_either_direction),
		cmocka_unit_test(what_is_missing_is_counted_in_packets),
		cmocka_unit_test(rounding_is_no_fault),
		cmocka_unit_test(whole_packets_keep_the_rate),
		cmocka_unit_test(an_estimate_of_the_variance_is_trusted_less),
		cmocka_unit_test(limits_share_the_rate),
		cmocka_unit_test(false_alarms_of_random_spraying),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
