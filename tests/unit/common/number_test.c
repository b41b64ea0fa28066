/* SPDX-License-Identifier: BSD-3-Clause */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "common/array.h"
#include "common/minmax.h"
#include "common/units.h"
#include "tests/unit/unit.h"

static void
test_whole_numbers_in_range(void **state)
{
	uint64_t value = 0;

	assert_true(number_parse("0", 0, 0, &value));
	assert_int_equal(value, 0);
	assert_true(number_parse("007", 1, 7, &value));
	assert_int_equal(value, 7);
	assert_true(number_parse("18446744073709551615", 0, UINT64_MAX, &value));
	assert_true(value == UINT64_MAX);
}

static void
test_nothing_else(void **state)
{
	const char *refused[] = { "", " 5", "+5", "-5", "5 ", "5x", "0x5", "5.0", "x", "11", "1", "18446744073709551616" };
	uint64_t value = 42;

	for (size_t i = 0; i < ARRAY_LEN(refused); i++)
		assert_false(number_parse(refused[i], 2, 10, &value));
	assert_false(number_parse("18446744073709551616", 0, UINT64_MAX, &value));
	assert_int_equal(value, 42);
}

static void
test_scan_stops_behind_the_number(void **state)
{
	uint64_t value = 42;

	assert_string_equal(number_scan("3:2", &value), ":2");
	assert_int_equal(value, 3);
	assert_null(number_scan(":2", &value));
	assert_null(number_scan("99999999999999999999:2", &value));
	assert_int_equal(value, 3);
}

static void
test_smaller_and_larger(void **state)
{
	assert_true(min_u64(1, UINT64_MAX) == 1 && max_u64(1, UINT64_MAX) == UINT64_MAX);
	assert_true(min_u64(2, 2) == 2 && max_u64(2, 2) == 2);
}

UNIT_TEST(number)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_whole_numbers_in_range),
		cmocka_unit_test(test_nothing_else),
		cmocka_unit_test(test_scan_stops_behind_the_number),
		cmocka_unit_test(test_smaller_and_larger),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
