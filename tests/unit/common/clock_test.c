/* SPDX-License-Identifier: BSD-3-Clause */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "common/clock.h"
#include "tests/unit/unit.h"

static void
now_never_goes_back(void **state)
{
	uint64_t last_ns = clock_now_ns();

	assert_true(last_ns > 0);
	for (int i = 0; i < 10000; i++) {
		uint64_t now_ns = clock_now_ns();

		assert_true(now_ns >= last_ns);
		last_ns = now_ns;
	}
}

static void
sleep_reaches_its_time(void **state)
{
	uint64_t start_ns = clock_now_ns();
	uint64_t late_ns = clock_sleep_until_ns(start_ns + 2000000);
	uint64_t end_ns = clock_now_ns();

	assert_true(end_ns >= start_ns + 2000000);
	assert_true(start_ns + 2000000 + late_ns <= end_ns);
	/* What has passed is not waited for, and counts as late. */
	assert_true(clock_sleep_until_ns(start_ns) >= 2000000);
}

static void
sleep_costs_no_processor_time(void **state)
{
	uint64_t cpu_ns = clock_cpu_ns();

	clock_sleep_until_ns(clock_now_ns() + 20000000);
	assert_true(clock_cpu_ns() - cpu_ns < 10000000);
}

static void
work_costs_processor_time(void **state)
{
	uint64_t cpu_ns = clock_cpu_ns(), end_ns = clock_now_ns() + 1000000000;

	while (clock_cpu_ns() == cpu_ns && clock_now_ns() < end_ns)
		continue;
	assert_true(clock_cpu_ns() > cpu_ns);
}

static void
peak_rss_grows_with_memory(void **state)
{
	size_t size_bytes = 32 << 20;
	uint64_t before_bytes = clock_peak_rss_bytes();
	char *block = malloc(size_bytes);

	assert_non_null(block);
	assert_true(before_bytes > 64 << 10);
	assert_true(before_bytes < 4ULL << 30);
	memset(block, 1, size_bytes);
	assert_true(block[size_bytes / 2] == 1);
	assert_true(clock_peak_rss_bytes() >= before_bytes + size_bytes / 2);
	free(block);
}

UNIT_TEST(clock)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(now_never_goes_back),           cmocka_unit_test(sleep_reaches_its_time),
		cmocka_unit_test(sleep_costs_no_processor_time), cmocka_unit_test(work_costs_processor_time),
		cmocka_unit_test(peak_rss_grows_with_memory),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
