/* SPDX-License-Identifier: BSD-3-Clause */
/* DCQCN against steps worked out by hand from Zhu et al., SIGCOMM 2015, Eq. 1 to 4, in the reference model's periods. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "rxe-hosts/roce/cc/algorithms.h"
#include "tests/unit/unit.h"

#define LINE 100000000000ULL
#define US PS_PER_US

static struct cc_params params;
static struct cc cc;
static struct dcqcn *const state = (struct dcqcn *)cc.state;

static int
setup(void **unused)
{
	struct dcqcn_params own = {
		.g = 1.0 / 256,
		.alpha_interval_ps = US,
		.decrease_interval_ps = 4 * US,
		.increase_timer_ps = 900 * US,
		.ai_bps = 50000000,
		.hai_bps = 100000000,
		.min_rate_bps = 100000000,
		.fast_recovery = 1,
		.echo = CC_ECHO_ACK,
		.cnp_interval_ps = 50 * US,
	};
	struct err err = { "" };

	params = (struct cc_params){ .ops = &cc_dcqcn };
	memcpy(params.own, &own, sizeof(own));
	cc_reset(&cc, &params, LINE);
	return cc_dcqcn.prepare(&params, &err);
}

static void
near(uint64_t rate_bps, double expected)
{
	double off = (double)rate_bps - expected;

	if (off < -2 || off > 2)
		fail_msg("rate %llu, expected %.1f", (unsigned long long)rate_bps, expected);
}

static void
test_first_decrease_is_4us_after_the_first_notification(void **unused)
{
	double a4 = (255.0 / 256) * (255.0 / 256) * (255.0 / 256) * (255.0 / 256); /* alpha 1, four quiet updates */

	assert_true(cc.due_ps == TIME_NEVER);
	cc_marked(&cc, &params, 10 * US);
	assert_int_equal(cc.rate_bps, LINE);
	assert_int_equal(cc.due_ps, 14 * US);
	cc_advance(&cc, &params, 14 * US - 1);
	assert_int_equal(cc.rate_bps, LINE);
	cc_advance(&cc, &params, 14 * US);
	near(cc.rate_bps, 1e11 * (1 - a4 / 2)); /* 50.777 Gbps */
	assert_int_equal(state->target_bps, LINE);
	/* Without another notification the 4 us grid passes without effect. */
	cc_advance(&cc, &params, 900 * US);
	near(cc.rate_bps, 1e11 * (1 - a4 / 2));
	assert_int_equal(cc.due_ps, 914 * US);
}

static void
test_alpha_rises_with_notifications_and_the_target_stays_until_an_increase(void **unused)
{
	double q = 255.0 / 256, g = 1.0 / 256, alpha = q * q * q * q, rate = 1e11 * (1 - alpha / 2);

	cc_marked(&cc, &params, 0);
	/* In (4us, 5us): counted by the update at 5us; those at 6, 7, 8 are quiet; decrease at 8us. */
	cc_marked(&cc, &params, 4 * US + 500000);
	cc_marked(&cc, &params, 4 * US + 600000);
	alpha = (q * alpha + g) * q * q * q;
	cc_advance(&cc, &params, 8 * US);
	near(cc.rate_bps, rate * (1 - alpha / 2));
	assert_int_equal(state->target_bps, LINE); /* no increase since the last decrease */
	assert_int_equal(state->increase_at_ps, 908 * US);
}

static void
test_a_notification_on_a_boundary_belongs_to_the_next_period(void **unused)
{
	cc_marked(&cc, &params, 0);
	cc_marked(&cc, &params, 4 * US);
	assert_true(cc.rate_bps < LINE); /* the decrease at 4us has happened */
	assert_int_equal(state->decrease_at_ps, 8 * US);
}

static void
test_increase_stages(void **unused)
{
	state->started = true;
	cc.rate_bps = 20000000000ULL;
	state->target_bps = 40000000000ULL;
	state->increase_at_ps = cc.due_ps = 900 * US;
	cc_advance(&cc, &params, 900 * US); /* stage 0: fast recovery */
	assert_int_equal(cc.rate_bps, 30000000000ULL);
	assert_int_equal(state->target_bps, 40000000000ULL);
	cc_advance(&cc, &params, 1800 * US); /* stage 1: additive */
	assert_int_equal(state->target_bps, 40050000000ULL);
	assert_int_equal(cc.rate_bps, 35025000000ULL);
	cc_advance(&cc, &params, 2700 * US); /* stage 2: hyper */
	assert_int_equal(state->target_bps, 40150000000ULL);
	assert_int_equal(cc.rate_bps, 37587500000ULL);
}

static void
test_increase_precedes_decrease_at_one_instant(void **unused)
{
	cc_marked(&cc, &params, 0); /* decrease at 4us, increase due at 904us = a point of the 4us grid */
	cc_advance(&cc, &params, 4 * US);
	uint64_t before = cc.rate_bps, increased = before / 2 + LINE / 2;

	cc_marked(&cc, &params, 901 * US);
	cc_advance(&cc, &params, 904 * US);
	assert_int_equal(state->target_bps, increased); /* an increase came first: the target becomes the rate */
	assert_true(cc.rate_bps < increased && cc.rate_bps > increased * 9 / 10); /* alpha has decayed to 0.03 */
}

