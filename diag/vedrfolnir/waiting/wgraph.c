/* SPDX-License-Identifier: BSD-3-Clause */
#include "diag/vedrfolnir/waiting/wgraph.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/err.h"
#include "common/minmax.h"
#include "diag/run/fill.h"
#include "diag/run/run.h"
#include "diag/vedrfolnir/section.h"

struct build {
	const struct run_step *steps; /* of this graph */
	uint32_t first, count;
	struct waiting_graph *w;
	bool any_open;
	uint32_t *waiters; /* [count] of each step: the number of steps that waited for it, and is not pruned */
	uint32_t *work;    /* [count + 1] */
	uint32_t *stuck;   /* [count] see find_stuck(); of a graph with an open step */
	uint32_t *lasts;   /* [nlasts] the last step of each rank in each collective, for which the end waits */
	uint32_t nlasts;
	uint32_t latest; /* index into lasts, RUN_NONE: there is none */
	uint32_t walked; /* steps of the path, those that did not start too */
};

static void add_vertices(struct build *b);
static void find_stuck(struct build *b, uint32_t *mark);
static void list_lasts(struct build *b);
static void prune(struct build *b);
static void walk_path(struct build *b);
static int add_edges(struct build *b, struct err *err);

int
wgraph_build(const struct run_step *steps, uint32_t first, uint32_t count, struct waiting_graph *waiting, struct err *err)
{
	struct build b = { .steps = steps + first, .first = first, .count = count, .w = waiting, .latest = RUN_NONE };
	size_t room = (size_t)count + 1;
	int rc = -ENOMEM;

	memset(waiting, 0, sizeof(*waiting));
	b.waiters = run_alloc(room, sizeof(*b.waiters), err);
	b.work = run_alloc(room, sizeof(*b.work), err);
	b.stuck = run_alloc(room, sizeof(*b.stuck), err);
	b.lasts = run_alloc(room, sizeof(*b.lasts), err);
	waiting->vertices = run_alloc(2 * (size_t)count + 1, sizeof(*waiting->vertices), err);
	waiting->path = run_alloc(room, sizeof(*waiting->path), err);
	if (b.waiters != NULL && b.work != NULL && b.stuck != NULL && b.lasts != NULL && waiting->vertices != NULL &&
	    waiting->path != NULL) {
		add_vertices(&b);
		if (b.any_open)
			find_stuck(&b, b.work);
		list_lasts(&b);
		prune(&b);
		walk_path(&b);
		rc = add_edges(&b, err);
	}
	if (rc != 0) {
		free(waiting->vertices);
		free(waiting->path);
		memset(waiting, 0, sizeof(*waiting));
	}
	free(b.waiters);
	free(b.work);
	free(b.stuck);
	free(b.lasts);
	return rc;
}

static uint32_t
end_of(const struct build *b)
{
	return 2 * b->count;
}

/* Index within the graph of the step that step i waited for, RUN_NONE: none in it. */
static uint32_t
awaited(const struct build *b, uint32_t i)
{
	uint32_t step = b->steps[i].waited_for;

	if (step == RUN_NONE || step < b->first || step >= b->first + b->count)
		return RUN_NONE;
	return step - b->first;
}

static void
add_vertices(struct build *b)
{
	struct waiting_graph *w = b->w;
	uint64_t last_ps = 0;

	for (uint32_t i = 0; i < b->count; i++) {
		const struct run_step *step = &b->steps[i];
		uint32_t on = awaited(b, i);

		w->vertices[WGRAPH_START(i)] =
			(struct waiting_vertex){ .time_ps = step->start_ps, .step = b->first + i, .kind = WAITING_START };
		w->vertices[WGRAPH_END(i)] =
			(struct waiting_vertex){ .time_ps = step->end_ps, .step = b->first + i, .kind = WAITING_END };
		last_ps = max_u64(last_ps, step->end_ps);
		b->any_open |= step->open;
		if (on != RUN_NONE)
			b->waiters[on]++;
	}
	w->vertices[end_of(b)] =
		(struct waiting_vertex){ .time_ps = last_ps, .step = RUN_NONE, .kind = WAITING_ITERATION_END };
	w->nvertices = 2 * b->count + 1;
}

