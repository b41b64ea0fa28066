/* SPDX-License-Identifier: BSD-3-Clause */
/* Shapley's shares against hand-computed ones. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "eval/counterfactual.h"
#include "tests/unit/unit.h"
#include "twin/rerun/rerun.h"

#define NEAR 1e-9

static void
what_adds_up_is_shared_as_it_is(void **state)
{
	const double worth[] = { 0, 3, 5, 8 };
	double shares[2];

	(void)state;
	shapley(worth, 2, shares);
	assert_float_equal(shares[0], 3, NEAR);
	assert_float_equal(shares[1], 5, NEAR);
}

/* Either alone hides behind the other: removing one regains nothing, both 10. */
static void
what_only_both_regain_is_shared_evenly(void **state)
{
	const double worth[] = { 0, 0, 0, 10 };
	double shares[2];

	(void)state;
	shapley(worth, 2, shares);
	assert_float_equal(shares[0], 5, NEAR);
	assert_float_equal(shares[1], 5, NEAR);
}

/*
 * By hand, orders of causes 0, 1, 2 and what each regains in its turn, with worth by mask
 * {} 0, {0} 4, {1} 1, {01} 7, {2} 0, {02} 4, {12} 5, {012} 12:
 * 012: 4 3 5; 021: 4 8 0; 102: 6 1 5; 120: 7 1 4; 201: 4 8 0; 210: 7 5 0. Sums 32, 26, 14; of six.
 */
static void
three_causes_by_hand(void **state)
{
	const double worth[] = { 0, 4, 1, 7, 0, 4, 5, 12 };
	double shares[3];

	(void)state;
	shapley(worth, 3, shares);
	assert_float_equal(shares[0], 32.0 / 6, NEAR);
	assert_float_equal(shares[1], 26.0 / 6, NEAR);
	assert_float_equal(shares[2], 14.0 / 6, NEAR);
}

/* A cause that changes nothing has no share, one that helps a negative one, and all sum to what all are worth. */
static void
six_causes_sum_up(void **state)
{
	const double alone[] = { 7, 1, 0, -2, 4, 0.5 };
	double worth[1 << SHAPLEY_MAX], shares[SHAPLEY_MAX], sum = 0;

	(void)state;
	for (uint32_t set = 0; set < 1u << SHAPLEY_MAX; set++) {
		worth[set] = (set & 3) == 3 ? 6 : 0; /* the first two beside each other */
		for (uint32_t i = 0; i < SHAPLEY_MAX; i++)
			worth[set] += set >> i & 1 ? alone[i] : 0;
	}
	shapley(worth, SHAPLEY_MAX, shares);
	for (uint32_t i = 0; i < SHAPLEY_MAX; i++) {
		assert_float_equal(shares[i], alone[i] + (i < 2 ? 3 : 0), NEAR);
		sum += shares[i];
	}
	assert_float_equal(sum, worth[(1 << SHAPLEY_MAX) - 1], NEAR);
}

/* Of all pairs of four. */
static double
tau(const double *a, const double *b)
{
	struct kendall pairs = { 0 };

	for (size_t i = 0; i < 4; i++)
		for (size_t j = 0; j < i; j++)
			kendall_add(&pairs, (a[i] > a[j]) - (a[i] < a[j]), (b[i] > b[j]) - (b[i] < b[j]));
	return kendall_tau(&pairs);
}

static void
orders_are_compared_with_ties(void **state)
{
	const double a[] = { 4, 3, 1, 1 }, b[] = { 3, 5, 2, 0 }, up[] = { 1, 2, 3, 4 }, down[] = { 9, 7, 5, 0 },
		     flat[] = { 1, 1, 1, 1 };

	(void)state;
	/* a: five pairs in order, b: six; of a's five, 4 > 3 goes against 3 < 5, four alike. */
	assert_float_equal(tau(a, b), 3 / sqrt(5.0 * 6), NEAR);
	assert_float_equal(tau(up, down), -1, NEAR);
	assert_float_equal(tau(up, up), 1, NEAR);
	assert_float_equal(tau(up, flat), 0, NEAR);
}

/* Each order has every cause once, an even and an odd one are each other's reverse, and another seed draws others. */
static void
orders_are_drawn_in_pairs(void **state)
{
	uint32_t order[10], back[10], other[10], differ = 0;

	(void)state;
	for (uint32_t pair = 0; pair < 8; pair++) {
		uint32_t seen = 0;

		shapley_order(1, 2 * pair, 10, order);
		shapley_order(1, 2 * pair + 1, 10, back);
		shapley_order(2, 2 * pair, 10, other);
		for (uint32_t i = 0; i < 10; i++) {
			seen |= 1u << order[i];
			assert_int_equal(order[i], back[9 - i]);
			differ += order[i] != other[i];
		}
		assert_int_equal(seen, (1u << 10) - 1);
	}
	assert_true(differ > 40);
}

UNIT_TEST(shapley)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(orders_are_drawn_in_pairs),
		cmocka_unit_test(what_adds_up_is_shared_as_it_is),
		cmocka_unit_test(what_only_both_regain_is_shared_evenly),
		cmocka_unit_test(three_causes_by_hand),
		cmocka_unit_test(six_causes_sum_up),
		cmocka_unit_test(orders_are_compared_with_ties),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
