/* SPDX-License-Identifier: BSD-3-Clause */
/* Noise that a leaf learns: unbiased, proof against the fault, and false alarms at the rate that it is asked for. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "common/prng.h"
#include "common/tail.h"
#include "telemetry/volumes/detect_noise.h"

#define DEVIATION 20.0

static double
normal(struct prng *prng)
{
	return sqrt(-2 * log(1 - prng_unit(prng))) * cos(2 * M_PI * prng_unit(prng));
}

/* All packets arrive somewhere: what one port misses others have. @param fault  packets missing at the first port */
static void
iterate(struct prng *prng, double *missing, uint32_t ports, double fault)
{
	double sum = 0;

	for (uint32_t i = 0; i < ports; i++)
		sum += missing[i] = DEVIATION * sqrt(ports / (ports - 1.0)) * normal(prng);
	for (uint32_t i = 0; i < ports; i++)
		missing[i] -= sum / ports + fault / ports;
	missing[0] += fault;
}

/* Mean and variance of what is learned, by integration, against simulation. About a median it is somewhat more than about a mean. */
static void
moments_of_order_statistics(void **state)
{
	const uint32_t runs = 20000;
	struct prng prng;

	(void)state;
	prng_init(&prng, 4, 0);
	for (uint32_t ports = 8; ports <= 64; ports *= 2) {
		double missing[64], mean = 0, squares = 0, variance = DEVIATION * DEVIATION;
		struct detect_trim trim;

		detect_trim_init(&trim, ports);
		assert_int_equal(trim.kept, ports == 8 ? 6 : 7 * ports / 8);
		for (uint32_t r = 0; r < runs; r++) {
			struct detect_learned learned = { 0 };
			double found;

			iterate(&prng, missing, ports, 0);
			detect_learn(&learned, &trim, missing);
			found = detect_noise_learned(&learned, &trim).variance;
			mean += found / runs;
			squares += found * found / runs;
		}
		assert_true(mean / variance > 0.99 && mean / variance < 1 + 1.0 / ports);
		assert_float_equal(trim.dof, 2 * mean * mean / (squares - mean * mean), 0.06 * trim.dof);
	}
}

/* A fault at one of 4 or 16 ports that is there from the first iteration on, small to all of a port, hardly raises what is learned. */
static void
a_fault_is_not_learned(void **state)
{
	(void)state;
	for (uint32_t ports = 4; ports <= 16; ports += 12) {
		double missing[16], before = 0;
		struct detect_trim trim;

		detect_trim_init(&trim, ports);
		for (double fault = 0; fault < 1e6; fault = 10 * fault + 1) {
			struct detect_learned learned = { 0 };
			struct detect_noise noise;
			struct prng prng;

			prng_init(&prng, 5, 0);
			for (int i = 0; i < 200; i++) {
				iterate(&prng, missing, ports, fault);
				detect_learn(&learned, &trim, missing);
			}
			noise = detect_noise_learned(&learned, &trim);
			if (fault == 0)
				before = sqrt(noise.variance);
			assert_float_equal(before, DEVIATION, (ports == 4 ? 0.07 : 0.03) * DEVIATION);
			assert_true(sqrt(noise.variance) < (ports == 4 ? 1.8 : 1.2) * before);
			assert_float_equal(noise.dof, 200 * trim.dof, 1e-6);
		}
	}
}

/* What is older than DETECT_MEMORY iterations fades: noise that has changed is learned again. */
static void
old_noise_fades(void **state)
{
	struct detect_learned learned = { 0 };
	struct detect_trim trim;
	struct detect_noise noise;
	double missing[8];
	struct prng prng;

	(void)state;
	prng_init(&prng, 6, 0);
	detect_trim_init(&trim, 8);
	for (int i = 0; i < 8 * DETECT_MEMORY; i++) {
		iterate(&prng, missing, 8, 0);
		for (int p = 0; p < 8; p++)
			missing[p] *= i < 2 * DETECT_MEMORY ? 5 : 1;
		detect_learn(&learned, &trim, missing);
	}
	noise = detect_noise_learned(&learned, &trim);
	assert_float_equal(sqrt(noise.variance), DEVIATION, 0.1 * DEVIATION);
	assert_true(noise.dof <= DETECT_MEMORY * trim.dof);
}

