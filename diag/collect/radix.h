/* SPDX-License-Identifier: BSD-3-Clause */
/* Sorts in time proportional to the number of items: byte by byte, from the last one on. */
#pragma once

#include <stdint.h>

#define RADIX_WORDS 2

struct radix_item {
	uint64_t key[RADIX_WORDS]; /* the most significant word first */
	uint32_t index;            /* of the item */
};

/*
 * Stable. Bytes that all keys share cost one look.
 * @param room  as many items, overwritten
 * @return where the sorted items are: items or room
 */
struct radix_item *radix_sort(struct radix_item *items, struct radix_item *room, uint32_t count);

/* Numbers, the same way. @return where they are, the least first: words or room */
uint64_t *radix_sort_words(uint64_t *words, uint64_t *room, uint32_t count);
