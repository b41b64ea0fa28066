/* SPDX-License-Identifier: BSD-3-Clause */
/* Tests of leaves on counts that are made up: who is found, after how long, and what is alarmed at for nothing. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmocka.h>

#include "common/array.h"
#include "common/prng.h"
#include "eval/flowpulse/study.h"
#include "tests/unit/unit.h"

#define ROWS 8
#define PATHS 16
#define PACKETS 10000.0
#define PACKET_BYTES 1100
#define NOISE 20.0 /* packets */
#define ITERATION_PS 1000000

static double
normal(struct prng *prng)
{
	return sqrt(-2 * log(1 - prng_unit(prng))) * cos(2 * M_PI * prng_unit(prng));
}

/* Each row's packets arrive somewhere; a fault's come again by all paths. @param random  else less noise than that */
static struct fp_grid *
make_grid_of(uint32_t paths, uint64_t seed, uint32_t iterations, bool random, const struct fp_fault *faults,
	     uint32_t nfaults)
{
	struct fp_grid *grid = fp_grid_create(iterations, ROWS, paths);
	double noise = random ? sqrt(PACKETS) : NOISE; /* of counts that are independent but for their sum */
	struct prng prng;

	assert_non_null(grid);
	prng_init(&prng, seed, 0);
	for (uint32_t i = 0; i < iterations; i++)
		for (uint32_t row = 0; row < ROWS; row++) {
			double off[PATHS], sum = 0;

			for (uint32_t p = 0; p < paths; p++)
				sum += off[p] = noise * normal(&prng);
			for (uint32_t f = 0; f < nfaults; f++)
				if (faults[f].row == row) {
					double lost = PACKETS * faults[f].drop * paths / (paths - faults[f].drop);

					off[faults[f].path] -= lost;
					sum -= lost;
				}
			for (uint32_t p = 0; p < paths; p++) {
				struct fp_cell *cell = fp_cell(grid, i, row, p);

				cell->packets = (uint64_t)llround(PACKETS + off[p] - sum / paths);
				cell->bytes = (struct volume_sample){ (uint64_t)PACKETS * PACKET_BYTES,
								      cell->packets * PACKET_BYTES };
				cell->end_ps = (i + 1) * (uint64_t)ITERATION_PS;
				cell->is_sound = 1;
			}
		}
	return grid;
}

static struct fp_grid *
make_grid(uint64_t seed, uint32_t iterations, bool random, const struct fp_fault *faults, uint32_t nfaults)
{
	return make_grid_of(PATHS, seed, iterations, random, faults, nfaults);
}

static struct fp_outcomes
outcomes(const struct fp_method *method, struct fp_grid *grid, const struct fp_fault *faults, uint32_t nfaults, double drop)
{
	struct fp_outcomes result = { 0 };

	assert_int_equal(fp_outcomes_add(&result, method, grid, faults, nfaults, drop), 0);
	fp_grid_destroy(grid);
	return result;
}

/* 2 % is more than the paper's threshold, 0.3 % less; rows without fault are none of them. */
static void
the_papers_threshold(void **state)
{
	const struct fp_fault faults[] = { { 1, 3, 0.02 }, { 4, 0, 0.003 } };
	const struct fp_method method = { .ops = &fp_threshold, .threshold = 0.01 };
	struct fp_outcomes t;

	(void)state;
	t = outcomes(&method, make_grid(1, 50, false, faults, 2), faults, 2, 0.02);
	assert_int_equal(t.trials, 50);
	assert_int_equal(t.found, 50);
	assert_int_equal(t.wrong, 0);
	assert_int_equal(t.ports, 6 * 50 * PATHS);
	assert_int_equal(t.false_ports, 0);
	t = outcomes(&method, make_grid(1, 50, false, faults, 2), faults, 2, 0.003);
	assert_int_equal(t.found, 0);
	t = outcomes(&method, make_grid(1, 50, false, faults, 2), faults, 2, -1);
	assert_int_equal(t.trials, 100);
	assert_int_equal(t.found, 50);
}

/* What is not to be compared is no alarm. */
static void
flawed_iterations_are_left_out(void **state)
{
	const struct fp_fault fault = { 1, 3, 0.5 };
	const struct fp_method_ops *const all[] = { &fp_threshold, &fp_random, &fp_learned, &fp_pooled_random,
						    &fp_pooled_learned };

	(void)state;
	for (size_t m = 0; m < ARRAY_LEN(all); m++) {
		struct fp_grid *grid = make_grid(1, 10, false, &fault, 1);

		for (size_t c = 0; c < 10 * ROWS * PATHS; c++)
			grid->cells[c].is_sound = 0;
		assert_int_equal(outcomes(&(struct fp_method){ all[m], 0.01, 1e-3, 0, 0 }, grid, &fault, 1, -1).found, 0);
	}
}

