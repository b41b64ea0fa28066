/* SPDX-License-Identifier: BSD-3-Clause */
#include "workload/jobs/skew.h"

#include <stdlib.h>

#include "workload/jobs/chance.h"

struct demand {
	uint32_t rank;
	uint64_t draw;
};

static int
by_draw(const void *a, const void *b)
{
	const struct demand *x = a, *y = b;

	if (x->draw != y->draw)
		return x->draw < y->draw ? -1 : 1;
	return x->rank < y->rank ? -1 : x->rank > y->rank;
}

/* What each rank gets of a sender's elements. @param order  [ranks] from the rank in greatest demand to the least */
static void
divide(const struct skew *skew, const struct demand *order, uint64_t *gets)
{
	uint32_t n = skew->ranks;
	uint64_t left = skew->elems;
	double sum = n * (skew->factor + 1) / 2;

	for (uint32_t i = 0; i < n; i++) {
		double weight = n > 1 ? skew->factor + (1 - skew->factor) * i / (n - 1) : sum;

		gets[order[i].rank] = (uint64_t)((double)skew->elems * (weight / sum));
		if (gets[order[i].rank] > left)
			gets[order[i].rank] = left;
		left -= gets[order[i].rank];
	}
	gets[order[0].rank] += left;
}

uint64_t
skew_counts(const struct skew *skew, uint64_t *counts)
{
	uint32_t n = skew->ranks;
	struct demand *order = calloc(n + 1u, sizeof(*order));
	uint64_t *gets = calloc(n + 1u, sizeof(*gets)), most = 0;

	for (uint32_t rank = 0; order != NULL && rank < n; rank++)
		order[rank] = (struct demand){ rank, chance(skew->seed, CHANCE_SKEW, skew->job, "", rank, 0) };
	if (order != NULL && gets != NULL) {
		qsort(order, n, sizeof(*order), by_draw);
		divide(skew, order, gets);
		for (uint32_t from = 0; from < n; from++)
			for (uint32_t to = 0; to < n; to++)
				counts[(uint64_t)from * n + to] = gets[skew->back ? from : to];
		for (uint32_t rank = 0; rank < n; rank++)
			most = skew->back && gets[rank] * n > most ? gets[rank] * n : most;
		most = most > skew->elems ? most : skew->elems;
	}
	free(order);
	free(gets);
	return most;
}
