/* SPDX-License-Identifier: BSD-3-Clause */
/* Pooled iterations: run lengths against published ones and against simulation. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "common/array.h"
#include "common/prng.h"
#include "common/tail.h"
#include "telemetry/volumes/detect.h"
#include "tests/unit/unit.h"

/* So wide that a packet is nothing. */
static const struct detect_noise wide = { .variance = 1e8 };

static double
normal(struct prng *prng)
{
	return sqrt(-2 * log(1 - prng_unit(prng))) * cos(2 * M_PI * prng_unit(prng));
}

/* Montgomery, Introduction to Statistical Quality Control, one-sided: twice the two-sided tables' without drift. */
static void
run_lengths_as_published(void **state)
{
	static const struct {
		double limit, drift, length;
	} known[] = {
		{ 4, 0, 2 * 168 }, { 5, 0, 2 * 465 }, { 4, 1, 8.38 }, { 5, 1, 10.4 }, { 4, 2, 3.34 }, { 5, 2, 4.01 }
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(known); i++)
		assert_float_equal(detect_cusum_run_length(0.5, known[i].limit, known[i].drift), known[i].length,
				   0.006 * known[i].length);
}

static const double references[DETECT_SUMS] = { 1.5, 0.75, 0.375, 0.1875 };

/* The limit of a sum is where it has the run length that its share of the rate asks for. */
static void
limits_have_their_rate(void **state)
{
	struct detect_cusum_limits limits;

	(void)state;
	for (double rate = 1e-2; rate > 1e-10; rate /= 10) {
		double share = rate / (DETECT_SUMS + 1);

		detect_cusum_limits(&limits, rate);
		assert_float_equal(tail_normal(limits.once) / share, 1, 1e-9);
		for (int i = 0; i < DETECT_SUMS; i++)
			assert_float_equal(detect_cusum_run_length(references[i], limits.sum[i], 0) * share, 1, 1e-3);
	}
}

/* Run lengths grow as exp(2 reference limit) where they are long (Siegmund, Sequential Analysis, 1985). */
static void
limits_grow_by_the_logarithm_of_the_rate(void **state)
{
	struct detect_cusum_limits limits[2];

	(void)state;
	for (double rate = 1e-5; rate > 1e-9; rate /= 10) {
		detect_cusum_limits(&limits[0], rate);
		detect_cusum_limits(&limits[1], rate / 10);
		for (int i = 0; i < DETECT_SUMS; i++)
			assert_float_equal((limits[1].sum[i] - limits[0].sum[i]) * 2 * references[i], log(10), 0.01);
	}
}

/* Tests that see the same scores do not alarm independently: together they keep the rate, and use more than half of it. */
static void
false_alarms_keep_their_rate(void **state)
{
	const uint32_t iterations = unit_wide(100000, 3000000, "false alarms of sums");
	const double rate = 1e-3;
	struct detect_cusum_limits limits;
	struct detect_cusum cusum = { 0 };
	uint32_t alarms = 0;
	struct prng prng;

	(void)state;
	prng_init(&prng, 2, 0);
	detect_cusum_limits(&limits, rate);
	for (uint32_t i = 0; i < iterations; i++)
		alarms += detect_cusum_add(&cusum, &limits, 1e4 * normal(&prng), &wide) != 0;
	assert_in_range(alarms, (uint32_t)(0.55 * rate * iterations), (uint32_t)(rate * iterations));
}

/* What one iteration does not show, several do: in about as many as drifts of a half, a fourth ... of the noise need. */
static void
small_drifts_take_longer(void **state)
{
	static const struct {
		double drift, most;
	} known[] = { { 6, 1.1 }, { 3, 3 }, { 1.5, 10 }, { 0.75, 35 }, { 0.375, 120 } };
	const uint32_t runs = 400;
	struct detect_cusum_limits limits;
	struct prng prng;

	(void)state;
	prng_init(&prng, 3, 0);
	detect_cusum_limits(&limits, 1e-4);
	for (size_t i = 0; i < ARRAY_LEN(known); i++) {
		uint64_t iterations = 0;

		for (uint32_t r = 0; r < runs; r++) {
			struct detect_cusum cusum = { 0 };

			do
				iterations++;
			while (detect_cusum_add(&cusum, &limits, 1e4 * (normal(&prng) + known[i].drift), &wide) == 0);
		}
		assert_true((double)iterations < known[i].most * runs);
	}
}

/*
 * Sums of whole packets of little noise keep the rate, too, and half a packet is allowed for once: one packet is no
 * fault, and one in each of three iterations is.
 */
static void
rounding_is_of_the_sum(void **state)
{
	const struct detect_noise little = { .variance = 0.04 + 1.0 / 6 }, none = { 0 };
	const uint32_t iterations = unit_wide(100000, 1000000, "false alarms of rounded sums");
	struct detect_cusum_limits limits;
	struct detect_cusum cusum = { 0 };
	uint32_t alarms = 0, found = 0;
	struct prng prng;

	(void)state;
	prng_init(&prng, 9, 0);
	detect_cusum_limits(&limits, 1e-3);
	for (uint32_t i = 0; i < iterations; i++) {
		double fraction = 0.1 * (i % 10);

		alarms +=
			detect_cusum_add(&cusum, &limits,
					 fraction - floor(fraction + 0.2 * normal(&prng) + prng_unit(&prng)), &little) != 0;
	}
	assert_true(alarms < 1e-3 * iterations);
	cusum = (struct detect_cusum){ 0 };
	for (int i = 0; i < 3 && found == 0; i++)
		found = detect_cusum_add(&cusum, &limits, 1, &none);
	assert_int_equal(found, 3);
}

static void
an_alarm_has_its_start(void **state)
{
	struct detect_cusum_limits limits;
	struct detect_cusum cusum = { 0 };
	uint32_t found = 0, iterations = 0;

	(void)state;
	detect_cusum_limits(&limits, 1e-4);
	for (int i = 0; i < 10; i++)
		assert_int_equal(detect_cusum_add(&cusum, &limits, -1e4, &wide), 0);
	while (found == 0) {
		found = detect_cusum_add(&cusum, &limits, 2e4, &wide);
		iterations++;
	}
	assert_in_range(iterations, 4, 7);
	assert_int_equal(found, iterations);
	assert_int_equal(detect_cusum_add(&cusum, &limits, 2e4, &wide), 0); /* anew */
	assert_int_equal(detect_cusum_add(&cusum, &limits, 1e4 * (limits.once + 1), &wide), 1);
}

UNIT_TEST(detect_cusum)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(run_lengths_as_published),
		cmocka_unit_test(limits_have_their_rate),
		cmocka_unit_test(limits_grow_by_the_logarithm_of_the_rate),
		cmocka_unit_test(false_alarms_keep_their_rate),
		cmocka_unit_test(small_drifts_take_longer),
		cmocka_unit_test(rounding_is_of_the_sum),
		cmocka_unit_test(an_alarm_has_its_start),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
