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
	uint32_t *edge_of; /* [2 * count] the one edge that leaves a vertex, RUN_NONE: none */
	uint32_t *stuck;   /* [count] see find_stuck() */
};

static void add_vertices(struct build *b);
static void add_step_edges(struct build *b, uint32_t i);
static void find_stuck(struct build *b, uint32_t *mark);
static void add_last_edges(struct build *b);
static void prune(struct build *b, uint32_t *indegree, uint32_t *work);
static void walk_path(struct build *b);
static void keep_path(struct waiting_graph *w);

int
wgraph_build(const struct run_step *steps, uint32_t first, uint32_t count, struct waiting_graph *waiting, struct err *err)
{
	struct build b = { .steps = steps + first, .first = first, .count = count, .w = waiting };
	uint32_t nvertices = 2 * count + 1;
	uint32_t *work = run_alloc(nvertices, sizeof(*work), err);
	uint32_t *indegree = run_alloc(nvertices, sizeof(*indegree), err);

	memset(waiting, 0, sizeof(*waiting));
	b.edge_of = run_alloc(nvertices, sizeof(*b.edge_of), err);
	b.stuck = run_alloc((size_t)count + 1, sizeof(*b.stuck), err);
	waiting->vertices = run_alloc(nvertices, sizeof(*waiting->vertices), err);
	waiting->edges = run_alloc((size_t)3 * count + 1, sizeof(*waiting->edges), err);
	waiting->path = run_alloc((size_t)count + 1, sizeof(*waiting->path), err);
	if (work == NULL || indegree == NULL || b.edge_of == NULL || b.stuck == NULL || waiting->vertices == NULL ||
	    waiting->edges == NULL || waiting->path == NULL) {
		free(waiting->vertices);
		free(waiting->edges);
		free(waiting->path);
		memset(waiting, 0, sizeof(*waiting));
		free(work);
		free(indegree);
		free(b.edge_of);
		free(b.stuck);
		return err_set(err, -ENOMEM, "out of memory for a waiting graph of %u steps", count);
	}
	add_vertices(&b);
	for (uint32_t i = 0; i < count; i++)
		add_step_edges(&b, i);
	find_stuck(&b, work);
	add_last_edges(&b);
	memset(work, 0, nvertices * sizeof(*work));
	prune(&b, indegree, work);
	walk_path(&b);
	if (count > WAITING_DRAWN_STEPS)
		keep_path(waiting);
	free(work);
	free(indegree);
	free(b.edge_of);
	free(b.stuck);
	return 0;
}

static uint32_t
end_of(const struct build *b)
{
	return 2 * b->count;
}

static void
add_vertices(struct build *b)
{
	struct waiting_graph *w = b->w;
	uint64_t last_ps = 0;

	for (uint32_t i = 0; i < b->count; i++) {
		const struct run_step *step = &b->steps[i];

		w->vertices[WGRAPH_START(i)] =
			(struct waiting_vertex){ .time_ps = step->start_ps, .step = b->first + i, .kind = WAITING_START };
		w->vertices[WGRAPH_END(i)] =
			(struct waiting_vertex){ .time_ps = step->end_ps, .step = b->first + i, .kind = WAITING_END };
		if (step->end_ps > last_ps)
			last_ps = step->end_ps;
	}
	w->vertices[end_of(b)] =
		(struct waiting_vertex){ .time_ps = last_ps, .step = RUN_NONE, .kind = WAITING_ITERATION_END };
	w->nvertices = 2 * b->count + 1;
	for (uint32_t v = 0; v < w->nvertices; v++)
		b->edge_of[v] = RUN_NONE;
}

