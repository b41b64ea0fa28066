/* SPDX-License-Identifier: BSD-3-Clause */
/* Room in the heap for which the kernel is asked for large pages: malloc(3) gives it out. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "common/large_pages.h"
#include "tests/unit/unit.h"

#define ROOM_BYTES (64UL << 20)
#define BLOCK_BYTES (64UL << 10)
#define BLOCKS 256
#define LOOK 16 /* at every so many blocks: the kernel lists all mappings for it */

/* Whether large pages are asked for where an address is: VmFlags of its mapping in /proc/self/smaps has "hg". */
static bool
is_large(const void *at)
{
	FILE *file = fopen("/proc/self/smaps", "r");
	char line[512];
	unsigned long begin = 0, end = 0, address = (unsigned long)(uintptr_t)at;
	bool large = false;

	assert_non_null(file);
	while (fgets(line, sizeof(line), file) != NULL) {
		unsigned long from, to;

		if (sscanf(line, "%lx-%lx ", &from, &to) == 2) {
			begin = from;
			end = to;
		} else if (strncmp(line, "VmFlags:", 8) == 0 && begin <= address && address < end) {
			large = strstr(line, " hg") != NULL;
		}
	}
	fclose(file);
	return large;
}

static void
blocks_lie_in_large_pages(void **state)
{
	uint8_t *blocks[BLOCKS];
	uint32_t large = 0;

	(void)state;
#ifdef __SANITIZE_ADDRESS__
	print_message("SKIPPED: another allocator\n");
	skip();
#endif
	if (access("/sys/kernel/mm/transparent_hugepage/enabled", R_OK) != 0) {
		print_message("SKIPPED: this kernel has no transparent huge pages\n");
		skip();
	}
	large_pages_reserve(ROOM_BYTES);
	for (uint32_t i = 0; i < BLOCKS; i++) {
		blocks[i] = malloc(BLOCK_BYTES);
		memset(blocks[i], (int)i, BLOCK_BYTES);
		large += i % LOOK == 0 && is_large(blocks[i]);
	}
	/* All but those before the first large page, and in room that the heap had before. */
	assert_true(large >= (BLOCKS - 2 * (2U << 20) / BLOCK_BYTES) / LOOK);
	for (uint32_t i = 0; i < BLOCKS; i++) {
		assert_int_equal(blocks[i][0], (uint8_t)i);
		assert_int_equal(blocks[i][BLOCK_BYTES - 1], (uint8_t)i);
		free(blocks[i]);
	}
}

/* Room for nothing is none, and room twice is room. */
static void
room_is_made_more_than_once(void **state)
{
	uint8_t *block;

	(void)state;
	large_pages_reserve(0);
	large_pages_reserve(ROOM_BYTES);
	large_pages_reserve(2 * ROOM_BYTES);
	block = calloc(1, ROOM_BYTES / 4);
	assert_non_null(block);
	block[ROOM_BYTES / 4 - 1] = 1;
	free(block);
}

/* An array of its own mapping lies in large pages, all of it; one that shares pages with others is left alone. */
static void
arrays_are_advised(void **state)
{
	uint8_t *large, *small;

	(void)state;
#ifdef __SANITIZE_ADDRESS__
	print_message("SKIPPED: another allocator\n");
	skip();
#endif
	if (access("/sys/kernel/mm/transparent_hugepage/enabled", R_OK) != 0) {
		print_message("SKIPPED: this kernel has no transparent huge pages\n");
		skip();
	}
	large = calloc(1, ROOM_BYTES);
	small = calloc(1, BLOCK_BYTES);
	assert_null(large_pages_advise(NULL, ROOM_BYTES));
	assert_ptr_equal(large_pages_advise(small, BLOCK_BYTES), small);
	assert_ptr_equal(large_pages_advise(large, ROOM_BYTES), large);
	assert_true(is_large(large)); /* with the page of the allocator's header: one mapping, which can be moved */
	assert_true(is_large(large + ROOM_BYTES / 2));
	assert_true(is_large(large + ROOM_BYTES - BLOCK_BYTES));
	for (size_t i = 0; i < ROOM_BYTES; i += BLOCK_BYTES)
		assert_int_equal(large[i], 0);
	free(large);
	free(small);
}

/* An array that grows is moved, not copied: the mapping is the one that was advised. */
static void
advised_arrays_are_moved(void **state)
{
	uint8_t *array;

	(void)state;
#ifdef __SANITIZE_ADDRESS__
	print_message("SKIPPED: another allocator\n");
	skip();
#endif
	if (access("/sys/kernel/mm/transparent_hugepage/enabled", R_OK) != 0) {
		print_message("SKIPPED: this kernel has no transparent huge pages\n");
		skip();
	}
	array = large_pages_advise(malloc(ROOM_BYTES), ROOM_BYTES);
	assert_non_null(array);
	memset(array, 1, ROOM_BYTES);
	array = realloc(array, 2 * ROOM_BYTES);
	assert_non_null(array);
	assert_true(is_large(array + ROOM_BYTES / 2)); /* nobody has asked for it where a copy would be */
	assert_int_equal(array[0], 1);
	assert_int_equal(array[ROOM_BYTES - 1], 1);
	free(array);
}

UNIT_TEST(large_pages)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(arrays_are_advised), /* before the heap is grown for all blocks */
		cmocka_unit_test(advised_arrays_are_moved),
		cmocka_unit_test(blocks_lie_in_large_pages),
		cmocka_unit_test(room_is_made_more_than_once),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
