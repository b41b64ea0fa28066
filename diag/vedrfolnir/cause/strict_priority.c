/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Strict priority: class 0 is served before all data, and some classes of data before others. Where its frames were
 * served before waiting data, at a port of the slow step's flow, they took the link's time from it. The culprit is the
 * flow that sends in class 0, or whose ACKs these are; where a switch could not identify the flow, the finding has
 * none. ACKs of the step's own collective are no culprit: the expected time has them in it. Polling packets of
 * diagnosed flows are one finding without a culprit, for the time that they took, and no more: they leave when a report
 * is made, so reports say nothing of the time between them.
 */
#include "common/array.h"
#include "diag/vedrfolnir/cause/cause.h"
#include "diag/vedrfolnir/provenance/window.h"

#define MAX_CULPRITS 64 /* of a step at one port; further ones are without a flow */

/* The key of a finding about polling packets. */
#define POLLS (EV_NONE - 1)

enum { CLAUSE_DATA, CLAUSE_ACKS, CLAUSE_UNKNOWN, CLAUSE_CLASS, CLAUSE_POLLS };
static const char *const clauses[] = {
	[CLAUSE_DATA] =
		"{step}: while its packets waited at {port}, {count} frames of {flow} in class 0 went ahead, {ms} ms "
		"of the link's time",
	[CLAUSE_ACKS] = "{step}: while its packets waited at {port}, {count} ACKs of {flow} went ahead, {ms} ms of the "
			"link's time",
	[CLAUSE_UNKNOWN] = "{step}: while its packets waited at {port}, {count} frames of class 0 were served first, {ms} "
			   "ms of the link's time, and their flows were not reported",
	[CLAUSE_CLASS] = "{step}: while its packets waited at {port}, {count} frames of {flow}, whose class is served "
			 "before its own, "
			 "went ahead, {ms} ms of the link's time",
	[CLAUSE_POLLS] = "{step}: while its packets waited at {port}, {count} polling packets of the diagnosis went ahead, "
			 "{ms} ms of the link's time",
};

/* The share of class 0 of a port's link in the step's time. */
struct culprit {
	uint32_t flow; /* EV_NONE: unknown; POLLS: polling packets of any */
	bool acks;
	bool data; /* of a strict class */
	double packets, ps;
	uint64_t from_ps, to_ps;
};

struct culprits {
	struct culprit at[MAX_CULPRITS];
	uint32_t count;
};

static struct culprit *
culprit_of(struct culprits *all, uint32_t flow, bool acks)
{
	for (uint32_t i = 0; i < all->count; i++) {
		if (all->at[i].flow == flow && all->at[i].acks == acks)
			return &all->at[i];
	}
	if (flow != EV_NONE && all->count >= MAX_CULPRITS - 1) /* one place is for unknown flows */
		return culprit_of(all, EV_NONE, false);
	all->at[all->count] = (struct culprit){ .flow = flow, .acks = acks, .from_ps = UINT64_MAX };
	return &all->at[all->count++];
}

/* Is it in the schedule's expected time? */
static bool
is_expected(const struct evidence *ev, uint32_t flow, bool acks, uint32_t victim)
{
	return flow == victim ||
	       (acks && flow != EV_NONE && ev->flows[flow].of != EV_NONE && ev->flows[flow].of == ev->flows[victim].of);
}

/* A scheduled flow sends its data in its class, and has nothing else than polling packets in class 0. */
static bool
is_poll(const struct evidence *ev, const struct rec_overtake_row *row, uint32_t flow)
{
	return row->prio == 0 && row->acks == 0 && flow != EV_NONE && ev->flows[flow].of != EV_NONE &&
	       ev->flows[flow].prio != 0;
}

static void
add_up(const struct evidence *ev, const struct prov_graph *graph, uint32_t port, struct culprits *all)
{
	const struct window window = { graph->from_ps, graph->to_ps };
	struct ev_range rows = evidence_overtakes(ev, port, window.from_ps, window.to_ps);
	double byte_ps = 8e12 / (double)ev->ports[port].rate_bps;

	for (uint32_t i = rows.first; i < rows.end; i++) {
		const struct rec_overtake_row *row = EV_AT(ev->overtakes, struct rec_overtake_row, i);
		uint64_t from_ps = row->epoch_first * ev->run.epoch_ps, to_ps = evidence_overtake_end_ps(ev, row);
		double share = window_share(window, from_ps, to_ps);
		struct culprit *culprit;

		if (share <= 0 || !evidence_is_ahead(ev, row, graph->flows[graph->victim]) ||
		    is_expected(ev, ev->flow_of_overtake[i], row->acks != 0, graph->flows[graph->victim]))
			continue;
		culprit = culprit_of(all, is_poll(ev, row, ev->flow_of_overtake[i]) ? POLLS : ev->flow_of_overtake[i],
				     row->acks != 0);
		culprit->data = row->prio != 0;
		culprit->packets += share * (double)row->packets;
		culprit->ps += share * (double)row->bytes * byte_ps;
		culprit->from_ps = from_ps < culprit->from_ps ? from_ps : culprit->from_ps;
		culprit->to_ps = to_ps > culprit->to_ps ? to_ps : culprit->to_ps;
	}
}

static void
add_culprit(struct cause_set *set, uint32_t step, const struct prov_port *port, const struct culprit *culprit)
{
	const struct cause_input *in = set->in;
	bool polls = culprit->flow == POLLS, known = culprit->flow != EV_NONE && !polls;
	struct cause_finding *finding = cause_add(set, port->port, NULL, culprit->flow, step);
	double frames = culprit->ps * (double)in->ev->ports[port->port].rate_bps / 8e12 / in->ev->run.frame_bytes;

	if (finding == NULL)
		return;
	cause_port(set, finding, port->port);
	if (known)
		cause_flow(set, finding, culprit->flow, frames);
	cause_time(finding, culprit->from_ps, culprit->to_ps);
	cause_explains(finding, port->port, polls ? culprit->ps : cause_stretch_ps(in, step, port, culprit->ps));
	if (cause_score(finding, frames))
		finding->out.evidence = (struct finding_evidence){
			.clauses = { polls           ? CLAUSE_POLLS
				     : !known        ? CLAUSE_UNKNOWN
				     : culprit->data ? CLAUSE_CLASS
				     : culprit->acks ? CLAUSE_ACKS
						     : CLAUSE_DATA },
			.nclauses = 1,
			.step = step,
			.port = port->port,
			.flow = culprit->flow,
			.count = (uint64_t)culprit->packets,
			.ps = culprit->ps,
		};
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
		struct culprits all = { .count = 0 };

		if (cf == NULL || cf->packets <= 0 || !cause_has_queue(set->in, port))
			continue;
		add_up(set->in->ev, graph, port->port, &all);
		for (uint32_t i = 0; i < all.count; i++)
			add_culprit(set, step, port, &all.at[i]);
	}
}

const struct cause cause_strict_priority = {
	.type = { .key = "strict-priority",
		  .title = "strict priority",
		  .preposition = "at ",
		  .badge = "queue",
		  .traits = FINDING_OF_QUEUES | FINDING_BY_FLOW | FINDING_OF_LINK,
		  .clauses = clauses,
		  .nclauses = ARRAY_LEN(clauses) },
	.look = look,
};
