/* SPDX-License-Identifier: BSD-3-Clause */
/* Who took a port's link from data that waited: every flow, either direction by itself, however many there are. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "dpswitch/truth/port_truth.h"
#include "tests/unit/unit.h"

#define FLOWS 1000u

static const struct overtaking *
find(const struct overtakings *all, uint32_t flow, bool acks)
{
	for (uint32_t i = 0; i < all->cap; i++)
		if (all->at[i].packets != 0 && all->at[i].flow == flow && all->at[i].acks == acks)
			return &all->at[i];
	return NULL;
}

static void
directions_are_distinguished(void **state)
{
	struct overtakings all = { 0 };

	(void)state;
	overtakings_add(&all, 0, true, 60, 100);
	overtakings_add(&all, 0, false, 1000, 200);
	overtakings_add(&all, 0, true, 60, 300);
	assert_int_equal(all.count, 2);
	assert_int_equal(find(&all, 0, true)->packets, 2);
	assert_int_equal(find(&all, 0, true)->wire_bytes, 120);
	assert_int_equal(find(&all, 0, true)->first_ps, 100);
	assert_int_equal(find(&all, 0, true)->last_ps, 300);
	assert_int_equal(find(&all, 0, false)->wire_bytes, 1000);
	overtakings_fini(&all);
	assert_int_equal(all.count, 0);
}

static void
none_is_left_out(void **state)
{
	struct overtakings all = { 0 };

	(void)state;
	for (uint32_t round = 1; round <= 3; round++)
		for (uint32_t flow = 0; flow < FLOWS; flow++)
			overtakings_add(&all, flow, flow % 3 == 0, flow, round);
	assert_int_equal(all.count, FLOWS);
	for (uint32_t flow = 0; flow < FLOWS; flow++) {
		const struct overtaking *at = find(&all, flow, flow % 3 == 0);

		assert_non_null(at);
		assert_int_equal(at->packets, 3);
		assert_int_equal(at->wire_bytes, 3 * flow);
		assert_null(find(&all, flow, flow % 3 != 0));
	}
	overtakings_fini(&all);
}

UNIT_TEST(overtakings)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(directions_are_distinguished),
		cmocka_unit_test(none_is_left_out),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
