/* SPDX-License-Identifier: BSD-3-Clause */
/* The one source of chance: SplitMix64, one stream per consumer, derived from the run's seed. */
#pragma once

#include <stdint.h>

/* The largest seed that people may write: libconfig still has it as a signed number. */
#define PRNG_SEEDS UINT64_C(9000000000000000000)

struct prng {
	uint64_t state;
};

static inline uint64_t
prng_mix(uint64_t z)
{
	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
	return z ^ (z >> 31);
}

/* @param stream distinguishes the consumers of one seed (a node id, a link id, ...) */
static inline void
prng_init(struct prng *prng, uint64_t seed, uint64_t stream)
{
	prng->state = prng_mix(seed + 0x9e3779b97f4a7c15ULL * (stream + 1));
}

static inline uint64_t
prng_next(struct prng *prng)
{
	prng->state += 0x9e3779b97f4a7c15ULL;
	return prng_mix(prng->state);
}

/* @return uniform in [0, 1) */
static inline double
prng_unit(struct prng *prng)
{
	return (double)(prng_next(prng) >> 11) * 0x1.0p-53;
}

/* @return uniform in [0, bound), bound > 0; the bias is below bound / 2^64 */
static inline uint64_t
prng_below(struct prng *prng, uint64_t bound)
{
	return (uint64_t)(((unsigned __int128)prng_next(prng) * bound) >> 64);
}

/* Exponential times by comparisons alone (von Neumann 1951): exact, without a logarithm that machines round differently. */

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
