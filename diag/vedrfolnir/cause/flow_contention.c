/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Flow contention (III-D2): the slow step's flow and another met in the queue of one port in the same epochs, and the
 * step's packets waited for the other's. One finding for each culprit; the collective's own flows share one a port.
 * Where those need not have met there, it is load imbalance.
 * A congestion control that leaves no queue has nobody wait: of a sender that it held back, the flows with which it shared
 * the fullest link are the culprits, for the packets that they sent in the step's time.
 */
#include "common/array.h"
#include "diag/vedrfolnir/cause/cause.h"

enum { CLAUSE_WAITED, CLAUSE_SHARED };

#define OWN_FLOWS EV_NONE /* key of the finding about flows of the collective */

/*
 * The other flow cost at most the time in which the port sent its packets, and at most that of the packets that stood
 * ahead of the victim's, each counted for each of those.
 */
static double
lost_frames(const struct prov_at *other)
{
	return other->cf_wait < other->packets ? other->cf_wait : other->packets;
}

/* Did this flow take a part of a full port, while the step's flow was there? */
static bool
shares(const struct cause_set *set, uint32_t step, const struct prov_graph *graph, const struct prov_port *port,
       const struct prov_at *other)
{
	return other->flow != graph->victim && other->packets >= CAUSE_MIN_SHARE * port->packets && other->together &&
	       cause_at_once(set, graph->flows[other->flow], step);
}

static void
add_culprit(struct cause_set *set, uint32_t step, const struct prov_graph *graph, const struct prov_port *port,
	    const struct prov_at *cf, const struct prov_at *other, bool full)
{
	const struct evidence *ev = set->in->ev;
	uint32_t flow = graph->flows[other->flow];
	uint32_t key = ev->flows[flow].collective ? OWN_FLOWS : flow;
	double waits = full ? other->packets : other->cf_wait;
	struct cause_finding *finding = cause_add(set, port->port, NULL, key, step);

	if (finding == NULL)
		return;
	cause_port(set, finding, port->port);
	cause_flow(set, finding, flow, waits);
	cause_time(finding, other->from_ps > cf->from_ps ? other->from_ps : cf->from_ps,
		   other->to_ps < cf->to_ps ? other->to_ps : cf->to_ps);
	cause_explains(finding, port->port, cause_frames_ps(set->in, step, port, full ? waits : lost_frames(other)));
	if (cause_score(finding, waits))
		finding->out.evidence = (struct finding_evidence){ .clauses = { full ? CLAUSE_SHARED : CLAUSE_WAITED },
								   .nclauses = 1,
								   .step = step,
								   .port = port->port,
								   .flow = flow,
								   .packets = cf->packets,
								   .waits = waits };
}

static void
look(struct cause_set *set, uint32_t step)
{
	const struct prov_graph *graph = set->in->graphs[step];

	if (graph == NULL || !set->in->steps[step].slow)
		return;
	for (uint32_t p = 0; p < graph->nmet; p++) {
		const struct prov_port *port = &graph->ports[p];
		const struct prov_at *cf = prov_at_find(graph, port, graph->victim);
		bool imbalance, incast, full = cause_is_full(set->in, step, graph, port);

		if (cf == NULL || cf->packets <= 0 || (!full && !cause_has_queue(set->in, port)))
			continue;
		incast = cause_is_incast(set, step, graph, port);
		imbalance = cause_idle_choice(set, step, graph, port) != EV_NONE;
		for (uint32_t a = port->first_at; a < port->first_at + port->nats; a++) {
			const struct prov_at *other = &graph->ats[a];

			if ((full ? shares(set, step, graph, port, other) : cause_met(set, step, graph, cf, other)) &&
			    !cause_is_planned(set, step, graph, port, other) &&
			    !(incast && cause_same_end(set, graph->flows[other->flow], step)) &&
			    !(imbalance && set->in->ev->flows[graph->flows[other->flow]].collective))
				add_culprit(set, step, graph, port, cf, other, full);
		}
	}
}

static const char *const clauses[] = {
	[CLAUSE_SHARED] = "{step}: its sender was held back, and {port} was full: {waits} packets of {flow} passed there "
			  "beside its {packets} reported",
	[CLAUSE_WAITED] =
		"{step}: its {packets} packets reported at {port} had {waits} packets of {flow} ahead of them, {each} each",
};

const struct cause cause_flow_contention = {
	.type = { .key = "flow-contention",
		  .title = "flow contention",
		  .short_title = "contention",
		  .preposition = "at ",
		  .badge = "queue",
		  .traits = FINDING_OF_QUEUES | FINDING_BY_FLOW,
		  .clauses = clauses,
		  .nclauses = ARRAY_LEN(clauses) },
	.look = look,
};
