/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The arrays of a struct in one block: a row names each array once, with its length, and one free() releases all. Only for
 * arrays that begin and end together and do not grow.
 */
#pragma once

#include <stddef.h>

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
