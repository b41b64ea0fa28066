/* SPDX-License-Identifier: BSD-3-Clause */
#include "diag/collect/radix.h"

#include <stdlib.h>
#include <string.h>

#define DIGITS (RADIX_WORDS * 8) /* bytes of a key; digit 0 is the least */
#define VALUES 256
#define FEW 128 /* words that comparisons sort faster than passes over tables of VALUES */

static inline uint8_t
digit_of(const struct radix_item *item, int digit)
{
	return (uint8_t)(item->key[RADIX_WORDS - 1 - digit / 8] >> digit % 8 * 8);
}

static void
count_digits(const struct radix_item *items, uint32_t count, uint32_t counts[DIGITS][VALUES])
{
	memset(counts, 0, sizeof(counts[0]) * DIGITS);
	for (uint32_t i = 0; i < count; i++) {
		for (int d = 0; d < DIGITS; d++)
			counts[d][digit_of(&items[i], d)]++;
	}
}

static void
place_by(const struct radix_item *from, struct radix_item *to, uint32_t count, int digit, const uint32_t counts[VALUES])
{
	uint32_t next[VALUES], total = 0;

	for (int value = 0; value < VALUES; value++) {
		next[value] = total;
		total += counts[value];
	}
	for (uint32_t i = 0; i < count; i++)
		to[next[digit_of(&from[i], digit)]++] = from[i];
}

struct radix_item *
radix_sort(struct radix_item *items, struct radix_item *room, uint32_t count)
{
	uint32_t counts[DIGITS][VALUES];

	count_digits(items, count, counts);
	for (int d = 0; d < DIGITS && count != 0; d++) {
		struct radix_item *sorted = room;

		if (counts[d][digit_of(items, d)] == count)
			continue;
		place_by(items, room, count, d, counts[d]);
		room = items;
		items = sorted;
	}
	return items;
}

static int
cmp_word(const void *pa, const void *pb)
{
	const uint64_t *a = pa, *b = pb;

	return *a < *b ? -1 : *a > *b;
}

uint64_t *
radix_sort_words(uint64_t *words, uint64_t *room, uint32_t count)
{
	uint32_t counts[sizeof(*words)][VALUES] = { 0 };

	if (count < FEW) {
		if (count > 1)
			qsort(words, count, sizeof(*words), cmp_word);
		return words;
	}
	for (uint32_t i = 0; i < count; i++)
		for (size_t d = 0; d < sizeof(*words); d++)
			counts[d][words[i] >> d * 8 & 0xff]++;
	for (size_t d = 0; d < sizeof(*words); d++) {
		uint64_t *sorted = room;
		uint32_t next[VALUES], total = 0;

		if (counts[d][words[0] >> d * 8 & 0xff] == count)
			continue;
		for (int value = 0; value < VALUES; value++) {
			next[value] = total;
			total += counts[d][value];
		}
		for (uint32_t i = 0; i < count; i++)
			room[next[words[i] >> d * 8 & 0xff]++] = words[i];
		room = words;
		words = sorted;
	}
	return words;
}
