/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Incast: flows of several hosts meet at the last hop to one host and queue there. The victim is one of them, or is
 * halted by the pauses that the queue causes.
 */
#include <stdio.h>

#include "diag/cause/cause.h"
#include "diag/cause/pfc_root.h"

struct incast_ctx {
	struct cause_set *set;
	const struct prov_graph *graph;
	uint32_t step;
};

/* A flow that counts: it ends at the host behind the port, and is a real part of the port's traffic. */
static bool
is_part(const struct cause_input *in, const struct prov_graph *graph, const struct prov_port *port,
	const struct prov_at *at)
{
	return in->ev->flows[graph->flows[at->flow]].dst == in->ev->ports[port->port].peer_node &&
	       at->contrib > 0 && at->packets >= CAUSE_MIN_WAIT * port->packets;
}

bool
cause_is_incast(const struct cause_input *in, const struct prov_graph *graph, const struct prov_port *port)
{
	const struct ev_port *p = &in->ev->ports[port->port];
	uint32_t sources = 0;

	if (p->peer_node == EV_NONE || !in->ev->nodes[p->peer_node].host || in->ev->nodes[p->node].host ||
	    (port->depth_max < CAUSE_MIN_DEPTH && !(port->present && port->packets >= CAUSE_MIN_DEPTH)))
		return false;
	for (uint32_t a = port->first_at; a < port->first_at + port->nats; a++) {
		bool counted = false;

		if (!is_part(in, graph, port, &graph->ats[a]))
			continue;
		for (uint32_t b = port->first_at; b < a && !counted; b++)
			counted = is_part(in, graph, port, &graph->ats[b]) &&
				  in->ev->flows[graph->flows[graph->ats[b].flow]].src ==
					  in->ev->flows[graph->flows[graph->ats[a].flow]].src;
		sources += !counted;
	}
	return sources >= CAUSE_INCAST_FLOWS;
}

static void
add(struct incast_ctx *ctx, const struct prov_port *port, const uint32_t *path, uint32_t npath, double weight)
{
	const struct cause_input *in = ctx->set->in;
	const struct prov_graph *graph = ctx->graph;
	const struct prov_at *cf = prov_at_find(graph, port, graph->victim);
	struct cause_finding *finding = cause_add(ctx->set, VERDICT_INCAST, port->port, NULL, 0, ctx->step);
	char text[160], name[48];
	uint32_t flows = 0;
	double score = 0;

	if (finding == NULL)
		return;
	for (uint32_t i = 0; i < npath; i++)
		cause_port(ctx->set, finding, path[i]);
	cause_port(ctx->set, finding, port->port);
	for (uint32_t a = port->first_at; a < port->first_at + port->nats; a++) {
		const struct prov_at *at = &graph->ats[a];
		/* As in Eq. 2: what the victim itself waited for counts at a port it meets, else what halts it. */
		double part = cf != NULL ? at->cf_wait : weight * at->contrib;

		if (at->flow == graph->victim || !is_part(in, graph, port, at))
			continue;
		cause_flow(ctx->set, finding, graph->flows[at->flow], part);
		cause_time(finding, at->from_ps, at->to_ps);
		score += part;
		flows++;
	}
	if (!cause_score(finding, score))
		return;
	snprintf(finding->out.evidence, sizeof(finding->out.evidence),
		 "%s: %u other flows to %s met at %s, up to %u packets deep, and put %.0f packets ahead of its own%s",
		 cause_step_text(in, ctx->step, text, sizeof(text)), flows,
		 in->ev->nodes[in->ev->ports[port->port].peer_node].name, evidence_port_name(in->ev, port->port, name),
		 port->depth_max, score, npath != 0 ? " by PFC" : "");
}

static void
look_at_root(const struct pfc_root *root, void *ctx)
{
	struct incast_ctx *incast = ctx;
	const struct prov_port *port = &incast->graph->ports[root->index];

	if (root->kind == PFC_ROOT_CONGESTED && prov_at_find(incast->graph, port, incast->graph->victim) == NULL &&
	    cause_is_incast(incast->set->in, incast->graph, port))
		add(incast, port, root->path, root->npath, root->weight);
}

void
cause_incast(struct cause_set *set, uint32_t step)
{
	const struct prov_graph *graph = set->in->graphs[step];
	struct incast_ctx ctx = { set, graph, step };

	if (graph == NULL || !set->in->steps[step].slow)
		return;
	for (uint32_t p = 0; p < graph->nmet; p++) {
		const struct prov_port *port = &graph->ports[p];

		if (cause_is_incast(set->in, graph, port))
			add(&ctx, port, NULL, 0, 1.0);
		if (port->halted)
			pfc_root_each(set->in, graph, p, look_at_root, &ctx);
	}
}
