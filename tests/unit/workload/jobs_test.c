/* SPDX-License-Identifier: BSD-3-Clause */
/* What jobs are made of: groups of a grid, turns of a pipeline, and the time that ranks compute. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "common/array.h"
#include "common/units.h"
#include "tests/unit/unit.h"
#include "workload/config.h"
#include "workload/jobs/compute.h"
#include "workload/jobs/place.h"

#define NOWHERE                                                                                                            \
	{                                                                                                                  \
		.file = "s.cfg", .line = 9                                                                                 \
	}
static const struct cfg_where nowhere = NOWHERE;
static const struct grid_dim dims[] = { { NOWHERE, "tensor", 4 }, { NOWHERE, "data", 3 }, { NOWHERE, "pipeline", 2 } };
static const struct grid grid = { dims, 3, 24 };
static struct err err;

static uint32_t
mask_of(const char *word)
{
	uint32_t mask;

	assert_int_equal(grid_parse(&grid, word, &nowhere, "group", &mask, &err), 0);
	return mask;
}

/* Every rank is in one group, at one place of it, and found there again. */
static void
groups_cut_the_ranks(void **state)
{
	const char *const words[] = {
		"", "tensor", "data", "pipeline", "tensor+data", "pipeline+tensor", "tensor+data+pipeline"
	};

	for (size_t w = 0; w < ARRAY_LEN(words); w++) {
		uint32_t mask = mask_of(words[w]), ranks = grid_group_ranks(&grid, mask);
		bool seen[24] = { false };

		for (uint32_t i = 0; i < grid.ranks; i++) {
			uint32_t rank = grid_rank(&grid, mask, i / ranks, i % ranks);

			assert_in_range(rank, 0, grid.ranks - 1);
			assert_int_equal(grid_member(&grid, mask, rank), i % ranks);
			assert_false(seen[rank]);
			seen[rank] = true;
		}
	}
}

static void
the_first_dimension_runs_fastest(void **state)
{
	assert_int_equal(grid_group_ranks(&grid, mask_of("data")), 3);
	assert_int_equal(grid_rank(&grid, mask_of("tensor"), 1, 2), 6);
	assert_int_equal(grid_rank(&grid, mask_of("data"), 1, 2), 9);
	assert_int_equal(grid_rank(&grid, mask_of("pipeline"), 5, 1), 17);
	assert_int_equal(grid_rank(&grid, mask_of("tensor+pipeline"), 2, 5), 21);
	assert_int_equal(grid_rank(&grid, mask_of("tensor"), 5, 3), 23);
	assert_int_equal(grid_rank(&grid, mask_of(""), 0, 7), 7);
}

static void
refused_grid(const struct grid *bad, const char *message)
{
	err.text[0] = '\0';
	assert_int_equal(grid_check(bad, &err), -22);
	assert_string_equal(err.text, message);
}

static void
bad_grids_are_refused(void **state)
{
	const struct grid_dim twice[] = { { nowhere, "data", 4 }, { nowhere, "data", 6 } };
	const struct grid_dim plus[] = { { nowhere, "a+b", 24 } };
	struct grid_dim many[GRID_MAX_DIMS + 1];
	uint32_t mask;

	assert_int_equal(grid_check(&grid, &err), 0);
	refused_grid(&(struct grid){ dims, 3, 16 }, "s.cfg:9: the dimensions' sizes multiply to 24; the job has 16 ranks");
	refused_grid(&(struct grid){ twice, 2, 24 }, "s.cfg:9: name: \"data\" is the name of another dimension");
	refused_grid(&(struct grid){ plus, 1, 24 }, "s.cfg:9: name: \"a+b\": a name without blanks and '+' would be right");
	for (size_t i = 0; i < ARRAY_LEN(many); i++)
		many[i] = (struct grid_dim){ nowhere, "x", 1 };
	refused_grid(&(struct grid){ many, ARRAY_LEN(many), 1 }, "s.cfg:9: more than 8 dimensions");

	err.text[0] = '\0';
	assert_int_equal(grid_parse(&grid, "tensor+expert", &nowhere, "group", &mask, &err), -22);
	assert_string_equal(err.text,
			    "s.cfg:9: group: \"expert\" is none of the job's dims, the first of which is \"tensor\"");
	err.text[0] = '\0';
	assert_int_equal(grid_parse(&grid, "data+data", &nowhere, "group", &mask, &err), -22);
	assert_string_equal(err.text, "s.cfg:9: group: \"data\" is named twice");
	err.text[0] = '\0';
	assert_int_equal(grid_parse(&(struct grid){ .ranks = 4 }, "data", &nowhere, "group", &mask, &err), -22);
	assert_string_equal(err.text, "s.cfg:9: group: \"data\": the job has no dims");
}

