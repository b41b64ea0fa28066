/* SPDX-License-Identifier: BSD-3-Clause */
/* Tarjan's strongly connected components over the port-port edges, without recursion. */
#include <errno.h>
#include <stdlib.h>

#include "diag/vedrfolnir/provenance/provenance.h"

#define UNSEEN UINT32_MAX

struct tarjan {
	struct prov_graph *graph;
	uint32_t *index, *low; /* [nports] */
	uint32_t *next_link;   /* [nports] how far a port's links were followed */
	uint32_t *stack, nstack;
	uint32_t *calls, ncalls;
	bool *stacked;
	uint32_t counter, nordered;
};

static void
enter(struct tarjan *t, uint32_t p)
{
	t->index[p] = t->low[p] = t->counter++;
	t->stack[t->nstack++] = p;
	t->stacked[p] = true;
	t->calls[t->ncalls++] = p;
}

static void
leave(struct tarjan *t, uint32_t p)
{
	struct prov_graph *g = t->graph;

	t->ncalls--;
	if (t->ncalls > 0) {
		uint32_t parent = t->calls[t->ncalls - 1];

		if (t->low[p] < t->low[parent])
			t->low[parent] = t->low[p];
	}
	if (t->low[p] != t->index[p])
		return;
	for (;;) {
		uint32_t q = t->stack[--t->nstack];

		t->stacked[q] = false;
		g->ports[q].component = g->ncomponents;
		g->order[t->nordered++] = q;
		if (q != p)
			g->cyclic = true;
		else
			break;
	}
	g->ncomponents++;
}

static void
visit(struct tarjan *t, uint32_t root)
{
	struct prov_graph *g = t->graph;

	enter(t, root);
	while (t->ncalls > 0) {
		uint32_t p = t->calls[t->ncalls - 1];
		const struct prov_port *port = &g->ports[p];

		if (t->next_link[p] == port->nlinks) {
			leave(t, p);
			continue;
		}
		uint32_t to = g->links[port->first_link + t->next_link[p]++].to;

		if (t->index[to] == UNSEEN)
			enter(t, to);
		else if (t->stacked[to] && t->index[to] < t->low[p])
			t->low[p] = t->index[to];
	}
}

int
prov_components(struct prov_graph *graph)
{
	uint32_t n = graph->nports;
	uint32_t *words = calloc((size_t)n * 5 + 1, sizeof(*words));
	bool *stacked = calloc((size_t)n + 1, sizeof(*stacked));
	struct tarjan t = { .graph = graph, .stacked = stacked };

	free(graph->order);
	graph->order = calloc((size_t)n + 1, sizeof(*graph->order));
	if (words == NULL || stacked == NULL || graph->order == NULL) {
		free(words);
		free(stacked);
		return -ENOMEM;
	}
	t.index = words;
	t.low = words + n;
	t.next_link = words + 2 * (size_t)n;
	t.stack = words + 3 * (size_t)n;
	t.calls = words + 4 * (size_t)n;
	for (uint32_t p = 0; p < n; p++)
		t.index[p] = UNSEEN;
	graph->ncomponents = 0;
	graph->cyclic = false;
	for (uint32_t p = 0; p < n; p++) {
		if (t.index[p] == UNSEEN)
			visit(&t, p);
	}
	free(words);
	free(stacked);
	return 0;
}
