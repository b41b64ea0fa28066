/* SPDX-License-Identifier: BSD-3-Clause */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "common/units.h"
#include "dpswitch/fabric/pacer.h"
#include "tests/unit/unit.h"

#define ZERO_NS 1000000ULL
#define WINDOW_PS (50 * PS_PER_US)
#define US_NS 1000ULL

static uint64_t clock_ns, sleeps;
static uint64_t frame_ns; /* a frame from outside waits from then on */

static uint64_t
now_ns(void)
{
	return clock_ns;
}

static uint64_t
sleep_until_ns(uint64_t until_ns)
{
	sleeps++;
	clock_ns = until_ns > clock_ns ? until_ns : clock_ns;
	return 0;
}

static bool
pending(void *ctx)
{
	(void)ctx;
	return clock_ns >= frame_ns;
}

static struct pacer
make_pacer(void)
{
	struct pacer pacer;

	pacer_init(&pacer, ZERO_NS, WINDOW_PS, false);
	pacer.clock = (struct pacer_clock){ now_ns, sleep_until_ns };
	pacer.pending = pending;
	clock_ns = ZERO_NS;
	frame_ns = UINT64_MAX;
	sleeps = 0;
	return pacer;
}

static void
test_a_window_opens_at_its_start(void **state)
{
	struct pacer pacer = make_pacer();

	(void)state;
	assert_int_equal(pacer_wait(&pacer, 0, 0), 0);
	assert_int_equal(pacer_wait(&pacer, WINDOW_PS, WINDOW_PS), WINDOW_PS);
	assert_int_equal(clock_ns, ZERO_NS + 50 * US_NS);
	assert_int_equal(pacer.slept_ns, 50 * US_NS);
	assert_int_equal(pacer.late_windows, 0);
	assert_int_equal(pacer.windows, 2);
}

/* Nobody lived through the time in which all were stopped. */
static void
test_a_machine_that_is_stopped_does_not_live(void **state)
{
	struct pacer pacer = make_pacer();

	(void)state;
	pacer_wait(&pacer, 0, 0);
	pacer_wait(&pacer, WINDOW_PS, WINDOW_PS);
	assert_int_equal(pacer_lived_ps(&pacer), WINDOW_PS);
	clock_ns += 3000 * 1000 * US_NS;
	pacer_wait(&pacer, 2 * WINDOW_PS, 2 * WINDOW_PS);
	assert_int_equal(pacer_lived_ps(&pacer), WINDOW_PS + STALL_TIMER_SLICE_NS * PS_PER_NS);
}

static void
test_nothing_opens_before_time_zero(void **state)
{
	struct pacer pacer = make_pacer();

	(void)state;
	clock_ns = ZERO_NS - 200 * US_NS;
	frame_ns = 0;
	assert_int_equal(pacer_wait(&pacer, 0, 0), 0);
	assert_int_equal(clock_ns, ZERO_NS);
	assert_int_equal(pacer.late_windows, 0);
}

static void
test_a_received_frame_ends_the_idle_time(void **state)
{
	struct pacer pacer = make_pacer();
	uint64_t start_ps;

	(void)state;
	frame_ns = ZERO_NS + 320 * US_NS;
	start_ps = pacer_wait(&pacer, 0, 1000 * PS_PER_US);
	assert_in_range(start_ps, 320 * PS_PER_US, 320 * PS_PER_US + (uint64_t)PACER_NAP_NS * PS_PER_NS);
	/* but not before the window that is under way has passed */
	frame_ns = 0;
	assert_int_equal(pacer_wait(&pacer, 600 * PS_PER_US, 600 * PS_PER_US), 600 * PS_PER_US);
	assert_int_equal(clock_ns, ZERO_NS + 600 * US_NS);
}

static void
test_late_windows_are_counted_and_follow_at_once(void **state)
{
	struct pacer pacer = make_pacer();

	(void)state;
	pacer_wait(&pacer, 0, 0);
	clock_ns += 500 * US_NS;
	for (uint64_t i = 1; i <= 12; i++)
		assert_int_equal(pacer_wait(&pacer, i * WINDOW_PS, i * WINDOW_PS), i * WINDOW_PS);
	/* at 500 us: those from 50 to 400 us have ended before */
	assert_int_equal(pacer.late_windows, 8);
	assert_int_equal(pacer.worst_late_ps, 400 * PS_PER_US);
	assert_int_equal(pacer.behind_ns, 400 * US_NS); /* once, however many windows that were late then */
	assert_int_equal(pacer.latest_ps, 400 * PS_PER_US);
	assert_int_equal(clock_ns, ZERO_NS + 600 * US_NS);
}

static void
test_a_machine_that_is_too_slow_is_reported_by_how_much(void **state)
{
	struct pacer pacer = make_pacer();

	(void)state;
	for (uint64_t i = 0; i < 100; i++) {
		pacer_wait(&pacer, i * WINDOW_PS, i * WINDOW_PS);
		clock_ns += 100 * US_NS; /* work, twice as long as the window */
	}
	assert_float_equal(pacer_scale(&pacer), 0.5, 0.02);
}

static void
test_a_machine_that_was_away_once_is_not_slow(void **state)
{
	struct pacer pacer = make_pacer();

	(void)state;
	for (uint64_t i = 0; i < 100; i++) {
		pacer_wait(&pacer, i * WINDOW_PS, i * WINDOW_PS);
		clock_ns += (i == 50 ? 1000 : 1) * US_NS;
	}
	assert_true(pacer.late_windows > 5);
	assert_float_equal(pacer_scale(&pacer), 1, 0);
}

static void
test_a_busy_pacer_never_sleeps(void **state)
{
	struct pacer pacer = make_pacer();

	(void)state;
	pacer.busy = true;
	frame_ns = 0;
	assert_int_equal(pacer_wait(&pacer, 0, 1000 * PS_PER_US), 0);
	assert_int_equal(sleeps, 0);
	assert_int_equal(pacer.slept_ns, 0);
}

UNIT_TEST(pacer)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_window_opens_at_its_start),
		cmocka_unit_test(test_a_machine_that_is_stopped_does_not_live),
		cmocka_unit_test(test_nothing_opens_before_time_zero),
		cmocka_unit_test(test_a_received_frame_ends_the_idle_time),
		cmocka_unit_test(test_late_windows_are_counted_and_follow_at_once),
		cmocka_unit_test(test_a_machine_that_is_too_slow_is_reported_by_how_much),
		cmocka_unit_test(test_a_machine_that_was_away_once_is_not_slow),
		cmocka_unit_test(test_a_busy_pacer_never_sleeps),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
