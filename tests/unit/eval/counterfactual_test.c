/* SPDX-License-Identifier: BSD-3-Clause */
/* Random cases for the counterfactual evaluation, and how claims are held against costs. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "common/array.h"
#include "common/prng.h"
#include "common/tail.h"
#include "eval/counterfactual.h"
#include "scenario/scenario.h"
#include "tests/unit/unit.h"
#include "workload/workload.h"

#define CASES 60

static char dir[UNIT_PATH], path[sizeof(dir) + 16];

static int
make_dir(void **state)
{
	(void)state;
	if (!unit_dir(dir, "disturb"))
		return -1;
	snprintf(path, sizeof(path), "%s/case.cfg", dir);
	return 0;
}

static int
remove_dir(void **state)
{
	(void)state;
	unlink(path);
	return rmdir(dir);
}

static char *
text_of(uint64_t seed, uint32_t index)
{
	struct err err = { 0 };
	char *text = calloc(1, 8192);
	FILE *file;

	if (disturb_write(seed, index, dir, &err) != 0)
		fail_msg("%s", err.text);
	file = fopen(path, "r");
	assert_non_null(file);
	assert_true(fread(text, 1, 8191, file) < 8191);
	fclose(file);
	return text;
}

/* Every case loads, has three or four causes, is its seed's alone; all kinds of causes and all fabrics come. */
static void
cases_are_of_several_causes(void **state)
{
	static const char *const kinds[] = { "flows = ",  "jobs = ",  "pfc-storm",  "\"loss\"", "\"delay\"",
					     "slow-host", "fat-tree", "leaf-spine", "rail",     "halving-doubling" };
	bool seen[sizeof(kinds) / sizeof(*kinds)] = { 0 };
	struct err err = { 0 };

	(void)state;
	for (uint32_t index = 0; index < CASES; index++) {
		char *text = text_of(7, index), *again = text_of(7, index), *other = text_of(8, index);
		struct suspects suspects = { 0 };
		struct scenario *scenario;

		assert_string_equal(text, again);
		assert_string_not_equal(text, other);
		for (size_t k = 0; k < sizeof(kinds) / sizeof(*kinds); k++)
			seen[k] |= strstr(text, kinds[k]) != NULL;
		free(text_of(7, index));
		scenario = scenario_load(&(struct scenario_options){ .path = path }, &err);
		if (scenario == NULL)
			fail_msg("%s", err.text);
		assert_int_equal(suspects_list(scenario, 0, &suspects, &err), 0);
		assert_in_range(suspects.count, DISTURB_MIN, DISTURB_MAX);
		assert_string_equal(scenario->workload->jobs[0].name, "main");
		suspects_fini(&suspects);
		scenario_destroy(scenario);
		free(text);
		free(again);
		free(other);
	}
	for (size_t k = 0; k < sizeof(kinds) / sizeof(*kinds); k++)
		if (!seen[k])
			fail_msg("no case has %s", kinds[k]);
}

/* Seeds as large as the command takes them: a case's own seed is a number that a scenario can have. */
static void
cases_of_large_seeds_load(void **state)
{
	static const uint64_t seeds[] = { 2147, 2148, 4294, 4295, UINT32_MAX, INT64_MAX / 1000000 + 1, INT64_MAX };

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(seeds); i++)
		free(text_of(seeds[i], 1));
}

static struct counterfactual_score
score(const double *shapley_ns, const double *claimed_ns, size_t count)
{
	const struct rerun_case c = { .suspects.count = count, .rtt_ns = 10000 };
	struct rerun_truth truth = { .base_ns = 10e6, .has_shapley = true };
	struct claims claims = { .others_ns = 0 };
	struct counterfactual_score result;

	for (size_t i = 0; i < count; i++) {
		truth.costs[i].shapley_ns = truth.costs[i].regained_ns = shapley_ns[i];
		truth.costs[i].has_effect = rerun_is_effect(&c, truth.base_ns, shapley_ns[i]);
		truth.costs[i].has_none = !truth.costs[i].has_effect;
		claims.ns[i] = claimed_ns[i];
		claims.named[i] = claimed_ns[i] > 0;
	}
	counterfactual_score(&c, &truth, &claims, &result);
	return result;
}

static void
claims_are_held_against_costs(void **state)
{
	struct counterfactual_score s;

	(void)state;
	/* Of 800 us, 75 % and 25 %; claimed 50 % and 50 %, so the first is one of them; 5 us and -1 ms are no effect. */
	s = score((const double[]){ 600e3, 200e3, 5e3, -1e6 }, (const double[]){ 300e3, 300e3, 0, 0 }, 4);
	assert_true(s.has_cost && s.first && s.first_alone);
	assert_float_equal(s.error, (0.25 + 0.25) / 4, 1e-9);
	assert_int_equal(s.innocents, 2);
	assert_int_equal(s.named_innocents, 0);
	/* Nearly as much is as good; much less is not. */
	assert_true(score((const double[]){ 600e3, 592e3 }, (const double[]){ 1, 2 }, 2).first);
	assert_false(score((const double[]){ 600e3, 500e3 }, (const double[]){ 1, 2 }, 2).first);
	/* Nothing claimed where something costs; something claimed where nothing does. */
	assert_false(score((const double[]){ 600e3, 0 }, (const double[]){ 0, 0 }, 2).first);
	s = score((const double[]){ 5e3, 0 }, (const double[]){ 9e3, 0 }, 2);
	assert_false(s.has_cost);
	assert_int_equal(s.named_innocents, 1);
	assert_int_equal(s.blameless, 2);
	assert_int_equal(s.named_blameless, 1);
}

