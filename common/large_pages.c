/* SPDX-License-Identifier: BSD-3-Clause */
#include "common/large_pages.h"

#include <limits.h>
#include <malloc.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#define PAGE_BYTES (2UL << 20)
/*
 * A TLB of 1,500 to 3,000 entries covers 6 to 12 MB of small pages, of state that is touched only in part: less than this
 * gains nothing, and clearing large pages costs some milliseconds.
 */
#define LEAST_BYTES (32UL << 20)
/* The largest threshold that mallopt(3) takes; smaller blocks extend the heap, one behind the other. */
#define MAPPED_BYTES (32 << 20)
#define BLOCK_BYTES ((size_t)MAPPED_BYTES / 2)
#define BLOCKS 256

void
large_pages_reserve(size_t bytes)
{
	void *blocks[BLOCKS];
	size_t count = 0;

	if (bytes < LEAST_BYTES)
		return;
	if (mallopt(M_MMAP_THRESHOLD, MAPPED_BYTES) == 0 || mallopt(M_TRIM_THRESHOLD, INT_MAX) == 0)
		return;
	for (; count < BLOCKS && count * BLOCK_BYTES < bytes; count++) {
		blocks[count] = malloc(BLOCK_BYTES);
		if (blocks[count] == NULL)
			break;
	}
	for (size_t i = 0; i < count; i++) {
		uintptr_t begin = ((uintptr_t)blocks[i] + PAGE_BYTES - 1) & ~(PAGE_BYTES - 1);
		uintptr_t end = ((uintptr_t)blocks[i] + BLOCK_BYTES + PAGE_BYTES - 1) & ~(PAGE_BYTES - 1);

		/* Up to the page in which the next block begins; the last page may end behind the heap. */
		madvise((void *)begin, end - begin - (i + 1 == count ? PAGE_BYTES : 0), MADV_HUGEPAGE);
	}
	for (size_t i = 0; i < count; i++)
		free(blocks[i]);
}

void *
large_pages_advise(void *array, size_t bytes)
{
	uintptr_t small = (uintptr_t)sysconf(_SC_PAGESIZE), begin = (uintptr_t)array & ~(small - 1);
	uintptr_t end = ((uintptr_t)array + bytes + small - 1) & ~(small - 1);

	/* With the page of malloc(3)'s header: realloc(3) moves one mapping, but copies what lies in two. */
	if (array != NULL && bytes >= LEAST_BYTES)
		madvise((void *)begin, end - begin, MADV_HUGEPAGE);
	return array;
}
