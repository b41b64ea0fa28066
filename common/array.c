/* SPDX-License-Identifier: BSD-3-Clause */
#include "common/array.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define ALIGN_BYTES _Alignof(max_align_t)

#ifdef __SANITIZE_ADDRESS__
#include <sanitizer/asan_interface.h>

#define GAP_BYTES ALIGN_BYTES
#else
#define GAP_BYTES 0
#define ASAN_POISON_MEMORY_REGION(at, bytes) ((void)(at), (void)(bytes))
#endif

size_t
slab_bytes(const struct slab_row *rows, size_t nrows)
{
	size_t bytes = 0;

	for (size_t i = 0; i < nrows; i++)
		bytes += rows[i].count * rows[i].elem_bytes;
	return bytes;
}

/* @return bytes of a row in the block; SIZE_MAX: more than there can be */
static size_t
room_of(const struct slab_row *row)
{
	size_t bytes;

	if (__builtin_mul_overflow(row->count, row->elem_bytes, &bytes) ||
	    __builtin_add_overflow(bytes, GAP_BYTES + ALIGN_BYTES - 1, &bytes))
		return SIZE_MAX;
	return bytes / ALIGN_BYTES * ALIGN_BYTES;
}

void *
slab_alloc(const struct slab_row *rows, size_t nrows)
{
	size_t all = ALIGN_BYTES, at = 0;
	char *block;

	for (size_t i = 0; i < nrows; i++)
		if (__builtin_add_overflow(all, room_of(&rows[i]), &all))
			all = SIZE_MAX;
	block = all <= PTRDIFF_MAX ? calloc(1, all) : NULL;
	for (size_t i = 0; i < nrows; i++) {
		size_t bytes = rows[i].count * rows[i].elem_bytes;
		void *array = block != NULL && bytes != 0 ? block + at : NULL;

		memcpy(rows[i].array, &array, sizeof(array));
		if (block == NULL)
			continue;
		ASAN_POISON_MEMORY_REGION(block + at + bytes, room_of(&rows[i]) - bytes);
		at += room_of(&rows[i]);
	}
	return block;
}

uint32_t
array_from(const void *array, size_t elem_bytes, size_t member_at, uint32_t first, uint32_t end, uint64_t least)
{
	while (first < end) {
		uint32_t middle = first + (end - first) / 2;
		uint64_t member;

		memcpy(&member, (const char *)array + middle * elem_bytes + member_at, sizeof(member));
		if (member < least)
			first = middle + 1;
		else
			end = middle;
	}
	return first;
}

void
array_forget(void *array, size_t from, size_t to, size_t elem_bytes)
{
	uintptr_t page_bytes = (uintptr_t)sysconf(_SC_PAGESIZE);
	uintptr_t begin = ((uintptr_t)array + from * elem_bytes + page_bytes - 1) & ~(page_bytes - 1);
	uintptr_t end = ((uintptr_t)array + to * elem_bytes) & ~(page_bytes - 1);

	if (from < to && begin < end)
		madvise((void *)begin, end - begin, MADV_DONTNEED);
}
