/* SPDX-License-Identifier: BSD-3-Clause */
/* Items in the order of their keys, and equal ones in the order in which they were. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>

#include <cmocka.h>

#include "common/array.h"
#include "common/prng.h"
#include "diag/collect/radix.h"
#include "tests/unit/unit.h"

#define COUNT 5000

static struct radix_item items[COUNT], room[COUNT];

static void
assert_sorted(const struct radix_item *sorted)
{
	bool seen[COUNT] = { false };

	for (uint32_t i = 0; i < COUNT; i++) {
		const struct radix_item *a = &sorted[i], *b = &sorted[i + 1 < COUNT ? i + 1 : i];

		assert_false(seen[a->index]);
		seen[a->index] = true;
		if (i + 1 == COUNT)
			continue;
		assert_true(a->key[0] <= b->key[0]);
		if (a->key[0] == b->key[0])
			assert_true(a->key[1] <= b->key[1]);
		if (a->key[0] == b->key[0] && a->key[1] == b->key[1])
			assert_true(a->index < b->index);
	}
}

static void
test_orders(void **state)
{
	/* Which bits of the keys differ: of all bytes, of none, of one word, of an odd number of bytes. */
	static const uint64_t masks[][RADIX_WORDS] = {
		{ UINT64_MAX, UINT64_MAX }, { 0, 0 }, { 0, 0xff }, { 3, 3 }, { 0xff00000000000000, 0 }, { 0xffff00, 7 },
	};
	struct prng prng;

	(void)state;
	prng_init(&prng, 1, 0);
	for (size_t m = 0; m < ARRAY_LEN(masks); m++) {
		for (uint32_t i = 0; i < COUNT; i++) {
			items[i].index = i;
			for (int w = 0; w < RADIX_WORDS; w++)
				items[i].key[w] = (prng_next(&prng) & masks[m][w]) | (0x0123456789abcdef & ~masks[m][w]);
		}
		assert_sorted(radix_sort(items, room, COUNT));
	}
}

static void
test_none(void **state)
{
	(void)state;
	assert_ptr_equal(radix_sort(items, room, 0), items);
}

UNIT_TEST(radix)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_orders), cmocka_unit_test(test_none) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
