/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Accesses of two steps to one cell must be ordered if one of them changes it, other than by sums alone. Steps come here
 * in an order that the graph allows, so none happens before one that came earlier: two are ordered if and only if the
 * later one's clock holds the earlier one.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "collectives/proof/clocks.h"
#include "collectives/proof/proof.h"

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
};

struct races *
races_create(const struct graph *graph, const struct cells *cells)
{
	uint32_t count = cells->first[graph->schedule->ranks];
	struct races *races = calloc(1, sizeof(*races));

	if (races == NULL)
		return NULL;
	races->graph = graph;
	races->cells = cells;
	races->unused = COLL_NONE;
	races->clocks = clocks_create(graph);
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
	bool local = races->graph->schedule->steps[step].peer == races->graph->rank_of[step];

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

/* @return an access to fill in, COLL_NONE without memory */
static uint32_t
new_access(struct races *races)
{
	uint32_t index = races->unused;

	if (index != COLL_NONE) {
		races->unused = races->accesses[index].next;
		return index;
	}
	if (races->naccesses == races->cap) {
		uint32_t cap = races->cap == 0 ? 1024 : 2 * races->cap;
		struct access *larger = cap > races->cap ? realloc(races->accesses, (size_t)cap * sizeof(*larger)) : NULL;

		if (larger == NULL)
			return COLL_NONE;
		races->accesses = larger;
		races->cap = cap;
	}
	return races->naccesses++;
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
 * What conflicts with an earlier access conflicts with a later one of its kind, and what comes after the later one comes
 * after the earlier: of accesses one after another the last is enough.
 * @return 0, -ENOMEM or -EINVAL
 */
static int
add_access(struct races *races, uint32_t rank, uint32_t cell, struct access access, struct err *err)
{
	uint32_t *link = &races->head[cell], index;

	while (*link != COLL_NONE) {
		struct access *earlier = &races->accesses[*link];
		bool over = clocks_over(races->clocks, earlier->step), disturbs = conflict(earlier->kind, access.kind);

		if (disturbs && !over)
			return describe_race(races, earlier, &access, rank, cell, err);
		if (over && (!disturbs || access.kind == ACCESS_WRITE))
			forget(races, link);
		else
			link = &earlier->next;
	}
	index = new_access(races);
	if (index == COLL_NONE)
		return -ENOMEM;
	access.next = races->head[cell];
	races->accesses[index] = access;
	races->head[cell] = index;
	return 0;
}

int
races_step(struct races *races, uint32_t step, struct err *err)
{
	const struct coll_step *s = &races->graph->schedule->steps[step];
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
	return rc;
}
