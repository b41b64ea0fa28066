/* SPDX-License-Identifier: BSD-3-Clause */
/* Noise that a leaf learns: unbiased, proof against the fault, and false alarms at the rate that it is asked for. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "common/prng.h"
#include "common/tail.h"
#include "telemetry/volumes/detect.h"
#include "tests/unit/unit.h"

#define DEVIATION 20.0
#define MOST_PORTS 64

/* A leaf of so many ports, that has learned nothing. */
struct leaf {
	struct detect_ports ports;
	struct detect_learned learned;
	struct detect_trim trims[MOST_PORTS + 1];
	float squares[MOST_PORTS];
};

static void
leaf_init(struct leaf *leaf, uint32_t ports)
{
	memset(leaf, 0, sizeof(*leaf));
	leaf->ports = (struct detect_ports){ .count = ports, .trims = leaf->trims };
	leaf->learned.squares = leaf->squares;
}

static void
leaf_forget(struct leaf *leaf)
{
	memset(leaf->squares, 0, sizeof(leaf->squares));
	leaf->learned.iterations = 0;
}

static struct detect_noise
noise_of(const struct leaf *leaf, uint32_t port)
{
	return detect_noise_learned(&leaf->learned, &leaf->ports, port);
}

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

/* Mean and variance of what is learned, by integration, against simulation. */
static void
moments_of_order_statistics(void **state)
{
	const uint32_t runs = unit_wide(3000, 20000, "learned noise, against its order statistics");
	struct prng prng;

	(void)state;
	prng_init(&prng, 4, 0);
	for (uint32_t ports = 4; ports <= MOST_PORTS; ports += ports < 12 ? 1 : ports) {
		double missing[MOST_PORTS], mean = 0, squares = 0, variance = DEVIATION * DEVIATION, dof = 0;
		struct leaf leaf;

		leaf_init(&leaf, ports);
		for (uint32_t r = 0; r < runs; r++) {
			struct detect_noise found;

			leaf_forget(&leaf);
			iterate(&prng, missing, ports, 0);
			detect_learn(&leaf.learned, &leaf.ports, missing);
			found = noise_of(&leaf, 0);
			dof = found.dof;
			mean += found.variance / runs;
			squares += found.variance * found.variance / runs;
		}
		assert_int_equal(leaf.trims[ports - 1].kept, ports == 4 ? 3 : ports < 16 ? ports - 2 : 7 * ports / 8);
		assert_float_equal(mean / variance, 1, 0.03);
		assert_float_equal(dof, 2 * mean * mean / (squares - mean * mean), 0.08 * dof);
	}
}

/* The same of the half of the others: by other draws than the table's. */
static void
moments_of_halves(void **state)
{
	const uint32_t runs = unit_wide(3000, 20000, "learned noise, against halves of the others");
	struct prng prng;

	(void)state;
	prng_init(&prng, 14, 0);
	for (uint32_t ports = 4; ports <= DETECT_MAX_HALVED; ports += 1 + ports / 4) {
		double missing[MOST_PORTS], mean = 0, squares = 0, dof = 0;
		struct leaf leaf;

		leaf_init(&leaf, ports);
		leaf.ports.half = true;
		for (uint32_t r = 0; r < runs; r++) {
			struct detect_noise found;

			leaf_forget(&leaf);
			iterate(&prng, missing, ports, 0);
			detect_learn(&leaf.learned, &leaf.ports, missing);
			found = noise_of(&leaf, 0);
			dof = found.dof;
			mean += found.variance / runs;
			squares += found.variance * found.variance / runs;
		}
		assert_int_equal(leaf.trims[ports - 1].kept, ports - 1 - (ports - 1) / 2);
		assert_float_equal(mean / (DEVIATION * DEVIATION), 1, 0.04);
		assert_float_equal(dof, 2 * mean * mean / (squares - mean * mean), 0.1 * dof);
	}
}

/*
 * A fault at one of 4 or 16 ports that is there from the first iteration on, small to all of a port, changes nothing of
 * its noise.
 */
static void
a_fault_is_not_learned(void **state)
{
	(void)state;
	for (uint32_t ports = 4; ports <= 16; ports += 12) {
		for (double fault = 0; fault < 1e6; fault = 10 * fault + 1) {
			double missing[16];
			struct leaf leaf;
			struct prng prng;

			prng_init(&prng, 5, 0);
			leaf_init(&leaf, ports);
			for (int i = 0; i < 200; i++) {
				iterate(&prng, missing, ports, fault);
				detect_learn(&leaf.learned, &leaf.ports, missing);
			}
			assert_float_equal(sqrt(noise_of(&leaf, 0).variance), DEVIATION, 0.06 * DEVIATION);
			assert_float_equal(noise_of(&leaf, 0).dof, 200 * leaf.trims[ports - 1].dof, 1e-3);
			/* Other ports have it among theirs: of 16, one is left out. */
			assert_true(sqrt(noise_of(&leaf, 1).variance) > 0.94 * DEVIATION);
			assert_true(ports == 4 || sqrt(noise_of(&leaf, 1).variance) < 1.2 * DEVIATION);
		}
	}
}

