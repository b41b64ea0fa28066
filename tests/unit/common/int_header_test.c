/* SPDX-License-Identifier: BSD-3-Clause */
/* What a hop's 64 bits hold, and what does not fit. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "common/int_header.h"
#include "tests/unit/unit.h"

static void
test_a_hop_is_laid_out_as_in_the_paper(void **state)
{
	/* rate 4 bits, time 24, sent 20 in 128 B, queue 16 in 80 B */
	uint64_t bits = int_pack(0x3, 0x123456, 128ULL * 0xabcde, 80ULL * 0xf012);
	struct int_hop hop = int_unpack(bits);

	assert_true(bits == 0x3123456abcdef012ULL);
	assert_int_equal(hop.rate, 3);
	assert_int_equal(hop.time_ns, 0x123456);
	assert_int_equal(hop.tx_units, 0xabcde);
	assert_int_equal(hop.queue_bytes, 80 * 0xf012);
}

static void
test_units_round_down_counters_wrap_and_queues_end(void **state)
{
	struct int_hop hop = int_unpack(int_pack(15, (1 << 24) + 7, 128ULL * (1 << 20) + 128 * 5 + 127, 80 * 10 + 79));

	assert_int_equal(hop.rate, 15);
	assert_int_equal(hop.time_ns, 7);
	assert_int_equal(hop.tx_units, 5);
	assert_int_equal(hop.queue_bytes, 800);
	assert_int_equal(int_unpack(int_pack(0, 0, 0, 1ULL << 40)).queue_bytes, 80 * 0xffff);
}

static void
test_five_hops_have_room_and_all_change_the_path(void **state)
{
	struct int_header header = { .count = 0 };
	uint16_t paths[7] = { 0 };

	for (uint32_t i = 0; i < 6; i++) {
		int_push(&header, 100 + i, i);
		paths[i + 1] = header.path;
		assert_int_not_equal(paths[i + 1], paths[i]);
	}
	assert_int_equal(header.count, INT_MAX_HOPS);
	for (uint32_t i = 0; i < INT_MAX_HOPS; i++)
		assert_int_equal(header.hops[i], i);
	assert_int_equal(header.path, 100 ^ 101 ^ 102 ^ 103 ^ 104 ^ 105);
	int_push(&header, 0x5001, 0); /* folded to 12 bits: 0x001 ^ 0x005 */
	assert_int_equal(header.path, 100 ^ 101 ^ 102 ^ 103 ^ 104 ^ 105 ^ 4);
}

UNIT_TEST(int_header)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_hop_is_laid_out_as_in_the_paper),
		cmocka_unit_test(test_units_round_down_counters_wrap_and_queues_end),
		cmocka_unit_test(test_five_hops_have_room_and_all_change_the_path),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