/*
 * Whole packets of little noise, as adaptive spraying leaves: what is learned lies between their variance without rounding and
 * little more than it, and varies no more than its degrees of freedom say. (Without spreading equal counts it is next to
 * nothing, or twice too much.)
 */
static void
whole_packets_are_spread(void **state)
{
	const uint32_t runs = 4000;
	struct detect_trim trim;
	struct prng prng;

	(void)state;
	prng_init(&prng, 8, 0);
	detect_trim_init(&trim, 16);
	for (double deviation = 0.05; deviation < 2; deviation *= 2)
		for (double fraction = 0; fraction < 0.9; fraction += 0.25) {
			double mean = 0, squares = 0, variance = 0;

			for (uint32_t r = 0; r < runs; r++) {
				struct detect_learned learned = { 0 };
				double missing[16], found;

				for (uint32_t i = 0; i < 16; i++) {
					missing[i] =
						fraction - floor(fraction + deviation * normal(&prng) + prng_unit(&prng));
					variance += missing[i] * missing[i] / 16 / runs;
				}
				detect_learn(&learned, &trim, missing);
				found = detect_noise_learned(&learned, &trim).variance;
				mean += found / runs;
				squares += found * found / runs;
			}
			assert_true(mean > 15 * variance / 16 - DETECT_ROUNDING_VARIANCE && mean < 1.1 * variance + 0.1);
			assert_true(2 * (mean + DETECT_ROUNDING_VARIANCE) * (mean + DETECT_ROUNDING_VARIANCE) >
				    0.8 * trim.dof * (squares - mean * mean));
		}
}

/* 16 ports, of noise learned in 1 and in 8 iterations before: false alarms of the next at 1e-2, 1e-3 and 1e-4. */
static void
false_alarms_keep_their_rate(void **state)
{
	const double rates[] = { 1e-2, 1e-3, 1e-4 };
	const uint32_t trials = 40000;
	struct detect_trim trim;
	double missing[16];
	struct prng prng;

	(void)state;
	prng_init(&prng, 7, 0);
	detect_trim_init(&trim, 16);
	for (uint32_t memory = 1; memory <= 8; memory += 7) {
		uint32_t alarms[3] = { 0 }, tests = trials / memory * 16;

		for (uint32_t t = 0; t < trials / memory; t++) {
			struct detect_learned learned = { 0 };
			struct detect_noise noise;

			for (uint32_t i = 0; i < memory; i++) {
				iterate(&prng, missing, 16, 0);
				detect_learn(&learned, &trim, missing);
			}
			noise = detect_noise_learned(&learned, &trim);
			iterate(&prng, missing, 16, 0);
			for (int p = 0; p < 16; p++)
				for (int i = 0; i < 3; i++)
					alarms[i] += missing[p] > 0 && detect_score(missing[p] + DETECT_ROUNDING_PACKETS,
										    &noise) > detect_limit(rates[i], 1);
		}
		for (int i = 0; i < 3; i++)
			assert_true(alarms[i] >= 0.7 * tests * rates[i] - 2 * sqrt(tests * rates[i]) &&
				    alarms[i] <= 1.1 * tests * rates[i] + 2 * sqrt(tests * rates[i]));
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(moments_of_order_statistics),
		cmocka_unit_test(a_fault_is_not_learned),
		cmocka_unit_test(old_noise_fades),
		cmocka_unit_test(whole_packets_are_spread),
		cmocka_unit_test(false_alarms_keep_their_rate),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
