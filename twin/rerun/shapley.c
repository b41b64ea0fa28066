/* SPDX-License-Identifier: BSD-3-Clause */
#include "twin/rerun/rerun.h"

#include <assert.h>

#include "common/prng.h"

static double
factorial(uint32_t n)
{
	double product = 1;

	for (uint32_t i = 2; i <= n; i++)
		product *= i;
	return product;
}

/* How often a set of this size is exactly the set before a cause, among all orders of count causes. */
static double
weight(uint32_t size, uint32_t count)
{
	return factorial(size) * factorial(count - size - 1) / factorial(count);
}

void
shapley(const double *worth, uint32_t count, double *shares)
{
	assert(count <= SHAPLEY_MAX);
	for (uint32_t i = 0; i < count; i++) {
		shares[i] = 0;
		for (uint32_t set = 0; set < 1u << count; set++)
			if ((set >> i & 1) == 0)
				shares[i] += weight((uint32_t)__builtin_popcount(set), count) *
					     (worth[set | 1u << i] - worth[set]);
	}
}

void
shapley_order(uint64_t seed, uint32_t index, uint32_t count, uint32_t *order)
{
	struct prng prng;

	prng_init(&prng, seed, index / 2);
	for (uint32_t i = 0; i < count; i++)
		order[i] = i;
	for (uint32_t i = count; i > 1; i--) {
		uint32_t other = (uint32_t)prng_below(&prng, i), kept = order[i - 1];

		order[i - 1] = order[other];
		order[other] = kept;
	}
	for (uint32_t i = 0; index % 2 == 1 && i < count / 2; i++) {
		uint32_t kept = order[i];

		order[i] = order[count - 1 - i];
		order[count - 1 - i] = kept;
	}
}