/* Each test of noise finds what is well above it and keeps its rate of false alarms; random spraying hides more. */
static void
noise_decides(void **state)
{
	const struct fp_fault faults[] = { { 0, 1, 0.02 }, { 2, 7, 0.07 } };
	const struct {
		const struct fp_method_ops *ops;
		bool random;
		double drop, least, most;
	} known[] = {
		{ &fp_random, true, 0.02, 0, 0.2 },           { &fp_random, true, 0.07, 0.98, 1 },
		{ &fp_learned, true, 0.02, 0, 0.2 },          { &fp_learned, true, 0.07, 0.95, 1 },
		{ &fp_learned, false, 0.02, 0.98, 1 },        { &fp_pooled_random, true, 0.02, 0.05, 1 },
		{ &fp_pooled_learned, false, 0.02, 0.98, 1 },
	};

	(void)state;
	for (size_t k = 0; k < ARRAY_LEN(known); k++) {
		struct fp_outcomes t = outcomes(&(struct fp_method){ known[k].ops, 0, 1e-3, 0, 0 },
						make_grid(k, 400, known[k].random, faults, 2), faults, 2, known[k].drop);
		double share = (double)t.found / (double)t.trials, expected = 1e-3 * (double)t.ports;

		assert_true(share >= known[k].least && share <= known[k].most);
		assert_true((double)t.false_ports > 0.2 * expected &&
			    (double)t.false_ports < expected + 3 * sqrt(expected));
		assert_int_equal(t.iterations, 400);
		assert_in_range(t.false_iterations, 1, t.false_ports);
	}
}

/*
 * At how many times the smallest drop rate that any test finds as surely, were the noise known, nine of ten faults are
 * found: of runs in all of whose iterations the fault is and noise is learned, and of their second half.
 */
static void
noise_is_learned_beside_a_fault(void **state)
{
	static const struct {
		uint32_t paths, iterations;
		double after, ratio;
	} cases[] = { { 16, 13, 0, 1.17 }, { 16, 13, 0.5, 1.06 }, { 4, 50, 0, 1.33 }, { 4, 50, 0.5, 1.07 } };

	const uint32_t seeds = unit_wide(6, 60, "faults beside which noise is learned");

	(void)state;
	for (size_t c = 0; c < ARRAY_LEN(cases); c++) {
		const struct limit_fabric fabric = { .paths = cases[c].paths, .packets = PACKETS, .is_random = true };
		const struct fp_method method = { .ops = &fp_learned, .rate = 1e-4, .after = cases[c].after };
		double drop = cases[c].ratio * limit_drop(&fabric, 1e-4, 0.9);
		uint64_t found = 0, trials = 0;
		struct fp_fault faults[ROWS];

		for (uint32_t row = 0; row < ROWS; row++)
			faults[row] = (struct fp_fault){ row, (row + 3) % cases[c].paths, drop };
		for (uint64_t seed = 0; seed < seeds; seed++) {
			struct fp_grid *grid = make_grid_of(cases[c].paths, seed, cases[c].iterations, true, faults, ROWS);
			struct fp_outcomes t = outcomes(&method, grid, faults, ROWS, -1);

			found += t.found;
			trials += t.trials;
		}
		assert_true(10 * found >= 9 * trials);
	}
}

/* A path that is known to lose half of its packets varies by that: no alarm to those who know it. */
static void
known_losses_are_noise(void **state)
{
	const struct fp_method method = { .ops = &fp_learned, .rate = 1e-4 };
	uint64_t alarms[2];

	(void)state;
	for (uint32_t knows = 0; knows <= 1; knows++) {
		struct fp_grid *grid = make_grid(9, 200, false, NULL, 0);
		struct prng prng;

		prng_init(&prng, 3, 0);
		for (uint32_t i = 0; i < 200; i++) {
			struct fp_cell *cell = fp_cell(grid, i, 2, 5);
			double drops = sqrt(PACKETS * 0.5) * normal(&prng);

			cell->packets = (uint64_t)llround((double)cell->packets - drops);
			cell->bytes.seen = cell->packets * PACKET_BYTES;
		}
		grid->lost[2 * PATHS + 5] = knows ? 0.5f : 0;
		alarms[knows] = outcomes(&method, grid, NULL, 0, -1).false_ports;
	}
	assert_true(alarms[0] > 15);
	assert_true(alarms[1] <= 5);
}

