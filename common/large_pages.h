/* SPDX-License-Identifier: BSD-3-Clause */
/* The heap in pages of 2 MB, for state that is spread over more pages than a processor's TLB has entries for. */
#pragma once

#include <stddef.h>

/*
 * Makes room in malloc(3)'s heap for what the caller is about to allocate and touch, and asks the kernel for large pages
 * there. Memory that is never touched is not resident, but for what lies in a page with some that is. Nothing changes where
 * the kernel has none to give, the allocator is another one, or less than 32 MB are asked for. On the main thread; what is
 * freed later is not returned to the kernel before the program ends.
 */
void large_pages_reserve(size_t bytes);

/*
 * Asks for large pages for an array that malloc(3) has just given or moved, and that its caller is about to fill: a fault
 * for each 2 MB, not for each 4 kB. Nothing changes for one of less than 32 MB, which may share its pages with others.
 * @param array  NULL is allowed  @return array
 */
void *large_pages_advise(void *array, size_t bytes);
