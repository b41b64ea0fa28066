/* SPDX-License-Identifier: BSD-3-Clause */
#include "diag/collect/radix.h"
#include "common/minmax.h"

#include <stdlib.h>

#define DIGITS (RADIX_WORDS * 8) /* bytes of a key; digit 0 is the least */
#define VALUES 256
#define FEW 128 /* words that comparisons sort faster than passes over tables of VALUES */

static inline uint8_t
digit_of(const struct radix_item *item, int digit)
{
	return (uint8_t)(item->key[RADIX_WORDS - 1 - digit / 8] >> digit % 8 * 8);
}

static void
place_by(const struct radix_item *from, struct radix_item *to, uint32_t count, int digit)
{
	uint32_t next[VALUES + 1] = { 0 };

	for (uint32_t i = 0; i < count; i++)
		next[digit_of(&from[i], digit) + 1]++;
	for (int value = 1; value < VALUES; value++)
		next[value] += next[value - 1];
	for (uint32_t i = 0; i < count; i++)
		to[next[digit_of(&from[i], digit)]++] = from[i];
}

struct radix_item *
radix_sort(struct radix_item *items, struct radix_item *room, uint32_t count)
{
	struct radix_item differ = { { 0 }, 0 }; /* bits of keys that are not the same in all */

	for (uint32_t i = 1; i < count; i++)
		for (int w = 0; w < RADIX_WORDS; w++)
			differ.key[w] |= items[i].key[w] ^ items[0].key[w];
	for (int d = 0; d < DIGITS; d++) {
		struct radix_item *sorted = room;

		if (digit_of(&differ, d) == 0)
			continue;
		place_by(items, room, count, d);
		room = items;
		items = sorted;
	}
	return items;
}

static int
cmp_word(const void *pa, const void *pb)
{
	const uint64_t *a = pa, *b = pb;

	return ORDER(*a, *b);
}

uint64_t *
radix_sort_words(uint64_t *words, uint64_t *room, uint32_t count)
{
	uint64_t differ = 0; /* bits that are not the same in all */

	if (count < FEW) {
		if (count > 1)
			qsort(words, count, sizeof(*words), cmp_word);
		return words;
	}
	for (uint32_t i = 1; i < count; i++)
		differ |= words[i] ^ words[0];
	for (int shift = 0; shift < 64; shift += 8) {
		uint64_t *sorted = room;
		uint32_t next[VALUES + 1] = { 0 };

		if ((differ >> shift & 0xff) == 0)
			continue;
		for (uint32_t i = 0; i < count; i++)
			next[(words[i] >> shift & 0xff) + 1]++;
		for (int value = 1; value < VALUES; value++)
			next[value] += next[value - 1];
		for (uint32_t i = 0; i < count; i++)
			room[next[words[i] >> shift & 0xff]++] = words[i];
		room = words;
		words = sorted;
	}
	return words;
}