/* Five iterations find what one does not: when, and how long it took. */
static void
pooled_iterations_find_less(void **state)
{
	const uint32_t iterations = unit_wide(200, 500, "iterations that are pooled");
	const struct fp_fault fault = { 3, 9, 0.0065 };
	struct fp_outcomes once, five;

	(void)state;
	once = outcomes(&(struct fp_method){ &fp_pooled_learned, 0, 1e-4, 1, 0 },
			make_grid(5, iterations, false, &fault, 1), &fault, 1, -1);
	five = outcomes(&(struct fp_method){ &fp_pooled_learned, 0, 1e-4, 5, 0 },
			make_grid(5, iterations, false, &fault, 1), &fault, 1, -1);
	assert_int_equal(once.blocks, iterations);
	assert_int_equal(five.blocks, iterations / 5);
	assert_true(once.found_blocks < iterations / 2);
	assert_true(five.found_blocks >= iterations / 5 * 95 / 100);
	assert_true(five.delay / (double)five.found_blocks > 1 && five.delay / (double)five.found_blocks < 4);
	assert_float_equal(five.delay_ps, five.delay * ITERATION_PS, 1);
}

/*
 * Counts judged again: two senders of one leaf, of which one lacks 0.75 %: too little for the threshold, and the others
 * show whose.
 */
static void
other_detectors_are_replayed(void **state)
{
	const struct fp_fault fault = { 1, 3, 0.0075 };
	struct fp_grid *grid = make_grid(8, 80, false, &fault, 1);
	struct fp_outcome outcome;

	(void)state;
	for (uint32_t row = 0; row < ROWS; row++)
		grid->rows[row] = (struct fp_row){ row / 2, 10 + row };
	assert_int_equal(fp_replay(grid, REC_DETECTOR_THRESHOLD, &outcome), 0);
	assert_in_range(outcome.count, 0, 12);
	free(outcome.alarms);
	for (uint32_t d = REC_DETECTOR_NOISE; d <= REC_DETECTOR_POOLED; d++) {
		assert_int_equal(fp_replay(grid, (enum rec_detector)d, &outcome), 0);
		assert_true(outcome.count >= 4);
		for (size_t i = 0; i < outcome.count; i++) {
			assert_int_equal(outcome.alarms[i].leaf, 0);
			assert_int_equal(outcome.alarms[i].path, 3);
			assert_int_equal(outcome.alarms[i].sender, 11);
			assert_true(outcome.alarms[i].place != REC_LOSS_LOCAL);
			assert_in_range(outcome.alarms[i].drop_ppm, 4000, 17000);
		}
		free(outcome.alarms);
	}
	fp_grid_destroy(grid);
}

static void
noise_is_measured(void **state)
{
	struct fp_grid *grid = make_grid(6, 200, false, NULL, 0);
	double variance, packets;

	(void)state;
	fp_noise(grid, 5, &variance, &packets);
	assert_float_equal(variance, 5 * NOISE * NOISE * (PATHS - 1) / PATHS, 0.1 * 5 * NOISE * NOISE);
	fp_noise(grid, 1, &variance, &packets);
	assert_float_equal(packets, PACKETS, 1e-6);
	assert_float_equal(variance, NOISE * NOISE * (PATHS - 1) / PATHS, 0.05 * NOISE * NOISE);
	fp_grid_destroy(grid);
}

static void
counts_are_kept(void **state)
{
	char dir[] = "/tmp/flowpulse_score_test.XXXXXX", path[64];
	struct fp_grid *grid = make_grid(7, 3, true, NULL, 0), *again;
	struct err err = { 0 };

	(void)state;
	assert_non_null(mkdtemp(dir));
	snprintf(path, sizeof(path), "%s/counts.bin", dir);
	grid->rows[2] = (struct fp_row){ 5, 4 };
	grid->exported_bytes = 77;
	assert_null(fp_grid_load(path));
	assert_int_equal(fp_grid_save(grid, dir, "counts.bin", &err), 0);
	again = fp_grid_load(path);
	assert_non_null(again);
	assert_int_equal(again->iterations, 3);
	assert_int_equal(again->exported_bytes, 77);
	assert_memory_equal(again->rows, grid->rows, ROWS * sizeof(*grid->rows));
	assert_memory_equal(again->cells, grid->cells, 3 * ROWS * PATHS * sizeof(*grid->cells));
	assert_int_equal(truncate(path, 1000), 0);
	assert_null(fp_grid_load(path));
	fp_grid_destroy(grid);
	fp_grid_destroy(again);
	unlink(path);
	rmdir(dir);
}

UNIT_TEST(flowpulse_score)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_papers_threshold),
		cmocka_unit_test(flawed_iterations_are_left_out),
		cmocka_unit_test(noise_decides),
		cmocka_unit_test(noise_is_learned_beside_a_fault),
		cmocka_unit_test(known_losses_are_noise),
		cmocka_unit_test(pooled_iterations_find_less),
		cmocka_unit_test(other_detectors_are_replayed),
		cmocka_unit_test(noise_is_measured),
		cmocka_unit_test(counts_are_kept),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
