/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The limit of any test against packets that are sprayed, dropped and sprayed again one by one, and how near a leaf's
 * test is.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "common/prng.h"
#include "eval/flowpulse/study.h"
#include "telemetry/volumes/detect.h"
#include "tests/unit/unit.h"

#define PATHS 4
#define PACKETS 100 /* a port */
#define TRIALS 20000
#define CHOICES 32 /* of a path, in one draw of 64 bits */

static const struct limit_fabric random_fabric = { .paths = PATHS, .packets = PACKETS, .is_random = true };

/* Random spraying: every packet chooses until it is not dropped, at port 0 with this chance. */
static void
spray(struct prng *prng, double drop, uint32_t *counts)
{
	uint64_t choices = 0; /* of two bits each */

	for (int i = 0; i < PATHS; i++)
		counts[i] = 0;
	for (int sent = 0, n = 0; sent < PATHS * PACKETS; n++) {
		uint64_t path;

		choices = n % CHOICES == 0 ? prng_next(prng) : choices / PATHS;
		path = choices % PATHS;
		if (path == 0 && drop > 0 && prng_unit(prng) < drop)
			continue;
		counts[path]++;
		sent++;
	}
}

/* How many of so many trials of a small chance succeed: exactly binomial, by the gaps between successes. */
static uint32_t
successes(struct prng *prng, double trials, double p)
{
	uint32_t count = 0;

	for (double at = 0; (at += 1 + floor(log(1 - prng_unit(prng)) / log1p(-p))) <= trials;)
		count++;
	return count;
}

static double
normal(struct prng *prng)
{
	return sqrt(-2 * log(1 - prng_unit(prng))) * cos(2 * M_PI * prng_unit(prng));
}

static void
what_is_dropped_crosses_all_ports(void **state)
{
	double missing = 0, more = 0;
	uint32_t counts[PATHS];
	struct prng prng;

	(void)state;
	prng_init(&prng, 1, 0);
	for (int t = 0; t < 2000; t++) {
		spray(&prng, 0.2, counts);
		missing += 1 - (double)counts[0] / PACKETS;
		more += (double)counts[1] / PACKETS - 1;
	}
	assert_float_equal(missing / 2000, limit_missing(&random_fabric, 0.2), 0.01);
	assert_float_equal(more / 2000, limit_missing(&random_fabric, 0.2) / (PATHS - 1), 0.01);
}

/* The port's count alone: the rate without a fault, and the power with one, of the test that rejects small counts. */
static void
random_spraying_by_simulation(void **state)
{
	const double drop = 0.3;
	uint32_t before[PATHS * PACKETS + 1] = { 0 }, after[PATHS * PACKETS + 1] = { 0 }, counts[PATHS];
	double rate = 0, power = 0;
	struct prng prng;

	(void)state;
	prng_init(&prng, 2, 0);
	for (int t = 0; t < TRIALS; t++) {
		spray(&prng, 0, counts);
		before[counts[0]]++;
		spray(&prng, drop, counts);
		after[counts[0]]++;
	}
	for (int count = 0; count < PACKETS; count++) {
		rate += (double)before[count] / TRIALS;
		power += (double)after[count] / TRIALS;
		if (count % 5 == 0 && rate > 1e-3)
			assert_float_equal(limit_power(&random_fabric, rate, drop), power, 0.06 * sqrt(power));
	}
}

/* Where a fault-free count never varies, one packet is enough: only that none is dropped hides a fault. */
static void
without_noise_one_packet_is_seen(void **state)
{
	const struct limit_fabric still = { .paths = 16, .packets = 10000 };

	(void)state;
	assert_float_equal(limit_drop(&still, 1e-4, 0.9), -log(0.1) / 10000, 1e-3 / 10000);
	assert_float_equal(limit_drop(&still, 1e-9, 0.9), -log(0.1) / 10000, 1e-3 / 10000);
	assert_float_equal(limit_power(&still, 1e-4, 0), 1e-4, 1e-9);
}

