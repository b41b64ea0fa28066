/* SPDX-License-Identifier: BSD-3-Clause */
/* HPCC against ACKs worked out by hand from Li et al., SIGCOMM 2019, Algorithm 1 and Eq. 2 to 4. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "rxe-hosts/roce/cc/algorithms.h"
#include "tests/unit/unit.h"

#define LINE 80000000000ULL /* 10 B a nanosecond */
#define US PS_PER_US

static const struct int_rates rates = { .bps = { LINE, LINE / 2 }, .count = 2 };
static struct cc_params params;
static struct cc cc;
static struct hpcc *const state = (struct hpcc *)cc.state;

static struct hpcc_params *
own(void)
{
	return (struct hpcc_params *)params.own;
}

/* T = 10 us: the line holds 100000 B, a link of half its rate 50000 B. */
static int
setup(void **unused)
{
	const struct hpcc_params given = {
		.eta = 0.95,
		.max_stage = 5,
		.wai_bytes = 1000,
		.base_rtt_ps = 10 * US,
		.min_rate_bps = 800000000, /* 1000 B in T */
	};

	params = (struct cc_params){ .ops = &cc_hpcc, .payload_bytes = 1000, .frame_bytes = 1100, .rates = &rates };
	memcpy(params.own, &given, sizeof(given));
	cc_reset(&cc, &params, LINE);
	return 0;
}

/* What one link says. */
struct look {
	uint32_t rate;
	uint64_t time_ns, tx_bytes, queue_bytes;
};

static void
ack_of(const struct look *looks, uint32_t count, uint32_t una, uint32_t nxt)
{
	struct int_header header = { .count = 0 };
	struct cc_ack ack = { .now_ps = 20 * US, .una = una, .nxt = nxt, .telemetry = &header };

	for (uint32_t i = 0; i < count; i++)
		int_push(&header, i, int_pack(looks[i].rate, looks[i].time_ns, looks[i].tx_bytes, looks[i].queue_bytes));
	cc_hpcc.acked(&cc, &params, &ack);
}

static void
ack(uint64_t time_ns, uint64_t tx_bytes, uint64_t queue_bytes, uint32_t una, uint32_t nxt)
{
	ack_of(&(struct look){ 0, time_ns, tx_bytes, queue_bytes }, 1, una, nxt);
}

static void
near(double value, double expected)
{
	if (value < expected * (1 - 1e-9) - 1e-9 || value > expected * (1 + 1e-9) + 1e-9)
		fail_msg("%.9f, expected %.9f", value, expected);
}

static void
test_starts_with_the_lines_product_and_the_first_ack_is_only_kept(void **unused)
{
	assert_int_equal(cc.window_bytes, 100000);
	assert_int_equal(cc.rate_bps, LINE);
	ack(1000, 128000, 8000, 1, 50);
	assert_int_equal(cc.window_bytes, 100000);
	near(state->u, 1);
	assert_int_equal(state->update_seq, 50);
}

/*
 * 5 us later 51200 B more have left, 10.24 B/ns: 1.024 of the link. The shorter of the queues of 20000 and 30000 B is
 * 0.2 of its product. u = 1.224, tau / T = 0.5: U = 0.5 x 1 + 0.5 x 1.224 = 1.112. W = 100000 / (1.112 / 0.95) + 1000.
 */
static void
test_a_full_link_divides_the_window(void **unused)
{
	double window = 100000 / (1.112 / 0.95) + 1000;

	ack(1000, 128000, 20000, 1, 50);
	ack(6000, 128000 + 51200, 30000, 51, 90);
	near(state->u, 1.112);
	near(state->reference_bytes, window);
	assert_int_equal(cc.window_bytes, (uint64_t)window); /* 86431 */
	assert_int_equal(cc.rate_bps, (uint64_t)(window * 8 * PS_PER_S / (10 * US)));
	assert_int_equal(state->update_seq, 90);
	assert_int_equal(state->stage, 0);
}

/* Within a round trip every ACK starts from Wc: the window follows U, the reference stays. */
static void
test_within_a_round_trip_the_reference_stays(void **unused)
{
	ack(1000, 0, 20000, 1, 50);
	ack(6000, 51200, 30000, 50, 60); /* not behind 50 */
	near(state->u, 1.112);
	near(state->reference_bytes, 100000);
	assert_int_equal(cc.window_bytes, (uint64_t)(100000 / (1.112 / 0.95) + 1000));
	assert_int_equal(state->update_seq, 50);
	/* 1 us later, 10240 B more, queues 30000 and 40000: u = 1.024 + 0.3, U = 0.9 x 1.112 + 0.1 x 1.324 = 1.1332 */
	ack(7000, 51200 + 10240, 40000, 50, 61);
	near(state->u, 1.1332);
	assert_int_equal(cc.window_bytes, (uint64_t)(100000 / (1.1332 / 0.95) + 1000));
}

