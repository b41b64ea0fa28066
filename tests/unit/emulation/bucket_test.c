/* SPDX-License-Identifier: BSD-3-Clause */
/* The token bucket behind the budget: exact, whatever the rate. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "common/units.h"
#include "emulation/recorder/exporter.h"
#include "tests/unit/unit.h"

static void
bucket_counts_exactly(void **state)
{
	struct bucket bucket;

	bucket_init(&bucket, 3, 100); /* 3 B/s: one byte every 333 333 333 333.3 ps */
	assert_int_equal(bucket_bytes(&bucket), 100);
	assert_int_equal(bucket_ready_ps(&bucket, 100), 0);
	bucket_take(&bucket, 100);
	assert_int_equal(bucket_ready_ps(&bucket, 1), 333333333334);
	assert_int_equal(bucket_ready_ps(&bucket, 3), PS_PER_S);
	assert_true(bucket_ready_ps(&bucket, 101) == TIME_NEVER);
	bucket_fill(&bucket, 333333333333);
	assert_int_equal(bucket_bytes(&bucket), 0);
	bucket_fill(&bucket, 333333333334);
	assert_int_equal(bucket_bytes(&bucket), 1);
	/* Thirds are not lost: whole again after a second. */
	bucket_fill(&bucket, PS_PER_S);
	assert_int_equal(bucket_bytes(&bucket), 3);
	bucket_fill(&bucket, 10); /* has passed */
	assert_int_equal(bucket_bytes(&bucket), 3);
	bucket_fill(&bucket, 1000 * PS_PER_S);
	assert_int_equal(bucket_bytes(&bucket), 100);
}

UNIT_TEST(bucket)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(bucket_counts_exactly),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
