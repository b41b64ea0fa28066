/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Flow contention (III-D2): the slow step's flow and another shared the queue of one port in the same epochs, and the
 * step's packets waited for the other's. One finding for each culprit; the collective's own flows share one a port, and
 * so do others that each ended within a round trip, if they are several: a crowd, of which none is to blame alone.
 * Where a path of equal cost was idle, it is load imbalance. Under a congestion control that leaves no queue no packet
 * waits: of a sender that it held back, the flows with which it shared the fullest link are the culprits, for the
 * packets that they sent in the step's time. So are they where no telemetry shows the step's packets, and FlowTracer's
 * questions and hosts' reports show a full link on its path.
 */
#include "common/array.h"
#include "diag/vedrfolnir/cause/paced.h"

enum { CLAUSE_WAITED, CLAUSE_SHARED, CLAUSE_CROWD, CLAUSE_TRACED, CLAUSE_BEHIND };

/* Keys of findings about several flows: those of the collective, and those that are over in no time. */
#define OWN_FLOWS EV_NONE
#define CROWD (EV_NONE - 1)
#define CROWD_LEAST 2

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

/* A port that a step's flow shared with others. */
struct port_contention {
	uint32_t step;
	const struct prov_graph *graph;
	const struct prov_port *port;
	const struct prov_at *cf;
	bool full;      /* the step's sender was held back for it: no packet waits */
	bool incast;    /* those that end where the step's flow does are another cause's */
	bool imbalance; /* those of the collective are */
};

/* Does this cause report a flow that delayed the step's packets at a port? */
static bool
is_ours(const struct cause_set *set, const struct port_contention *m, const struct prov_at *other)
{
	uint32_t flow = m->graph->flows[other->flow];

	return !cause_is_planned(set, m->step, m->graph, m->port, other) &&
	       !(m->incast && cause_same_end(set, flow, m->step)) && !(m->imbalance && set->in->ev->flows[flow].collective);
}

/* Did the step's packets wait for it at their NIC, by the ledger alone? */
static bool
is_ahead_unseen(const struct cause_set *set, const struct port_contention *m, const struct prov_at *other)
{
	return paced_behind_ps(set->in, m->step, m->graph, m->port, other) > 0;
}

static bool
is_culprit(const struct cause_set *set, const struct port_contention *m, const struct prov_at *other)
{
	return (m->full || is_ahead_unseen(set, m, other) ? shares(set, m->step, m->graph, m->port, other)
							  : cause_shared_queue(set, m->step, m->graph, m->cf, other)) &&
	       is_ours(set, m, other);
}

/*
 * A flow of others that sent no more there than fits into a packet's round trip on an idle path: it need not have stood
 * before many of the step's packets, even if all such flows together did.
 */
static bool
is_in_crowd(const struct cause_set *set, const struct port_contention *m, const struct prov_at *other)
{
	const struct evidence *ev = set->in->ev;
	double ps = other->packets * ev->run.frame_bytes * 8e12 / (double)ev->ports[m->port->port].rate_bps;

	return !m->full && !ev->flows[m->graph->flows[other->flow]].collective && other->cf_wait > 0 && other->together &&
	       other->depth_sum >= CAUSE_MIN_WAIT * other->packets && ps < (double)set->in->steps[m->step].base_rtt_ps &&
	       is_ours(set, m, other);
}

/* Are they several, and did they delay the step's packets? */
static bool
is_crowded(const struct cause_set *set, const struct port_contention *m)
{
	uint32_t count = 0;
	double waits = 0;

	for (uint32_t a = m->port->first_at; a < m->port->first_at + m->port->nats; a++) {
		if (!is_in_crowd(set, m, &m->graph->ats[a]))
			continue;
		count++;
		waits += m->graph->ats[a].cf_wait;
	}
	return count >= CROWD_LEAST && waits >= CAUSE_MIN_WAIT * m->cf->packets;
}

static void
add_culprit(struct cause_set *set, const struct port_contention *m, const struct prov_at *other, bool crowded)
{
	const struct evidence *ev = set->in->ev;
	uint32_t flow = m->graph->flows[other->flow];
	uint32_t key = ev->flows[flow].collective ? OWN_FLOWS : crowded ? CROWD : flow;
	bool unseen = !m->full && !crowded && is_ahead_unseen(set, m, other);
	double waits = m->full || unseen ? other->packets : other->cf_wait;
	struct cause_finding *finding = cause_add(set, m->port->port, NULL, key, m->step);

	if (finding == NULL)
		return;
	cause_port(set, finding, m->port->port);
	cause_flow(set, finding, flow, waits);
	cause_time(finding, other->from_ps > m->cf->from_ps ? other->from_ps : m->cf->from_ps,
		   other->to_ps < m->cf->to_ps ? other->to_ps : m->cf->to_ps);
	cause_explains(finding, m->port->port,
		       unseen ? paced_behind_ps(set->in, m->step, m->graph, m->port, other)
			      : cause_frames_ps(set->in, m->step, m->port, m->full ? waits : lost_frames(other)));
	if (!cause_score(finding, waits) && !crowded)
		return;
	if (crowded)
		waits += finding->out.evidence.waits;
	finding->out.evidence = (struct finding_evidence){ .clauses = { crowded   ? CLAUSE_CROWD
									: m->full ? CLAUSE_SHARED
									: unseen  ? CLAUSE_BEHIND
										  : CLAUSE_WAITED },
							   .nclauses = 1,
							   .step = m->step,
							   .port = m->port->port,
							   .packets = m->cf->packets,
							   .waits = waits,
							   .flow = flow };
	if (crowded)
		cause_name_flows(finding, &finding->out.evidence);
}

