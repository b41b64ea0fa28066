/* SPDX-License-Identifier: BSD-3-Clause */
/* The Flow Imbalance Metric against hand-made cases; its expectation against enumeration and chance. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <cmocka.h>

#include "common/array.h"
#include "common/fim.h"
#include "common/prng.h"
#include "tests/unit/unit.h"

#define RATE 100000000000ULL

static void
even_links_have_none(void **state)
{
	struct fim_link links[4] = { { 0, 4, RATE, 0 }, { 0, 4, RATE, 0 }, { 1, 8, RATE, 0 }, { 1, 8, RATE, 0 } };
	struct fim fim;

	fim_even(links, 4);
	fim = fim_of(links, 4, FIM_ALL);
	assert_int_equal(fim.links, 4);
	assert_true(fim.percent == 0 && fim.ideal == 6);
	assert_true(fim_of(links, 4, 1).ideal == 8);
}

/* Two groups: (2, 6) about 4 is 50 %; (1, 3, 0, 0) about 1 is (0 + 2 + 1 + 1) / 4 = 100 %; all: (1 + 4) / 6. */
static void
groups_and_all(void **state)
{
	struct fim_link links[] = {
		{ 3, 2, RATE, 0 }, { 3, 6, RATE, 0 }, { 7, 1, RATE, 0 },
		{ 7, 3, RATE, 0 }, { 7, 0, RATE, 0 }, { 7, 0, RATE, 0 },
	};
	struct fim fim;

	fim_even(links, ARRAY_LEN(links));
	fim = fim_of(links, ARRAY_LEN(links), 3);
	assert_true(fim.links == 2 && fim.least == 2 && fim.most == 6 && fim.percent == 50);
	fim = fim_of(links, ARRAY_LEN(links), 7);
	assert_true(fim.links == 4 && fim.least == 0 && fim.most == 3 && fim.percent == 100);
	assert_float_equal(fim_of(links, ARRAY_LEN(links), FIM_ALL).percent, 500.0 / 6, 1e-9);
	assert_int_equal(fim_of(links, ARRAY_LEN(links), 5).links, 0);
}

/* What is down takes no part, and what is twice as fast is to carry twice as much. */
static void
rates_share_the_ideal(void **state)
{
	struct fim_link links[] = { { 0, 4, 2 * RATE, 0 }, { 0, 2, RATE, 0 }, { 0, 0, 0, 0 }, { 1, 0, RATE, 0 } };
	struct fim fim;

	fim_even(links, ARRAY_LEN(links));
	assert_true(links[0].ideal == 4 && links[1].ideal == 2 && links[2].ideal == 0 && links[3].ideal == 0);
	fim = fim_of(links, ARRAY_LEN(links), FIM_ALL);
	assert_int_equal(fim.links, 2);
	assert_true(fim.percent == 0 && fim.least == 2);
	assert_true(fim_of(links, 0, FIM_ALL).percent == 0);
}

/* Flows that choose from so many links alike: of one link. */
static double
expected(uint32_t flows, uint32_t links)
{
	struct fim_chance chance = { .count = 0 };

	fim_chance_add(&chance, 1.0 / links, flows);
	return fim_expected(&chance, (double)flows / links);
}

/* Every assignment of flows to links, each as likely as the others. */
static double
enumerate(uint64_t flows, uint64_t links)
{
	struct fim_link counts[8];
	uint64_t all = 1;
	double sum = 0;

	for (uint64_t f = 0; f < flows; f++)
		all *= links;
	for (uint64_t code = 0; code < all; code++) {
		uint64_t rest = code;

		for (uint64_t l = 0; l < links; l++)
			counts[l] = (struct fim_link){ 0, 0, RATE, 0 };
		for (uint64_t f = 0; f < flows; f++, rest /= links)
			counts[rest % links].flows++;
		fim_even(counts, links);
		sum += fim_of(counts, links, FIM_ALL).percent;
	}
	return sum / (double)all;
}

