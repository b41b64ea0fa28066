/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Tail drops: a port counted packets that found its queue full, and a slow step that passes it sent packets again. The
 * queue has no other bound in its class: those that filled it with their packets beside the step's are the culprits.
 * Packets of a class with PFC find no queue full: PFC is off for the class, or the class map is wrong, and the evidence
 * says which.
 */
#include "common/array.h"
#include "diag/vedrfolnir/cause/drops.h"

enum { CLAUSE_FULL, CLAUSE_FILLED = CLAUSE_FULL + DROPS_CLAUSES, CLAUSE_LOSSY, CLAUSE_MAPPED };

static const char *const clauses[] = {
	[CLAUSE_FULL] = DROPS_CLAUSE("packets that found its queue full"),
	[CLAUSE_FILLED] = "; {flows} filled it",
	[CLAUSE_LOSSY] =
		("; nothing was paused before: no switch reports PFC for the class of this data (switch.pfc.enabled, "
		 "switch.pfc.priorities)"),
	[CLAUSE_MAPPED] =
		("; nothing was paused before: the data has PFC in the class that it is sent in, and is in one without "
		 "PFC there (switch.class_map, switch.pfc.priorities)"),
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

/* Did a port drop for want of room a packet of a scheduled flow in this class? */
static bool
dropped_class(const struct evidence *ev, uint32_t port, const struct run_step *s, uint8_t prio)
{
	bool dropped = false;

	for (uint32_t i = 0; i < ev->drops.count && !dropped; i++) {
		const struct rec_drop_row *row = EV_AT(ev->drops, struct rec_drop_row, i);
		uint32_t flow = evidence_flow(ev, &row->last);

		dropped = row->reason == REC_DROP_QUEUE_FULL && evidence_port(ev, row->hdr.node, row->port) == port &&
			  row->first_ps <= s->end_ps && row->last_ps >= s->start_ps && flow != EV_NONE &&
			  ev->flows[flow].prio == prio && evidence_crosses(ev, flow, port);
	}
	return dropped;
}

/*
 * A class with PFC waits for room at its ingress: its packets find no queue full. Either no switch reports PFC for the
 * class that the hosts send in, or some do, and at this port the packets are in another.
 */
static void
add_class(const struct cause_input *in, uint32_t step, struct cause_finding *finding)
{
	const struct run_step *s = &in->steps[step];
	struct finding_evidence *evidence = &finding->out.evidence;
	uint8_t prio = in->ev->flows[s->flow].prio;

	if (evidence->step == step && evidence->nclauses < FINDING_CLAUSES &&
	    dropped_class(in->ev, finding->out.root_port, s, prio))
		evidence->clauses[evidence->nclauses++] = prio == 0 ? CLAUSE_LOSSY : CLAUSE_MAPPED;
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
	for (uint32_t i = first; i < set->count; i++) {
		add_fillers(set, step, &set->findings[i]);
		add_class(set->in, step, &set->findings[i]);
	}
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
