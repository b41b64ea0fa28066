/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Incast: flows of several hosts to one host share a queue, the slow step's flow among them: at the last hop, or before
 * it, where hashes put them on one link. Steps that are only paused by that queue suffer from PFC backpressure.
 */
#include <math.h>

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

/* Does this flow end where the victim's does, and did the victim wait for it? Or is it the victim's? */
static bool
is_queued(const struct cause_set *set, uint32_t step, const struct prov_graph *graph, const struct prov_at *cf,
	  const struct prov_at *at)
{
	return cause_same_end(set, graph->flows[at->flow], step) &&
	       (at == cf || (cf != NULL && cause_shared_queue(set, step, graph, cf, at)));
}

/* Of one host, the flows of the collective, or its others. */
static bool
is_of_source(const struct cause_set *set, const struct prov_graph *graph, const struct prov_at *at,
	     const struct prov_at *of)
{
	const struct ev_flow *flow = &set->in->ev->flows[graph->flows[at->flow]];
	const struct ev_flow *same = &set->in->ev->flows[graph->flows[of->flow]];

	return flow->src == same->src && flow->collective == same->collective;
}

bool
cause_same_end(const struct cause_set *set, uint32_t flow, uint32_t step)
{
	const struct ev_flow *flows = set->in->ev->flows;

	return flows[flow].dst != EV_NONE && flows[flow].dst == flows[set->in->steps[step].flow].dst;
}

struct sources {
	uint32_t own, others; /* hosts with a part in the queue: of flows of the collective, and of the others */
};

/*
 * Counts the hosts whose flows have a part of the port's queue: with at least so many packets.
 * @param least  0: all that have any
 */
static struct sources
count_sources(const struct cause_set *set, uint32_t step, const struct prov_graph *graph, const struct prov_port *port,
	      double least)
{
	const struct prov_at *cf = prov_at_find(graph, port, graph->victim);
	const struct prov_at *first = &graph->ats[port->first_at], *end = first + port->nats;
	struct sources sources = { 0, 0 };

	for (const struct prov_at *at = first; at < end; at++) {
		double packets = 0;
		bool counted = false;

		for (const struct prov_at *before = first; before < at && !counted; before++)
			counted = is_of_source(set, graph, before, at);
		for (const struct prov_at *of = at; of < end && !counted; of++)
			if (is_of_source(set, graph, of, at) && is_queued(set, step, graph, cf, of))
				packets += of->packets;
		if (packets <= 0 || packets < least)
			continue;
		if (set->in->ev->flows[graph->flows[at->flow]].collective)
			sources.own++;
		else
			sources.others++;
	}
	return sources;
}

/* A host has a part with CAUSE_MIN_SHARE of the packets, or where there are many, with half of an even one. */
static struct sources
sources_of(const struct cause_set *set, uint32_t step, const struct prov_graph *graph, const struct prov_port *port)
{
	struct sources all = count_sources(set, step, graph, port, 0);
	uint32_t count = all.own + all.others;
	double share = count != 0 ? fmin(CAUSE_MIN_SHARE, CAUSE_INCAST_EVEN / count) : CAUSE_MIN_SHARE;

	return count_sources(set, step, graph, port, share * packets_at_once(set, step, graph, port));
}

bool
cause_is_incast(const struct cause_set *set, uint32_t step, const struct prov_graph *graph, const struct prov_port *port)
{
	const struct evidence *ev = set->in->ev;
	struct sources sources;

	if (ev->nodes[ev->ports[port->port].node].host || !cause_has_queue(set->in, port))
		return false;
	sources = sources_of(set, step, graph, port);
	return sources.others + sources.own >= CAUSE_INCAST_SOURCES &&
	       (sources.others == 0 || sources.others >= CAUSE_INCAST_SOURCES - 1);
}

static void
add(struct cause_set *set, uint32_t step, const struct prov_graph *graph, const struct prov_port *port)
{
	const struct cause_input *in = set->in;
	struct cause_finding *finding = cause_add(set, port->port, NULL, 0, step);
	const struct prov_at *cf = prov_at_find(graph, port, graph->victim);
	bool own = sources_of(set, step, graph, port).others == 0;
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
