/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "common/array.h"
#include "common/units.h"
#include "tests/unit/unit.h"

static uint64_t
time_of(const char *text)
{
	uint64_t value = 0;

	assert_int_equal(units_parse_time(text, &value), 0);
	return value;
}

static uint64_t
rate_of(const char *text)
{
	uint64_t value = 0;

	assert_int_equal(units_parse_rate(text, &value), 0);
	return value;
}

static uint64_t
bytes_of(const char *text)
{
	uint64_t value = 0;

	assert_int_equal(units_parse_bytes(text, &value), 0);
	return value;
}

static void
test_parse(void **state)
{
	assert_int_equal(time_of("2us"), 2000000);
	assert_int_equal(time_of("0.002ms"), 2000000);
	assert_int_equal(time_of("600 ns"), 600000);
	assert_int_equal(time_of("10ps"), 10);
	assert_int_equal(time_of("0.0004ns"), 0); /* below half a picosecond */
	assert_int_equal(time_of("3s"), 3000000000000);
	assert_int_equal(rate_of("100Gbps"), 100000000000);
	assert_int_equal(rate_of("25 Gb/s"), 25000000000);
	assert_int_equal(rate_of("50Mb/s"), 50000000);
	assert_int_equal(rate_of("12.5Gbps"), 12500000000);
	assert_int_equal(rate_of("1000bps"), 1000);
	assert_int_equal(bytes_of("360MB"), 360000000);
	assert_int_equal(bytes_of("64KiB"), 65536);
	assert_int_equal(bytes_of("4096B"), 4096);
	assert_int_equal(bytes_of("4096"), 4096);
	assert_int_equal(bytes_of("1.5KiB"), 1536);
}

static void
test_refuse(void **state)
{
	static const char *const times[] = { "", "2", "us", "-2us", "2us3", "2 xs", ".us", "2.us", "1e3us", "2.3.4us" };
	uint64_t value = 7;

	for (size_t i = 0; i < ARRAY_LEN(times); i++)
		assert_int_equal(units_parse_time(times[i], &value), -EINVAL);
	assert_int_equal(units_parse_rate("100", &value), -EINVAL);
	assert_int_equal(units_parse_rate("0.5bps", &value), -EINVAL);
	assert_int_equal(units_parse_bytes("0.3B", &value), -EINVAL);
	assert_int_equal(units_parse_bytes("20XB", &value), -EINVAL);
	assert_int_equal(units_parse_time("20000000s", &value), -ERANGE); /* 2e19 ps > 2^64 */
	assert_int_equal(units_parse_bytes("99999999999999999999", &value), -ERANGE);
	assert_int_equal(value, 7);
}

static void
test_format(void **state)
{
	char buf[64];

	assert_string_equal(units_format_time(2000000, buf, sizeof(buf)), "2us");
	assert_string_equal(units_format_time(2500000, buf, sizeof(buf)), "2.5us");
	assert_string_equal(units_format_time(107840, buf, sizeof(buf)), "107.84ns");
	assert_string_equal(units_format_time(0, buf, sizeof(buf)), "0ps");
	assert_string_equal(units_format_time(TIME_NEVER, buf, sizeof(buf)), "never");
	assert_string_equal(units_format_rate(100000000000, buf, sizeof(buf)), "100Gbps");
	assert_string_equal(units_format_rate(1234, buf, sizeof(buf)), "1234bps");
	assert_string_equal(units_format_bytes(65536, buf, sizeof(buf)), "64KiB");
	assert_string_equal(units_format_bytes(360000000, buf, sizeof(buf)), "360MB");
	assert_string_equal(units_format_bytes(1348, buf, sizeof(buf)), "1348B");
	assert_string_equal(units_format_time(2000000, buf, 3), "2u");
}

/* What is printed reads back as the same value. */
static void
test_round_trip(void **state)
{
	uint64_t seen, value = 1;
	char buf[64];

	for (int i = 0; i < 60; i++, value = value * 2 + (uint64_t)i % 3) {
		assert_int_equal(units_parse_time(units_format_time(value, buf, sizeof(buf)), &seen), 0);
		assert_int_equal(seen, value);
		assert_int_equal(units_parse_rate(units_format_rate(value, buf, sizeof(buf)), &seen), 0);
		assert_int_equal(seen, value);
		assert_int_equal(units_parse_bytes(units_format_bytes(value, buf, sizeof(buf)), &seen), 0);
		assert_int_equal(seen, value);
	}
}

static void
test_serialize(void **state)
{
	/* 1348 B at 100 Gbps: 107.84 ns, floored to whole nanoseconds 107. */
	assert_int_equal(units_serialize_ps(1348, 100000000000, 0), 107840);
	assert_int_equal(units_serialize_ps(1348, 100000000000, PS_PER_NS), 107000);
	assert_int_equal(units_serialize_ps(60, 100000000000, PS_PER_NS), 4000);
}

UNIT_TEST(units)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_parse),      cmocka_unit_test(test_refuse),    cmocka_unit_test(test_format),
		cmocka_unit_test(test_round_trip), cmocka_unit_test(test_serialize),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
