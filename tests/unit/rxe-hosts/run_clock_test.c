/* SPDX-License-Identifier: BSD-3-Clause */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "common/prng.h"
#include "common/units.h"
#include "rxe-hosts/device/verbs/loop.h"
#include "tests/unit/unit.h"

#define OFFSET_NS 123456789012ull /* the fabric's clock is ahead by this */
#define MS 1000000ull

static void
the_exchange_that_nothing_delayed_counts(void **state)
{
	struct run_clock clock = { 0 };

	run_clock_exchange(&clock, 1000 * MS, 1000 * MS + OFFSET_NS + 9 * MS, 1010 * MS); /* held on its way there */
	assert_int_equal(clock.error_ns, 5 * MS);
	run_clock_exchange(&clock, 1020 * MS, 1020 * MS + OFFSET_NS + 100000, 1020 * MS + 200000);
	assert_true(clock.offset_ns == (int64_t)OFFSET_NS);
	assert_int_equal(clock.error_ns, 100000);
	run_clock_exchange(&clock, 1040 * MS, 1040 * MS + OFFSET_NS + 1000, 1070 * MS);
	assert_true(clock.offset_ns == (int64_t)OFFSET_NS);
}

static void
the_error_bounds_the_truth(void **state)
{
	struct prng prng;

	prng_init(&prng, 1, 0);
	for (int run = 0; run < 100; run++) {
		struct run_clock clock = { 0 };

		for (uint64_t i = 1; i < 60; i++) {
			uint64_t there = 50000 + prng_next(&prng) % (20 * MS), back = 50000 + prng_next(&prng) % (20 * MS);
			uint64_t sent = i * 500 * MS;

			run_clock_exchange(&clock, sent, sent + there + OFFSET_NS, sent + there + back);
			assert_true(llabs(clock.offset_ns - (int64_t)OFFSET_NS) <= (int64_t)clock.error_ns + 1);
		}
	}
}

/* Clocks drift apart: an old exchange must not hold on to its offset for ever. */
static void
old_exchanges_are_forgotten(void **state)
{
	struct run_clock clock = { 0 };

	run_clock_exchange(&clock, 0, OFFSET_NS, 0);
	for (uint64_t i = 1; i <= RUN_CLOCK_EXCHANGES; i++)
		run_clock_exchange(&clock, i * MS, i * MS + OFFSET_NS + 60000, i * MS + 20000);
	assert_true(clock.offset_ns == (int64_t)OFFSET_NS + 50000);
}

static void
time_of_the_run(void **state)
{
	struct run_clock clock = { 0 };

	run_clock_exchange(&clock, 100 * MS, 100 * MS + OFFSET_NS, 100 * MS);
	assert_true(run_clock_ps(&clock, 500 * MS) == 0);
	assert_true(run_clock_host_ns(&clock, 0) == UINT64_MAX);
	run_clock_start(&clock, OFFSET_NS + 200 * MS);
	assert_true(run_clock_ps(&clock, 150 * MS) == 0); /* zero lies ahead */
	assert_true(run_clock_host_ns(&clock, 0) == 200 * MS);
	assert_true(run_clock_ps(&clock, 201 * MS) == PS_PER_MS);
	assert_true(run_clock_host_ns(&clock, PS_PER_MS) == 201 * MS);
	assert_true(run_clock_host_ns(&clock, TIME_NEVER) == UINT64_MAX);
	/* The offset shrinks: time stands still until it is true again. */
	clock.offset_ns -= 500000;
	assert_true(run_clock_ps(&clock, 201 * MS + 100000) == PS_PER_MS);
	assert_true(run_clock_ps(&clock, 202 * MS) == PS_PER_MS + PS_PER_MS / 2);
	/* A point in time that is past */
	assert_true(run_clock_at_ps(&clock, 201 * MS + 800000) == PS_PER_MS / 10 * 13);
	assert_true(run_clock_at_ps(&clock, 150 * MS) == 0);
	assert_true(run_clock_ps(&clock, 202 * MS) == PS_PER_MS + PS_PER_MS / 2);
}

UNIT_TEST(run_clock)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_exchange_that_nothing_delayed_counts),
		cmocka_unit_test(the_error_bounds_the_truth),
		cmocka_unit_test(old_exchanges_are_forgotten),
		cmocka_unit_test(time_of_the_run),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