static void
add_edge(struct build *b, uint8_t kind, uint32_t from, uint32_t to, uint64_t weight_ps)
{
	struct waiting_graph *w = b->w;

	if (from != end_of(b))
		b->edge_of[from] = w->nedges;
	w->edges[w->nedges++] = (struct waiting_edge){ .weight_ps = weight_ps, .from = from, .to = to, .kind = kind };
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
add_step_edges(struct build *b, uint32_t i)
{
	const struct run_step *step = &b->steps[i];
	uint32_t on = awaited(b, i);

	add_edge(b, WAITING_EXEC, WGRAPH_END(i), WGRAPH_START(i), step->started ? step->end_ps - step->start_ps : 0);
	if (on != RUN_NONE)
		add_edge(b, step->rank == b->steps[on].rank ? WAITING_OWN : WAITING_DATA, WGRAPH_START(i), WGRAPH_END(on),
			 0);
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
add_last_edges(struct build *b)
{
	uint32_t last = RUN_NONE;

	for (uint32_t i = 0; i < b->count; i++) {
		const struct run_step *step = &b->steps[i], *next = step + 1;

		if (step->reported && (last == RUN_NONE || !later(b, last, i)))
			last = i;
		if (i + 1 < b->count && next->rank == step->rank && next->collective == step->collective)
			continue;
		if (last != RUN_NONE)
			add_edge(b, WAITING_LAST, end_of(b), WGRAPH_END(last), 0);
		last = RUN_NONE;
	}
}

static void
drop_vertex(struct build *b, uint32_t v, uint32_t *indegree, uint32_t *work, uint32_t *nwork)
{
	struct waiting_graph *w = b->w;
	uint32_t e = b->edge_of[v];

	w->vertices[v].pruned = true;
	if (e == RUN_NONE)
		return;
	w->edges[e].pruned = true;
	if (--indegree[w->edges[e].to] == 0)
		work[(*nwork)++] = w->edges[e].to;
}

/* "recursively prune nodes with an in-degree of zero"; each vertex enters the work list at most once. */
static void
prune(struct build *b, uint32_t *indegree, uint32_t *work)
{
	uint32_t nwork = 0;

	for (uint32_t e = 0; e < b->w->nedges; e++)
		indegree[b->w->edges[e].to]++;
	for (uint32_t v = 0; v < end_of(b); v++) {
		if (indegree[v] == 0)
			work[nwork++] = v;
	}
	for (uint32_t i = 0; i < nwork; i++)
		drop_vertex(b, work[i], indegree, work, &nwork);
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
	uint32_t last = RUN_NONE, last_edge = 0;

	for (uint32_t e = 0; e < w->nedges; e++) {
		uint32_t step = w->edges[e].to / 2;

		if (w->edges[e].kind != WAITING_LAST || (last != RUN_NONE && !later(b, step, last)))
			continue;
		last = step;
		last_edge = e;
	}
	w->vertices[end_of(b)].critical = true;
	if (last == RUN_NONE)
		return;
	w->edges[last_edge].critical = true;
	for (uint32_t i = last; i != RUN_NONE && !w->vertices[WGRAPH_END(i)].critical; i = awaited(b, i)) {
		w->vertices[WGRAPH_START(i)].critical = true;
		w->vertices[WGRAPH_END(i)].critical = true;
		w->edges[b->edge_of[WGRAPH_END(i)]].critical = true;
		if (b->edge_of[WGRAPH_START(i)] != RUN_NONE)
			w->edges[b->edge_of[WGRAPH_START(i)]].critical = true;
		if (!b->steps[i].started)
			continue;
		w->path[w->npath++] = b->first + i;
		w->exec_ps = sum_u64(w->exec_ps, b->steps[i].end_ps - b->steps[i].start_ps);
	}
	reverse_path(w);
}

/* Of a graph that is too large to be drawn the edges of the path are. */
static void
keep_path(struct waiting_graph *w)
{
	struct waiting_edge *kept;
	uint32_t count = 0;

	for (uint32_t e = 0; e < w->nedges; e++)
		if (w->edges[e].critical)
			w->edges[count++] = w->edges[e];
	w->nedges = count;
	kept = realloc(w->edges, ((size_t)count + 1) * sizeof(*kept));
	if (kept != NULL)
		w->edges = kept;
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
	return a < b ? -1 : a > b;
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
