/* SPDX-License-Identifier: BSD-3-Clause */
#include "collectives/proof/clocks.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define DENSE_MAX 4096 /* chains of one part of the graph that make an array of all */

struct entry {
	uint32_t slot, at; /* chain, steps of it that are over */
};

/* Dense: all[width]. Sparse: some[count], by slot. Neither: nothing is over. */
struct clock {
	uint32_t *all;
	struct entry *some;
	uint32_t count;
};

struct clocks {
	const struct graph *graph;
	struct clock *of;       /* [steps] of those that have started and are still waited for */
	uint32_t *left;         /* [steps] successors that have not started */
	uint32_t *part;         /* [chains] connected part of the graph, named by one of its chains */
	uint32_t *slot, *width; /* [chains] place among its part's chains, and how many these are */
	struct entry *singles;  /* [most that a step waits for] */
	struct clock now;       /* of the step that started last */
	uint32_t now_step;
};

static uint32_t
root_of(uint32_t *parent, uint32_t i)
{
	while (parent[i] != i) {
		parent[i] = parent[parent[i]];
		i = parent[i];
	}
	return i;
}

/* Numbers the chains of each connected part. */
static void
find_parts(struct clocks *clocks)
{
	const struct graph *graph = clocks->graph;
	uint32_t steps = coll_all_steps(graph->schedule);
	uint32_t *parent = clocks->part;

	for (uint32_t i = 0; i < graph->chains; i++)
		parent[i] = i;
	for (uint32_t i = 0; i < steps; i++)
		for (uint32_t e = graph->first_prev[i]; e < graph->first_prev[i + 1]; e++)
			parent[root_of(parent, graph->chain_of[i])] = root_of(parent, graph->chain_of[graph->prev[e]]);
	for (uint32_t i = 0; i < graph->chains; i++)
		clocks->slot[i] = clocks->width[root_of(parent, i)]++;
	for (uint32_t i = 0; i < graph->chains; i++)
		parent[i] = root_of(parent, i);
	for (uint32_t i = 0; i < graph->chains; i++)
		clocks->width[i] = clocks->width[parent[i]];
}

struct clocks *
clocks_create(const struct graph *graph)
{
	uint32_t steps = coll_all_steps(graph->schedule), most = 0;
	struct clocks *clocks = calloc(1, sizeof(*clocks));

	if (clocks == NULL)
		return NULL;
	for (uint32_t i = 0; i < steps; i++)
		most = graph_nprev(graph, i) > most ? graph_nprev(graph, i) : most;
	clocks->graph = graph;
	clocks->of = calloc(steps, sizeof(*clocks->of));
	clocks->left = malloc((size_t)steps * sizeof(*clocks->left));
	clocks->part = calloc(graph->chains, sizeof(*clocks->part));
	clocks->slot = calloc(graph->chains, sizeof(*clocks->slot));
	clocks->width = calloc(graph->chains, sizeof(*clocks->width));
	clocks->singles = calloc((size_t)most + 1, sizeof(*clocks->singles));
	clocks->now_step = COLL_NONE;
	if (clocks->of == NULL || clocks->left == NULL || clocks->part == NULL || clocks->slot == NULL ||
	    clocks->width == NULL || clocks->singles == NULL) {
		clocks_destroy(clocks);
		return NULL;
	}
	find_parts(clocks);
	for (uint32_t i = 0; i < steps; i++)
		clocks->left[i] = graph_nnext(graph, i);
	return clocks;
}

static void
drop(struct clock *clock)
{
	free(clock->all);
	free(clock->some);
	*clock = (struct clock){ 0 };
}

void
clocks_destroy(struct clocks *clocks)
{
	if (clocks == NULL)
		return;
	for (uint32_t i = 0; clocks->of != NULL && i < coll_all_steps(clocks->graph->schedule); i++)
		drop(&clocks->of[i]);
	drop(&clocks->now);
	free(clocks->of);
	free(clocks->left);
	free(clocks->part);
	free(clocks->slot);
	free(clocks->width);
	free(clocks->singles);
	free(clocks);
}

/* One that is waited for no more gives its array away. @return the array to start from, NULL without memory */
static uint32_t *
take_dense(struct clocks *clocks, uint32_t step, uint32_t width)
{
	const struct graph *graph = clocks->graph;
	uint32_t *all;

	for (uint32_t e = graph->first_prev[step]; e < graph->first_prev[step + 1]; e++) {
		struct clock *prev = &clocks->of[graph->prev[e]];

		if (prev->all != NULL && clocks->left[graph->prev[e]] == 1) {
			all = prev->all;
			prev->all = NULL;
			return all;
		}
	}
	return calloc(width, sizeof(*all));
}

