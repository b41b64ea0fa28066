/* SPDX-License-Identifier: BSD-3-Clause */
/* Arrays that grow with what a run reports. They are bounded by what fills them, not here. */
#pragma once

#include <stddef.h>
#include <stdlib.h>

#include "common/log.h"

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
