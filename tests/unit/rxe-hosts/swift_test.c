/* SPDX-License-Identifier: BSD-3-Clause */
/* Swift against ACKs worked out by hand from Kumar et al., SIGCOMM 2020, Algorithm 1 and section 3.5. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "rxe-hosts/roce/cc/algorithms.h"
#include "tests/unit/unit.h"

#define LINE 8000000000ULL /* a byte a nanosecond */
#define US PS_PER_US

static struct cc_params params;
static struct cc cc;
static struct swift *const state = (struct swift *)cc.state;

static struct swift_params *
own(void)
{
	return (struct swift_params *)params.own;
}

static int
setup(void **unused)
{
	const struct swift_params given = {
		.ai = 1,
		.beta = 0.8,
		.max_mdf = 0.5,
		.min_cwnd = 0.01,
		.base_target_ps = 25 * US,
		.hop_ps = US,
		.fs_range_ps = 30 * US,
		.fs_min_cwnd = 0.25, /* 1 / sqrt = 2 */
		.fs_max_cwnd = 4,    /* 1 / sqrt = 0.5 */
		.retx_reset = 3,
	};
	struct err err = { "" };

	params = (struct cc_params){
		.ops = &cc_swift,
		.base_rtt_ps = 10 * US,
		.payload_bytes = 900,
		.frame_bytes = 1000,
	};
	memcpy(params.own, &given, sizeof(given));
	int ret = cc_swift.prepare(&params, &err);

	cc_reset(&cc, &params, LINE);
	return ret;
}

static void
ack(uint64_t now_us, uint64_t rtt_us, uint32_t acked, uint32_t switches)
{
	const struct cc_ack received = {
		.now_ps = now_us * US, .rtt_ps = rtt_us * US, .acked = acked, .switches = switches
	};

	cc_swift.acked(&cc, &params, &received);
}

static void
near(double value, double expected)
{
	if (value < expected - 1e-6 || value > expected + 1e-6)
		fail_msg("%.9f, expected %.9f", value, expected);
}

static void
test_starts_with_the_bandwidth_delay_product(void **unused)
{
	near(state->cwnd, 10);     /* 10 us at 1 B/ns in frames of 1000 B */
	near(state->max_cwnd, 25); /* 25 us */
	assert_int_equal(cc.window_bytes, 9000);
	assert_int_equal(cc.rate_bps, LINE);
}

static void
test_flow_scaling_of_the_target(void **unused)
{
	/* alpha = 30 / (2 - 0.5) = 20 us, beta = -20 / 2 = -10 us */
	near(own()->fs_alpha_ps / US, 20);
	near(own()->fs_beta_ps / US, -10);
	/* At cwnd 1 the target is 25 + 20 - 10 = 35 us: 34 us is below, and 36 above, by 1 - 0.8 / 36. */
	state->cwnd = 1;
	ack(100, 34, 1, 0);
	near(state->cwnd, 2);
	state->cwnd = 1;
	ack(200, 36, 1, 0);
	near(state->cwnd, 1 - 0.8 / 36);
	/* Never more than fs_range: 55 us at cwnd 0.04, where 20 / 0.2 - 10 = 90. */
	state->cwnd = 0.04;
	ack(300, 54, 1, 0);
	near(state->cwnd, 1.04);
	state->cwnd = 0.04;
	ack(400, 56, 1, 0);
	near(state->cwnd, 0.04 * (1 - 0.8 / 56));
	/* Nothing from 4 packets on, and a microsecond a switch: 28 us over three. */
	state->cwnd = 10;
	ack(500, 27, 1, 3);
	near(state->cwnd, 10.1);
	state->cwnd = 10;
	ack(600, 32, 1, 3);
	near(state->cwnd, 10 * (1 - 0.8 * 4 / 32)); /* 9 */
}

static void
test_additive_increase_counts_acknowledged_packets(void **unused)
{
	ack(20, 20, 1, 2); /* 10 + 1 / 10 */
	near(state->cwnd, 10.1);
	assert_int_equal(cc.window_bytes, 9000);
	ack(21, 20, 2, 2); /* + 2 / 10.1 */
	near(state->cwnd, 10.1 + 2 / 10.1);
	state->cwnd = 24.99;
	ack(22, 20, 5, 2);
	near(state->cwnd, 25); /* the most */
}

