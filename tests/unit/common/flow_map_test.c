/* SPDX-License-Identifier: BSD-3-Clause */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "common/flow_map.h"
#include "common/port_flows.h"
#include "tests/unit/unit.h"

#define MANY 70000u /* no 16 bits hold them */

static void
keys_have_the_values_put_last(void **state)
{
	struct flow_map map;

	(void)state;
	flow_map_init(&map, MANY * 64);
	assert_int_equal(flow_map_find(&map, 0), FLOW_MAP_NONE);
	for (uint32_t i = 0; i < MANY; i++)
		assert_int_equal(flow_map_put(&map, i * 64, i), 0);
	for (uint32_t i = 0; i < MANY; i += 7)
		assert_int_equal(flow_map_put(&map, i * 64, i + 1), 0);
	assert_int_equal(map.count, MANY);
	for (uint32_t i = 0; i < MANY; i++) {
		assert_int_equal(flow_map_find(&map, i * 64), i + (i % 7 == 0));
		assert_int_equal(flow_map_find(&map, i * 64 + 1), FLOW_MAP_NONE);
	}
	flow_map_fini(&map);
	flow_map_fini(&map);
}

/* Of few keys and of many. */
static void
keys_are_forgotten(void **state)
{
	static const uint32_t keys[] = { 40, FLOW_MAP_DIRECT, FLOW_MAP_DIRECT + 1 };

	(void)state;
	for (size_t k = 0; k < sizeof(keys) / sizeof(keys[0]); k++) {
		struct flow_map map;

		flow_map_init(&map, keys[k]);
		flow_map_forget(&map, 3);
		flow_map_clear(&map);
		assert_int_equal(flow_map_find(&map, 39), FLOW_MAP_NONE);
		for (uint32_t key = 0; key < 40; key++)
			assert_int_equal(flow_map_put(&map, key, key), 0);
		assert_true((map.direct != NULL) == (keys[k] <= FLOW_MAP_DIRECT));
		flow_map_forget(&map, 3);
		assert_int_equal(flow_map_find(&map, 3), FLOW_MAP_NONE);
		assert_int_equal(flow_map_find(&map, 4), 4);
		assert_int_equal(flow_map_put(&map, 3, 9), 0);
		assert_int_equal(flow_map_find(&map, 3), 9);
		flow_map_clear(&map);
		for (uint32_t key = 0; key < 40; key++)
			assert_int_equal(flow_map_find(&map, key), FLOW_MAP_NONE);
		flow_map_fini(&map);
		flow_map_fini(&map);
	}
}

/* Linear probing with half of the cells free: flows in a row, or at a host's distance, look at two cells or so. */
static void
few_cells_are_looked_at(void **state)
{
	static const uint32_t strides[] = { 1, 2, 13, 16, 64, 1024 };

	(void)state;
	for (size_t s = 0; s < sizeof(strides) / sizeof(strides[0]); s++) {
		uint64_t looks = 0;
		struct flow_map map;

		flow_map_init(&map, UINT32_MAX);
		for (uint32_t i = 0; i < 4000; i++)
			assert_int_equal(flow_map_put(&map, i * strides[s], i), 0);
		for (uint32_t i = 0; i < 4000; i++) {
			uint32_t at = flow_map_cell(&map, i * strides[s]);

			for (looks++; map.cells[at].key != i * strides[s]; at = (at + 1) & map.mask)
				looks++;
		}
		assert_true(looks < 2 * 4000);
		flow_map_fini(&map);
	}
}

static void
a_port_numbers_more_flows_than_16_bits(void **state)
{
	const struct flow_table table = { .flows = NULL, .count = MANY };
	struct port_flows flows;

	(void)state;
	port_flows_init(&flows, &table);
	for (uint32_t i = 0; i < MANY; i++)
		assert_int_equal(port_flows_slot(&flows, MANY - 1 - i), i);
	assert_int_equal(port_flows_find(&flows, 0), MANY - 1);
	assert_int_equal(flows.count, MANY);
	port_flows_fini(&flows);
}

UNIT_TEST(flow_map)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(keys_have_the_values_put_last),
		cmocka_unit_test(keys_are_forgotten),
		cmocka_unit_test(few_cells_are_looked_at),
		cmocka_unit_test(a_port_numbers_more_flows_than_16_bits),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
