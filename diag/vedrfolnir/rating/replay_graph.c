/* SPDX-License-Identifier: BSD-3-Clause */
#include "diag/vedrfolnir/rating/replay_graph.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/grow.h"
#include "diag/run/predecessors.h"

struct edge {
	uint32_t node, on;
};

/* Numbers of nodes are, until they are in order, the job's steps from the first and ranks behind them. */
struct build {
	const struct run *run;
	struct replay_graph *graph;
	uint32_t count;  /* of these numbers */
	uint32_t *order; /* [norder] those that take part, each after all that it waits for */
	uint32_t norder;
	uint32_t first_collective, end_collective; /* the job's, in run.collectives */
	uint32_t nsteps, first_rank;               /* of the job; first_rank: in run.ranks */
	struct edge *edges;
	uint32_t nedges, cap;
	bool no_memory;
};

static void
add_edge(struct build *b, uint32_t node, uint32_t on)
{
	if (b->no_memory)
		return;
	if (b->nedges == b->cap) {
		uint32_t cap = b->cap != 0 ? 2 * b->cap : 64;
		struct edge *more = realloc(b->edges, cap * sizeof(*more));

		b->no_memory = more == NULL;
		if (more == NULL)
			return;
		b->edges = more;
		b->cap = cap;
	}
	b->edges[b->nedges++] = (struct edge){ node, on };
}

/* The node of what a rank does in a collective, RUN_NONE: there is none. */
static uint32_t
rank_node(const struct build *b, const struct run_collective *collective, uint32_t rank)
{
	if (b->count == b->nsteps || rank >= collective->nranks)
		return RUN_NONE;
	return b->nsteps + collective->first_rank + rank - b->first_rank;
}

/* A node waits for what a rank did before. */
static void
wait_for_rank(struct build *b, uint32_t node, const struct run_collective *collective, uint32_t rank)
{
	struct predecessors predecessors = run_predecessors(b->run, collective);

	for (uint32_t i = 0; i < predecessors.count; i++) {
		uint32_t on = rank_node(b, &b->run->collectives[run_before(&predecessors, i)], rank);

		if (on != RUN_NONE)
			add_edge(b, node, on);
	}
}

static void
add_step(struct build *b, uint32_t node)
{
	const struct run_step *step = &b->run->steps[b->graph->first_step + node];
	const struct run_collective *collective = &b->run->collectives[step->collective];
	uint32_t own = rank_node(b, collective, step->rank), peer = rank_node(b, collective, step->peer);

	if (!step->started)
		return;
	for (uint32_t d = step->first_dep; d < step->first_dep + step->ndeps; d++)
		if (b->run->steps[b->run->depends[d]].started)
			add_edge(b, node, b->run->depends[d] - b->graph->first_step);
	if (!run_follows_own(b->run, step))
		wait_for_rank(b, node, collective, step->rank);
	if (own != RUN_NONE)
		add_edge(b, own, node);
	if (peer != RUN_NONE && peer != own)
		add_edge(b, peer, node);
}

static void
add_edges(struct build *b)
{
	for (uint32_t i = 0; i < b->nsteps; i++)
		add_step(b, i);
	for (uint32_t c = b->first_collective; c < b->end_collective && b->count != b->nsteps; c++) {
		const struct run_collective *collective = &b->run->collectives[c];

		for (uint32_t r = 0; r < collective->nranks; r++)
			if (!b->run->ranks[collective->first_rank + r].part)
				wait_for_rank(b, rank_node(b, collective, r), collective, r);
	}
}

/* The successors of each node, by counting: first[n] to first[n + 1]. */
static void
turn(const struct build *b, uint32_t *first, uint32_t *next)
{
	for (uint32_t e = 0; e < b->nedges; e++)
		first[b->edges[e].on + 1]++;
	for (uint32_t n = 0; n < b->count; n++)
		first[n + 1] += first[n];
	for (uint32_t e = b->nedges; e-- > 0;)
		next[--first[b->edges[e].on + 1]] = b->edges[e].node;
	for (uint32_t n = 0; n < b->count; n++)
		first[n] = first[n + 1];
	first[b->count] = b->nedges;
}

/* Kahn's: what waits for itself in a circle, since data may be wrong, is left out, and what waits for that. */
static int
sort_nodes(struct build *b)
{
	uint32_t *first = calloc((size_t)b->count + 1, sizeof(*first));
	uint32_t *next = malloc(((size_t)b->nedges + 1) * sizeof(*next));
	uint32_t *missing = calloc((size_t)b->count + 1, sizeof(*missing));
	int ret = -ENOMEM;

	if (first != NULL && next != NULL && missing != NULL) {
		turn(b, first, next);
		for (uint32_t e = 0; e < b->nedges; e++)
			missing[b->edges[e].node]++;
		for (uint32_t n = 0; n < b->count; n++)
			if (missing[n] == 0 && (n >= b->nsteps || b->run->steps[b->graph->first_step + n].started))
				b->order[b->norder++] = n;
		for (uint32_t i = 0; i < b->norder; i++)
			for (uint32_t s = first[b->order[i]]; s < first[b->order[i] + 1]; s++)
				if (--missing[next[s]] == 0)
					b->order[b->norder++] = next[s];
		ret = 0;
	}
	free(first);
	free(next);
	free(missing);
	return ret;
}