/* "F0 F1 B0 ..." */
static const char *
turns(enum pipeline_schedule schedule, uint32_t stages, uint32_t stage, uint32_t micro_batches)
{
	static char text[256];

	text[0] = '\0';
	for (uint32_t i = 0; i < 2 * micro_batches; i++) {
		struct pipeline_turn turn = pipeline_turn(schedule, stages, stage, micro_batches, i);

		sprintf(text + strlen(text), "%c%u ", turn.backward ? 'B' : 'F', turn.micro_batch);
	}
	return text;
}

/* Narayanan et al., SC 2021, figure 4, above, with its devices 1 to 4 as stages 0 to 3. */
static void
stages_take_turns(void **state)
{
	assert_string_equal(turns(PIPELINE_1F1B, 4, 0, 8), "F0 F1 F2 F3 B0 F4 B1 F5 B2 F6 B3 F7 B4 B5 B6 B7 ");
	assert_string_equal(turns(PIPELINE_1F1B, 4, 2, 8), "F0 F1 B0 F2 B1 F3 B2 F4 B3 F5 B4 F6 B5 F7 B6 B7 ");
	assert_string_equal(turns(PIPELINE_1F1B, 4, 3, 3), "F0 B0 F1 B1 F2 B2 ");
	assert_string_equal(turns(PIPELINE_1F1B, 4, 0, 2), "F0 F1 B0 B1 ");
	assert_string_equal(turns(PIPELINE_GPIPE, 4, 3, 2), "F0 F1 B0 B1 ");
}

static struct compute
compute_of(const char *job, const char *collective, int kind)
{
	return (struct compute){
		.seed = 3, .job = job, .collective = collective, .jitter = { .kind = kind, .spread_ps = 1000 * PS_PER_NS }
	};
}

static void
computing_varies_as_configured(void **state)
{
	const struct compute none = compute_of("j", "c", JITTER_NONE), uniform = compute_of("j", "c", JITTER_UNIFORM);
	const struct compute normal = compute_of("j", "c", JITTER_NORMAL);
	const uint64_t planned_ps = 10000 * PS_PER_NS, draws = 20000;
	double sum = 0, squares = 0, most = 0, least = 1e18;

	assert_int_equal(compute_actual_ps(&none, 1, 2, planned_ps), planned_ps);
	for (uint32_t i = 0; i < draws; i++) {
		double more = (double)compute_actual_ps(&uniform, i % 7, i / 7, planned_ps) - (double)planned_ps;

		sum += more;
		most = more > most ? more : most;
		least = more < least ? more : least;
	}
	assert_true(fabs(sum / draws / 500e3 - 1) < 0.02);
	assert_true(least >= 0 && least < 1e3 && most < 1e6 && most > 999e3);
	sum = 0;
	for (uint32_t i = 0; i < draws; i++) {
		double more = (double)compute_actual_ps(&normal, i % 7, i / 7, planned_ps) - (double)planned_ps;

		sum += more;
		squares += more * more;
	}
	assert_true(fabs(sum / draws) < 30e3);
	assert_true(fabs(sqrt(squares / draws) / 1e6 - 1) < 0.02);
	for (uint32_t i = 0; i < 1000; i++) /* never below nothing */
		assert_true(compute_actual_ps(&normal, 0, i, 1) <= 6 * PS_PER_US);
	assert_int_equal(compute_actual_ps(&normal, 0, 0, 0), 0); /* who does not compute does not vary */
	assert_int_equal(compute_spread_ps(&none), 0);
	assert_int_equal(compute_spread_ps(&uniform), 1000 * PS_PER_NS);
	assert_int_equal(compute_spread_ps(&normal), 6 * PS_PER_US);
}