/* What is older than DETECT_MEMORY iterations fades: noise that has changed is learned again. */
static void
old_noise_fades(void **state)
{
	struct leaf leaf;
	double missing[8];
	struct prng prng;

	(void)state;
	prng_init(&prng, 6, 0);
	leaf_init(&leaf, 8);
	for (int i = 0; i < 8 * DETECT_MEMORY; i++) {
		iterate(&prng, missing, 8, 0);
		for (int p = 0; p < 8; p++)
			missing[p] *= i < 2 * DETECT_MEMORY ? 5 : 1;
		detect_learn(&leaf.learned, &leaf.ports, missing);
	}
	assert_float_equal(sqrt(noise_of(&leaf, 3).variance), DEVIATION, 0.1 * DEVIATION);
	assert_true(noise_of(&leaf, 3).dof <= DETECT_MEMORY * leaf.trims[7].dof);
}

/*
 * Whole packets of little noise, as adaptive spraying leaves: what is learned lies between their variance without
 * rounding and little more than it, and varies hardly more than its degrees of freedom say. (Without spreading equal
 * counts it is next to nothing, or twice too much.)
 */
static void
whole_packets_are_spread(void **state)
{
	const uint32_t runs = unit_wide(300, 4000, "noise of whole packets");
	struct leaf leaf;
	struct prng prng;

	(void)state;
	prng_init(&prng, 8, 0);
	leaf_init(&leaf, 16);
	for (double deviation = 0.05; deviation < 2; deviation *= 2)
		for (double fraction = 0; fraction < 0.9; fraction += 0.25) {
			double mean = 0, squares = 0, variance = 0, differ;

			for (uint32_t r = 0; r < runs; r++) {
				double missing[16], found;

				leaf_forget(&leaf);
				for (uint32_t i = 0; i < 16; i++) {
					missing[i] =
						fraction - floor(fraction + deviation * normal(&prng) + prng_unit(&prng));
					variance += missing[i] * missing[i] / 16 / runs;
				}
				detect_learn(&leaf.learned, &leaf.ports, missing);
				found = noise_of(&leaf, 0).variance;
				mean += found / runs;
				squares += found * found / runs;
			}
			assert_true(mean > 15 * variance / 16 - DETECT_ROUNDING_VARIANCE && mean < 1.1 * variance + 0.1);
			differ = mean * 16 / 15 + DETECT_ROUNDING_VARIANCE; /* from each other, spread */
			assert_true(2 * differ * differ >
				    0.7 * leaf.trims[15].dof * (squares - mean * mean) * (16 / 15.0) * (16 / 15.0));
		}
}

/* Of noise learned in so many iterations before, or of the iteration's own (0): false alarms at 1e-2, 1e-3 and 1e-4. */
static void
false_alarms_keep_their_rate(void **state)
{
	const double rates[] = { 1e-2, 1e-3, 1e-4 };
	const uint32_t memories[] = { 0, 1, 8 }, trials = unit_wide(12000, 640000, "false alarms of learned noise");
	double missing[16];
	struct prng prng;

	(void)state;
	prng_init(&prng, 7, 0);
	for (uint32_t ports = 4; ports <= 16; ports += 12)
		for (uint32_t m = 0; m < 3; m++) {
			uint32_t alarms[3] = { 0 }, tests = 0;
			struct leaf leaf;

			leaf_init(&leaf, ports);
			for (; tests < trials / (memories[m] + 1); tests += ports) {
				leaf_forget(&leaf);
				for (uint32_t i = 0; i < memories[m]; i++) {
					iterate(&prng, missing, ports, 0);
					detect_learn(&leaf.learned, &leaf.ports, missing);
				}
				iterate(&prng, missing, ports, 0);
				if (memories[m] == 0)
					detect_learn(&leaf.learned, &leaf.ports, missing);
				for (uint32_t p = 0; p < ports; p++) {
					struct detect_noise noise = noise_of(&leaf, p);
					double score = detect_score(missing[p] + DETECT_ROUNDING_PACKETS, &noise);

					for (int i = 0; i < 3; i++)
						alarms[i] += missing[p] > 0 && score > detect_limit(rates[i], 1);
				}
			}
			for (int i = 0; i < 3; i++)
				assert_true(alarms[i] >= 0.7 * tests * rates[i] - 2 * sqrt(tests * rates[i]) &&
					    alarms[i] <= 1.15 * tests * rates[i] + 2 * sqrt(tests * rates[i]));
		}
}