static void
look_at_port(struct cause_set *set, const struct port_contention *m)
{
	bool crowded = is_crowded(set, m);

	for (uint32_t a = m->port->first_at; a < m->port->first_at + m->port->nats; a++) {
		const struct prov_at *other = &m->graph->ats[a];
		bool in_crowd = crowded && is_in_crowd(set, m, other);

		if (in_crowd || is_culprit(set, m, other))
			add_culprit(set, m, other, in_crowd);
	}
}

/* Does any port report the step's packets? */
static bool
is_watched(const struct prov_graph *graph)
{
	bool seen = false;

	for (uint32_t p = 0; graph != NULL && p < graph->nreached && !seen; p++)
		seen = graph->ports[p].cf_packets > 0;
	return seen;
}

/* One finding for the flows of schedules: of others, no report says what they sent. */
static void
add_traced(struct cause_set *set, uint32_t step, uint32_t port, double load)
{
	const struct evidence *ev = set->in->ev;
	const struct run_step *s = &set->in->steps[step];
	struct traced_flows flows = traced_at(set, port);
	double frame_ps = ev->run.frame_bytes * 8e12 / (double)ev->ports[port].rate_bps, waits = 0;
	double all = load * (double)(s->end_ps - s->start_ps) / frame_ps;
	struct cause_finding *finding = NULL;

	for (uint32_t f = 0; f < flows.count; f++) {
		double packets = traced_packets(set, step, flows.flows[f], port);

		if (flows.flows[f] == s->flow || packets < CAUSE_MIN_SHARE * all ||
		    cause_shares_nic(set, step, flows.flows[f], port))
			continue;
		finding = cause_add(set, port, NULL, OWN_FLOWS, step);
		if (finding == NULL)
			return;
		cause_flow(set, finding, flows.flows[f], packets);
		waits += packets;
	}
	if (finding == NULL)
		return;
	cause_port(set, finding, port);
	cause_time(finding, s->start_ps, s->end_ps);
	cause_explains(finding, port, waits * frame_ps);
	if (cause_score(finding, waits))
		finding->out.evidence = (struct finding_evidence){ .clauses = { CLAUSE_TRACED },
								   .nclauses = 1,
								   .step = step,
								   .port = port,
								   .packets = traced_packets(set, step, s->flow, port),
								   .waits = waits,
								   .percent = 100 * load };
	cause_name_flows(finding, &finding->out.evidence);
}

static void
look(struct cause_set *set, uint32_t step)
{
	const struct prov_graph *graph = set->in->graphs[step];
	double load;
	uint32_t full;

	if (!set->in->steps[step].slow)
		return;
	full = is_watched(graph) ? EV_NONE : traced_full(set, step, &load);
	if (full != EV_NONE)
		add_traced(set, step, full, load);
	for (uint32_t p = 0; graph != NULL && p < graph->nreached; p++) {
		const struct prov_port *port = &graph->ports[p];
		struct port_contention m = { .step = step,
					     .graph = graph,
					     .port = port,
					     .cf = prov_at_find(graph, port, graph->victim),
					     .full = cause_is_full(set->in, step, graph, port) };

		if (m.cf == NULL || m.cf->packets <= 0 || (!m.full && !cause_has_queue(set->in, port)))
			continue;
		m.incast = cause_is_incast(set, step, graph, port);
		m.imbalance = cause_idle_choice(set, step, graph, port) != EV_NONE;
		look_at_port(set, &m);
	}
}

static const char *const clauses[] = {
	[CLAUSE_SHARED] = "{step}: its sender was held back, and {port} was full: {waits} packets of {flow} passed there "
			  "beside its {packets} reported",
	[CLAUSE_BEHIND] = "{step}: its frames stood behind others at {port}: {waits} packets of {flow} passed there beside "
			  "its {packets} reported",
	[CLAUSE_WAITED] =
		"{step}: its {packets} packets reported at {port} had {waits} packets of {flow} ahead of them, {each} each",
	[CLAUSE_CROWD] = "{step}: its {packets} packets reported at {port} had {waits} packets ahead of them, {each} each, "
			 "of {flows}, "
			 "none of which was there for longer than a round trip",
	[CLAUSE_TRACED] = "{step}: by hosts' reports and traces of flows, {port} was {percent} % full: {waits} packets of "
			  "{flows} passed there beside its {packets}",
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
