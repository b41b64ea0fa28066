/* SPDX-License-Identifier: BSD-3-Clause */
/* Arrays that grow: room for what is asked for, whatever the size of an element. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "common/array.h"
#include "tests/unit/unit.h"

static void
there_is_room_for_elements_of_any_size(void **state)
{
	static const size_t sizes[] = { 1, 24, GROW_FIRST_BYTES, GROW_FIRST_BYTES + 1, 3 * GROW_FIRST_BYTES };

	(void)state;
	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		uint8_t *array = NULL;
		size_t cap = 0;

		for (size_t need = 1; need < 100; need++) {
			array = grow(array, &cap, need, sizes[i], "elements");
			assert_true(cap >= need);
			array[need * sizes[i] - 1] = (uint8_t)need;
		}
		for (size_t need = 1; need < 100; need++)
			assert_int_equal(array[need * sizes[i] - 1], need);
		free(array);
	}
}

UNIT_TEST(grow)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(there_is_room_for_elements_of_any_size),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