/* Another job, collective, rank or iteration has another draw, and each the same again whatever else there is. */
static void
draws_belong_to_their_things(void **state)
{
	const struct compute c = compute_of("a", "b", JITTER_UNIFORM), d = compute_of("a", "c", JITTER_UNIFORM);
	const struct compute e = compute_of("ab", "", JITTER_UNIFORM);
	uint64_t first_ps = compute_actual_ps(&c, 0, 0, 1);

	assert_int_equal(compute_actual_ps(&c, 0, 0, 1), first_ps);
	assert_int_not_equal(compute_actual_ps(&c, 1, 0, 1), first_ps);
	assert_int_not_equal(compute_actual_ps(&c, 0, 1, 1), first_ps);
	assert_int_not_equal(compute_actual_ps(&d, 0, 0, 1), first_ps);
	assert_int_not_equal(compute_actual_ps(&e, 0, 0, 1), first_ps);
	assert_int_not_equal(chance(1, CHANCE_COMPUTE, "a", "b", 0, 1), chance(1, CHANCE_COMPUTE, "a", "b", 1, 0));
	assert_int_not_equal(chance(1, CHANCE_COMPUTE, "a", "b", 0, 0), chance(2, CHANCE_COMPUTE, "a", "b", 0, 0));
	assert_int_not_equal(chance(1, CHANCE_COMPUTE, "a", "b", 0, 0), chance(1, CHANCE_PLACEMENT, "a", "b", 0, 0));
}

static void
stragglers_are_late(void **state)
{
	const struct straggler stragglers[] = {
		{ .rank = 2, .delay_ps = 100, .iteration = -1 },
		{ .rank = 2, .delay_ps = 20, .collective = "c", .iteration = 1 },
		{ .rank = 3, .delay_ps = 7, .collective = "other", .iteration = -1 },
	};
	struct compute compute = compute_of("j", "c", JITTER_NONE);

	compute.stragglers = stragglers;
	compute.nstragglers = ARRAY_LEN(stragglers);
	assert_int_equal(compute_actual_ps(&compute, 2, 0, 5), 105);
	assert_int_equal(compute_actual_ps(&compute, 2, 1, 5), 125);
	assert_int_equal(compute_actual_ps(&compute, 3, 1, 5), 5);
	assert_true(compute_any(&compute, 2, 0));
	assert_false(compute_any(&compute, 3, 0));
	assert_true(compute_any(&compute, 3, 5));
}

/* In greatest demand thrice as much as in least; each rank sends the same; the reverse path is the transpose. */
static void
skew_divides_in_even_steps(void **state)
{
	struct skew skew = { .ranks = 5, .elems = 10003, .factor = 3, .seed = 1, .job = "j" };
	uint64_t there[25], back[25], least = UINT64_MAX, most = 0;

	assert_int_equal(skew_counts(&skew, there), 10003);
	for (uint32_t from = 0; from < 5; from++) {
		uint64_t sum = 0;

		for (uint32_t to = 0; to < 5; to++) {
			assert_int_equal(there[from * 5 + to], there[to]);
			sum += there[from * 5 + to];
		}
		assert_int_equal(sum, 10003);
		least = there[from] < least ? there[from] : least;
		most = there[from] > most ? there[from] : most;
	}
	assert_int_equal(least, 1000);
	assert_in_range(most, 3000, 3005);
	skew.back = true;
	assert_int_equal(skew_counts(&skew, back), 5 * most);
	for (uint32_t i = 0; i < 25; i++)
		assert_int_equal(back[i], there[i % 5 * 5 + i / 5]);
	skew.factor = 1;
	skew.back = false;
	assert_int_equal(skew_counts(&skew, there), 10003);
	for (uint32_t i = 0; i < 5; i++)
		assert_in_range(there[i], 2000, 2003);
}

UNIT_TEST(jobs)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(groups_cut_the_ranks),
		cmocka_unit_test(the_first_dimension_runs_fastest),
		cmocka_unit_test(bad_grids_are_refused),
		cmocka_unit_test(stages_take_turns),
		cmocka_unit_test(computing_varies_as_configured),
		cmocka_unit_test(draws_belong_to_their_things),
		cmocka_unit_test(stragglers_are_late),
		cmocka_unit_test(skew_divides_in_even_steps),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