/* Does step i wait for another to start? */
static bool
is_held(const struct build *b, uint32_t i)
{
	return b->steps[i].open && !b->steps[i].started && awaited(b, i) != RUN_NONE;
}

/*
 * Of each step the one that holds it up: the first of its chain of steps that have not started; the step itself if it
 * has started. Each chain is followed once; one that leads into itself, since data may be wrong, ends anywhere in its
 * circle.
 * @param mark  [count] zeroed
 */
static void
find_stuck(struct build *b, uint32_t *mark)
{
	for (uint32_t i = 0; i < b->count; i++)
		b->stuck[i] = RUN_NONE;
	for (uint32_t i = 0; i < b->count; i++) {
		uint32_t at = i, end;

		while (b->stuck[at] == RUN_NONE && mark[at] != i + 1 && is_held(b, at)) {
			mark[at] = i + 1;
			at = awaited(b, at);
		}
		end = b->stuck[at] != RUN_NONE ? b->stuck[at] : at;
		for (at = i; b->stuck[at] == RUN_NONE; at = awaited(b, at)) {
			b->stuck[at] = end;
			if (at == end || !is_held(b, at))
				break;
		}
	}
}

/* Does the end wait longer for a than for c? Open steps are worst, the one stuck first worst of all. */
static bool
later(const struct build *b, uint32_t a, uint32_t c)
{
	const struct run_step *x = &b->steps[a], *y = &b->steps[c];

	if (x->open != y->open)
		return x->open;
	if (!x->open)
		return x->end_ps > y->end_ps;
	x = &b->steps[b->stuck[a]];
	y = &b->steps[b->stuck[c]];
	if (x->started != y->started)
		return x->started;
	return x->start_ps < y->start_ps;
}

/*
 * The end waits for every rank of every collective: for the last of its known steps to end, of equals the last listed.
 */
static void
list_lasts(struct build *b)
{
	uint32_t last = RUN_NONE;

	for (uint32_t i = 0; i < b->count; i++) {
		const struct run_step *step = &b->steps[i], *next = step + 1;

		if (step->reported && (last == RUN_NONE || !later(b, last, i)))
			last = i;
		if (i + 1 < b->count && next->rank == step->rank && next->collective == step->collective)
			continue;
		if (last != RUN_NONE) {
			b->lasts[b->nlasts++] = last;
			b->waiters[last]++;
		}
		last = RUN_NONE;
	}
}

/*
 * "recursively prune nodes with an in-degree of zero": a step's start has the edge from its end alone, and both go
 * together. Each step enters the work list at most once.
 */
static void
prune(struct build *b)
{
	uint32_t nwork = 0;

	for (uint32_t i = 0; i < b->count; i++)
		if (b->waiters[i] == 0)
			b->work[nwork++] = i;
	for (uint32_t n = 0; n < nwork; n++) {
		uint32_t i = b->work[n], on = awaited(b, i);

		b->w->vertices[WGRAPH_START(i)].pruned = b->w->vertices[WGRAPH_END(i)].pruned = true;
		if (on != RUN_NONE && --b->waiters[on] == 0)
			b->work[nwork++] = on;
	}
}

static void
reverse_path(struct waiting_graph *w)
{
	for (uint32_t i = 0; i < w->npath / 2; i++) {
		uint32_t other = w->path[w->npath - 1 - i];

		w->path[w->npath - 1 - i] = w->path[i];
		w->path[i] = other;
	}
}

static void
walk_path(struct build *b)
{
	struct waiting_graph *w = b->w;

	for (uint32_t l = 0; l < b->nlasts; l++)
		if (b->latest == RUN_NONE || later(b, b->lasts[l], b->lasts[b->latest]))
			b->latest = l;
	w->vertices[end_of(b)].critical = true;
	if (b->latest == RUN_NONE)
		return;
	for (uint32_t i = b->lasts[b->latest]; i != RUN_NONE && !w->vertices[WGRAPH_END(i)].critical; i = awaited(b, i)) {
		w->vertices[WGRAPH_START(i)].critical = true;
		w->vertices[WGRAPH_END(i)].critical = true;
		b->walked++;
		if (!b->steps[i].started)
			continue;
		w->path[w->npath++] = b->first + i;
		w->exec_ps = sum_u64(w->exec_ps, b->steps[i].end_ps - b->steps[i].start_ps);
	}
	reverse_path(w);
}

