/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * PFC storm: a port that the slow step's flow uses was paused, and the pauses lead to an ingress, or a host's NIC, that
 * keeps its peer paused without a reason of its own. That port is the root.
 */
#include <math.h>

#include "common/array.h"
#include "diag/vedrfolnir/cause/cause.h"
#include "diag/vedrfolnir/cause/pfc_root.h"
#include "diag/vedrfolnir/provenance/window.h"

enum { CLAUSE_PAUSED, CLAUSE_NO_QUEUE, CLAUSE_HELD, CLAUSE_NO_SIGN, CLAUSE_PAUSED_UNSEEN };
static const char *const clauses[] = {
	[CLAUSE_PAUSED] = "{step}: {port} kept {other} paused, {ms} ms of the time reported, ",
	[CLAUSE_NO_QUEUE] = "and a host has no queue to protect",
	[CLAUSE_HELD] = "while it held {held} B, its threshold being {threshold} B",
	[CLAUSE_NO_SIGN] = "and no queue behind it was congested or paused",
	[CLAUSE_PAUSED_UNSEEN] = "{step}: {port} kept {other} paused for {ms} ms, ",
};

static void
describe(const struct cause_input *in, uint32_t step, const struct prov_port *paused, uint32_t root,
	 const struct prov_graph *graph, struct finding_evidence *evidence)
{
	const struct rec_port_row *seen = pfc_root_pausing(in->ev, graph, root, CAUSE_STORM_FILL);
	bool host = in->ev->nodes[in->ev->ports[root].node].host;

	*evidence = (struct finding_evidence){
		.clauses = { CLAUSE_PAUSED, host           ? CLAUSE_NO_QUEUE
					    : seen != NULL ? CLAUSE_HELD
							   : CLAUSE_NO_SIGN },
		.nclauses = 2,
		.step = step,
		.port = root,
		.other_port = paused->port,
		.ps = paused->pause_ps,
		.held_bytes = seen != NULL ? seen->ingress_bytes : 0,
		.threshold_bytes = seen != NULL ? seen->ingress_xoff_bytes : 0,
	};
}

static void
add_root(struct cause_set *set, uint32_t step, const struct pfc_root *root)
{
	const struct cause_input *in = set->in;
	const struct prov_graph *graph = in->graphs[step];
	const struct prov_port *last = &graph->ports[root->index];
	struct cause_finding *finding;

	if (root->kind != PFC_ROOT_STORM)
		return;
	finding = cause_add(set, root->port, NULL, 0, step);
	if (finding == NULL)
		return;
	pfc_root_claim(set, step, root, finding);
	if (cause_score(finding, root->weight * cause_lost_frames(in, step, last->pause_ps)))
		describe(in, step, last, root->port, graph, &finding->out.evidence);
}

/* The longest part of the step in which an ingress was seen pausing, from then until now, with next to nothing held. */
static const struct rec_port_row *
longest_empty_pause(const struct evidence *ev, const struct prov_graph *graph, uint32_t ingress, uint64_t *pause_ps)
{
	const struct window window = { graph->from_ps, graph->to_ps };
	const struct ev_port *port = &ev->ports[ingress];
	const struct rec_port_row *longest = NULL;

	*pause_ps = 0;
	for (uint32_t i = port->first_state; i < port->first_state + port->nstates; i++) {
		const struct rec_port_row *row = EV_AT(ev->states, struct rec_port_row, i);
		uint64_t inside_ps = row->pausing && row->prio == graph->prio
					     ? window_overlap_ps(window, row->pausing_since_ps, row->hdr.time_ps)
					     : 0;

		if (inside_ps > *pause_ps &&
		    (double)row->ingress_bytes < CAUSE_STORM_EMPTY * (double)row->ingress_xoff_bytes) {
			*pause_ps = inside_ps;
			longest = row;
		}
	}
	return longest;
}

static bool
is_known_paused(const struct prov_graph *graph, uint32_t port)
{
	for (uint32_t p = 0; p < graph->nports; p++) {
		if (graph->ports[p].port == port)
			return graph->ports[p].paused;
	}
	return false;
}

/* A port on the flow's configured path without a report, a NIC mostly; the one that pauses it has one. */
static void
add_unseen(struct cause_set *set, uint32_t step, uint32_t port)
{
	const struct cause_input *in = set->in;
	const struct run_step *s = &in->steps[step];
	uint32_t root = in->ev->ports[port].peer;
	struct cause_finding *finding;
	const struct rec_port_row *row;
	uint64_t pause_ps;

	if (root == EV_NONE || is_known_paused(in->graphs[step], port))
		return;
	row = longest_empty_pause(in->ev, in->graphs[step], root, &pause_ps);
	if (row == NULL || (double)pause_ps < PROV_PAUSED_SHARE * (double)(s->end_ps - s->start_ps))
		return;
	finding = cause_add(set, root, NULL, 0, step);
	if (finding == NULL)
		return;
	cause_port(set, finding, port);
	cause_port(set, finding, root);
	cause_time(finding, row->pausing_since_ps, row->hdr.time_ps);
	cause_explains(finding, port, fmax((double)pause_ps, pfc_root_own_ps(in, step, port)));
	if (cause_score(finding, cause_lost_frames(in, step, (double)pause_ps)))
		finding->out.evidence = (struct finding_evidence){
			.clauses = { CLAUSE_PAUSED_UNSEEN, CLAUSE_HELD },
			.nclauses = 2,
			.step = step,
			.port = root,
			.other_port = port,
			.ps = (double)pause_ps,
			.held_bytes = row->ingress_bytes,
			.threshold_bytes = row->ingress_xoff_bytes,
		};
}

static void
look(struct cause_set *set, uint32_t step)
{
	const struct ev_flow *flow = &set->in->ev->flows[set->in->steps[step].flow];

	if (set->in->graphs[step] == NULL || !set->in->steps[step].slow)
		return;
	set->in->unjudged->storms += pfc_root_each_reached(set, step, add_root);
	for (uint32_t h = 0; h < flow->nhops; h++)
		add_unseen(set, step, set->in->ev->hops[flow->first_hop + h]);
}

const struct cause cause_pfc_storm = {
	.type = { .key = "pfc-storm",
		  .title = "PFC storm",
		  .preposition = "from ",
		  .badge = "pfc",
		  .traits = FINDING_OF_PAUSES | FINDING_OF_FAULT,
		  .clauses = clauses,
		  .nclauses = ARRAY_LEN(clauses) },
	.look = look,
};
