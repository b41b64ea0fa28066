/* SPDX-License-Identifier: BSD-3-Clause */
/* Exponential times by comparisons alone (von Neumann 1951): exact, without a logarithm that machines round differently. */
#pragma once

#include <stdint.h>

#include "common/prng.h"

/* @return exponential with mean 1, in units of 2^-64 */
static inline unsigned __int128
exponential_unit(struct prng *prng)
{
	for (uint64_t whole = 0;; whole++) {
		uint64_t first = prng_next(prng), last = first, next;
		uint32_t run = 1;

		while ((next = prng_next(prng)) < last) {
			last = next;
			run++;
		}
		if (run % 2 == 1) /* first > second > ...: an odd run has the density e^-first */
			return (unsigned __int128)whole << 64 | first;
	}
}

#define EXPONENTIAL_MEAN_BITS 20 /* a mean counts in 2^-20 ps */

/* @return picoseconds, with a mean given in 2^-EXPONENTIAL_MEAN_BITS ps */
static inline uint64_t
exponential_ps(struct prng *prng, uint64_t mean)
{
	unsigned __int128 ps = (exponential_unit(prng) >> 24) * mean >> (40 + EXPONENTIAL_MEAN_BITS);

	return ps < UINT64_MAX / 2 ? (uint64_t)ps : UINT64_MAX / 2;
}
