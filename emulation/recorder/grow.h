/* SPDX-License-Identifier: BSD-3-Clause */
/* Arrays that grow with what a window reports. They are bounded by what fills them, not here. */
#pragma once

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

#include "common/log.h"

/*
 * Makes room for need elements; capacity doubles. Memory exhaustion ends the program with a message: a lost record
 * would be a silent one.
 * @param cap  elements there is room for, updated
 * @return the array, moved or not
 */
static inline void *
grow(void *array, size_t *cap, size_t need, size_t elem_bytes)
{
	size_t next = *cap != 0 ? *cap : 4096 / elem_bytes;

	if (need <= *cap)
		return array;
	while (next < need)
		next *= 2;
	array = realloc(array, next * elem_bytes);
	if (array == NULL)
		log_fatal("out of memory for %zu B of records", next * elem_bytes);
	*cap = next;
	return array;
}