/* Ports that lose what is known of: their drops are no noise of others, as long as there are four others. */
static void
lossy_ports_are_not_learned_from(void **state)
{
	float lost[8] = { 0.05f, 0, 0.02f, 0, 0.05f, 0, 0.05f, 0 };
	double missing[8];
	struct leaf leaf;
	struct prng prng;

	(void)state;
	prng_init(&prng, 9, 0);
	leaf_init(&leaf, 8);
	leaf.ports.lost = lost;
	for (int i = 0; i < 400; i++) {
		iterate(&prng, missing, 8, 0);
		for (uint32_t p = 0; p < 8; p++)
			missing[p] += lost[p] > 0 ? 50 * DEVIATION * normal(&prng) : 0;
		detect_learn(&leaf.learned, &leaf.ports, missing);
	}
	for (uint32_t p = 0; p < 8; p++)
		assert_float_equal(sqrt(noise_of(&leaf, p).variance), DEVIATION, 0.1 * DEVIATION);
	/* All but three lossy: the four that lose least give too much rather than too little. */
	lost[1] = 0.01f;
	leaf_forget(&leaf);
	for (int i = 0; i < 400; i++) {
		iterate(&prng, missing, 8, 0);
		for (uint32_t p = 0; p < 8; p++)
			missing[p] += lost[p] > 0 ? 5 * DEVIATION * normal(&prng) : 0;
		detect_learn(&leaf.learned, &leaf.ports, missing);
	}
	for (uint32_t p = 0; p < 8; p++)
		assert_true(sqrt(noise_of(&leaf, p).variance) > 0.9 * DEVIATION);
}

/* Packets that are sent evenly but for some noise, of which ports lose a share; what is lost is sent again, evenly. */
static void
lossy_round(struct prng *prng, const float *lost, uint32_t ports, uint32_t packets, double *seen)
{
	uint32_t waiting = packets * ports, at = 0;

	memset(seen, 0, ports * sizeof(*seen));
	while (waiting > 0) {
		uint32_t port = prng_unit(prng) < 0.1 ? (uint32_t)prng_below(prng, ports) : at++ % ports;

		if (lost[port] > 0 && prng_unit(prng) < (double)lost[port])
			continue;
		seen[port]++;
		waiting--;
	}
}

/* The variance of a count of each port, of those with a loss and of those without, against what is calculated. */
static void
known_losses_thin_noise(void **state)
{
	const float lost[8] = { 0.05f, 0, 0.2f, 0, 0, 0, 0, 0 }, none[8] = { 0 };
	const uint32_t packets = unit_wide(200, 600, "packets a port and round of known losses"), rounds = 2000;
	double seen[8], sum[8] = { 0 }, squares[8] = { 0 }, kept = 8 - 0.25;
	struct detect_losses losses = { .packets = 8 * packets };
	struct detect_noise noise = { .dof = 3 };
	struct prng prng;

	(void)state;
	prng_init(&prng, 10, 0);
	for (uint32_t r = 0; r < rounds; r++) {
		lossy_round(&prng, none, 8, packets, seen);
		for (uint32_t p = 0; p < 8; p++)
			noise.variance += (seen[p] - packets) * (seen[p] - packets) / 8 / rounds;
		lossy_round(&prng, lost, 8, packets, seen);
		for (uint32_t p = 0; p < 8; p++) {
			sum[p] += seen[p] / rounds;
			squares[p] += seen[p] * seen[p] / rounds;
		}
	}
	for (uint32_t p = 0; p < 8; p++)
		losses.variance += losses.packets * (1 - (double)lost[p]) / kept * (double)lost[p];
	for (uint32_t p = 0; p < 8; p++) {
		double share = losses.packets * (1 - (double)lost[p]) / kept;
		struct detect_noise found = detect_noise_lossy(&noise, &losses, share, (double)lost[p]);

		assert_float_equal(sum[p], share, 1);
		assert_float_equal(squares[p] - sum[p] * sum[p], found.variance, 0.12 * found.variance);
		assert_true(found.dof > 3); /* part of it is known */
	}
	losses.variance = 0;
	assert_true(detect_noise_lossy(&noise, &losses, packets, 0).variance == noise.variance);
}

UNIT_TEST(detect_noise)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(moments_of_order_statistics),      cmocka_unit_test(moments_of_halves),
		cmocka_unit_test(a_fault_is_not_learned),           cmocka_unit_test(old_noise_fades),
		cmocka_unit_test(whole_packets_are_spread),         cmocka_unit_test(false_alarms_keep_their_rate),
		cmocka_unit_test(lossy_ports_are_not_learned_from), cmocka_unit_test(known_losses_thin_noise),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
