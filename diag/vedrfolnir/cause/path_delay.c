/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Path delay: the round trips of a slow step took longer than those of an idle path although no queue on the way was deep
 * enough for that, and nothing was halted. Some link of the path, or of the ACKs', takes longer than it is configured to.
 * Which one, a flow cannot tell: the path is named.
 */
#include <math.h>

#include "common/array.h"
#include "common/wire/detection.h"
#include "diag/vedrfolnir/cause/cause.h"

/* The shortest round trip of the step that its host spent a detection on. @return INFINITY: none */
static double
shortest_rtt_ps(const struct evidence *ev, uint32_t step)
{
	const struct ev_step *of = &ev->steps[step];
	const struct rec_collective *collective = EV_AT(ev->collectives, struct rec_collective, of->collective);
	uint32_t lo = 0, hi = ev->triggers.count;
	double rtt_ps = INFINITY;

	while (lo < hi) { /* they are in order of time */
		uint32_t mid = lo + (hi - lo) / 2;

		if (EV_AT(ev->triggers, struct rec_trigger, mid)->hdr.time_ps < of->report->start_ps)
			lo = mid + 1;
		else
			hi = mid;
	}
	for (; lo < ev->triggers.count; lo++) {
		const struct rec_trigger *rec = EV_AT(ev->triggers, struct rec_trigger, lo);

		if (of->report->end_ps != 0 && rec->hdr.time_ps > of->report->end_ps)
			break;
		if (rec->cause == REC_TRIGGER_RTT && rec->collective == collective->id &&
		    rec->iteration == collective->iteration && rec->rank == of->sched->rank && rec->step == of->sched->step)
			rtt_ps = fmin(rtt_ps, (double)rec->rtt_ps);
	}
	return rtt_ps;
}

static const struct prov_port *
met_port(const struct prov_graph *graph, uint32_t port)
{
	for (uint32_t p = 0; p < graph->nmet; p++) {
		if (graph->ports[p].port == port)
			return &graph->ports[p];
	}
	return NULL;
}

static double
frame_ps(const struct evidence *ev, uint32_t port)
{
	return ev->run.frame_bytes * 8e12 / (double)ev->ports[port].rate_bps;
}

/* Whether the step's packets were seen at a port that its configured way has not: nobody knows what an idle path takes then. */
static bool
has_left_its_way(const struct evidence *ev, const struct prov_graph *graph, const struct ev_flow *flow)
{
	for (uint32_t p = 0; p < graph->nmet; p++) {
		const struct prov_at *at = prov_at_find(graph, &graph->ports[p], graph->victim);
		uint32_t hop = 0;

		while (hop < flow->nhops && ev->hops[flow->first_hop + hop] != graph->ports[p].port)
			hop++;
		if (at != NULL && at->packets > 0 && hop == flow->nhops)
			return true;
	}
	return false;
}

/*
 * The most that a packet and its ACK can have waited on their way: the deepest queues, a frame that is being sent at each
 * port. Of the sender's NIC its pauses alone count: round trips begin behind its queue.
 * @param depth  set to the deepest queue
 * @return INFINITY: nobody knows: a port was halted, however shortly, or told of less than half of the step, or packets took
 *         another way
 */
static double
most_waited_ps(const struct cause_set *set, uint32_t step, uint32_t *depth)
{
	const struct evidence *ev = set->in->ev;
	const struct run_step *s = &set->in->steps[step];
	const struct ev_flow *flow = &ev->flows[s->flow];
	const struct prov_graph *graph = set->in->graphs[step];
	double sum_ps = 0;

	*depth = 0;
	if (has_left_its_way(ev, graph, flow))
		return INFINITY;
	for (uint32_t h = 0; h < flow->nhops + flow->nback; h++) {
		uint32_t hop = ev->hops[flow->first_hop + h];
		const struct prov_port *port = h < flow->nhops ? met_port(graph, hop) : NULL;

		sum_ps += frame_ps(ev, hop);
		if (h >= flow->nhops)
			continue;
		if (port == NULL || port->pause_ps > 0 || port->halted || port->present ||
		    port->covered_ps < VEDRFOLNIR_WATCHED_SHARE * (double)(s->end_ps - s->start_ps))
			return INFINITY;
		if (ev->nodes[ev->ports[hop].node].host)
			continue;
		sum_ps += port->depth_max * frame_ps(ev, hop);
		*depth = port->depth_max > *depth ? port->depth_max : *depth;
	}
	return flow->nhops != 0 ? sum_ps + (double)ev->run.jitter_ps : INFINITY;
}

/* What round trips longer by so much cost a sender that keeps a window under way: once at least, else in each window. */
static double
cost_ps(const struct cause_input *in, const struct run_step *s, double extra_ps)
{
	double payload = in->ev->run.payload_bytes != 0 ? in->ev->run.payload_bytes : 1;
	double bytes = (double)(s->open ? s->acked_bytes : s->bytes), done = s->bytes != 0 ? bytes / (double)s->bytes : 1;
	double windows = bytes / payload / in->window;

	return fmax(extra_ps, windows * ((double)s->base_rtt_ps + extra_ps) - done * (double)s->expect_ps);
}

static void
look(struct cause_set *set, uint32_t step)
{
	const struct evidence *ev = set->in->ev;
	const struct run_step *s = &set->in->steps[step];
	struct cause_finding *finding;
	double rtt_ps, extra_ps;
	uint32_t depth;
	char flow[96];

	if (!s->slow || set->in->graphs[step] == NULL || s->base_rtt_ps == 0 || s->retransmits != 0)
		return;
	rtt_ps = shortest_rtt_ps(ev, step);
	if (isinf(rtt_ps))
		return;
	extra_ps = rtt_ps - (double)s->base_rtt_ps - most_waited_ps(set, step, &depth);
	if (extra_ps < CAUSE_MIN_SHARE * (double)s->base_rtt_ps)
		return;
	extra_ps = rtt_ps - (double)s->base_rtt_ps;
	finding = cause_add(set, EV_NONE, evidence_flow_name(ev, s->flow, flow), s->flow, step);
	if (finding == NULL)
		return;
	for (uint32_t h = 0; h < ev->flows[s->flow].nhops + ev->flows[s->flow].nback; h++)
		cause_port(set, finding, ev->hops[ev->flows[s->flow].first_hop + h]);
	cause_time(finding, s->start_ps, s->end_ps);
	cause_explains(finding, EV_NONE, cost_ps(set->in, s, extra_ps));
	if (cause_score(finding, cause_lost_frames(set->in, step, cause_excess_ps(set->in, step))))
		finding->out.evidence = (struct finding_evidence){
			.nclauses = 1, .step = step, .ps = rtt_ps, .of_ps = (double)s->base_rtt_ps, .depth_packets = depth
		};
}

static const char *const clauses[] = {
	"{step}: its round trips took {ms} ms and more where an idle path takes {of ms}, and no queue on the way was "
	"deeper "
	"than {depth} packets",
};

const struct cause cause_path_delay = {
	.type = { .key = "path-delay",
		  .title = "path delay",
		  .preposition = "on the path of ",
		  .badge = "lost",
		  .traits = FINDING_BY_DEFAULT,
		  .clauses = clauses,
		  .nclauses = ARRAY_LEN(clauses) },
	.look = look,
};
