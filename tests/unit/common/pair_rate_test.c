/* SPDX-License-Identifier: BSD-3-Clause */
/* Throughput of pairs of hosts, by hand. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "common/array.h"
#include "common/slowdown.h"
#include "common/units.h"
#include "tests/unit/unit.h"

/*
 * From 1 to 2: flow 7 has 1,000 B in 0 to 100 ns and 2,000 B in 50 to 150 and 250 to 300 ns (3,000 B in 200 ns: 120
 * Gbps); flow 9 1,000 B in 400 ns (20 Gbps). From 2 to 1 a message of no time. From 1 to 0 one of 100 B in 8 ns (100
 * Gbps).
 */
static void
flows_of_a_pair_add(void **state)
{
	struct pair_message messages[] = {
		{ 1, 2, 9, 0, 400 * PS_PER_NS, 1000 },
		{ 2, 1, 1, 50, 50, 10 },
		{ 1, 2, 7, 250 * PS_PER_NS, 300 * PS_PER_NS, 1000 },
		{ 1, 2, 7, 0, 100 * PS_PER_NS, 1000 },
		{ 1, 0, 3, 92 * PS_PER_NS, 100 * PS_PER_NS, 100 },
		{ 1, 2, 7, 50 * PS_PER_NS, 150 * PS_PER_NS, 1000 },
	};
	struct pair_rate pairs[ARRAY_LEN(messages)];

	assert_int_equal(pair_rates(messages, ARRAY_LEN(messages), pairs), 3);
	assert_true(pairs[0].src == 1 && pairs[0].dst == 0 && pairs[0].flows == 1 && pairs[0].bytes == 100);
	assert_float_equal(pairs[0].bps, 100e9, 1);
	assert_true(pairs[1].src == 1 && pairs[1].dst == 2 && pairs[1].flows == 2 && pairs[1].bytes == 4000);
	assert_float_equal(pairs[1].bps, 140e9, 1);
	assert_true(pairs[2].src == 2 && pairs[2].dst == 1 && pairs[2].flows == 1 && pairs[2].bps == 0);
	assert_int_equal(pair_rates(messages, 0, pairs), 0);
}

UNIT_TEST(pair_rate)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(flows_of_a_pair_add),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