static void
test_never_below_the_minimum_nor_above_line_rate(void **unused)
{
	for (uint64_t t = 0; t < 400 * US; t += 500000)
		cc_marked(&cc, &params, t);
	assert_int_equal(cc.rate_bps, 100000000ULL);
	cc_advance(&cc, &params, 10 * PS_PER_S);
	assert_true(cc.rate_bps >= LINE - 2 && cc.rate_bps <= LINE);
	assert_int_equal(state->target_bps, LINE);
	assert_true(cc.due_ps == TIME_NEVER); /* settled: nothing more to do */
}

static void
test_outcome_does_not_depend_on_polling(void **unused)
{
	struct cc lazy, busy;

	cc_reset(&lazy, &params, LINE);
	cc_reset(&busy, &params, LINE);
	for (uint64_t t = 0; t < 5000 * US; t += 700000) {
		bool notify = t % (49 * 700000) == 0;

		cc_advance(&busy, &params, t);
		if (notify) {
			cc_marked(&busy, &params, t);
			cc_marked(&lazy, &params, t);
		}
	}
	cc_advance(&lazy, &params, 5000 * US);
	cc_advance(&busy, &params, 5000 * US);
	assert_int_equal(lazy.rate_bps, busy.rate_bps);
	assert_memory_equal(&lazy, &busy, sizeof(lazy));
	assert_true(lazy.rate_bps < LINE);
}

/* Fast recovery until one of the two counts once, additive increase until both count twice, then hyper increase. */
static void
test_byte_counter_increases_beside_the_timer(void **unused)
{
	struct dcqcn_params *own = (struct dcqcn_params *)params.own;
	struct err err = { "" };

	assert_null(params.ops->sent); /* who has no byte counter pays nothing for it */
	own->byte_reset_bytes = 30000;
	assert_int_equal(cc_dcqcn.prepare(&params, &err), 0);
	params.ops->sent(&cc, &params, 1000000);
	assert_int_equal(state->bytes, 0); /* before the first decrease nothing counts */
	state->started = true;
	cc.rate_bps = 20000000000ULL;
	state->target_bps = 40000000000ULL;
	state->increase_at_ps = cc.due_ps = 900 * US;
	params.ops->sent(&cc, &params, 29000);
	assert_int_equal(cc.rate_bps, 20000000000ULL);
	params.ops->sent(&cc, &params, 1000);
	assert_int_equal(cc.rate_bps, 30000000000ULL);
	assert_int_equal(state->target_bps, 40000000000ULL);
	params.ops->sent(&cc, &params, 65000); /* two at once */
	assert_int_equal(state->target_bps, 40100000000ULL);
	assert_int_equal(state->bytes, 5000);
	assert_int_equal(cc.due_ps, 900 * US); /* the timer keeps its period */
	cc_advance(&cc, &params, 1800 * US);
	assert_int_equal(state->target_bps, 40200000000ULL);
	cc_advance(&cc, &params, 2700 * US); /* two by each */
	assert_int_equal(state->target_bps, 40300000000ULL);
	cc_marked(&cc, &params, 2701 * US);
	cc_advance(&cc, &params, state->decrease_at_ps);
	params.ops->sent(&cc, &params, 30000); /* of bytes alone */
	assert_int_equal(state->byte_stage, 1);
	uint64_t raised_bps = cc.rate_bps;
	cc_marked(&cc, &params, 2705 * US);
	cc_advance(&cc, &params, state->decrease_at_ps);
	assert_int_equal(state->target_bps, raised_bps); /* an increase by bytes ends the target's stay, too */
	assert_int_equal(state->byte_stage, 0);
	assert_int_equal(state->bytes, 0);
	for (int i = 0; i < 4000; i++)
		params.ops->sent(&cc, &params, 1000000); /* to line rate, where the timer ends, too */
	assert_true(cc.rate_bps >= LINE - 2 && cc.due_ps == TIME_NEVER);
}

UNIT_TEST(dcqcn)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(test_first_decrease_is_4us_after_the_first_notification, setup),
		cmocka_unit_test_setup(test_alpha_rises_with_notifications_and_the_target_stays_until_an_increase, setup),
		cmocka_unit_test_setup(test_a_notification_on_a_boundary_belongs_to_the_next_period, setup),
		cmocka_unit_test_setup(test_increase_stages, setup),
		cmocka_unit_test_setup(test_increase_precedes_decrease_at_one_instant, setup),
		cmocka_unit_test_setup(test_never_below_the_minimum_nor_above_line_rate, setup),
		cmocka_unit_test_setup(test_byte_counter_increases_beside_the_timer, setup),
		cmocka_unit_test_setup(test_outcome_does_not_depend_on_polling, setup),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
