/* SPDX-License-Identifier: BSD-3-Clause */
/* What a report costs on the wire: its head, and the headers of the packets that bring it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "telemetry/report.h"

static void
heads_are_as_long_as_they_must(void **state)
{
	(void)state;
	assert_int_equal(report_head_bytes(5, 0, 127), 1 + 1 + 1 + 1 + 1);
	assert_int_equal(report_head_bytes(300, 7u << 16 | 300, 1ULL << 35), 1 + 2 + 6 + 1 + 2);
	assert_int_equal(report_head_bytes(UINT32_MAX, UINT32_MAX, UINT64_MAX), 1 + 5 + 10 + 3 + 3);
}

/* Ethernet 14, IPv4 20, UDP 8, as often as the payload fills an IP packet of 1500 B; no frame is below 60 B. */
static void
headers_count(void **state)
{
	(void)state;
	struct report_count count = { 0 };

	assert_int_equal(report_wire_bytes((struct report_sum){ 11, 1 }), 60);
	assert_int_equal(report_wire_bytes((struct report_sum){ 19, 1 }), 61);
	assert_int_equal(report_wire_bytes((struct report_sum){ 33, 3 }), 3 * 60);
	assert_int_equal(report_wire_bytes((struct report_sum){ 1472, 1 }), 1472 + 42);
	assert_int_equal(report_wire_bytes((struct report_sum){ 1473, 1 }), 1473 + 84);
	assert_int_equal(report_wire_bytes((struct report_sum){ 2 * 1472, 2 }), 2 * (1472 + 42));
	assert_int_equal(report_wire_bytes((struct report_sum){ 0, 0 }), 0);
	report_count_add(&count, (struct report_sum){ 300, 3 }, (struct report_sum){ 100, 1 });
	assert_int_equal(count.reports, 3);
	assert_int_equal(count.bytes, 300 + 3 * 42);
	assert_int_equal(count.kept_reports, 1);
	assert_int_equal(count.kept_bytes, 100 + 42);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(heads_are_as_long_as_they_must),
		cmocka_unit_test(headers_count),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
