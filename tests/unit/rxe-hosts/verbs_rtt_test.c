/* SPDX-License-Identifier: BSD-3-Clause */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "rxe-hosts/device/verbs/stamps.h"
#include "tests/unit/unit.h"

#define US 1000000ull

static void
send(struct rtt_filter *filter, uint64_t now_ns)
{
	filter->in_flight = true;
	filter->sent_ns = now_ns;
}

static void
base_and_noise_of_the_idle_path(void **state)
{
	struct rtt_filter filter = { 0 };
	uint64_t samples[100];

	/* 60 at 400 us, 39 up to 600 us, one of 50 ms that the scheduler made */
	for (uint64_t i = 0; i < 100; i++)
		samples[99 - i] = (i < 60 ? 400 : i < 99 ? 600 : 50000) * US;
	rtt_idle(&filter, samples, 100);
	assert_true(filter.base_ps == 400 * US);
	assert_true(filter.noise_ps == 200 * US);
	/* 500 us at 1 Gb/s are 62500 B; twice that */
	assert_int_equal(rtt_window_bytes(&filter, 1000000000), 125000);
	rtt_idle(&filter, samples, 1);
	assert_true(filter.base_ps == 400 * US && filter.noise_ps == 0);
}

static void
one_slow_probe_is_no_event(void **state)
{
	struct rtt_filter filter = { 0 };

	send(&filter, 1000000);
	assert_true(rtt_sample(&filter, 1400000) == 0); /* the first alone says nothing */
	send(&filter, 2000000);
	assert_true(rtt_sample(&filter, 9000000) == 400 * US); /* 7 ms, once */
	send(&filter, 10000000);
	assert_true(rtt_sample(&filter, 10500000) == 500 * US);
	send(&filter, 11000000);
	assert_true(rtt_sample(&filter, 14000000) == 500 * US);
	send(&filter, 15000000);
	assert_true(rtt_sample(&filter, 17000000) == 2000 * US); /* twice in a row */
	assert_true(rtt_confirmed_ps(&filter) == 2000 * US);
	rtt_forget(&filter);
	assert_true(rtt_confirmed_ps(&filter) == 0);
}

static void
a_probe_without_an_answer_ages(void **state)
{
	struct rtt_filter filter = { 0 };

	assert_true(rtt_age_ps(&filter, 5000000) == 0);
	send(&filter, 1000000);
	assert_true(rtt_age_ps(&filter, 1000000) == 0);
	/* Nothing before it: half of its age counts. */
	assert_true(rtt_age_ps(&filter, 3000000) == 1000 * US);
	rtt_sample(&filter, 5000000); /* 4 ms */
	send(&filter, 6000000);
	/* A slow one before it: its whole age, up to that. */
	assert_true(rtt_age_ps(&filter, 9000000) == 3000 * US);
	assert_true(rtt_age_ps(&filter, 11000000) == 4000 * US);
	assert_true(rtt_age_ps(&filter, 26000000) == 10000 * US);
}

UNIT_TEST(verbs_rtt)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(base_and_noise_of_the_idle_path),
		cmocka_unit_test(one_slow_probe_is_no_event),
		cmocka_unit_test(a_probe_without_an_answer_ages),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
