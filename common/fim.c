/* SPDX-License-Identifier: BSD-3-Clause */
#include "common/fim.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define SAME 1e-9            /* probabilities that differ by less are one kind */
#define NEGLIGIBLE 1e-17     /* of the most likely number of flows: what is less likely is left out */
#define MOST_WORK 100000000u /* products of one convolution */

void
fim_even(struct fim_link *links, size_t count)
{
	double flows[FIM_MAX_GROUPS] = { 0 }, rate_bps[FIM_MAX_GROUPS] = { 0 };

	for (size_t i = 0; i < count; i++) {
		if (links[i].rate_bps != 0)
			flows[links[i].group] += links[i].flows;
		rate_bps[links[i].group] += (double)links[i].rate_bps;
	}
	for (size_t i = 0; i < count; i++) {
		uint16_t group = links[i].group;

		links[i].ideal = links[i].rate_bps == 0 ? 0 : flows[group] * ((double)links[i].rate_bps / rate_bps[group]);
	}
}

struct fim
fim_of(const struct fim_link *links, size_t count, uint16_t group)
{
	struct fim fim = { 0 };

	for (size_t i = 0; i < count; i++) {
		const struct fim_link *link = &links[i];

		if ((group != FIM_ALL && link->group != group) || link->rate_bps == 0 || link->ideal <= 0)
			continue;
		fim.least = fim.links == 0 || link->flows < fim.least ? link->flows : fim.least;
		fim.most = link->flows > fim.most ? link->flows : fim.most;
		fim.ideal += link->ideal;
		fim.percent += fabs(link->flows - link->ideal) / link->ideal;
		fim.links++;
	}
	if (fim.links != 0) {
		fim.ideal /= fim.links;
		fim.percent *= 100.0 / fim.links;
	}
	return fim;
}

void
fim_chance_add(struct fim_chance *chance, double p, uint32_t flows)
{
	uint32_t i = 0;

	while (i < chance->count && i < FIM_CHANCES && fabs(chance->of[i].p - p) > SAME)
		i++;
	if (i == FIM_CHANCES) {
		chance->count = FIM_CHANCES + 1;
		return;
	}
	if (i == chance->count) {
		chance->of[i].p = p;
		chance->count++;
	}
	chance->of[i].flows += flows;
}

/* Probabilities of first, first + 1, ... flows. */
struct pmf {
	double *p; /* [count] */
	uint64_t first, count;
};

/* @return the probability of k + 1 of n over that of k */
static double
ratio(uint64_t n, double p, uint64_t k)
{
	return (double)(n - k) / (double)(k + 1) * (p / (1 - p));
}

/* Binomial (n, p), 0 < p < 1, from its mode to both sides as far as it matters. @return false: no memory */
static bool
binomial(uint64_t n, double p, struct pmf *pmf)
{
	uint64_t mode = (uint64_t)((double)(n + 1) * p), low, high;
	double at = 1, sum = 0;

	mode = mode > n ? n : mode;
	for (low = mode; low > 0 && at > NEGLIGIBLE; low--)
		at /= ratio(n, p, low - 1);
	for (high = mode, at = 1; high < n && at > NEGLIGIBLE; high++)
		at *= ratio(n, p, high);
	*pmf = (struct pmf){ malloc((high - low + 1) * sizeof(double)), low, high - low + 1 };
	if (pmf->p == NULL)
		return false;
	pmf->p[mode - low] = 1;
	for (uint64_t k = mode; k > low; k--)
		pmf->p[k - 1 - low] = pmf->p[k - low] / ratio(n, p, k - 1);
	for (uint64_t k = mode; k < high; k++)
		pmf->p[k + 1 - low] = pmf->p[k - low] * ratio(n, p, k);
	for (uint64_t i = 0; i < pmf->count; i++)
		sum += pmf->p[i];
	for (uint64_t i = 0; i < pmf->count; i++)
		pmf->p[i] /= sum;
	return true;
}

/* Sets a to the distribution of the sum of both. @return false: it is too large, or no memory */
static bool
convolve(struct pmf *a, const struct pmf *b)
{
	struct pmf sum = { NULL, a->first + b->first, a->count + b->count - 1 };

	if (b->count > MOST_WORK / a->count)
		return false;
	sum.p = calloc(sum.count, sizeof(double));
	if (sum.p == NULL)
		return false;
	for (uint64_t i = 0; i < a->count; i++)
		for (uint64_t k = 0; k < b->count; k++)
			sum.p[i + k] += a->p[i] * b->p[k];
	free(a->p);
	*a = sum;
	return true;
}

double
fim_expected(const struct fim_chance *chance, double ideal)
{
	struct pmf all = { malloc(sizeof(double)), 0, 1 };
	double sum = 0;
	bool exact = all.p != NULL && chance->count <= FIM_CHANCES;

	if (exact)
		all.p[0] = 1;
	for (uint32_t i = 0; exact && i < chance->count; i++) {
		struct pmf one = { 0 };

		if (chance->of[i].p > 1 - SAME) {
			all.first += chance->of[i].flows;
			continue;
		}
		exact = binomial(chance->of[i].flows, chance->of[i].p, &one) && convolve(&all, &one);
		free(one.p);
	}
	for (uint64_t i = 0; exact && i < all.count; i++)
		sum += all.p[i] * fabs((double)(all.first + i) - ideal);
	free(all.p);
	return exact ? 100 * sum / ideal : NAN;
}
