/* SPDX-License-Identifier: BSD-3-Clause */
#include "common/array.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "common/hash.h"

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

/* Kinds. */

#define FIRST_SLOTS 1024

static bool
is_alike(const struct kinds *kinds, uint32_t kind, const void *item)
{
	return memcmp((const char *)kinds->items + kind * kinds->bytes, item, kinds->bytes) == 0;
}

/* @return the slot of a kind, or the free one where it belongs */
static uint32_t
slot_of(const struct kinds *kinds, const void *item)
{
	uint32_t slot = (uint32_t)digest_bytes(DIGEST_INIT, item, kinds->bytes) & (kinds->nslots - 1);

	while (kinds->slots[slot] != KIND_NONE && !is_alike(kinds, kinds->slots[slot], item))
		slot = (slot + 1) & (kinds->nslots - 1);
	return slot;
}

void
kinds_clear(struct kinds *kinds)
{
	kinds->count = 0;
	kinds->latest = 0;
	for (uint32_t slot = 0; slot < kinds->nslots; slot++)
		kinds->slots[slot] = KIND_NONE;
}

/* Twice the slots; half of them have a kind at most. @return 0 or -ENOMEM */
static int
add_slots(struct kinds *kinds)
{
	uint32_t nslots = kinds->nslots != 0 ? 2 * kinds->nslots : FIRST_SLOTS, count = kinds->count;
	char *items = realloc(kinds->items, nslots / 2 * kinds->bytes);

	if (items == NULL)
		return -ENOMEM;
	kinds->items = items;
	free(kinds->slots);
	kinds->nslots = 0;
	kinds->slots = malloc(nslots * sizeof(*kinds->slots));
	if (kinds->slots == NULL)
		return -ENOMEM;
	kinds->nslots = nslots;
	kinds_clear(kinds);
	for (; kinds->count < count; kinds->count++)
		kinds->slots[slot_of(kinds, items + kinds->count * kinds->bytes)] = kinds->count;
	return 0;
}

uint32_t
kinds_of(struct kinds *kinds, const void *item)
{
	uint32_t slot;

	if (kinds_is(kinds, kinds->latest, item))
		return kinds->latest;
	if (2 * kinds->count >= kinds->nslots && add_slots(kinds) != 0)
		return KIND_NONE;
	slot = slot_of(kinds, item);
	if (kinds->slots[slot] == KIND_NONE) {
		memcpy((char *)kinds->items + kinds->count * kinds->bytes, item, kinds->bytes);
		kinds->slots[slot] = kinds->count++;
	}
	kinds->latest = kinds->slots[slot];
	return kinds->latest;
}

bool
kinds_is(const struct kinds *kinds, uint32_t kind, const void *item)
{
	return kind < kinds->count && is_alike(kinds, kind, item);
}

void
kinds_free(struct kinds *kinds)
{
	free(kinds->items);
	free(kinds->slots);
	*kinds = (struct kinds){ .bytes = kinds->bytes };
}
