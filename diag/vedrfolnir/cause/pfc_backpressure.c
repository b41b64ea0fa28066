/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * PFC backpressure (III-D2): a port that the slow step's flow uses was paused, and the pauses lead downstream to a port
 * that is not paused and has a queue: the root. The flows in that queue are the culprits, whether or not they share a
 * port with the victim.
 */
#include "common/array.h"
#include "diag/vedrfolnir/cause/cause.h"
#include "diag/vedrfolnir/cause/pfc_root.h"

/*
 * Flows outside of the collective are named; where there are none, the collective's own. @return summed w(p,f) of those
 * named
 */
static double
name_culprits(struct cause_set *set, uint32_t step, struct cause_finding *finding, const struct prov_port *root,
	      double weight)
{
	const struct prov_graph *graph = set->in->graphs[step];
	double sum = 0;

	for (int own = 0; own < 2 && sum <= 0; own++) {
		for (uint32_t a = root->first_at; a < root->first_at + root->nats; a++) {
			const struct prov_at *at = &graph->ats[a];

			if (!pfc_root_culprit(set, step, root, at, own == 1))
				continue;
			cause_flow(set, finding, graph->flows[at->flow], weight * at->contrib);
			sum += weight * at->contrib;
		}
	}
	return sum;
}

/* A NIC paused by the queue that the flow stands in at its first switch: that is contention there, and nothing else. */
static bool
is_own_queue(const struct evidence *ev, const struct prov_graph *graph, const struct pfc_root *root)
{
	const struct prov_at *cf = prov_at_find(graph, &graph->ports[root->index], graph->victim);

	return root->npath == 1 && ev->nodes[ev->ports[root->path[0]].node].host && cf != NULL && cf->packets > 0;
}

static void
describe(const struct cause_input *in, uint32_t step, const struct pfc_root *root, struct cause_finding *finding)
{
	const struct prov_port *ports = in->graphs[step]->ports, *paused = &ports[root->paused];

	finding->out.evidence = (struct finding_evidence){
		.nclauses = 1,
		.step = step,
		.port = root->port,
		.other_port = paused->port,
		.ps = paused->pause_ps,
		.of_ps = paused->covered_ps > paused->pause_ps ? paused->covered_ps : paused->pause_ps,
		.percent = 100 * root->weight / root->weights,
		.depth_packets = ports[root->index].depth_max,
	};
	cause_name_flows(finding, &finding->out.evidence);
}

static void
add_root(struct cause_set *set, uint32_t step, const struct pfc_root *root)
{
	const struct prov_graph *graph = set->in->graphs[step];
	const struct prov_port *paused = &graph->ports[root->paused];
	struct cause_finding *finding;
	double score;

	if (root->kind != PFC_ROOT_CONGESTED || is_own_queue(set->in->ev, graph, root))
		return;
	finding = cause_add(set, root->port, NULL, 0, step);
	if (finding == NULL)
		return;
	for (uint32_t i = 0; i < root->npath; i++)
		cause_port(set, finding, root->path[i]);
	cause_port(set, finding, root->port);
	score = name_culprits(set, step, finding, &graph->ports[root->index], root->weight);
	cause_time(finding, paused->paused_from_ps, paused->paused_to_ps);
	cause_explains(finding, paused->port,
		       cause_stretch_ps(set->in, step, paused, paused->pause_ps * root->weight / root->weights));
	if (cause_score(finding, score))
		describe(set->in, step, root, finding);
}

static void
look(struct cause_set *set, uint32_t step)
{
	pfc_root_each_reached(set, step, add_root);
}

static const char *const clauses[] = {
	"{step}: {other} was paused by PFC for {ms} of {of ms} ms reported, {percent} % of it owed to the queue of {port}, "
	"up to {depth} packets deep, filled by {flows}",
};

const struct cause cause_pfc_backpressure = {
	.type = { .key = "pfc-backpressure",
		  .title = "PFC backpressure",
		  .short_title = "backpressure",
		  .preposition = "from ",
		  .badge = "pfc",
		  .traits = FINDING_OF_QUEUES | FINDING_OF_PAUSES | FINDING_FILLED,
		  .clauses = clauses,
		  .nclauses = ARRAY_LEN(clauses) },
	.look = look,
};
