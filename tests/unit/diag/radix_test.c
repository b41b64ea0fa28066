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

/* Of counts that are compared and of some that are not, and of numbers in which few or all bytes differ. */
static void
test_words(void **state)
{
	static const uint64_t masks[] = { UINT64_MAX, 0, 0xff, 0xff00000000000000, 0xffff00, 0x8000000000000001 };
	static const uint32_t counts[] = { 0, 1, 2, 127, 128, COUNT };
	static uint64_t words[COUNT], other[COUNT];
	struct prng prng;

	(void)state;
	prng_init(&prng, 2, 0);
	for (size_t k = 0; k < ARRAY_LEN(masks) * ARRAY_LEN(counts); k++) {
		uint64_t mask = masks[k % ARRAY_LEN(masks)], sum = 0, sorted_sum = 0;
		uint32_t count = counts[k / ARRAY_LEN(masks)];
		const uint64_t *sorted;

		for (uint32_t i = 0; i < count; i++) {
			words[i] = (prng_next(&prng) & mask) | (0x0123456789abcdef & ~mask);
			sum += words[i] * words[i];
		}
		sorted = radix_sort_words(words, other, count);
		assert_true(sorted == words || sorted == other);
		for (uint32_t i = 0; i < count; i++) {
			assert_true(i == 0 || sorted[i - 1] <= sorted[i]);
			sorted_sum += sorted[i] * sorted[i];
		}
		assert_true(sorted_sum == sum);
	}
}

UNIT_TEST(radix)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_orders), cmocka_unit_test(test_none),
					    cmocka_unit_test(test_words) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