/* @return 0 or -ENOMEM */
static int
start_dense(struct clocks *clocks, uint32_t step, uint32_t width)
{
	const struct graph *graph = clocks->graph;
	uint32_t *all = clocks->now.all = take_dense(clocks, step, width);

	if (all == NULL)
		return -ENOMEM;
	for (uint32_t e = graph->first_prev[step]; e < graph->first_prev[step + 1]; e++) {
		uint32_t prev = graph->prev[e], slot = clocks->slot[graph->chain_of[prev]];
		const uint32_t *known = clocks->of[prev].all;

		for (uint32_t i = 0; known != NULL && i < width; i++)
			all[i] = all[i] > known[i] ? all[i] : known[i];
		if (all[slot] < graph->chain_at[prev])
			all[slot] = graph->chain_at[prev];
	}
	return 0;
}

/* @return the later of two sparse clocks in every entry; without memory its some is NULL */
static struct clock
merge(const struct entry *a, uint32_t na, const struct entry *b, uint32_t nb)
{
	struct clock merged = { .some = malloc(((size_t)na + nb + 1) * sizeof(*a)) };

	for (uint32_t i = 0, k = 0; merged.some != NULL && (i < na || k < nb);) {
		struct entry next = k == nb || (i < na && a[i].slot <= b[k].slot) ? a[i] : b[k];

		if (i < na && a[i].slot == next.slot)
			i++;
		if (k < nb && b[k].slot == next.slot) {
			next.at = next.at > b[k].at ? next.at : b[k].at;
			k++;
		}
		merged.some[merged.count++] = next;
	}
	return merged;
}

static int
compare_entries(const void *a, const void *b)
{
	const struct entry *x = a, *y = b;

	if (x->slot != y->slot)
		return x->slot < y->slot ? -1 : 1;
	return x->at < y->at ? -1 : x->at > y->at;
}

/* @return 0 or -ENOMEM */
static int
start_sparse(struct clocks *clocks, uint32_t step)
{
	const struct graph *graph = clocks->graph;
	uint32_t count = 0, kept = 0;

	for (uint32_t e = graph->first_prev[step]; e < graph->first_prev[step + 1]; e++) {
		uint32_t prev = graph->prev[e];

		clocks->singles[count++] = (struct entry){ clocks->slot[graph->chain_of[prev]], graph->chain_at[prev] };
	}
	qsort(clocks->singles, count, sizeof(*clocks->singles), compare_entries);
	for (uint32_t i = 0; i < count; i++) /* of one chain the last, which is the latest */
		if (i + 1 == count || clocks->singles[i + 1].slot != clocks->singles[i].slot)
			clocks->singles[kept++] = clocks->singles[i];
	clocks->now = merge(clocks->singles, kept, NULL, 0);
	for (uint32_t e = graph->first_prev[step]; e < graph->first_prev[step + 1] && clocks->now.some != NULL; e++) {
		const struct clock *known = &clocks->of[graph->prev[e]];
		struct clock before = clocks->now;

		if (known->count == 0)
			continue;
		clocks->now = merge(before.some, before.count, known->some, known->count);
		free(before.some);
	}
	return clocks->now.some == NULL ? -ENOMEM : 0;
}

int
clocks_start(struct clocks *clocks, uint32_t step)
{
	const struct graph *graph = clocks->graph;
	uint32_t width = clocks->width[graph->chain_of[step]];
	int rc = 0;

	if (clocks->now_step != COLL_NONE && clocks->left[clocks->now_step] != 0)
		clocks->of[clocks->now_step] = clocks->now;
	else
		drop(&clocks->now);
	clocks->now = (struct clock){ 0 };
	clocks->now_step = step;
	if (graph_nprev(graph, step) != 0)
		rc = width <= DENSE_MAX ? start_dense(clocks, step, width) : start_sparse(clocks, step);
	for (uint32_t e = graph->first_prev[step]; e < graph->first_prev[step + 1]; e++)
		if (--clocks->left[graph->prev[e]] == 0)
			drop(&clocks->of[graph->prev[e]]);
	return rc;
}

bool
clocks_over(const struct clocks *clocks, uint32_t earlier)
{
	uint32_t chain = clocks->graph->chain_of[earlier], slot = clocks->slot[chain];
	const struct clock *now = &clocks->now;
	uint32_t lo = 0, hi = now->count;

	/* Another part of the graph: its slots are others'. */
	if (clocks->part[chain] != clocks->part[clocks->graph->chain_of[clocks->now_step]])
		return false;
	if (now->all != NULL)
		return now->all[slot] >= clocks->graph->chain_at[earlier];
	while (lo < hi) {
		uint32_t mid = lo + (hi - lo) / 2;

		if (now->some[mid].slot < slot)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo < now->count && now->some[lo].slot == slot && now->some[lo].at >= clocks->graph->chain_at[earlier];
}