static void
test_one_decrease_a_round_trip(void **unused)
{
	ack(100, 54, 1, 2); /* target 27 us: x (1 - 0.8 x 27 / 54) = 0.6 */
	near(state->cwnd, 6);
	ack(120, 54, 1, 2); /* 20 us later: not yet */
	ack(153, 54, 1, 2);
	near(state->cwnd, 6);
	ack(154, 54, 1, 2);
	near(state->cwnd, 3.6);
	ack(10000, 2700, 1, 2); /* nearly x 0.2, but for max_mdf */
	near(state->cwnd, 1.8);
}

static void
test_below_one_packet_the_window_is_paced(void **unused)
{
	state->cwnd = 0.5;
	ack(100, 100, 1, 0); /* target 25 + 20 / sqrt(0.5) - 10 = 43.2843 us */
	near(state->cwnd, 0.5 * (1 - 0.8 * (100 - 43.28427125) / 100));
	state->cwnd = 0.25;
	ack(150, 100, 1, 0); /* too early to decrease; rtt / cwnd = 400 us a frame: 20 Mbps */
	assert_int_equal(cc.rate_bps, 20000000);
	assert_int_equal(cc.window_bytes, 900);
	ack(160, 20, 1, 0); /* below one, a packet acknowledged adds ai */
	near(state->cwnd, 1.25);
	assert_int_equal(cc.rate_bps, LINE);
}

static void
test_losses(void **unused)
{
	ack(100, 20, 1, 0); /* 10.1 */
	cc_swift.lost(&cc, &params, CC_LOSS_NAK, 110 * US);
	near(state->cwnd, 5.05);
	cc_swift.lost(&cc, &params, CC_LOSS_NAK, 120 * US); /* within the same round trip */
	near(state->cwnd, 5.05);
	cc_swift.lost(&cc, &params, CC_LOSS_TIMEOUT, 4000 * US);
	near(state->cwnd, 2.525);
	cc_swift.lost(&cc, &params, CC_LOSS_TIMEOUT, 8000 * US);
	near(state->cwnd, 1.2625);
	cc_swift.lost(&cc, &params, CC_LOSS_TIMEOUT, 16000 * US); /* the third in a row */
	near(state->cwnd, 0.01);
	ack(20000, 20, 1, 0);
	cc_swift.lost(&cc, &params, CC_LOSS_TIMEOUT, 24000 * US); /* the ACK ended the row */
	near(state->cwnd, 1.01 / 2);
}

static void
test_an_ack_without_sample_changes_nothing(void **unused)
{
	ack(100, 0, 3, 0);
	near(state->cwnd, 10);
}

/* 1.5 x 10 us. */
static void
test_the_base_target_follows_the_network_where_none_is_given(void **unused)
{
	own()->base_target_ps = 0;
	cc_reset(&cc, &params, LINE);
	near(state->max_cwnd, 15);
	ack(100, 14, 1, 0);
	near(state->cwnd, 10.1);
	state->cwnd = 10;
	ack(200, 16, 1, 0); /* x (1 - 0.8 / 16) */
	near(state->cwnd, 9.5);
}

static void
expect_refused(const char *what)
{
	struct err err = { "" };

	own()->where = (struct cfg_where){ .file = "s.cfg", .line = 4 };
	assert_true(cc_swift.prepare(&params, &err) < 0);
	assert_non_null(strstr(err.text, "s.cfg:4"));
	assert_non_null(strstr(err.text, what));
}

static void
test_odd_parameters_are_errors(void **unused)
{
	own()->fs_min_cwnd = 4;
	expect_refused("4 lies not below fs_max_cwnd 4");
	own()->fs_min_cwnd = 0.25;
	own()->max_cwnd = 0.5;
	expect_refused("0.5 is less than a packet");
}

UNIT_TEST(swift)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(test_starts_with_the_bandwidth_delay_product, setup),
		cmocka_unit_test_setup(test_flow_scaling_of_the_target, setup),
		cmocka_unit_test_setup(test_additive_increase_counts_acknowledged_packets, setup),
		cmocka_unit_test_setup(test_one_decrease_a_round_trip, setup),
		cmocka_unit_test_setup(test_below_one_packet_the_window_is_paced, setup),
		cmocka_unit_test_setup(test_losses, setup),
		cmocka_unit_test_setup(test_an_ack_without_sample_changes_nothing, setup),
		cmocka_unit_test_setup(test_the_base_target_follows_the_network_where_none_is_given, setup),
		cmocka_unit_test_setup(test_odd_parameters_are_errors, setup),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