static void
add_edge(struct build *b, struct waiting_edge edge, bool all)
{
	if (all || edge.critical)
		b->w->edges[b->w->nedges++] = edge;
}

/* That of its execution, and that to the step that it waited for. */
static void
add_step_edges(struct build *b, uint32_t i, bool all)
{
	const struct run_step *step = &b->steps[i];
	const struct waiting_vertex *vertex = &b->w->vertices[WGRAPH_START(i)]; /* its end is pruned and critical with it */
	struct waiting_edge edge = { .weight_ps = step->started ? step->end_ps - step->start_ps : 0,
				     .from = WGRAPH_END(i),
				     .to = WGRAPH_START(i),
				     .kind = WAITING_EXEC,
				     .pruned = vertex->pruned,
				     .critical = vertex->critical };
	uint32_t on = awaited(b, i);

	add_edge(b, edge, all);
	if (on == RUN_NONE)
		return;
	edge.weight_ps = 0;
	edge.from = WGRAPH_START(i);
	edge.to = WGRAPH_END(on);
	edge.kind = step->rank == b->steps[on].rank ? WAITING_OWN : WAITING_DATA;
	add_edge(b, edge, all);
}

/* Of a graph that is too large to be drawn the edges of the path are there. */
static int
add_edges(struct build *b, struct err *err)
{
	bool all = b->count <= WAITING_DRAWN_STEPS;

	b->w->edges =
		run_alloc(2 * (size_t)(all ? b->count : b->walked) + (all ? b->nlasts : 1) + 1, sizeof(*b->w->edges), err);
	if (b->w->edges == NULL)
		return -ENOMEM;
	for (uint32_t i = 0; i < b->count; i++)
		if (all || b->w->vertices[WGRAPH_END(i)].critical)
			add_step_edges(b, i, all);
	for (uint32_t l = 0; l < b->nlasts; l++)
		add_edge(b,
			 (struct waiting_edge){ .from = end_of(b),
						.to = WGRAPH_END(b->lasts[l]),
						.kind = WAITING_LAST,
						.critical = l == b->latest },
			 all);
	return 0;
}

static uint64_t
lasted_ps(const struct run_step *step)
{
	return step->end_ps - step->start_ps;
}

static uint64_t
lost_ps(const struct run_step *step)
{
	uint64_t exec_ps = lasted_ps(step);

	return exec_ps > step->expect_ps ? exec_ps - step->expect_ps : 0;
}

static int
cmp_lost(const void *pa, const void *pb, void *arg)
{
	const struct run_step *steps = arg;
	uint32_t a = *(const uint32_t *)pa, b = *(const uint32_t *)pb;
	uint64_t x = lost_ps(&steps[a]), y = lost_ps(&steps[b]);

	if (x != y)
		return x > y ? -1 : 1;
	return ORDER(a, b);
}

void
slow_flows_list(const struct run_step *steps, uint32_t first, uint32_t count, struct waiting_graph *waiting)
{
	waiting->npath = 0;
	waiting->exec_ps = 0;
	for (uint32_t i = first; i < first + count; i++)
		if (steps[i].slow)
			waiting->path[waiting->npath++] = i;
	qsort_r(waiting->path, waiting->npath, sizeof(*waiting->path), cmp_lost, (void *)(uintptr_t)steps);
	if (waiting->npath > SLOW_FLOWS_LISTED)
		waiting->npath = SLOW_FLOWS_LISTED;
	for (uint32_t p = 0; p < waiting->npath; p++)
		waiting->exec_ps = sum_u64(waiting->exec_ps, lasted_ps(&steps[waiting->path[p]]));
}
