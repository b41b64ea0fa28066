/* SPDX-License-Identifier: BSD-3-Clause */
/* TIMELY against completion events worked out by hand from Mittal et al., SIGCOMM 2015, Algorithm 1. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "rxe-hosts/roce/cc/algorithms.h"
#include "tests/unit/unit.h"

#define LINE 10000000000ULL
#define US PS_PER_US

static struct cc_params params;
static struct cc cc;

static struct timely_params *
own(void)
{
	return (struct timely_params *)params.own;
}

static int
setup(void **unused)
{
	const struct timely_params given = {
		.alpha = 0.5,
		.beta = 0.8,
		.max_decrease = 1,
		.delta_bps = 10000000,
		.min_rate_bps = 100000000,
		.t_low_ps = 50 * US,
		.t_high_ps = 500 * US,
		.min_rtt_ps = 20 * US,
		.hai = 5,
		.segment_bytes = 1000,
	};
	struct err err = { "" };

	params = (struct cc_params){ .ops = &cc_timely, .base_rtt_ps = 10 * US, .payload_bytes = 1000 };
	memcpy(params.own, &given, sizeof(given));
	cc_reset(&cc, &params, LINE);
	return cc_timely.prepare(&params, &err);
}

/* One packet's ACK, with its RTT. */
static void
sample(uint64_t rtt_us)
{
	struct cc_ack ack = { .rtt_ps = rtt_us * US, .acked = 1 };

	cc_timely.acked(&cc, &params, &ack);
}

static void
near(double expected_bps)
{
	double off = (double)cc.rate_bps - expected_bps;

	if (off < -2 || off > 2)
		fail_msg("rate %llu, expected %.1f", (unsigned long long)cc.rate_bps, expected_bps);
}

static void
test_gradient_decreases_and_increases(void **unused)
{
	assert_int_equal(cc.rate_bps, LINE);
	assert_true(cc.window_bytes == CC_NO_WINDOW);
	sample(100); /* the first has no difference: gradient 0, +10 Mbps, and the line is the limit */
	near(10e9);
	sample(110); /* diff 10, smoothed 5 us: gradient 5 / 20 = 0.25; x (1 - 0.8 x 0.25) */
	near(8e9);
	sample(110); /* diff 0, smoothed 2.5: gradient 0.125; x 0.9 */
	near(7.2e9);
	sample(90); /* diff -20, smoothed 1.25 - 10 = -8.75: +10 Mbps */
	near(7.21e9);
}

static void
test_thresholds_overrule_the_gradient(void **unused)
{
	sample(100);
	sample(110);
	sample(110);
	sample(90);
	near(7.21e9);
	sample(30); /* smoothed -4.375 - 30 = -34.375 */
	near(7.22e9);
	sample(45); /* rising, smoothed -17.1875 + 7.5; below T_low: +10 Mbps */
	near(7.23e9);
	sample(1000); /* above T_high: x (1 - 0.8 x (1 - 500 / 1000)) = 0.6 */
	near(4.338e9);
	sample(900); /* smoothed 0.5 x 472.65625 - 50: rising still; above T_high: x (1 - 0.8 x (1 - 5 / 9)) = 29 / 45 */
	near(4.338e9 * 29 / 45);
}

static void
test_five_events_without_rising_delay_increase_fivefold(void **unused)
{
	sample(100);
	sample(110); /* 8 Gbps */
	for (uint64_t rtt_us = 90, n = 1; n <= 4; n++, rtt_us -= 2) {
		sample(rtt_us);
		near(8e9 + (double)n * 10e6);
	}
	sample(80); /* the fifth */
	near(8.04e9 + 50e6);
	sample(79);
	near(8.04e9 + 100e6);
	sample(200); /* smoothed 0.5 x (smoothed) + 60: rising: no row any more */
	assert_true(cc.rate_bps < 8.14e9);
	double after = (double)cc.rate_bps;

	sample(60); /* smoothed falls by 70: +10 Mbps alone */
	near(after + 10e6);
}

static void
test_a_segment_is_one_event(void **unused)
{
	own()->segment_bytes = 3000;
	for (int i = 0; i < 3; i++)
		sample(100); /* one event: the first sample */
	sample(110);
	sample(150);
	assert_int_equal(cc.rate_bps, LINE);
	sample(110); /* the third of its segment: diff 10, x 0.8 */
	near(8e9);
}

static void
test_no_sample_no_event(void **unused)
{
	sample(100);
	sample(0);
	sample(110);
	near(8e9);
}

static void
test_the_rate_has_a_floor(void **unused)
{
	sample(100);
	sample(490); /* smoothed 195 us, gradient 9.75: the factor is below 0 */
	assert_int_equal(cc.rate_bps, 100000000);
	cc_reset(&cc, &params, 50000000); /* a line slower than the floor */
	sample(100);
	sample(490);
	assert_int_equal(cc.rate_bps, 50000000);
}

/* As in the authors' own model: at most half of it. */
static void
test_one_decrease_is_limited(void **unused)
{
	own()->max_decrease = 0.5;
	sample(100);
	sample(490);
	assert_int_equal(cc.rate_bps, LINE / 2);
}

/* A thousandth of 10 Gbps. */
static void
test_the_increase_follows_the_line_where_none_is_given(void **unused)
{
	own()->delta_bps = 0;
	sample(100);
	sample(110);
	sample(90); /* smoothed 2.5 - 10: +10 Mbps */
	near(8.01e9);
}

static void
test_base_rtt_normalizes_where_min_rtt_is_not_given(void **unused)
{
	own()->min_rtt_ps = 0;
	sample(100);
	sample(110); /* 5 / 10 = 0.5: x 0.6 */
	near(6e9);
}

static void
test_thresholds_in_the_wrong_order_are_an_error(void **unused)
{
	struct err err = { "" };

	own()->where = (struct cfg_where){ .file = "t.cfg", .line = 3 };
	own()->t_low_ps = own()->t_high_ps;
	assert_true(cc_timely.prepare(&params, &err) < 0);
	assert_non_null(strstr(err.text, "t.cfg:3"));
	assert_non_null(strstr(err.text, "t_low"));
}

UNIT_TEST(timely)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(test_gradient_decreases_and_increases, setup),
		cmocka_unit_test_setup(test_thresholds_overrule_the_gradient, setup),
		cmocka_unit_test_setup(test_five_events_without_rising_delay_increase_fivefold, setup),
		cmocka_unit_test_setup(test_a_segment_is_one_event, setup),
		cmocka_unit_test_setup(test_no_sample_no_event, setup),
		cmocka_unit_test_setup(test_the_rate_has_a_floor, setup),
		cmocka_unit_test_setup(test_one_decrease_is_limited, setup),
		cmocka_unit_test_setup(test_the_increase_follows_the_line_where_none_is_given, setup),
		cmocka_unit_test_setup(test_base_rtt_normalizes_where_min_rtt_is_not_given, setup),
		cmocka_unit_test_setup(test_thresholds_in_the_wrong_order_are_an_error, setup),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
