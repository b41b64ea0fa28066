/* SPDX-License-Identifier: BSD-3-Clause */
#include "diag/report/provenance_layout.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define WIDTH 1180.0
#define EDGE 90.0
#define MAX_PITCH 250.0
#define ROW_PITCH 118.0
#define TOP 28.0
#define MIN_SHARE 0.002 /* of the heaviest edge of its kind */

enum row { ROW_OWN, ROW_PORTS, ROW_OTHER, ROWS };

struct item {
	uint32_t vertex;
	double weight; /* of its edges: the weakest are left out */
	double key;    /* from left to right */
};

static enum row
row_of(const struct provenance_vertex *vertex)
{
	if (vertex->kind == PROVENANCE_PORT)
		return ROW_PORTS;
	return vertex->collective ? ROW_OWN : ROW_OTHER;
}

static int
cmp_weight(const void *pa, const void *pb)
{
	const struct item *a = pa, *b = pb;

	if (a->weight != b->weight)
		return a->weight > b->weight ? -1 : 1;
	return a->vertex < b->vertex ? -1 : a->vertex > b->vertex;
}

static int
cmp_key(const void *pa, const void *pb)
{
	const struct item *a = pa, *b = pb;

	if (a->key != b->key)
		return a->key < b->key ? -1 : 1;
	return a->vertex < b->vertex ? -1 : a->vertex > b->vertex;
}

bool
plane_shows(const struct plane *plane, const struct provenance_edge *edge)
{
	return edge->weight >= MIN_SHARE * plane->most[edge->kind];
}

/*
 * How much a vertex matters; 0: no edge shown leads to it. The step's own flow, the ports it met and those that halted
 * them go before all others.
 */
static double
weigh(const struct plane *plane, const struct provenance *g, uint32_t vertex)
{
	double sum = g->vertices[vertex].victim ? 1e30 : 0;

	for (uint32_t e = 0; e < g->nedges; e++) {
		const struct provenance_edge *edge = &g->edges[e];

		if ((edge->from != vertex && edge->to != vertex) || !plane_shows(plane, edge))
			continue;
		if (edge->kind == PROVENANCE_PORT_PORT)
			sum += 1e20 * edge->weight;
		else
			sum += edge->weight + (g->vertices[edge->from].victim ? 1e25 : 0);
	}
	return sum;
}

/* The hop of the step's own path, then further away by halted port: at most as many rounds as ports. */
static double
port_key(const struct verdict *v, const struct provenance *g, uint32_t vertex)
{
	uint32_t flow = v->run.steps[g->step].flow, at = vertex;

	for (uint32_t round = 0; round < 8; round++) {
		for (uint32_t h = 0; h < v->run.nhops; h++) {
			if (v->run.hops[h].flow == flow && !v->run.hops[h].reverse &&
			    v->run.hops[h].port == g->vertices[at].ref)
				return v->run.hops[h].hop + 0.1 * round;
		}
		for (uint32_t e = 0; e < g->nedges; e++) {
			if (g->edges[e].kind == PROVENANCE_PORT_PORT && g->edges[e].to == at) {
				at = g->edges[e].from;
				break;
			}
		}
	}
	return 1000;
}

/* The mean place of the ports it is tied to, by weight. */
static double
flow_key(const struct plane *plane, const struct provenance *g, uint32_t vertex)
{
	double sum = 0, weights = 0;

	for (uint32_t e = 0; e < g->nedges; e++) {
		const struct provenance_edge *edge = &g->edges[e];
		uint32_t port = edge->from == vertex ? edge->to : edge->to == vertex ? edge->from : RUN_NONE;

		if (port == RUN_NONE || !plane->spots[port].shown)
			continue;
		sum += plane->spots[port].x * (edge->weight + 1e-9);
		weights += edge->weight + 1e-9;
	}
	return weights > 0 ? sum / weights : WIDTH / 2;
}

static void
place_row(struct plane *plane, struct item *items, uint32_t count, double y)
{
	double pitch = count > 1 ? fmin(MAX_PITCH, (WIDTH - 2 * EDGE) / (count - 1)) : MAX_PITCH;

	qsort(items, count, sizeof(*items), cmp_key);
	for (uint32_t i = 0; i < count; i++)
		plane->spots[items[i].vertex] = (struct plane_spot){ WIDTH / 2 + (i - (count - 1) / 2.0) * pitch, y, true };
}

/* @return vertices of the row that are shown */
static uint32_t
fill_row(struct plane *plane, const struct verdict *v, const struct provenance *g, enum row row, struct item *items,
	 double y)
{
	uint32_t count = 0;

	for (uint32_t i = 0; i < g->nvertices; i++) {
		double weight = weigh(plane, g, i);

		if (row_of(&g->vertices[i]) != row)
			continue;
		if (weight > 0)
			items[count++] = (struct item){ .vertex = i, .weight = weight };
		else
			plane->hidden++;
	}
	qsort(items, count, sizeof(*items), cmp_weight);
	if (count > PLANE_MAX_ROW) {
		plane->hidden += count - PLANE_MAX_ROW;
		count = PLANE_MAX_ROW;
	}
	for (uint32_t i = 0; i < count; i++)
		items[i].key = row == ROW_PORTS ? port_key(v, g, items[i].vertex) : flow_key(plane, g, items[i].vertex);
	place_row(plane, items, count, y);
	if (row == ROW_PORTS && count > 1)
		plane->pitch = fmin(MAX_PITCH, (WIDTH - 2 * EDGE) / (count - 1));
	return count;
}

int
plane_init(struct plane *plane, const struct verdict *v, const struct provenance *g)
{
	struct item *items = calloc((size_t)g->nvertices + 1, sizeof(*items));
	uint32_t others;

	memset(plane, 0, sizeof(*plane));
	plane->pitch = MAX_PITCH;
	plane->spots = calloc((size_t)g->nvertices + 1, sizeof(*plane->spots));
	if (items == NULL || plane->spots == NULL) {
		free(items);
		plane_fini(plane);
		return -ENOMEM;
	}
	for (uint32_t e = 0; e < g->nedges; e++)
		plane->most[g->edges[e].kind] = fmax(plane->most[g->edges[e].kind], g->edges[e].weight);
	fill_row(plane, v, g, ROW_PORTS, items, TOP + ROW_PITCH);
	fill_row(plane, v, g, ROW_OWN, items, TOP);
	others = fill_row(plane, v, g, ROW_OTHER, items, TOP + 2 * ROW_PITCH);
	plane->height = TOP + (others > 0 ? 2 : 1) * ROW_PITCH + TOP;
	free(items);
	return 0;
}

void
plane_fini(struct plane *plane)
{
	free(plane->spots);
	memset(plane, 0, sizeof(*plane));
}