/* Nodes and what they wait for, in order. @return 0 or -ENOMEM */
static int
lay_out(struct build *b)
{
	struct replay_graph *g = b->graph;
	uint32_t at = 0;

	g->nodes = calloc((size_t)b->norder + 1, sizeof(*g->nodes));
	g->on = malloc(((size_t)b->nedges + 1) * sizeof(*g->on));
	if (g->nodes == NULL || g->on == NULL)
		return -ENOMEM;
	g->nnodes = b->norder;
	for (uint32_t i = 0; i < b->norder; i++)
		g->at[b->order[i]] = i;
	for (uint32_t e = 0; e < b->nedges; e++)
		if (g->at[b->edges[e].node] != RUN_NONE)
			g->nodes[g->at[b->edges[e].node]].non++;
	for (uint32_t i = 0; i < g->nnodes; i++) {
		g->nodes[i].first_on = at;
		at += g->nodes[i].non;
		g->nodes[i].non = 0;
	}
	g->non = at;
	for (uint32_t e = 0; e < b->nedges; e++) {
		uint32_t to = g->at[b->edges[e].node];

		if (to != RUN_NONE)
			g->on[g->nodes[to].first_on + g->nodes[to].non++] = g->at[b->edges[e].on];
	}
	return 0;
}

static double
latest_ps(const struct replay_graph *g, const struct replay_node *node)
{
	double latest_ps = 0;

	for (uint32_t i = node->first_on; i < node->first_on + node->non; i++)
		latest_ps = fmax(latest_ps, g->nodes[g->on[i]].end_ps);
	return latest_ps;
}

/* How long each took. */
static void
time_nodes(const struct build *b)
{
	struct replay_graph *g = b->graph;

	for (uint32_t i = 0; i < g->nnodes; i++) {
		uint32_t n = b->order[i];
		struct replay_node *node = &g->nodes[i];
		double ready_ps = latest_ps(g, node);
		const struct run_rank *rank = n >= b->nsteps ? &b->run->ranks[b->first_rank + n - b->nsteps] : NULL;

		if (rank == NULL)
			node->end_ps = (double)b->run->steps[g->first_step + n].end_ps;
		else
			node->end_ps = rank->part || rank->done_ps == RUN_UNKNOWN ? ready_ps : (double)rank->done_ps;
		node->took_ps = node->end_ps - ready_ps;
	}
}

int
replay_graph_init(struct replay_graph *graph, const struct run *run, uint32_t job, struct err *err)
{
	const struct run_iteration *first = &run->iterations[run->jobs[job].first_iteration];
	const struct run_iteration *last = first + run->jobs[job].niterations - 1;
	struct build b = { .run = run,
			   .graph = graph,
			   .first_collective = first->first_collective,
			   .end_collective = last->first_collective + last->ncollectives };
	const struct run_collective *end = &run->collectives[b.end_collective - 1];
	int ret = -ENOMEM;

	*graph = (struct replay_graph){ .first_step = first->first_step };
	b.nsteps = last->first_step + last->nsteps - first->first_step;
	b.first_rank = run->collectives[b.first_collective].first_rank;
	b.count = b.nsteps;
	if (b.end_collective - b.first_collective > 1) /* else nothing comes before */
		b.count += end->first_rank + end->nranks - b.first_rank;
	b.order = malloc(((size_t)b.count + 1) * sizeof(*b.order));
	graph->at = malloc(((size_t)b.count + 1) * sizeof(*graph->at));
	if (b.order != NULL && graph->at != NULL) {
		memset(graph->at, 0xff, ((size_t)b.count + 1) * sizeof(*graph->at)); /* RUN_NONE */
		add_edges(&b);
		if (!b.no_memory && sort_nodes(&b) == 0 && lay_out(&b) == 0)
			ret = 0;
	}
	if (ret == 0)
		time_nodes(&b);
	else
		err_set(err, ret, "out of memory for the waiting graph of %u steps", b.nsteps);
	free(b.edges);
	free(b.order);
	return ret;
}

void
replay_graph_fini(struct replay_graph *graph)
{
	free(graph->nodes);
	free(graph->on);
	free(graph->at);
}

double
replay_graph_end_ps(struct replay_graph *graph, uint32_t *last)
{
	double end_ps = 0;

	*last = RUN_NONE;
	for (uint32_t i = 0; i < graph->nnodes; i++) {
		struct replay_node *node = &graph->nodes[i];
		double ready_ps = 0;

		node->last = RUN_NONE;
		for (uint32_t e = node->first_on; e < node->first_on + node->non; e++) {
			const struct replay_node *on = &graph->nodes[graph->on[e]];

			if (node->last != RUN_NONE && on->replayed_ps <= ready_ps)
				continue;
			ready_ps = on->replayed_ps;
			node->last = graph->on[e];
		}
		node->replayed_ps = ready_ps + node->took_ps - node->less_ps;
		if (*last != RUN_NONE && node->replayed_ps <= end_ps)
			continue;
		end_ps = node->replayed_ps;
		*last = i;
	}
	return end_ps;
}
