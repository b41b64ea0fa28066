/* SPDX-License-Identifier: BSD-3-Clause */
#include "diag/vedrfolnir/rating/rating.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "common/err.h"
#include "diag/run/run.h"
#include "diag/vedrfolnir/provenance/provenance.h"

static void rate_component(const struct prov_graph *graph, uint32_t first, uint32_t end, double *r);

void
rating_ports(const struct prov_graph *graph, double *r)
{
	memset(r, 0, (size_t)graph->nports * graph->nflows * sizeof(*r));
	/* Downstream first: a component is rated after those that it waits for. */
	for (uint32_t first = 0, end; first < graph->nports; first = end) {
		uint32_t component = graph->ports[graph->order[first]].component;

		for (end = first + 1; end < graph->nports && graph->ports[graph->order[end]].component == component; end++)
			;
		rate_component(graph, first, end, r);
	}
}

static void
add_port(const struct prov_graph *graph, uint32_t p, double *r, double *sum)
{
	const struct prov_port *port = &graph->ports[p];

	for (uint32_t a = port->first_at; a < port->first_at + port->nats; a++)
		sum[graph->ats[a].flow] += graph->ats[a].contrib;
	for (uint32_t l = port->first_link; l < port->first_link + port->nlinks; l++) {
		const struct prov_link *link = &graph->links[l];
		const double *down = &r[(size_t)link->to * graph->nflows];

		if (graph->ports[link->to].component == port->component)
			continue;
		for (uint32_t f = 0; f < graph->nflows; f++)
			sum[f] += down[f] * link->weight;
	}
}

/* Ports [first, end) of the order, one component. The first of them gathers the sum; the others get a copy. */
static void
rate_component(const struct prov_graph *graph, uint32_t first, uint32_t end, double *r)
{
	double *sum = &r[(size_t)graph->order[first] * graph->nflows];

	for (uint32_t i = first; i < end; i++)
		add_port(graph, graph->order[i], r, sum);
	for (uint32_t i = first + 1; i < end; i++)
		memcpy(&r[(size_t)graph->order[i] * graph->nflows], sum, graph->nflows * sizeof(*sum));
}

void
rating_flows(const struct prov_graph *graph, const double *r, double *scores)
{
	memset(scores, 0, graph->nflows * sizeof(*scores));
	if (graph->victim == EV_NONE)
		return;
	for (uint32_t p = 0; p < graph->nports; p++) {
		const struct prov_port *port = &graph->ports[p];
		const struct prov_at *cf = prov_at_find(graph, port, graph->victim);

		if (cf == NULL || !cf->edge)
			continue;
		for (uint32_t f = 0; f < graph->nflows; f++)
			scores[f] += r[(size_t)p * graph->nflows + f];
		for (uint32_t a = port->first_at; a < port->first_at + port->nats; a++)
			scores[graph->ats[a].flow] += graph->ats[a].cf_wait - graph->ats[a].contrib;
	}
	scores[graph->victim] = 0;
}

double
rating_excess_ps(uint64_t exec_ps, uint64_t expect_ps)
{
	return exec_ps > expect_ps ? (double)(exec_ps - expect_ps) : 0;
}

double
rating_step_weight(uint64_t exec_ps, uint64_t expect_ps, double excess_sum_ps)
{
	return excess_sum_ps > 0 ? rating_excess_ps(exec_ps, expect_ps) / excess_sum_ps : 0;
}
