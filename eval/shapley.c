/* SPDX-License-Identifier: BSD-3-Clause */
#include "eval/shapley.h"

#include <assert.h>
#include <math.h>

static double
factorial(uint32_t n)
{
	double product = 1;

	for (uint32_t i = 2; i <= n; i++)
		product *= i;
	return product;
}

/* How often a set of this size comes right before a cause, among all orders of count causes. */
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
static int
order(double x, double y)
{
	return x < y ? -1 : x > y;
}

double
kendall_tau(const double *a, const double *b, uint32_t count)
{
	double alike = 0, pairs_a = 0, pairs_b = 0;

	for (uint32_t i = 0; i < count; i++) {
		for (uint32_t j = 0; j < i; j++) {
			int in_a = order(a[i], a[j]), in_b = order(b[i], b[j]);

			alike += in_a * in_b;
			pairs_a += in_a != 0;
			pairs_b += in_b != 0;
		}
	}
	return pairs_a > 0 && pairs_b > 0 ? alike / sqrt(pairs_a * pairs_b) : 0;
}
