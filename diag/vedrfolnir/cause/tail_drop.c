/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Tail drops: a port counted packets that found its queue full, and a slow step that passes it sent packets again. The
 * queue has no other bound in its class: those that filled it with their packets beside the step's are the culprits.
 */
#include "common/array.h"
#include "diag/vedrfolnir/cause/drops.h"

enum { CLAUSE_FULL, CLAUSE_FILLED = CLAUSE_FULL + DROPS_CLAUSES };

static const char *const clauses[] = {
	[CLAUSE_FULL] = DROPS_CLAUSE("packets that found its queue full"),
	[CLAUSE_FILLED] = "; {flows} filled it",
};

static const struct prov_port *
port_of(const struct prov_graph *graph, uint32_t port)
{
	for (uint32_t p = 0; graph != NULL && p < graph->nreached; p++)
		if (graph->ports[p].port == port)
			return &graph->ports[p];
	return NULL;
}

/* Of a port that no row has, as on the path of ACKs, the drops alone: the last packet of each count was there. */
static void
add_dropped(struct cause_set *set, uint32_t step, struct cause_finding *finding)
{
	const struct evidence *ev = set->in->ev;
	const struct run_step *s = &set->in->steps[step];

	for (uint32_t i = 0; i < ev->drops.count; i++) {
		const struct rec_drop_row *row = EV_AT(ev->drops, struct rec_drop_row, i);
		uint32_t flow = evidence_flow(ev, &row->last);

		if (row->reason == REC_DROP_QUEUE_FULL &&
		    evidence_port(ev, row->hdr.node, row->port) == finding->out.root_port && row->first_ps <= s->end_ps &&
		    row->last_ps >= s->start_ps && flow != EV_NONE && flow != s->flow && !ev->flows[flow].collective)
			cause_flow(set, finding, flow, (double)row->packets);
	}
}

/* Others' packets that passed the port while the step's flow was there fill its queue, in proportion. */
static void
add_fillers(struct cause_set *set, uint32_t step, struct cause_finding *finding)
{
	const struct prov_graph *graph = set->in->graphs[step];
	const struct prov_port *port = port_of(graph, finding->out.root_port);
	struct finding_evidence *evidence = &finding->out.evidence;

	for (uint32_t a = 0; port != NULL && a < port->nats; a++) {
		const struct prov_at *at = &graph->ats[port->first_at + a];

		if (at->flow != graph->victim && at->packets >= CAUSE_MIN_SHARE * port->packets && at->together &&
		    cause_at_once(set, graph->flows[at->flow], step))
			cause_flow(set, finding, graph->flows[at->flow], at->packets);
	}
	if (port == NULL)
		add_dropped(set, step, finding);
	if (finding->out.nflows == 0)
		return;
	cause_name_flows(finding, evidence);
	evidence->clauses[evidence->nclauses++] = CLAUSE_FILLED;
}

static void
look(struct cause_set *set, uint32_t step)
{
	uint32_t first = set->count;

	if (!set->in->steps[step].slow || !drops_sent_again(set->in, step) ||
	    !drops_add(set, step, REC_DROP_QUEUE_FULL, CLAUSE_FULL))
		return;
	for (uint32_t i = first; i < set->count; i++)
		add_fillers(set, step, &set->findings[i]);
}

const struct cause cause_tail_drop = {
	.type = { .key = "tail-drop",
		  .title = "tail drops",
		  .preposition = "at ",
		  .badge = "queue",
		  .traits = FINDING_OF_LOSS,
		  .clauses = clauses,
		  .nclauses = ARRAY_LEN(clauses) },
	.look = look,
};
