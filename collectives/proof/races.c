/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Accesses of two steps to one cell must be ordered if one of them changes it, other than by sums alone. Steps are
 * visited in an order that the graph allows, so none happens before an earlier one: two are ordered if and only if the
 * later one's clock holds the earlier one.
 */
#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "collectives/proof/proof.h"
#include "common/array.h"
#include "common/minmax.h"

/*
 * Order of events, by vector clocks: a step's clock holds, for each chain, how many of its steps are surely over when
 * the step starts. A clock has an entry for each chain of its connected part of the graph; where these are many, only
 * for those that are not zero. It is kept as long as a step that waits for its own has not started.
 */

#define DENSE_MAX 4096   /* chains of one connected part of the graph that make an array of all */
#define DENSE_AT_ONCE 8u /* entries of arrays that cost as much as one that is looked for */

struct entry {
	uint32_t slot, at; /* chain, steps of it that are over */
};

/* Dense: all[width]. Sparse: some[count], by slot. Neither: nothing is over. */
struct clock {
	uint32_t *all;
	struct entry *some;
	uint32_t count;
	uint64_t bytes; /* of the budget */
};

struct clocks {
	const struct graph *graph;
	void *block;            /* of the arrays below */
	struct clock *of;       /* [steps] of those that have started and are still waited for */
	uint32_t *left;         /* [steps] successors that have not started */
	uint32_t *part;         /* [chains] connected part of the graph, named by one of its chains */
	uint32_t *slot, *width; /* [chains] place among its part's chains, and how many these are */
	struct entry *singles;  /* [most that a step waits for] */
	struct clock now;       /* of the step that started last */
	uint32_t now_step;
	struct budget *budget;
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

static void
drop(struct clocks *clocks, struct clock *clock)
{
	clocks->budget->left.bytes += clock->bytes;
	free(clock->all);
	free(clock->some);
	*clock = (struct clock){ 0 };
}

static void
clocks_destroy(struct clocks *clocks)
{
	if (clocks == NULL)
		return;
	for (uint32_t i = 0; clocks->of != NULL && i < coll_all_steps(clocks->graph->schedule); i++)
		drop(clocks, &clocks->of[i]);
	drop(clocks, &clocks->now);
	free(clocks->block);
	free(clocks);
}

/* @return NULL without memory */
static struct clocks *
clocks_create(const struct graph *graph, struct budget *budget)
{
	uint32_t steps = coll_all_steps(graph->schedule), most = 0;
	struct clocks *clocks = calloc(1, sizeof(*clocks));

	if (clocks == NULL)
		return NULL;
	for (uint32_t i = 0; i < steps; i++)
		most = graph_nprev(graph, i) > most ? graph_nprev(graph, i) : most;
	clocks->graph = graph;
	clocks->budget = budget;
	clocks->block = slab_alloc(
		(const struct slab_row[]){
			SLAB_ROW(clocks->of, steps),
			SLAB_ROW(clocks->left, steps),
			SLAB_ROW(clocks->part, graph->chains),
			SLAB_ROW(clocks->slot, graph->chains),
			SLAB_ROW(clocks->width, graph->chains),
			SLAB_ROW(clocks->singles, (size_t)most + 1),
		},
		6);
	clocks->now_step = COLL_NONE;
	if (clocks->block == NULL) {
		clocks_destroy(clocks);
		return NULL;
	}
	find_parts(clocks);
	for (uint32_t i = 0; i < steps; i++)
		clocks->left[i] = graph_nnext(graph, i);
	return clocks;
}

/* A step that no other waits for any more gives its array away. @return 0; -E2BIG or -ENOMEM */
static int
take_dense(struct clocks *clocks, uint32_t step, uint32_t width)
{
	const struct graph *graph = clocks->graph;
	struct clock *now = &clocks->now;

	for (uint32_t e = graph->first_prev[step]; e < graph->first_prev[step + 1]; e++) {
		struct clock *prev = &clocks->of[graph->prev[e]];

		if (prev->all != NULL && clocks->left[graph->prev[e]] == 1) {
			*now = *prev;
			*prev = (struct clock){ 0 };
			return 0;
		}
	}
	if (!budget_take(&clocks->budget->left.bytes, width * sizeof(*now->all)))
		return -E2BIG;
	now->bytes = width * sizeof(*now->all);
	now->all = calloc(width, sizeof(*now->all));
	return now->all != NULL ? 0 : -ENOMEM;
}

/* @return 0; -E2BIG or -ENOMEM */
static int
start_dense(struct clocks *clocks, uint32_t step, uint32_t width)
{
	const struct graph *graph = clocks->graph;
	int rc = take_dense(clocks, step, width);
	uint32_t *all = clocks->now.all;

	if (rc != 0)
		return rc;
	if (!budget_take(&clocks->budget->left.work, (uint64_t)graph_nprev(graph, step) * width / DENSE_AT_ONCE))
		return -E2BIG;
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
	return ORDER(x->at, y->at);
}

/* @param now  the step's clock so far, replaced. @return 0; -E2BIG or -ENOMEM */
static int
merge_in(struct clocks *clocks, struct clock *now, const struct entry *more, uint32_t count)
{
	uint64_t entries = (uint64_t)now->count + count + 1, bytes = entries * sizeof(*more);
	struct clock merged;

	if (!budget_take(&clocks->budget->left.work, entries) || !budget_take(&clocks->budget->left.bytes, bytes))
		return -E2BIG;
	merged = merge(now->some, now->count, more, count);
	merged.bytes = bytes;
	drop(clocks, now);
	*now = merged;
	return merged.some != NULL ? 0 : -ENOMEM;
}

/* @return 0; -E2BIG or -ENOMEM */
static int
start_sparse(struct clocks *clocks, uint32_t step)
{
	const struct graph *graph = clocks->graph;
	uint32_t count = 0, kept = 0;
	int rc;

	for (uint32_t e = graph->first_prev[step]; e < graph->first_prev[step + 1]; e++) {
		uint32_t prev = graph->prev[e];

		clocks->singles[count++] = (struct entry){ clocks->slot[graph->chain_of[prev]], graph->chain_at[prev] };
	}
	qsort(clocks->singles, count, sizeof(*clocks->singles), compare_entries);
	for (uint32_t i = 0; i < count; i++) /* of one chain the last, which is the latest */
		if (i + 1 == count || clocks->singles[i + 1].slot != clocks->singles[i].slot)
			clocks->singles[kept++] = clocks->singles[i];
	rc = merge_in(clocks, &clocks->now, clocks->singles, kept);
	for (uint32_t e = graph->first_prev[step]; e < graph->first_prev[step + 1] && rc == 0; e++) {
		const struct clock *known = &clocks->of[graph->prev[e]];

		if (known->count != 0)
			rc = merge_in(clocks, &clocks->now, known->some, known->count);
	}
	return rc;
}

/* A step starts: each one once, in the graph's order. @return 0; -E2BIG or -ENOMEM */
static int
clocks_start(struct clocks *clocks, uint32_t step)
{
	const struct graph *graph = clocks->graph;
	uint32_t width = clocks->width[graph->chain_of[step]];
	int rc = 0;

	if (clocks->now_step != COLL_NONE && clocks->left[clocks->now_step] != 0)
		clocks->of[clocks->now_step] = clocks->now;
	else
		drop(clocks, &clocks->now);
	clocks->now = (struct clock){ 0 };
	clocks->now_step = step;
	if (graph_nprev(graph, step) != 0)
		rc = width <= DENSE_MAX ? start_dense(clocks, step, width) : start_sparse(clocks, step);
	for (uint32_t e = graph->first_prev[step]; e < graph->first_prev[step + 1]; e++)
		if (--clocks->left[graph->prev[e]] == 0)
			drop(clocks, &clocks->of[graph->prev[e]]);
	return rc;
}

/* @return whether an earlier step is certain to be over when the step that started last is */
static bool
clocks_over(const struct clocks *clocks, uint32_t earlier)
{
	uint32_t chain = clocks->graph->chain_of[earlier], slot = clocks->slot[chain];
	const struct clock *now = &clocks->now;
	uint32_t lo = 0, hi = now->count;

	/* Another connected part of the graph: its slots are others'. */
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

/* Every access to every cell. */

enum access_kind { ACCESS_READ, ACCESS_ADD, ACCESS_WRITE };

struct access {
	uint32_t next; /* of the same cell; COLL_NONE ends */
	uint32_t step;
	enum access_kind kind;
};

struct races {
	const struct graph *graph;
	const struct cells *cells;
	struct clocks *clocks;
	uint32_t *head; /* [cells] latest access */
	struct access *accesses;
	uint32_t naccesses, cap;
	uint32_t unused; /* accesses behind a later one that all others are after */
	struct budget *budget;
};

struct races *
races_create(const struct graph *graph, const struct cells *cells, struct budget *budget)
{
	uint32_t count = cells->first[graph->schedule->ranks];
	struct races *races = calloc(1, sizeof(*races));

	if (races == NULL)
		return NULL;
	races->graph = graph;
	races->cells = cells;
	races->unused = COLL_NONE;
	races->budget = budget;
	races->clocks = clocks_create(graph, budget);
	races->head = malloc((size_t)count * sizeof(*races->head));
	if (races->clocks == NULL || races->head == NULL) {
		races_destroy(races);
		return NULL;
	}
	memset(races->head, 0xff, (size_t)count * sizeof(*races->head)); /* COLL_NONE */
	return races;
}

void
races_destroy(struct races *races)
{
	if (races == NULL)
		return;
	clocks_destroy(races->clocks);
	free(races->head);
	free(races->accesses);
	free(races);
}

static const char *
does(const struct races *races, uint32_t step, enum access_kind kind)
{
	bool local = graph_step(races->graph, step).peer == races->graph->rank_of[step];

	return kind == ACCESS_ADD ? "adds to" : kind == ACCESS_WRITE ? "overwrites" : local ? "reads" : "sends";
}

static int
describe_race(const struct races *races, const struct access *a, const struct access *b, uint32_t rank, uint32_t cell,
	      struct err *err)
{
	const struct graph *graph = races->graph;

	return err_set(err, -EINVAL,
		       "race at rank %" PRIu32 ": rank %" PRIu32 " step %" PRIu32 " %s elements %" PRIu64 "..%" PRIu64
		       " while rank %" PRIu32 " step %" PRIu32 " %s them: nothing makes one wait for the other",
		       rank, graph->rank_of[b->step], graph_number(graph, b->step), does(races, b->step, b->kind),
		       cell_from(races->cells, rank, cell), cell_last(races->cells, rank, cell), graph->rank_of[a->step],
		       graph_number(graph, a->step), does(races, a->step, a->kind));
}

static bool
conflict(enum access_kind a, enum access_kind b)
{
	return a != b || a == ACCESS_WRITE; /* two reads, or two sums, disturb each other in no order */
}

/* @param index  set: an access to fill in. @return 0; -E2BIG or -ENOMEM */
static int
new_access(struct races *races, uint32_t *index)
{
	*index = races->unused;
	if (*index != COLL_NONE) {
		races->unused = races->accesses[*index].next;
		return 0;
	}
	if (races->naccesses == races->cap) {
		uint32_t cap = races->cap == 0 ? 1024 : 2 * races->cap;
		struct access *larger;

		if (cap <= races->cap ||
		    !budget_take(&races->budget->left.bytes, (uint64_t)(cap - races->cap) * sizeof(*larger)))
			return -E2BIG;
		larger = realloc(races->accesses, (size_t)cap * sizeof(*larger));
		if (larger == NULL)
			return -ENOMEM;
		races->accesses = larger;
		races->cap = cap;
	}
	*index = races->naccesses++;
	return 0;
}

/* @param link  to the access, from the cell's head or the access before */
static void
forget(struct races *races, uint32_t *link)
{
	uint32_t index = *link;

	*link = races->accesses[index].next;
	races->accesses[index].next = races->unused;
	races->unused = index;
}

/*
 * An access that conflicts with an earlier access conflicts with a later one of its kind, and an access after the later
 * one is after the earlier: of accesses one after another the last is enough.
 * @return 0, -ENOMEM, -E2BIG or -EINVAL
 */
static int
add_access(struct races *races, uint32_t rank, uint32_t cell, struct access access, struct err *err)
{
	uint32_t *link = &races->head[cell], index;
	int rc;

	while (*link != COLL_NONE) {
		struct access *earlier = &races->accesses[*link];
		bool over = clocks_over(races->clocks, earlier->step), disturbs = conflict(earlier->kind, access.kind);

		if (!budget_take(&races->budget->left.work, 1))
			return -E2BIG;
		if (disturbs && !over)
			return describe_race(races, earlier, &access, rank, cell, err);
		if (over && (!disturbs || access.kind == ACCESS_WRITE))
			forget(races, link);
		else
			link = &earlier->next;
	}
	rc = new_access(races, &index);
	if (rc != 0)
		return rc;
	access.next = races->head[cell];
	races->accesses[index] = access;
	races->head[cell] = index;
	return 0;
}

/* @return -E2BIG with err */
static int
too_concurrent(const struct races *races, uint32_t step, struct err *err)
{
	const struct graph *graph = races->graph;

	return err_set(err, -E2BIG,
		       "rank %" PRIu32 " step %" PRIu32 ": to order it and the steps of %" PRIu32
		       " chains takes more than %" PRIu64 " B or %" PRIu64
		       " comparisons; fewer steps that may run at once would be right",
		       graph->rank_of[step], graph_number(graph, step), graph->chains, races->budget->all.bytes,
		       races->budget->all.work);
}

int
races_step(struct races *races, uint32_t step, struct err *err)
{
	const struct coll_step of = graph_step(races->graph, step), *s = &of;
	uint32_t rank = races->graph->rank_of[step];
	struct cell_range src = cells_of(races->cells, rank, s->src_elems, s->count_elems);
	struct cell_range dst = cells_of(races->cells, s->peer, s->dst_elems, s->count_elems);
	struct access read = { .step = step, .kind = ACCESS_READ };
	struct access change = { .step = step, .kind = s->reduce ? ACCESS_ADD : ACCESS_WRITE };
	int rc = clocks_start(races->clocks, step);

	for (uint32_t i = 0; i < src.end - src.first && rc == 0; i++) {
		rc = add_access(races, rank, src.first + i, read, err);
		if (rc == 0)
			rc = add_access(races, s->peer, dst.first + i, change, err);
	}
	return rc == -E2BIG ? too_concurrent(races, step, err) : rc;
}