static void
expectation_is_that_of_all_cases(void **state)
{
	for (uint64_t links = 2; links <= 5; links++)
		for (uint64_t flows = 1; flows <= 7; flows++)
			assert_float_equal(expected((uint32_t)flows, (uint32_t)links), enumerate(flows, links), 1e-9);
}

/*
 * Two flows on two links: 100 % or 0. Four on two: counts 0 to 4 with 1, 4, 6, 4, 1 of 16: (2 + 4 + 4 + 2) / 16 = 3 / 4
 * of 2.
 */
static void
expectation_by_hand(void **state)
{
	assert_float_equal(expected(2, 2), 50, 1e-9);
	assert_float_equal(expected(4, 2), 37.5, 1e-9);
	assert_true(expected(7, 1) == 0);
	/* One flow: its link is m - 1 above a mean of 1 / m, the others 1 / m below: 2 (1 - 1 / m). */
	assert_float_equal(expected(1, 1000), 199.8, 1e-9);
	/* Many flows: sqrt(2 / pi) standard deviations, within one in n p. */
	assert_float_equal(expected(1000000000, 4), 100 * sqrt(2 / M_PI * 0.75 / 250000000), 1e-6);
}

/*
 * Flows of several probabilities, and an ideal that is not the mean. One flow with 1/2 and one with 1/4 about 1: 0, 1
 * and 2 flows with 3/8, 4/8 and 1/8: (3 + 1) / 8. With two more that always take the link: 2, 3, 4 about 1: (3 + 2 * 4
 * + 3) / 8 = 14/8.
 */
static void
kinds_of_probabilities_add(void **state)
{
	struct fim_chance chance = { .count = 0 };

	fim_chance_add(&chance, 0.5, 1);
	fim_chance_add(&chance, 0.25, 1);
	assert_float_equal(fim_expected(&chance, 1), 50, 1e-9);
	fim_chance_add(&chance, 1, 1);
	fim_chance_add(&chance, 1, 1);
	assert_int_equal(chance.count, 3);
	assert_float_equal(fim_expected(&chance, 1), 175, 1e-9);
	for (uint32_t i = 0; i < FIM_CHANCES; i++)
		fim_chance_add(&chance, 1.0 / (10 + i), 1);
	assert_true(isnan(fim_expected(&chance, 1))); /* too many kinds */
	memset(&chance, 0, sizeof(chance));
	fim_chance_add(&chance, 0.5, 4000000000U);
	fim_chance_add(&chance, 0.25, 4000000000U);
	assert_true(isnan(fim_expected(&chance, 3e9))); /* too many flows */
}

static void
expectation_is_the_mean_of_chance(void **state)
{
	enum { RUNS = 20000, FLOWS = 128, LINKS = 32 };
	struct prng prng;
	double sum = 0;

	prng_init(&prng, 1, 0);
	for (int run = 0; run < RUNS; run++) {
		struct fim_link links[LINKS];

		for (int l = 0; l < LINKS; l++)
			links[l] = (struct fim_link){ 0, 0, RATE, 0 };
		for (int f = 0; f < FLOWS; f++)
			links[prng_below(&prng, LINKS)].flows++;
		fim_even(links, LINKS);
		sum += fim_of(links, LINKS, FIM_ALL).percent;
	}
	/* One run's deviates by about 5 points, the mean of all by 0.035. */
	assert_float_equal(sum / RUNS, expected(FLOWS, LINKS), 0.15);
}

UNIT_TEST(fim)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(even_links_have_none),
		cmocka_unit_test(groups_and_all),
		cmocka_unit_test(rates_share_the_ideal),
		cmocka_unit_test(expectation_is_that_of_all_cases),
		cmocka_unit_test(expectation_by_hand),
		cmocka_unit_test(kinds_of_probabilities_add),
		cmocka_unit_test(expectation_is_the_mean_of_chance),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
