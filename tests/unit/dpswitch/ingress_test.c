/* SPDX-License-Identifier: BSD-3-Clause */
/* The buffer model of the reference case, by hand: 1000 KiB, 4 ports, 4 KiB reserves, 75,000 B headroom, alpha 1/8. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "dpswitch/queue/ingress.h"
#include "tests/unit/unit.h"

/* pool = 1,024,000 - 4 x 75,000 - 4 x 4,096 = 707,616 B; threshold of an empty switch = 88,452 B */
static const struct pfc_params reference = {
	.model = PFC_DYNAMIC,
	.alpha_num = 1,
	.alpha_shift = 3,
	.pool_bytes = 707616,
	.reserve_bytes = 4096,
	.xon_offset_bytes = 3072,
};

static void
threshold_is_an_eighth_of_the_free_pool(void **state)
{
	(void)state;
	assert_int_equal(pfc_threshold(&reference, 0), 88452);
	assert_int_equal(pfc_threshold(&reference, 7616), 87500);
	assert_int_equal(pfc_threshold(&reference, 707615), 0);
	assert_int_equal(pfc_threshold(&reference, 800000), 0);
}

static void
static_threshold_ignores_the_pool(void **state)
{
	struct pfc_params params = { .model = PFC_STATIC, .xoff_bytes = 65536 };

	(void)state;
	assert_int_equal(pfc_threshold(&params, 12345678), 65536);
}

static void
reserve_is_first_and_is_not_shared(void **state)
{
	struct pfc_ingress in = { .headroom_limit_bytes = 75000 };
	struct pfc_pool pool = { 0 };

	(void)state;
	assert_int_equal(pfc_charge(&reference, &pool, &in, 4096), 0);
	assert_int_equal(in.bytes, 4096);
	assert_int_equal(pool.shared_bytes, 0);
	assert_int_equal(pfc_charge(&reference, &pool, &in, 1348), 0);
	assert_int_equal(in.bytes, 5444);
	assert_int_equal(pool.shared_bytes, 1348);
	/* a frame that straddles the reserve takes only what exceeds it */
	in = (struct pfc_ingress){ .bytes = 4000 };
	pool = (struct pfc_pool){ 0 };
	pfc_charge(&reference, &pool, &in, 1348);
	assert_int_equal(pool.shared_bytes, 1252);
}

/*
 * One ingress alone: with u bytes shared the threshold is (707,616 - u) / 8, so it is reached at u = 707,616 / 9 =
 * 78,624. Frames of 1348 B: the 58th above the reserve makes 78,184 (no pause: 78,184 < 78,679), the 59th would make
 * 79,532 > 78,679 and goes to headroom.
 */
static void
an_ingress_alone_pauses_at_a_ninth_of_the_pool(void **state)
{
	struct pfc_ingress in = { .bytes = 4096, .headroom_limit_bytes = 75000 };
	struct pfc_pool pool = { 0 };

	(void)state;
	for (int i = 0; i < 58; i++) {
		assert_int_equal(pfc_charge(&reference, &pool, &in, 1348), 0);
		assert_false(pfc_should_pause(&reference, &pool, &in));
	}
	assert_int_equal(pool.shared_bytes, 78184);
	assert_int_equal(pfc_charge(&reference, &pool, &in, 1348), 0);
	assert_int_equal(in.headroom_bytes, 1348);
	assert_int_equal(pool.shared_bytes, 78184);
	assert_true(pfc_should_pause(&reference, &pool, &in));
}

/* Released: headroom first; resumes when use + 3072 <= threshold, i.e. u <= (707,616 - 8 x 3072) / 9 = 75,893. */
static void
resumes_below_the_offset(void **state)
{
	struct pfc_ingress in = { .bytes = 4096 + 78184, .headroom_bytes = 1348, .pausing = true };
	struct pfc_pool pool = { .shared_bytes = 78184 };

	(void)state;
	pfc_release(&reference, &pool, &in, 1348);
	assert_int_equal(in.headroom_bytes, 0);
	assert_int_equal(pool.shared_bytes, 78184);
	assert_false(pfc_should_resume(&reference, &pool, &in));
	pfc_release(&reference, &pool, &in, 1348); /* 76,836 */
	assert_false(pfc_should_resume(&reference, &pool, &in));
	pfc_release(&reference, &pool, &in, 1348); /* 75,488 */
	assert_int_equal(pool.shared_bytes, 75488);
	assert_true(pfc_should_resume(&reference, &pool, &in));
}

