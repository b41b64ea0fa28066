/* SPDX-License-Identifier: BSD-3-Clause */
/* Arrays in one block: apart, aligned, zero, and none of them where one does not fit. Search in an array in order. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "common/array.h"
#include "tests/unit/unit.h"

struct arrays {
	uint8_t *bytes;
	uint64_t *words;
	long double *wide;
	char *none;
};

static void *
make(struct arrays *arrays, size_t count)
{
	const struct slab_row rows[] = {
		SLAB_ROW(arrays->bytes, 3),
		SLAB_ROW(arrays->words, count),
		SLAB_ROW(arrays->wide, 2),
		SLAB_ROW(arrays->none, 0),
	};

	return slab_alloc(rows, ARRAY_LEN(rows));
}

static void
arrays_are_apart_aligned_and_zero(void **state)
{
	struct arrays arrays;
	void *block = make(&arrays, 5);

	(void)state;
	assert_non_null(block);
	assert_null(arrays.none);
	assert_int_equal((uintptr_t)arrays.words % _Alignof(uint64_t), 0);
	assert_int_equal((uintptr_t)arrays.wide % _Alignof(long double), 0);
	for (int i = 0; i < 5; i++)
		assert_int_equal(arrays.words[i], 0);
	memset(arrays.bytes, 1, 3);
	memset(arrays.words, 2, 5 * sizeof(*arrays.words));
	memset(arrays.wide, 3, 2 * sizeof(*arrays.wide));
	assert_int_equal(arrays.bytes[2], 1);
	for (int i = 0; i < 5; i++)
		assert_int_equal(arrays.words[i], UINT64_C(0x0202020202020202));
	free(block);
}

static void
its_size_is_the_sum(void **state)
{
	struct arrays arrays;
	const struct slab_row rows[] = { SLAB_ROW(arrays.bytes, 3), SLAB_ROW(arrays.words, 5), SLAB_ROW(arrays.none, 0) };

	(void)state;
	assert_int_equal(slab_bytes(rows, ARRAY_LEN(rows)), 3 + 5 * 8);
}

static void
without_memory_no_pointer_is_left(void **state)
{
	struct arrays arrays;

	(void)state;
	memset(&arrays, 1, sizeof(arrays));
	assert_null(make(&arrays, SIZE_MAX / 8 + 2)); /* its bytes are no size_t */
	assert_null(arrays.bytes);
	assert_null(arrays.wide);
	memset(&arrays, 1, sizeof(arrays));
	assert_null(make(&arrays, SIZE_MAX / 8 - 8)); /* its bytes are more than an object may have */
	assert_null(arrays.words);
}

struct stamped {
	uint32_t at;
	uint64_t time_ps;
};

/* Equal ones, the ends of time, parts of an array and an empty one. */
static void
an_array_in_order_is_found_by_halves(void **state)
{
	static const struct stamped rows[] = { { 0, 5 }, { 1, 5 }, { 2, 7 }, { 3, 9 }, { 4, UINT64_MAX } };
	static const struct {
		uint32_t first, end;
		uint64_t time_ps;
		uint32_t from, after;
	} cases[] = { { 0, 5, 0, 0, 0 },          { 0, 5, 5, 0, 2 }, { 0, 5, 6, 2, 2 }, { 0, 5, 9, 3, 4 },
		      { 0, 5, UINT64_MAX, 4, 5 }, { 1, 3, 5, 1, 2 }, { 1, 3, 8, 3, 3 }, { 2, 2, 0, 2, 2 } };

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		uint32_t first = cases[i].first, end = cases[i].end;

		assert_int_equal(ARRAY_FROM(rows, time_ps, first, end, cases[i].time_ps), cases[i].from);
		assert_int_equal(ARRAY_AFTER(rows, time_ps, first, end, cases[i].time_ps), cases[i].after);
	}
	assert_int_equal(ARRAY_FROM((const struct stamped *)NULL, time_ps, 0, 0, 3), 0);
}

UNIT_TEST(slab)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(arrays_are_apart_aligned_and_zero),
		cmocka_unit_test(its_size_is_the_sum),
		cmocka_unit_test(without_memory_no_pointer_is_left),
		cmocka_unit_test(an_array_in_order_is_found_by_halves),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
