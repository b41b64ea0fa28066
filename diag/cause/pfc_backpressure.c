/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * PFC backpressure (III-D2): a port that the slow step's flow uses was halted, and the pauses lead downstream to a
 * port that is not paused and has a queue: the root. The flows in that queue are the culprits, whether or not they
 * share a port with the victim.
 */
#include <stdio.h>

#include "diag/cause/cause.h"
#include "diag/cause/pfc_root.h"

struct backpressure_ctx {
	struct cause_set *set;
	const struct prov_graph *graph;
	uint32_t step;
	uint32_t halted; /* index of the victim's halted port */
};

/* Foreign flows are named; where there are none, the collective's own. @return summed w(p,f) of those named */
static double
name_culprits(struct cause_set *set, struct cause_finding *finding, const struct prov_graph *graph,
	      const struct prov_port *root, double weight)
{
	double sum = 0;

	for (int own = 0; own < 2 && sum <= 0; own++) {
		for (uint32_t a = root->first_at; a < root->first_at + root->nats; a++) {
			const struct prov_at *at = &graph->ats[a];
			uint32_t flow = graph->flows[at->flow];

			if (set->in->ev->flows[flow].collective != (own == 1) || at->flow == graph->victim ||
			    at->contrib < CAUSE_MIN_SHARE * root->depth_sum || at->contrib <= 0)
				continue;
			cause_flow(set, finding, flow, weight * at->contrib);
			sum += weight * at->contrib;
		}
	}
	return sum;
}

static void
add_root(const struct pfc_root *root, void *ctx)
{
	struct backpressure_ctx *bp = ctx;
	const struct cause_input *in = bp->set->in;
	const struct prov_port *halted = &bp->graph->ports[bp->halted];
	const struct prov_port *port = &bp->graph->ports[root->index];
	struct cause_finding *finding;
	char text[160], name[48], root_name[48];
	double score, seen_ps = halted->covered_ps > halted->pause_ps ? halted->covered_ps : halted->pause_ps;

	if (root->kind != PFC_ROOT_CONGESTED)
		return;
	finding = cause_add(bp->set, VERDICT_PFC_BACKPRESSURE, root->port, NULL, 0, bp->step);
	if (finding == NULL)
		return;
	for (uint32_t i = 0; i < root->npath; i++)
		cause_port(bp->set, finding, root->path[i]);
	cause_port(bp->set, finding, root->port);
	score = name_culprits(bp->set, finding, bp->graph, port, root->weight);
	cause_time(finding, halted->halted_from_ps, halted->halted_to_ps);
	if (!cause_score(finding, score))
		return;
	snprintf(finding->out.evidence, sizeof(finding->out.evidence),
		 "%s: %s was halted by PFC for %.3f of %.3f ms reported; %.0f %% of what it sends goes to the queue of "
		 "%s, up to %u packets deep and not paused itself",
		 cause_step_text(in, bp->step, text, sizeof(text)), evidence_port_name(in->ev, halted->port, name),
		 halted->pause_ps / 1e9, seen_ps / 1e9,
		 100 * root->weight, evidence_port_name(in->ev, root->port, root_name), port->depth_max);
}

void
cause_pfc_backpressure(struct cause_set *set, uint32_t step)
{
	const struct prov_graph *graph = set->in->graphs[step];
	struct backpressure_ctx ctx = { set, graph, step, 0 };

	if (graph == NULL || !set->in->steps[step].slow)
		return;
	for (ctx.halted = 0; ctx.halted < graph->nmet; ctx.halted++) {
		if (graph->ports[ctx.halted].halted)
			pfc_root_each(set->in, graph, ctx.halted, add_root, &ctx);
	}
}