static void
headroom_overrun_is_reported_with_its_size(void **state)
{
	struct pfc_ingress in = { .bytes = 100000, .headroom_bytes = 74000, .headroom_limit_bytes = 75000 };
	struct pfc_pool pool = { .shared_bytes = 95904 };

	(void)state;
	assert_int_equal(pfc_charge(&reference, &pool, &in, 1348), 348);
}

/* The proof must never say "cannot cross" where some order of events crosses. */
static void
quiet_windows_are_proved_conservatively(void **state)
{
	struct pfc_ingress in = { .bytes = 4096 + 70000 };
	struct pfc_pool pool = { .shared_bytes = 70000 };

	(void)state;
	/* threshold if 5,000 more are shared: (707,616 - 75,000) / 8 = 79,077 */
	assert_true(pfc_cannot_cross(&reference, &pool, &in, 5000, 5000));
	assert_false(pfc_cannot_cross(&reference, &pool, &in, 9078, 5000));
	/* others fill the pool: threshold (707,616 - 170,000) / 8 = 67,202 */
	assert_false(pfc_cannot_cross(&reference, &pool, &in, 0, 100000));
	in.pausing = true;
	assert_false(pfc_cannot_cross(&reference, &pool, &in, 0, 0));
}

/* 2000 B reserved, XOFF 10000 B above: a byte more goes to headroom, and the last that fits pauses already. */
static void
the_threshold_itself_is_shared_and_pauses(void **state)
{
	const struct pfc_params params = { .model = PFC_STATIC, .xoff_bytes = 10000, .reserve_bytes = 2000 };
	struct pfc_ingress in = { .bytes = 2000, .headroom_limit_bytes = 75000 }, more = in;
	struct pfc_pool pool = { 0 }, other = { 0 };

	(void)state;
	assert_true(pfc_cannot_cross(&params, &pool, &in, 9999, 9999));
	assert_false(pfc_cannot_cross(&params, &pool, &in, 10000, 10000));
	pfc_charge(&params, &pool, &in, 9999);
	assert_false(pfc_should_pause(&params, &pool, &in));
	pfc_charge(&params, &pool, &in, 1);
	assert_int_equal(in.bytes, 12000);
	assert_int_equal(in.headroom_bytes, 0);
	assert_true(pfc_should_pause(&params, &pool, &in));
	pfc_charge(&params, &other, &more, 10001);
	assert_int_equal(more.bytes, 2000);
	assert_int_equal(more.headroom_bytes, 10001);
}

/* Whoever needs no more than its reserve is not paused for a pool that others have filled. */
static void
a_full_pool_stops_none_within_its_reserve(void **state)
{
	const struct pfc_ingress in = { .bytes = 4096 };
	const struct pfc_pool pool = { .shared_bytes = 707616 };

	(void)state;
	assert_int_equal(pfc_threshold(&reference, pool.shared_bytes), 0);
	assert_false(pfc_should_pause(&reference, &pool, &in));
	assert_true(pfc_should_resume(&reference, &pool, &in));
	assert_true(pfc_cannot_cross(&reference, &pool, &in, 0, 0));
	assert_false(pfc_cannot_cross(&reference, &pool, &in, 1, 1));
}

/* Charges and releases conserve bytes whatever their order. */
static void
accounting_returns_to_zero(void **state)
{
	struct pfc_ingress in[2] = { { .headroom_limit_bytes = 75000 }, { .headroom_limit_bytes = 75000 } };
	struct pfc_pool pool = { 0 };

	(void)state;
	for (int i = 0; i < 100; i++)
		pfc_charge(&reference, &pool, &in[i % 2], 60 + 13 * (uint32_t)i);
	for (int i = 99; i >= 0; i--)
		pfc_release(&reference, &pool, &in[i % 2], 60 + 13 * (uint32_t)i);
	for (int i = 0; i < 2; i++) {
		assert_int_equal(in[i].bytes, 0);
		assert_int_equal(in[i].headroom_bytes, 0);
	}
	assert_int_equal(pool.shared_bytes, 0);
}

UNIT_TEST(ingress)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(threshold_is_an_eighth_of_the_free_pool),
		cmocka_unit_test(static_threshold_ignores_the_pool),
		cmocka_unit_test(reserve_is_first_and_is_not_shared),
		cmocka_unit_test(an_ingress_alone_pauses_at_a_ninth_of_the_pool),
		cmocka_unit_test(resumes_below_the_offset),
		cmocka_unit_test(headroom_overrun_is_reported_with_its_size),
		cmocka_unit_test(quiet_windows_are_proved_conservatively),
		cmocka_unit_test(the_threshold_itself_is_shared_and_pauses),
		cmocka_unit_test(a_full_pool_stops_none_within_its_reserve),
		cmocka_unit_test(accounting_returns_to_zero),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
