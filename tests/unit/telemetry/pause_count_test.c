/* SPDX-License-Identifier: BSD-3-Clause */
/* How often and how long a port was paused, by class. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "telemetry/pause_count.h"
#include "tests/unit/unit.h"

static void
pauses_are_added_up(void **state)
{
	struct pause_count counts[8] = { 0 };

	(void)state;
	pause_counts_change(counts, 0, 1u << 3, 100);
	assert_int_equal(pause_count_ps(&counts[3], true, 130), 30);
	pause_counts_change(counts, 1u << 3, 0, 150);
	pause_counts_change(counts, 0, 1u << 3 | 1u << 5, 200);
	pause_counts_change(counts, 1u << 3 | 1u << 5, 1u << 5, 210);
	assert_int_equal(counts[3].times, 2);
	assert_int_equal(counts[3].since_ps, 200);
	assert_int_equal(counts[3].last_ps, 10);
	assert_int_equal(pause_count_ps(&counts[3], false, 1000), 60);
	assert_int_equal(pause_count_ps(&counts[5], true, 1000), 800);
	assert_int_equal(counts[4].times, 0);
}

static void
what_stays_is_not_counted_again(void **state)
{
	struct pause_count counts[8] = { 0 };

	(void)state;
	pause_counts_change(counts, 0, 1, 5);
	pause_counts_change(counts, 1, 1, 9);
	pause_counts_change(counts, 1, 0, 12);
	pause_counts_change(counts, 0, 0, 20);
	assert_int_equal(counts[0].times, 1);
	assert_int_equal(counts[0].total_ps, 7);
}

UNIT_TEST(pause_count)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(pauses_are_added_up),
		cmocka_unit_test(what_stays_is_not_counted_again),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
