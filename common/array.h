/* SPDX-License-Identifier: BSD-3-Clause */
/* Arrays: their length, those that grow, and those of a struct in one block. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include "common/log.h"

/* Elements of an array: of the array itself, never of a pointer to its first one. */
#define ARRAY_LEN(array) (sizeof(array) / sizeof((array)[0]))

/* The first size of an array that grows. Such arrays are bounded by what fills them, not here. */
#define GROW_FIRST_BYTES 4096

/*
 * Makes room for need elements; capacity doubles. Memory exhaustion ends the program with a message: else elements
 * would be lost silently.
 * @param cap   elements there is room for, updated
 * @param what  they are, for the message: "records"
 * @return the array, moved or not
 */
static inline void *
grow(void *array, size_t *cap, size_t need, size_t elem_bytes, const char *what)
{
	size_t next = *cap != 0 ? *cap : elem_bytes < GROW_FIRST_BYTES ? GROW_FIRST_BYTES / elem_bytes : 1;

	if (need <= *cap)
		return array;
	while (next < need)
		next *= 2;
	array = realloc(array, next * elem_bytes);
	if (array == NULL)
		log_fatal("out of memory for %zu B of %s", next * elem_bytes, what);
	*cap = next;
	return array;
}

/*
 * The arrays of a struct in one block: a row names each array once, with its length, and one free() releases all. Only for
 * arrays that begin and end together and do not grow.
 */
struct slab_row {
	void *array; /* address of the pointer that is set */
	size_t count, elem_bytes;
};

#define SLAB_ROW(array, count)                                                                                             \
	{                                                                                                                  \
		&(array), (count), sizeof(*(array))                                                                        \
	}

/* @return the sum of the arrays' sizes, without what aligns them; the pointers are not read */
size_t slab_bytes(const struct slab_row *rows, size_t nrows);

/*
 * Allocates a block of zeros and sets each pointer to its part, aligned for any type; NULL for an array of
 * no elements. Under AddressSanitizer a gap behind each array finds accesses beyond it.
 * @return the block, the caller's to free(); NULL: no memory, and the pointers are NULL
 */
void *slab_alloc(const struct slab_row *rows, size_t nrows);

/*
 * Finds by halves in elements that are in the order of a member, a uint64_t.
 * @param member_at   offset of the member
 * @param first, end  the elements looked at
 * @return the first whose member is least or more; end: none is
 */
uint32_t array_from(const void *array, size_t elem_bytes, size_t member_at, uint32_t first, uint32_t end, uint64_t least);

/* array_from() for an array whose elements have the named member. */
#define ARRAY_FROM(array, member, first, end, least)                                                                       \
	array_from((array), sizeof(*(array)), offsetof(__typeof__(*(array)), member), (first), (end), (least))
/* @return the first whose member is more than most; end: none is */
#define ARRAY_AFTER(array, member, first, end, most)                                                                       \
	((most) == UINT64_MAX ? (end) : ARRAY_FROM(array, member, first, end, (most) + 1))

/*
 * Elements of a large array will not be read again: their memory is given back to the kernel, as far as it is whole pages;
 * those have zeros then. The array stays what it is.
 */
void array_forget(void *array, size_t from, size_t to, size_t elem_bytes);

/*
 * Things that are alike are kept once: a ring of 1,024 ranks has two million steps, and some thousand kinds of them, since
 * those of a flow are mostly as long as each other.
 */
struct kinds {
	size_t bytes;    /* of an item, a multiple of 8, without padding */
	void *items;     /* [count] */
	uint32_t *slots; /* [nslots] hash table; KIND_NONE: free */
	uint32_t count, nslots;
	uint32_t latest; /* that was asked for: the next is often the same */
};

#define KIND_NONE UINT32_MAX

/* @return the number of the kind that an item is of, a new one where it is of none; KIND_NONE: no memory */
uint32_t kinds_of(struct kinds *kinds, const void *item);
/* @return whether an item is of a kind; of KIND_NONE none is */
bool kinds_is(const struct kinds *kinds, uint32_t kind, const void *item);
/* Forgets all kinds; their memory stays. */
void kinds_clear(struct kinds *kinds);
void kinds_free(struct kinds *kinds);
