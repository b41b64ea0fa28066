/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Tail drops: a port counted packets that found its queue full, and a slow step that passes it sent packets again. The
 * queue has no other bound in its class: those that filled it with their packets beside the step's are the culprits.
 * Packets of a class with PFC find no queue full: that a queue has none, for its class or at its port, is the cause of its
 * drops, with a finding of its own. It claims no time: how long PFC would have paused the senders is not known.
 */
#include "common/array.h"
#include "diag/vedrfolnir/cause/drops.h"

enum { CLAUSE_FULL, CLAUSE_FILLED = CLAUSE_FULL + DROPS_CLAUSES };
enum { CLAUSE_LOSSY, CLAUSE_LOSSY_HERE };

static const char *const clauses[] = {
	[CLAUSE_FULL] = DROPS_CLAUSE("packets that found its queue full"),
	[CLAUSE_FILLED] = "; {flows} filled it",
};

static const char *const lossy_clauses[] = {
	[CLAUSE_LOSSY] = ("{step}: {port} dropped {count} packets of a class for which no switch reports PFC "
			  "(switch.pfc.enabled, switch.pfc.priorities): nothing was paused before"),
	[CLAUSE_LOSSY_HERE] = ("{step}: {port} dropped {count} packets that were sent in a class with PFC, and are in one "
			       "without it there: by switch.class_map, or PFC of that switch or port is off; nothing was "
			       "paused before"),
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

/* Is a port on the configured path of a flow's data? */
static bool
sends_by(const struct evidence *ev, uint32_t flow, uint32_t port)
{
	const struct ev_flow *of = &ev->flows[flow];
	bool sends = false;

	for (uint32_t h = of->first_hop; h < of->first_hop + of->nhops && !sends; h++)
		sends = ev->hops[h] == port;
	return sends;
}

/*
 * Packets that a port dropped for want of room in a step's time: all, where its data leaves by that port in a class for
 * which nothing reports PFC. Else those by counts whose last packet is of a flow of that class: others' may be of another.
 */
static uint64_t
dropped_of_class(const struct evidence *ev, uint32_t port, const struct run_step *s, uint8_t prio)
{
	bool in_class = prio == 0 && ev->port_rows.count != 0 && sends_by(ev, s->flow, port);
	uint64_t dropped = 0;

	for (uint32_t i = 0; i < ev->drops.count; i++) {
		const struct rec_drop_row *row = EV_AT(ev->drops, struct rec_drop_row, i);
		uint32_t flow = evidence_flow(ev, &row->last);
		bool of_class =
			in_class || (flow != EV_NONE && ev->flows[flow].prio == prio && evidence_crosses(ev, flow, port));

		if (row->reason == REC_DROP_QUEUE_FULL && evidence_port(ev, row->hdr.node, row->port) == port &&
		    row->first_ps <= s->end_ps && row->last_ps >= s->start_ps && of_class)
			dropped += row->packets;
	}
	return dropped;
}

/*
 * A class with PFC waits for room at its ingress: its packets find no queue full. Either no switch reports PFC for the
 * class that the hosts send in, or some do, and at this port the packets are in another, or PFC is off.
 */
static void
look_for_pfc(struct cause_set *set, uint32_t step)
{
	const struct run_step *s = &set->in->steps[step];
	uint32_t count = set->count;

	for (uint32_t i = 0; i < count; i++) {
		uint32_t port = set->findings[i].out.root_port;
		bool drops = set->findings[i].out.type == &cause_tail_drop.type;
		uint8_t prio = drops ? set->in->ev->flows[s->flow].prio : 0;
		uint64_t dropped = drops ? dropped_of_class(set->in->ev, port, s, prio) : 0;
		struct cause_finding *finding = dropped != 0 ? cause_add(set, port, NULL, prio != 0, step) : NULL;

		if (finding == NULL)
			continue;
		cause_port(set, finding, port);
		cause_time(finding, s->start_ps, s->end_ps);
		if (cause_score(finding, (double)dropped))
			finding->out.evidence =
				(struct finding_evidence){ .clauses = { prio != 0 ? CLAUSE_LOSSY_HERE : CLAUSE_LOSSY },
							   .nclauses = 1,
							   .step = step,
							   .port = port,
							   .count = dropped };
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

const struct cause cause_no_pfc = {
	.type = { .key = "no-pfc",
		  .title = "queue without PFC",
		  .preposition = "at ",
		  .badge = "pfc",
		  .traits = FINDING_OF_STATE,
		  .clauses = lossy_clauses,
		  .nclauses = ARRAY_LEN(lossy_clauses) },
	.look = look_for_pfc,
};
