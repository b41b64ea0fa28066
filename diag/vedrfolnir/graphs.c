/* SPDX-License-Identifier: BSD-3-Clause */
#include "diag/vedrfolnir/graphs.h"

#include <errno.h>
#include <stdlib.h>

#include "diag/run/fill.h"
#include "diag/vedrfolnir/rating/rating.h"

/* Ports come first among the vertices, then flows. */
static uint32_t
flow_vertex(const struct prov_graph *graph, uint32_t flow)
{
	return graph->nports + flow;
}

static void
fill_vertices(struct provenance *out, const struct run *run, const struct prov_graph *graph)
{
	for (uint32_t p = 0; p < graph->nports; p++) {
		const struct prov_port *port = &graph->ports[p];

		out->vertices[p] = (struct provenance_vertex){
			.kind = PROVENANCE_PORT,
			.ref = port->port,
			.paused = port->paused,
			.pausing = port->latest != NULL && (port->latest->pausing || port->latest->pauses_sent != 0),
			.packets = port->packets,
			.depth_sum = port->depth_sum,
			.pause_ps = port->pause_ps,
		};
		out->present |= port->present;
	}
	for (uint32_t f = 0; f < graph->nflows; f++)
		out->vertices[flow_vertex(graph, f)] = (struct provenance_vertex){
			.kind = PROVENANCE_FLOW,
			.ref = graph->flows[f],
			.collective = run->flows[graph->flows[f]].collective,
			.victim = f == graph->victim,
		};
	out->nvertices = graph->nports + graph->nflows;
}

static void
add_edge(struct provenance *out, uint32_t kind, uint32_t from, uint32_t to, double weight)
{
	out->edges[out->nedges++] = (struct provenance_edge){ kind, from, to, weight };
}

static void
fill_edges(struct provenance *out, const struct prov_graph *graph)
{
	for (uint32_t p = 0; p < graph->nports; p++) {
		const struct prov_port *port = &graph->ports[p];

		for (uint32_t a = port->first_at; a < port->first_at + port->nats; a++) {
			const struct prov_at *at = &graph->ats[a];
			uint32_t flow = flow_vertex(graph, at->flow);

			if (at->edge)
				add_edge(out, PROVENANCE_FLOW_PORT, flow, p, at->wait);
			if (at->contrib > 0)
				add_edge(out, PROVENANCE_PORT_FLOW, p, flow, at->contrib);
		}
		for (uint32_t l = port->first_link; l < port->first_link + port->nlinks; l++)
			add_edge(out, PROVENANCE_PORT_PORT, p, graph->links[l].to, graph->links[l].weight);
	}
}

static int
cmp_score(const void *pa, const void *pb)
{
	const struct provenance_score *a = pa, *b = pb;

	if (a->score != b->score)
		return a->score > b->score ? -1 : 1;
	return a->flow < b->flow ? -1 : a->flow > b->flow;
}

static int
fill_scores(struct provenance *out, const struct prov_graph *graph, struct err *err)
{
	double *r = run_alloc((size_t)graph->nports * graph->nflows, sizeof(*r), err);
	double *scores = run_alloc(graph->nflows, sizeof(*scores), err);

	if (r != NULL && scores != NULL) {
		rating_ports(graph, r);
		rating_flows(graph, r, scores);
		for (uint32_t f = 0; f < graph->nflows; f++) {
			if (scores[f] > 0)
				out->scores[out->nscores++] = (struct provenance_score){ graph->flows[f], scores[f] };
		}
		qsort(out->scores, out->nscores, sizeof(*out->scores), cmp_score);
	}
	free(scores);
	free(r);
	return r != NULL && scores != NULL ? 0 : -ENOMEM;
}

int
graphs_fill(struct provenance *out, const struct run *run, const struct prov_graph *graph, uint32_t step, struct err *err)
{
	out->step = step;
	out->from_ps = graph->from_ps;
	out->to_ps = graph->to_ps;
	out->cyclic = graph->cyclic;
	for (uint32_t p = 0; p < graph->nreached; p++)
		out->covered_ps =
			graph->ports[p].covered_ps > out->covered_ps ? graph->ports[p].covered_ps : out->covered_ps;
	out->vertices = run_alloc((size_t)graph->nports + graph->nflows, sizeof(*out->vertices), err);
	out->edges = run_alloc(2 * (size_t)graph->nats + graph->nlinks, sizeof(*out->edges), err);
	out->scores = run_alloc(graph->nflows, sizeof(*out->scores), err);
	if (out->vertices == NULL || out->edges == NULL || out->scores == NULL)
		return -ENOMEM;
	fill_vertices(out, run, graph);
	fill_edges(out, graph);
	return fill_scores(out, graph, err);
}

void
graphs_empty(struct provenance *graph)
{
	free(graph->vertices);
	free(graph->edges);
	free(graph->scores);
	graph->vertices = NULL;
	graph->edges = NULL;
	graph->scores = NULL;
	graph->nvertices = graph->nedges = graph->nscores = 0;
}

/* What the order of steps rests on. */
struct ranking {
	const struct run_step *steps;
	const struct vedrfolnir_step *own;
};

static int
turn_of(const struct vedrfolnir_step *step)
{
	if (step->critical)
		return step->shown ? 0 : 1;
	return 2;
}

/* Of an open one too: what it lost up to the run's end. */
static uint64_t
lost_ps(const struct run_step *step)
{
	uint64_t exec_ps = step->end_ps - step->start_ps;

	return exec_ps > step->expect_ps ? exec_ps - step->expect_ps : 0;
}

static int
cmp_turn(const void *pa, const void *pb, void *arg)
{
	const struct ranking *ranking = arg;
	uint32_t a = *(const uint32_t *)pa, b = *(const uint32_t *)pb;
	int turn_a = turn_of(&ranking->own[a]), turn_b = turn_of(&ranking->own[b]);
	uint64_t lost_a = lost_ps(&ranking->steps[a]), lost_b = lost_ps(&ranking->steps[b]);

	if (turn_a != turn_b)
		return turn_a - turn_b;
	if (lost_a != lost_b)
		return lost_a > lost_b ? -1 : 1;
	return a < b ? -1 : a > b;
}

uint32_t
graphs_order(const struct run_step *steps, const struct vedrfolnir_step *own, uint32_t nsteps, uint32_t *order)
{
	struct ranking ranking = { steps, own };
	uint32_t count = 0;

	for (uint32_t i = 0; i < nsteps; i++)
		if (steps[i].slow)
			order[count++] = i;
	qsort_r(order, count, sizeof(*order), cmp_turn, &ranking);
	return count;
}
