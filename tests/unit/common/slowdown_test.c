/* SPDX-License-Identifier: BSD-3-Clause */
/* Percentiles by nearest rank, by size of flow. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "common/slowdown.h"
#include "tests/unit/unit.h"

#define FLOWS 200

static void
buckets_hold_their_sizes(void **state)
{
	struct slowdown_flow flows[FLOWS];
	struct slowdown_bucket buckets[SLOWDOWN_BUCKETS];
	double scratch[FLOWS];

	/* 100 short ones with slowdown 1.00 ... 1.99, then 100 of 1 MB with 10, 11, ... 109 */
	for (int i = 0; i < 100; i++) {
		flows[(i * 37) % 100] = (struct slowdown_flow){ 100 + (uint64_t)i, 1000 + 10 * (uint64_t)i, 1000 };
		flows[100 + (i * 37) % 100] = (struct slowdown_flow){ 1000000, 10 + (uint64_t)i, 1 };
	}
	slowdown_summary(flows, FLOWS, scratch, buckets);
	assert_int_equal(buckets[0].flows, 100);
	assert_true(buckets[0].p50 == 1.49 && buckets[0].p99 == 1.98 && buckets[0].max == 1.99);
	assert_int_equal(buckets[1].flows, 0);
	assert_true(buckets[1].p50 == 0 && buckets[1].max == 0);
	assert_int_equal(buckets[2].flows, 100);
	assert_true(buckets[2].p50 == 59 && buckets[2].p99 == 108 && buckets[2].max == 109);
	assert_int_equal(buckets[SLOWDOWN_BUCKETS - 1].flows, FLOWS);
	assert_true(buckets[SLOWDOWN_BUCKETS - 1].p50 == 1.99 && buckets[SLOWDOWN_BUCKETS - 1].max == 109);
}

static void
nothing_is_nothing(void **state)
{
	struct slowdown_bucket buckets[SLOWDOWN_BUCKETS];

	slowdown_summary(NULL, 0, NULL, buckets);
	assert_int_equal(buckets[SLOWDOWN_BUCKETS - 1].flows, 0);
	assert_true(buckets[SLOWDOWN_BUCKETS - 1].p99 == 0);
}

UNIT_TEST(slowdown)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(buckets_hold_their_sizes),
		cmocka_unit_test(nothing_is_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