/*
 * Costs of 300, 100 and 0 us, which are known to 40 us each. What may be nothing is no order, but its mean is its share. A
 * verdict that is right differs from such shares by so much as drawing them anew does.
 */
static void
few_draws_leave_an_error(void **state)
{
	const struct rerun_case c = { .suspects.count = 3, .rtt_ns = 10000 };
	struct rerun_truth truth = { .base_ns = 10e6, .has_shapley = true, .limit = 3 };
	struct claims claims = { .ns = { 300e3, 100e3, 0 }, .named = { true, true } };
	struct counterfactual_score s;
	const double costs_ns[] = { 300e3, 100e3, 0 };
	struct prng prng;
	double sum = 0;

	(void)state;
	for (size_t i = 0; i < 3; i++)
		truth.costs[i] = (struct rerun_cost){ .shapley_ns = costs_ns[i], .error_ns = 40e3 };
	truth.costs[0].has_effect = true;
	counterfactual_score(&c, &truth, &claims, &s);
	assert_float_equal(s.error, 0, 1e-9); /* 100 us are less than three errors */
	assert_true(s.first);
	assert_float_equal(s.tau, 1, 1e-9);
	prng_init(&prng, 1, 0);
	for (int n = 0; n < 20000; n++) {
		double drawn_ns[3], all_ns = 0;

		for (size_t i = 0; i < 3; i++) {
			drawn_ns[i] = costs_ns[i] + 40e3 * tail_normal_at(prng_unit(&prng));
			all_ns += drawn_ns[i];
		}
		for (size_t i = 0; i < 3; i++)
			sum += fabs(drawn_ns[i] / all_ns - costs_ns[i] / 400e3) / 3;
	}
	assert_float_equal(s.by_chance, sum / 20000, 0.05 * s.by_chance);
	/* The second is not known to cost less than the first by three errors of their difference. */
	truth.costs[1].shapley_ns = 200e3;
	claims.ns[1] = 400e3;
	counterfactual_score(&c, &truth, &claims, &s);
	assert_true(s.first);
	truth.limit = 1;
	counterfactual_score(&c, &truth, &claims, &s);
	assert_false(s.first);
	/* Of two that may be nothing, or of which one may, the one that costs more on average is the first. */
	truth.limit = 3;
	truth.costs[0].error_ns = 120e3;
	claims.ns[0] = 500e3;
	counterfactual_score(&c, &truth, &claims, &s);
	assert_true(s.first);
	claims.ns[2] = 600e3;
	counterfactual_score(&c, &truth, &claims, &s);
	assert_false(s.first);
	claims.ns[2] = 0;
	truth.costs[0].error_ns = 40e3;
	/* Without an error there is none by chance; nor where nothing costs anything. */
	for (size_t i = 0; i < 3; i++)
		truth.costs[i].error_ns = 0;
	counterfactual_score(&c, &truth, &claims, &s);
	assert_float_equal(s.by_chance, 0, 0);
	for (size_t i = 0; i < 3; i++)
		truth.costs[i] = (struct rerun_cost){ .error_ns = 40e3 };
	counterfactual_score(&c, &truth, &claims, &s);
	assert_float_equal(s.by_chance, 0, 0);
}

/* An order is what draws tell; a claim is held to no other, and a difference that is no effect is none. */
static void
unknown_orders_are_not_held_against_claims(void **state)
{
	const struct rerun_case c = { .suspects.count = 3, .rtt_ns = 10000 };
	struct rerun_truth truth = { .base_ns = 1e6, .has_shapley = true, .limit = 2 };
	struct claims claims = { .ns = { 300e3, 120e3, 4e3 } };
	const double costs_ns[] = { 300e3, 110e3, 100e3 };
	struct counterfactual_score s;

	(void)state;
	for (size_t i = 0; i < 3; i++)
		truth.costs[i] = (struct rerun_cost){ .shapley_ns = costs_ns[i], .error_ns = 20e3, .has_effect = true };
	counterfactual_score(&c, &truth, &claims, &s); /* 110 us against 100 us are not known to differ */
	assert_float_equal(s.tau, 1, 1e-9);
	claims.ns[1] = 302e3; /* a tie with the first, of which the truth is none */
	counterfactual_score(&c, &truth, &claims, &s);
	assert_float_equal(s.tau, 1 / sqrt(1 * 2), 1e-9);
	claims.ns[1] = 400e3;
	counterfactual_score(&c, &truth, &claims, &s);
	assert_float_equal(s.tau, 0, 1e-9);
	/* Known to differ by no effect: a claim that orders them is wrong. */
	for (size_t i = 0; i < 3; i++)
		truth.costs[i].error_ns = 0;
	truth.costs[1].shapley_ns = 103e3;
	claims.ns[1] = 120e3;
	counterfactual_score(&c, &truth, &claims, &s);
	assert_float_equal(s.tau, 2 / sqrt(2 * 3), 1e-9);
	claims.ns[2] = 118e3;
	counterfactual_score(&c, &truth, &claims, &s);
	assert_float_equal(s.tau, 1, 1e-9);
	/* No order is known: no claim is right or wrong. */
	for (size_t i = 0; i < 3; i++)
		truth.costs[i].error_ns = 500e3;
	counterfactual_score(&c, &truth, &claims, &s);
	assert_true(isnan(s.tau));
}

UNIT_TEST(counterfactual)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(cases_are_of_several_causes),
		cmocka_unit_test(cases_of_large_seeds_load),
		cmocka_unit_test(claims_are_held_against_costs),
		cmocka_unit_test(few_draws_leave_an_error),
		cmocka_unit_test(unknown_orders_are_not_held_against_claims),
	};

	return cmocka_run_group_tests(tests, make_dir, remove_dir);
}
