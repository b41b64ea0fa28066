/* SPDX-License-Identifier: BSD-3-Clause */
#include "diag/vedrfolnir/provenance/provenance.h"

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "common/err.h"
#include "common/minmax.h"
#include "diag/collect/evidence.h"
#include "diag/vedrfolnir/provenance/build.h"

/* Tarjan's strongly connected components over the port-port edges, without recursion. */

#define UNSEEN UINT32_MAX

struct tarjan {
	struct prov_graph *graph;
	uint32_t *index, *low; /* [nports] */
	uint32_t *next_link;   /* [nports] number of a port's links that were followed */
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

static int add_reached_ports(struct prov_builder *b);
static int number_flows(struct prov_builder *b);
static void clear_slots(struct prov_builder *b);

int
prov_scratch_init(struct prov_scratch *scratch, const struct evidence *ev, struct err *err)
{
	scratch->port_slot = calloc((size_t)ev->nports + 1, sizeof(*scratch->port_slot));
	scratch->flow_slot = calloc((size_t)ev->nflows + 1, sizeof(*scratch->flow_slot));
	scratch->counted = calloc((size_t)ev->nflows + 1, sizeof(*scratch->counted));
	scratch->more = calloc((size_t)ev->nflows + 1, sizeof(*scratch->more));
	if (scratch->port_slot != NULL && scratch->flow_slot != NULL && scratch->counted != NULL && scratch->more != NULL)
		return 0;
	prov_scratch_fini(scratch);
	return err_set(err, -ENOMEM, "out of memory for the provenance of %u ports and %u flows", ev->nports, ev->nflows);
}

void
prov_scratch_fini(struct prov_scratch *scratch)
{
	free(scratch->port_slot);
	free(scratch->flow_slot);
	free(scratch->counted);
	free(scratch->more);
	*scratch = (struct prov_scratch){ 0 };
}

int
prov_build(const struct evidence *ev, struct prov_scratch *scratch, uint32_t flow, uint64_t from_ps, uint64_t to_ps,
	   enum prov_share share, struct prov_graph **out, struct err *err)
{
	struct prov_builder b = { .ev = ev,
				  .window = { from_ps, to_ps },
				  .flow = flow,
				  .share = share,
				  .port_slot = scratch->port_slot,
				  .flow_slot = scratch->flow_slot,
				  .counted = scratch->counted,
				  .more = scratch->more };
	int rc;

