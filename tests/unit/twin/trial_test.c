/* SPDX-License-Identifier: BSD-3-Clause */
/* What chance may make of a right twin's error, against hand-computed values. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/unit/unit.h"
#include "twin/trial.h"

#define T3 3.182446 /* Student's t of three degrees of freedom, 97.5 % */

/* 10, 12, 14, 16: mean 13, standard deviation sqrt(20 / 3). */
static const struct twin_error four = {
	.measured_ns = 1000,
	.twin_ns = 1000,
	.all_steps_ns = 1000,
	.draws_ns = { 10, 12, 14, 16 },
	.draws_steps_ns = { 10, 12, 14, 16 },
	.draws = 4,
	.complete = true,
};

static void
one_more_draw_is_within_a_prediction_interval(void **state)
{
	double bound_ns = 13 + T3 * sqrt(20.0 / 3 * (1 + 1.0 / 4));

	(void)state;
	assert_float_equal(twin_error_bound_ns(four.draws_ns, 4), bound_ns, 1e-4);
	assert_float_equal(twin_error_chance(&four), 0.013, 1e-9);
	assert_float_equal(twin_error_chance_steps(&four), 0.013, 1e-9);
}

static void
draws_too_few_to_vary_bound_by_their_mean(void **state)
{
	const double two[] = { 7, 7 };

	(void)state;
	assert_float_equal(twin_error_bound_ns(two, 2), 7, 1e-9);
	assert_float_equal(twin_error_bound_ns(two, 1), 7, 1e-9);
	assert_float_equal(twin_error_bound_ns(two, 0), 0, 1e-9);
}

static void
a_twin_is_near_within_the_stated_error_or_chance(void **state)
{
	static const struct {
		double twin_ns, steps_ns, chance; /* times the differences of draws */
		bool near;
	} cases[] = {
		{ 1000, 0, 1, true },     { 1049, 99, 0, true },    { 951, 99, 0, true },   { 1051, 99, 0, false },
		{ 949, 99, 0, false },    { 1049, 101, 0, false },  { 1200, 99, 10, true }, { 1000, 200, 10, true },
		{ 1230, 200, 10, false }, { 1000, 230, 10, false },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct twin_error error = four;

		error.twin_ns = cases[i].twin_ns;
		error.steps_ns = cases[i].steps_ns;
		for (uint32_t d = 0; d < error.draws; d++) {
			error.draws_ns[d] *= cases[i].chance;
			error.draws_steps_ns[d] *= cases[i].chance;
		}
		assert_int_equal(twin_error_is_near(&error), cases[i].near);
	}
}

static void
a_twin_whose_job_did_not_complete_is_not_near(void **state)
{
	struct twin_error error = four;

	(void)state;
	error.complete = false;
	assert_false(twin_error_is_near(&error));
	assert_float_equal(twin_error_job(&error), 1, 0);
	assert_float_equal(twin_error_steps(&error), 1, 0);
	error = four;
	error.all_steps_ns = 0;
	assert_false(twin_error_is_near(&error));
}

/* Two suspects that cost 600 and 400 ns of 10 us. */
static struct rerun_truth
costs_of(double first_error_ns, double second_error_ns)
{
	return (struct rerun_truth){
		.base_ns = 10000,
		.all_ns = 9000,
		.costs = { { .shapley_ns = 600, .error_ns = first_error_ns, .draws_error_ns = first_error_ns },
			   { .shapley_ns = 400, .error_ns = second_error_ns, .draws_error_ns = second_error_ns } },
	};
}

/* By normal errors: both shares are wrong by sqrt(2 / pi) times the error of the first, which is 0.4 of its cost's. */
#define ERROR_NS(of_shares) ((of_shares) / 0.4 * 1000 / sqrt(2 / M_PI))

static void
costs_take_draws_until_chance_is_small(void **state)
{
	const struct {
		uint32_t draws;
		double first_error_ns, second_error_ns;
		uint32_t wanted;
	} cases[] = {
		{ 1, 0, 0, 1 },
		{ 2, 0, 0, 2 }, /* of every set: chance decides nothing */
		{ 2, 0.5, 0, TWIN_DRAWS },
		{ 2, 0, 0.5, TWIN_DRAWS },
		{ TWIN_DRAWS, ERROR_NS(0.99 * TWIN_MAX_CHANCE), 0, TWIN_DRAWS },
		{ TWIN_DRAWS, ERROR_NS(1.01 * TWIN_MAX_CHANCE), 0, 2 * TWIN_DRAWS },
		{ TWIN_MAX_DRAWS, 600, 400, TWIN_MAX_DRAWS },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		const struct rerun_case c = { .suspects = { .count = 2 }, .draws = cases[i].draws };
		const struct rerun_truth truth = costs_of(cases[i].first_error_ns, cases[i].second_error_ns);

		assert_int_equal(twin_cost_draws(&c, &truth), cases[i].wanted);
	}
}

/* All suspects together, or one alone, may leave to chance what it did not decide with all. */
static void
a_set_may_be_random_though_the_run_is_not(void **state)
{
	const struct rerun_case c = { .suspects = { .count = 2 }, .draws = 2 };
	struct rerun_truth truth = costs_of(0, 0);

	(void)state;
	truth.costs[1].regained_error_ns = 1;
	assert_int_equal(twin_cost_draws(&c, &truth), TWIN_DRAWS);
	truth = costs_of(0, 0);
	truth.all_error_ns = 1;
	assert_int_equal(twin_cost_draws(&c, &truth), TWIN_DRAWS);
}

/* Shares of many suspects are sampled by orders, whose error no draw makes smaller. */
static void
an_error_of_orders_takes_no_draws(void **state)
{
	const struct rerun_case c = { .suspects = { .count = 2 }, .draws = TWIN_DRAWS };
	struct rerun_truth truth = costs_of(600, 400);

	(void)state;
	truth.costs[0].draws_error_ns = truth.costs[1].draws_error_ns = 0;
	assert_int_equal(twin_cost_draws(&c, &truth), TWIN_DRAWS);
}

UNIT_TEST(trial)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(one_more_draw_is_within_a_prediction_interval),
		cmocka_unit_test(draws_too_few_to_vary_bound_by_their_mean),
		cmocka_unit_test(a_twin_is_near_within_the_stated_error_or_chance),
		cmocka_unit_test(a_twin_whose_job_did_not_complete_is_not_near),
		cmocka_unit_test(costs_take_draws_until_chance_is_small),
		cmocka_unit_test(a_set_may_be_random_though_the_run_is_not),
		cmocka_unit_test(an_error_of_orders_takes_no_draws),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
