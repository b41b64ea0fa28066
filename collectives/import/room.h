/* SPDX-License-Identifier: BSD-3-Clause */
/* Arrays that grow with what a file says; what fills them has its limit. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>

/*
 * Makes room for one more.
 * @param array  pointer to the array, moved or not
 * @param cap    elements there is room for, updated
 * @return false without memory, the array as it was
 */
static inline bool
import_room(void *array, size_t *cap, size_t used, size_t elem_bytes)
{
	void **at = array, *moved;
	size_t next = *cap != 0 ? *cap * 2 : 64;

	if (used < *cap)
		return true;
	moved = realloc(*at, next * elem_bytes);
	if (moved == NULL)
		return false;
	*at = moved;
	*cap = next;
	return true;
}
