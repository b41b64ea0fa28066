/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Incast: flows of several hosts to one host share a queue, the slow step's flow among them: at the last hop, or before
 * it, where hashes put them on one link. Steps that are only paused by that queue suffer from PFC backpressure.
 */
#include "common/array.h"
#include "diag/vedrfolnir/cause/cause.h"

/* Packets of the victim, and of those that can have been there with it: epochs may be longer than many steps. */
static double
packets_at_once(const struct cause_set *set, uint32_t step, const struct prov_graph *graph, const struct prov_port *port)
{
	double packets = 0;

	for (uint32_t a = port->first_at; a < port->first_at + port->nats; a++) {
		const struct prov_at *at = &graph->ats[a];

		if (at->flow == graph->victim || cause_at_once(set, graph->flows[at->flow], step))
			packets += at->packets;
	}
	return packets;
}

/*
 * A flow that counts: it has the victim's destination, the victim waited for it, and it is a substantial part of the
 * traffic.
 * @param packets  that the victim may have queued with
 */
static bool
is_part(const struct cause_set *set, uint32_t step, const struct prov_graph *graph, const struct prov_port *port,
	double packets, const struct prov_at *at)
{
	const struct prov_at *cf = prov_at_find(graph, port, graph->victim);

	return cause_same_end(set, graph->flows[at->flow], step) && at->packets >= CAUSE_MIN_SHARE * packets &&
	       (at == cf || (cf != NULL && cause_shared_queue(set, step, graph, cf, at)));
}

bool
cause_same_end(const struct cause_set *set, uint32_t flow, uint32_t step)
{
	const struct ev_flow *flows = set->in->ev->flows;

	return flows[flow].dst != EV_NONE && flows[flow].dst == flows[set->in->steps[step].flow].dst;
}

/* Hosts with a part in the port's queue: of flows of the collective, or of the others. */
static uint32_t
count_sources(const struct cause_set *set, uint32_t step, const struct prov_graph *graph, const struct prov_port *port,
	      bool collective)
{
	const struct evidence *ev = set->in->ev;
	double packets = packets_at_once(set, step, graph, port);
	uint32_t sources = 0;

	for (uint32_t a = port->first_at; a < port->first_at + port->nats; a++) {
		const struct ev_flow *flow = &ev->flows[graph->flows[graph->ats[a].flow]];
		bool counted = flow->collective != collective || !is_part(set, step, graph, port, packets, &graph->ats[a]);

		for (uint32_t b = port->first_at; b < a && !counted; b++) {
			const struct ev_flow *other = &ev->flows[graph->flows[graph->ats[b].flow]];

			counted = other->collective == collective && other->src == flow->src &&
				  is_part(set, step, graph, port, packets, &graph->ats[b]);
		}
		sources += !counted;
	}
	return sources;
}

bool
cause_is_incast(const struct cause_set *set, uint32_t step, const struct prov_graph *graph, const struct prov_port *port)
{
	const struct evidence *ev = set->in->ev;
	uint32_t others, own;

	if (ev->nodes[ev->ports[port->port].node].host || !cause_has_queue(set->in, port))
		return false;
	others = count_sources(set, step, graph, port, false);
	own = count_sources(set, step, graph, port, true);
	return others + own >= CAUSE_INCAST_SOURCES && (others == 0 || others >= CAUSE_INCAST_SOURCES - 1);
}

static void
add(struct cause_set *set, uint32_t step, const struct prov_graph *graph, const struct prov_port *port)
{
	const struct cause_input *in = set->in;
	struct cause_finding *finding = cause_add(set, port->port, NULL, 0, step);
	const struct prov_at *cf = prov_at_find(graph, port, graph->victim);
	bool own = count_sources(set, step, graph, port, false) == 0;
	double waits = 0, frames = 0;
	uint32_t flows = 0;

	if (finding == NULL)
		return;
	cause_port(set, finding, port->port);
	for (uint32_t a = port->first_at; a < port->first_at + port->nats; a++) {
		const struct prov_at *at = &graph->ats[a];

		/* every flow that the victim waited for, however small its part */
		if (in->ev->flows[graph->flows[at->flow]].collective != own ||
		    !cause_same_end(set, graph->flows[at->flow], step) || !cause_shared_queue(set, step, graph, cf, at))
			continue;
		cause_flow(set, finding, graph->flows[at->flow], at->cf_wait);
		cause_time(finding, at->from_ps, at->to_ps);
		waits += at->cf_wait;
		frames += at->packets;
		flows++;
	}
	cause_explains(finding, port->port, cause_frames_ps(in, step, port, waits < frames ? waits : frames));
	cause_score(finding, waits);
	finding->out.evidence = (struct finding_evidence){ .nclauses = 1,
							   .step = step,
							   .port = port->port,
							   .node = in->ev->flows[in->steps[step].flow].dst,
							   .count = flows,
							   .depth_packets = port->depth_max,
							   .waits = waits };
}

static void
look(struct cause_set *set, uint32_t step)
{
	const struct prov_graph *graph = set->in->graphs[step];

	if (graph == NULL || !set->in->steps[step].slow)
		return;
	for (uint32_t p = 0; p < graph->nreached; p++) {
		const struct prov_port *port = &graph->ports[p];
		const struct prov_at *cf = prov_at_find(graph, port, graph->victim);

		if (cf != NULL && cf->packets > 0 && cause_is_incast(set, step, graph, port))
			add(set, step, graph, port);
	}
}

static const char *const clauses[] = {
	"{step}: {count} other flows to {node} shared {port}, up to {depth} packets deep, and put {waits} packets ahead of "
	"its own",
};

const struct cause cause_incast = {
	.type = { .key = "incast",
		  .title = "incast",
		  .preposition = "at ",
		  .badge = "queue",
		  .traits = FINDING_OF_QUEUES | FINDING_HAS_PAUSES,
		  .clauses = clauses,
		  .nclauses = ARRAY_LEN(clauses) },
	.look = look,
};