/* Noise of three packets, rounded, and a binomial number of drops: rate and power of what is missing. */
static void
measured_noise_by_simulation(void **state)
{
	const struct limit_fabric fabric = { .paths = 16, .packets = 1000, .variance = 9 };
	const double drop = 0.01;
	struct prng prng;

	(void)state;
	prng_init(&prng, 3, 0);
	for (double limit = 3; limit <= 9; limit += 3) {
		uint32_t before = 0, after = 0;

		for (int t = 0; t < TRIALS; t++) {
			double noise = 3 * normal(&prng), dropped = successes(&prng, 1000, drop);

			before += round(noise) >= limit;
			after += round(noise + dropped * 15 / 16) >= limit;
		}
		assert_float_equal(limit_power(&fabric, (double)before / TRIALS, drop), (double)after / TRIALS, 0.05);
	}
}

/* 5 deviations: 3.72 of the rate and 1.28 of the power. Of many packets the limit is so many of the noise. */
static void
limits_of_many_packets(void **state)
{
	struct limit_fabric fabric = { .paths = 64, .packets = 1e6, .is_random = true };
	double deviations = 3.7190165 + 1.2815516;

	(void)state;
	assert_float_equal(limit_drop(&fabric, 1e-4, 0.9), deviations / sqrt(1e6 * 63 / 64), 2e-5);
	fabric.packets *= 5;
	assert_float_equal(limit_drop(&fabric, 1e-4, 0.9), deviations / sqrt(5e6 * 63 / 64), 1e-5);
	fabric = (struct limit_fabric){ .paths = 16, .packets = 1e6, .variance = 1e4 };
	assert_float_equal(limit_power(&fabric, 1e-4, limit_drop(&fabric, 1e-4, 0.9)), 0.9, 1e-3);
	fabric = (struct limit_fabric){ .paths = 16, .packets = 3, .is_random = true };
	assert_float_equal(limit_drop(&fabric, 1e-4, 0.9), 1, 0);
}

static int
ascending(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

/* The mean likelihood ratio of all ports, of sprayed packets: its quantile without a fault and its power with one. */
static void
an_unknown_port_by_simulation(void **state)
{
	static double before[TRIALS], after[TRIALS];
	const double drop = 0.35, rate = 0.005;
	uint32_t counts[PATHS], found = 0;
	struct prng prng;

	(void)state;
	prng_init(&prng, 4, 0);
	for (int t = 0; t < TRIALS; t++) {
		before[t] = after[t] = 0;
		spray(&prng, 0, counts);
		for (int i = 0; i < PATHS; i++)
			before[t] += pow(1 - drop, counts[i]);
		spray(&prng, drop, counts);
		for (int i = 0; i < PATHS; i++)
			after[t] += pow(1 - drop, counts[i]);
	}
	qsort(before, TRIALS, sizeof(*before), ascending);
	for (int t = 0; t < TRIALS; t++)
		found += after[t] > before[(int)(TRIALS * (1 - PATHS * rate))];
	assert_float_equal(limit_power_any(&random_fabric, rate, drop, TRIALS), (double)found / TRIALS, 0.03);
	/* A detector that knows the port finds hardly more, at its share of the rate. */
	assert_float_equal(limit_power(&random_fabric, rate, drop), (double)found / TRIALS, 0.05);
}

/* The leaf's own test of random spraying, at the limit's drop rate and at 1.2 times it. */
static void
a_leafs_test_is_near_the_limit(void **state)
{
	const double rate = 1e-3, power = 0.9, drop = limit_drop(&random_fabric, rate, power);
	const struct detect_noise noise = detect_noise_random(PACKETS, 1.0 / PATHS);
	uint32_t counts[PATHS], at = 0, beyond = 0;
	struct prng prng;

	(void)state;
	prng_init(&prng, 5, 0);
	for (int t = 0; t < TRIALS / 2; t++) {
		spray(&prng, drop, counts);
		at += detect_score(PACKETS - (double)counts[0], &noise) > detect_limit(rate, 1);
		spray(&prng, 1.2 * drop, counts);
		beyond += detect_score(PACKETS - (double)counts[0], &noise) > detect_limit(rate, 1);
	}
	assert_true(at < (power + 0.02) * TRIALS / 2);
	assert_true(beyond > power * TRIALS / 2);
}

UNIT_TEST(flowpulse_limit)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_dropped_crosses_all_ports),
		cmocka_unit_test(random_spraying_by_simulation),
		cmocka_unit_test(without_noise_one_packet_is_seen),
		cmocka_unit_test(measured_noise_by_simulation),
		cmocka_unit_test(limits_of_many_packets),
		cmocka_unit_test(an_unknown_port_by_simulation),
		cmocka_unit_test(a_leafs_test_is_near_the_limit),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