	b.graph = calloc(1, sizeof(*b.graph));
	if (b.graph == NULL)
		return err_set(err, -ENOMEM, "out of memory for a provenance graph");
	b.graph->from_ps = from_ps;
	b.graph->to_ps = to_ps;
	b.graph->victim = EV_NONE;
	b.graph->prio = ev->flows[flow].prio;
	rc = add_reached_ports(&b);
	/* Breadth first; a port enters once, so this ends. */
	for (uint32_t i = 0; rc == 0 && i < b.graph->nports; i++)
		rc = prov_port_links(&b, i);
	if (rc == 0)
		rc = number_flows(&b);
	if (rc == 0)
		rc = prov_components(b.graph);
	clear_slots(&b);
	if (rc != 0) {
		prov_destroy(b.graph);
		return err_set(err, rc, "out of memory for a provenance graph");
	}
	*out = b.graph;
	return 0;
}

void
prov_destroy(struct prov_graph *graph)
{
	if (graph == NULL)
		return;
	free(graph->flows);
	free(graph->ports);
	free(graph->ats);
	free(graph->links);
	free(graph->order);
	free(graph);
}

const struct prov_at *
prov_at_find(const struct prov_graph *graph, const struct prov_port *port, uint32_t flow)
{
	uint32_t lo = 0, hi = port->nats;

	while (lo < hi) {
		uint32_t mid = lo + (hi - lo) / 2;
		const struct prov_at *at = &graph->ats[port->first_at + mid];

		if (at->flow == flow)
			return at;
		if (at->flow < flow)
			lo = mid + 1;
		else
			hi = mid;
	}
	return NULL;
}

int
prov_grow(void **data, uint32_t count, uint32_t *cap, size_t size_bytes)
{
	uint32_t want = *cap == 0 ? 16 : *cap * 2;
	void *grown;

	if (count < *cap)
		return 0;
	grown = realloc(*data, want * size_bytes);
	if (grown == NULL)
		return -ENOMEM;
	*data = grown;
	*cap = want;
	return 0;
}

uint32_t
prov_add_port(struct prov_builder *b, uint32_t port)
{
	struct prov_graph *g = b->graph;
	struct prov_port state;

	if (b->port_slot[port] != 0)
		return b->port_slot[port] - 1;
	state = prov_port_state(b, port);
	if (prov_grow((void **)&g->ports, g->nports, &b->ports_cap, sizeof(*g->ports)) != 0 ||
	    prov_port_flows(b, &state) != 0)
		return EV_NONE;
	g->ports[g->nports++] = state;
	b->port_slot[port] = g->nports;
	return g->nports - 1;
}

static int
cmp_at_flow(const void *pa, const void *pb)
{
	const struct prov_at *a = pa, *b = pb;

	return ORDER(a->flow, b->flow);
}

/* A flow without rows at its own paused NIC has been there all the same. */
static int
add_nic(struct prov_builder *b)
{
	struct prov_graph *g = b->graph;
	const struct ev_flow *flow = &b->ev->flows[b->flow];
	struct prov_port *port;
	uint32_t nic, index;

	if (flow->nhops == 0)
		return 0;
	nic = b->ev->hops[flow->first_hop];
	if (b->port_slot[nic] != 0 || !prov_port_state(b, nic).paused)
		return 0;
	index = prov_add_port(b, nic);
	if (index == EV_NONE || prov_grow((void **)&g->ats, g->nats, &b->ats_cap, sizeof(*g->ats)) != 0)
		return -ENOMEM;
	port = &g->ports[index];
	for (uint32_t i = 0; i < port->nats; i++) {
		if (g->ats[port->first_at + i].flow == b->flow)
			return 0;
	}
	g->ats[g->nats++] = (struct prov_at){ .flow = b->flow, .edge = true };
	port->nats++;
	qsort(&g->ats[port->first_at], port->nats, sizeof(*g->ats), cmp_at_flow);
	return 0;
}

/* The ports of the victim: where it has packets in the window. */
static int
add_reached_ports(struct prov_builder *b)
{
	const struct ev_flow *flow = &b->ev->flows[b->flow];
	struct prov_graph *g = b->graph;
	int rc = add_nic(b);

	for (uint32_t i = 0; rc == 0 && i < flow->nseen; i++) {
		uint32_t ports = g->nports, ats = g->nats;
		uint32_t index = prov_add_port(b, b->ev->seen[flow->first_seen + i]);
		bool reached = false;

		if (index == EV_NONE)
			return -ENOMEM;
		for (uint32_t a = 0; a < g->ports[index].nats; a++)
			reached |= g->ats[g->ports[index].first_at + a].flow == b->flow;
		if (!reached && g->nports > ports) { /* not within this step's time */
			b->port_slot[g->ports[index].port] = 0;
			g->nports = ports;
			g->nats = ats;
		}
	}
	g->nreached = g->nports;
	return rc;
}

static int
cmp_u32(const void *pa, const void *pb)
{
	uint32_t a = *(const uint32_t *)pa, b = *(const uint32_t *)pb;

	return ORDER(a, b);
}

/* Flows get numbers of the graph's own, in order of their ids. */
static int
number_flows(struct prov_builder *b)
{
	struct prov_graph *g = b->graph;
	uint32_t kept = 0;

	g->flows = malloc(((size_t)g->nats + 1) * sizeof(*g->flows));
	if (g->flows == NULL)
		return -ENOMEM;
	for (uint32_t i = 0; i < g->nats; i++)
		g->flows[i] = g->ats[i].flow;
	qsort(g->flows, g->nats, sizeof(*g->flows), cmp_u32);
	for (uint32_t i = 0; i < g->nats; i++) {
		if (kept == 0 || g->flows[kept - 1] != g->flows[i])
			g->flows[kept++] = g->flows[i];
	}
	g->nflows = kept;
	for (uint32_t i = 0; i < kept; i++) {
		b->flow_slot[g->flows[i]] = i;
		if (g->flows[i] == b->flow)
			g->victim = i;
	}
	for (uint32_t i = 0; i < g->nats; i++)
		g->ats[i].flow = b->flow_slot[g->ats[i].flow];
	return 0;
}

static void
clear_slots(struct prov_builder *b)
{
	for (uint32_t p = 0; p < b->graph->nports; p++)
		b->port_slot[b->graph->ports[p].port] = 0;
	for (uint32_t f = 0; f < b->graph->nflows; f++)
		b->flow_slot[b->graph->flows[f]] = 0;
}