/* Below eta the window grows by W_AI a round trip, five times; then by what the link has left. */
static void
test_five_additive_stages_then_a_multiplicative_one(void **unused)
{
	uint64_t now_ns = 10000, sent = 0;
	uint32_t una = 51;

	state->reference_bytes = 40000;
	ack(now_ns, sent, 0, 1, 50);
	for (int i = 1; i <= 5; i++) {
		now_ns += 10000; /* T: U is u alone */
		sent += 51200;   /* 0.512 of the link */
		ack(now_ns, sent, 0, una, una + 40);
		una += 41;
		near(state->u, 0.512);
		near(state->reference_bytes, 40000 + i * 1000.0);
		assert_int_equal(state->stage, i);
	}
	ack(now_ns + 10000, sent + 51200, 0, una, una + 40);
	near(state->reference_bytes, 45000 / (0.512 / 0.95) + 1000); /* 84496 */
	assert_int_equal(state->stage, 0);
}

/* The link of half the rate is the fuller: u = 0.64 + 10000 / 50000 = 0.84 against 0.768. Its tau counts: 4 of 10 us. */
static void
test_the_fullest_link_counts(void **unused)
{
	const struct look before[] = { { 0, 1000, 0, 0 }, { 1, 2000, 0, 10000 } };
	const struct look after[] = { { 0, 6000, 38400, 0 }, { 1, 6000, 12800, 16000 } };

	ack_of(before, 2, 1, 50);
	ack_of(after, 2, 51, 90);
	near(state->u, 0.6 * 1 + 0.4 * 0.84); /* 0.936 < eta: additive, and the line is the limit */
	near(state->reference_bytes, 100000);
	assert_int_equal(state->stage, 1);
}

/* 24 bits of ns, 20 bits of 128 B: both wrap between the two looks. */
static void
test_counters_wrap(void **unused)
{
	ack((1 << 24) - 2000, 128ULL * ((1 << 20) - 200), 20000, 1, 50);
	ack((1 << 24) + 3000, 128ULL * ((1 << 20) + 200), 30000, 51, 90);
	near(state->u, 1.112); /* 5 us and 51200 B again */
}

static void
test_another_path_starts_over(void **unused)
{
	const struct look two[] = { { 0, 6000, 51200, 90000 }, { 0, 6000, 51200, 90000 } };

	ack(1000, 0, 90000, 1, 50);
	ack_of(two, 2, 51, 90);
	near(state->u, 1);
	assert_int_equal(cc.window_bytes, 100000);
	assert_int_equal(state->update_seq, 90);
}

static void
test_what_is_too_old_starts_over(void **unused)
{
	struct int_header header = { .count = 0 };
	struct cc_ack late = { .now_ps = 20 * US + 7 * PS_PER_MS, .una = 51, .nxt = 90, .telemetry = &header };

	ack(1000, 0, 90000, 1, 50);
	int_push(&header, 0, int_pack(0, 7000000, 51200, 90000));
	cc_hpcc.acked(&cc, &params, &late); /* 134 MB leave a link of 80 Gbps in 13.4 ms: half of that has passed */
	near(state->u, 1);
	assert_int_equal(cc.window_bytes, 100000);
}

static void
test_two_samples_at_one_instant_show_nothing(void **unused)
{
	ack(1000, 0, 90000, 1, 50);
	ack(1000, 0, 90000, 51, 90);
	near(state->u, 1);
}

static void
test_the_window_has_a_floor(void **unused)
{
	ack(10000, 0, 5000000, 1, 50);
	for (uint32_t i = 1; i < 20; i++)
		ack(10000 + i * 10000, i * 102400, 5000000, i * 50 + 1, i * 50 + 50); /* u = 51 */
	assert_int_equal(cc.window_bytes, 1018); /* where x = x * 0.95 / 51.024 + 1000 */
	own()->wai_bytes = 0;
	ack(300000, 31 * 102400, 5000000, 2000, 2050);
	assert_int_equal(cc.window_bytes, 1000);
	assert_int_equal(cc.rate_bps, 800000000);
}

static void
test_base_rtt_is_the_networks_where_none_is_given(void **unused)
{
	own()->base_rtt_ps = 0;
	params.base_rtt_ps = 20 * US;
	cc_reset(&cc, &params, LINE);
	assert_int_equal(cc.window_bytes, 200000);
}

UNIT_TEST(hpcc)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(test_starts_with_the_lines_product_and_the_first_ack_is_only_kept, setup),
		cmocka_unit_test_setup(test_a_full_link_divides_the_window, setup),
		cmocka_unit_test_setup(test_within_a_round_trip_the_reference_stays, setup),
		cmocka_unit_test_setup(test_five_additive_stages_then_a_multiplicative_one, setup),
		cmocka_unit_test_setup(test_the_fullest_link_counts, setup),
		cmocka_unit_test_setup(test_counters_wrap, setup),
		cmocka_unit_test_setup(test_another_path_starts_over, setup),
		cmocka_unit_test_setup(test_what_is_too_old_starts_over, setup),
		cmocka_unit_test_setup(test_two_samples_at_one_instant_show_nothing, setup),
		cmocka_unit_test_setup(test_the_window_has_a_floor, setup),
		cmocka_unit_test_setup(test_base_rtt_is_the_networks_where_none_is_given, setup),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
