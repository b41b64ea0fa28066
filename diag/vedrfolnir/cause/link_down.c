/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Link down: a port on the slow step's path dropped packets because its link was down. Or a step waited in queues, and a
 * switch that it passes reports a link down that dropped nothing: no route used it, and others carry what it would have.
 * Or FlowTracer's questions show that switches took a link of its path, or of its ACKs', out of their routes while it
 * sent again.
 */
#include "common/array.h"
#include "common/minmax.h"
#include "common/wire/drop.h"
#include "common/wire/record_paths.h"
#include "diag/vedrfolnir/cause/drops.h"
#include "diag/vedrfolnir/cause/merge.h"

enum { CLAUSE_MISSING = DROPS_CLAUSES, CLAUSE_WITHDRAWN, CLAUSE_ACKS };
static const char *const clauses[] = {
	DROPS_CLAUSE("packets dropped because the link was down"),
	[CLAUSE_MISSING] =
		("{step}: {port} reports that its link to {other} was down; others carried what it would have, and what "
		 "their queues would not cost with it is its own cost"),
	[CLAUSE_WITHDRAWN] =
		("{step}: traces of flows show that it was sent by {port} to {other}, and that no flow was since "
		 "then, nor could be; {again}"),
	[CLAUSE_ACKS] = ("{step}: its ACKs were sent by {port} to {other}, and traces of flows show that none was since "
			 "then, nor could be; {again}"),
};

/* ---- links that routes no longer use, by FlowTracer's questions ---- */

/* Was this port the egress that a switch replied with, or a choice of equal cost? */
static bool
is_choice(const struct rec_traced_hop *hop, uint32_t port)
{
	uint32_t bit = port - hop->first;

	return hop->out_port == port ||
	       (port >= hop->first && bit < 128 && ((bit < 64 ? hop->set_low : hop->set_high) >> bit % 64 & 1) != 0);
}

/* The latest reply until a time that has a port as a choice. @return 0: there is none */
static uint64_t
last_choice_ps(const struct evidence *ev, uint32_t port, uint64_t until_ps)
{
	uint64_t last_ps = 0;

	for (uint32_t i = 0; i < ev->traced_hops.count; i++) {
		const struct rec_traced_hop *hop = EV_AT(ev->traced_hops, struct rec_traced_hop, i);

		if (hop->hdr.node == ev->ports[port].node && hop->hdr.time_ps <= until_ps &&
		    is_choice(hop, ev->ports[port].index))
			last_ps = max_u64(last_ps, hop->hdr.time_ps);
	}
	return last_ps;
}

/*
 * When switches took a cable out of their routes: neither end was a choice since, and all flows that had left by it were
 * asked again until then. @return the first reply about one of them, 0: they did not
 */
static uint64_t
withdrawn_ps(const struct cause_set *set, uint32_t port, uint64_t until_ps)
{
	const struct evidence *ev = set->in->ev;
	uint32_t peer = ev->ports[port].peer;
	uint64_t last_ps = max_u64(last_choice_ps(ev, port, until_ps), last_choice_ps(ev, peer, until_ps));
	struct window next = traced_next(set, port, last_ps), back = traced_next(set, peer, last_ps);

	if (last_ps == 0 || max_u64(next.to_ps, back.to_ps) > until_ps)
		return 0;
	next.from_ps = min_u64(next.from_ps, back.from_ps);
	return next.from_ps <= until_ps ? next.from_ps : 0;
}

/* The only cable between switches on a step's path, or on that of its ACKs, that switches took out of their routes in
 * its time. @return the end that it leaves by, EV_NONE: none @param acks  set: it is on the ACKs' path alone */
static uint32_t
withdrawn(const struct cause_set *set, const struct run_step *s, bool *acks)
{
	const struct evidence *ev = set->in->ev;
	const struct ev_flow *flow = &ev->flows[s->flow];
	uint32_t found = EV_NONE;

	for (uint32_t h = 0; h < flow->nhops + flow->nback; h++) {
		uint32_t port = ev->hops[flow->first_hop + h], peer = ev->ports[port].peer;

		if (peer == EV_NONE || ev->nodes[ev->ports[port].node].host || found == peer ||
		    withdrawn_ps(set, port, s->end_ps) < max_u64(s->start_ps, 1))
			continue;
		if (found != EV_NONE)
			return EV_NONE;
		found = port;
		*acks = h >= flow->nhops;
	}
	return found;
}

/* Where polling packets ask switches, these report their drops themselves. */
static void
add_withdrawn(struct cause_set *set, uint32_t step)
{
	const struct evidence *ev = set->in->ev;
	const struct run_step *s = &set->in->steps[step];
	bool silent = s->slow && ev->polls.count == 0 && drops_sent_again(set->in, step);
	bool acks = false;
	uint32_t port = silent ? withdrawn(set, s, &acks) : EV_NONE;
	uint32_t root = port != EV_NONE ? min_u32(port, ev->ports[port].peer) : EV_NONE;
	struct cause_finding *finding = root != EV_NONE ? cause_add(set, root, NULL, 0, step) : NULL;
	double excess_ps = cause_excess_ps(set->in, step);

	if (finding == NULL)
		return;
	cause_port(set, finding, root);
	cause_time(finding, s->start_ps, s->end_ps);
	cause_explains(finding, root, excess_ps);
	if (cause_score(finding, cause_lost_frames(set->in, step, excess_ps)))
		finding->out.evidence = (struct finding_evidence){ .clauses = { acks ? CLAUSE_ACKS : CLAUSE_WITHDRAWN },
								   .nclauses = 1,
								   .step = step,
								   .port = port,
								   .other_port = ev->ports[port].peer };
}

static void
look(struct cause_set *set, uint32_t step)
{
	if (!drops_add(set, step, REC_DROP_LINK_DOWN, 0) && !run_is_local(&set->in->steps[step]))
		add_withdrawn(set, step);
}

/* Did the step wait in a queue? */
static bool
has_queue(const struct cause_set *set)
{
	for (uint32_t i = 0; i < set->count; i++)
		if (merge_is(&set->findings[i].out, FINDING_OF_QUEUES))
			return true;
	return false;
}

/* Does the data of a flow pass a switch? */
static bool
passes_node(const struct evidence *ev, uint32_t flow, uint32_t node)
{
	const struct ev_flow *of = &ev->flows[flow];

	for (uint32_t h = 0; h < of->nhops; h++)
		if (ev->ports[ev->hops[of->first_hop + h]].node == node)
			return true;
	return false;
}

static bool
is_found(const struct cause_set *set, const struct ev_port *port, uint32_t id)
{
	for (uint32_t i = 0; i < set->count; i++)
		if (set->findings[i].out.type == &cause_link_down.type &&
		    (set->findings[i].out.root_port == id || set->findings[i].out.root_port == port->peer))
			return true;
	return false;
}

/* They claim nothing of the step yet: its queues are their consequence, and give them a share (diag/consequences.c). */
static void
beside(struct cause_set *set, uint32_t step)
{
	const struct evidence *ev = set->in->ev;
	const struct run_step *s = &set->in->steps[step];

	for (uint32_t i = 0; i < ev->drops.count && has_queue(set); i++) {
		const struct rec_drop_row *row = EV_AT(ev->drops, struct rec_drop_row, i);
		uint32_t port = evidence_port(ev, row->hdr.node, row->port);
		uint32_t root = min_u32(port, ev->ports[port].peer); /* one cable, whichever end reports it */
		struct cause_finding *finding;

		if (row->reason != REC_DROP_LINK_DOWN || row->packets != 0 || row->first_ps > s->end_ps ||
		    row->hdr.time_ps < s->start_ps || !passes_node(ev, s->flow, row->hdr.node) ||
		    is_found(set, &ev->ports[port], port))
			continue;
		finding = cause_add(set, root, NULL, 0, step);
		if (finding == NULL)
			return;
		cause_port(set, finding, root);
		cause_time(finding, s->start_ps, s->end_ps);
		finding->out.evidence = (struct finding_evidence){ .clauses = { CLAUSE_MISSING },
								   .nclauses = 1,
								   .step = step,
								   .port = port,
								   .other_port = ev->ports[port].peer };
		confidence_reported(set, finding, step);
	}
}

const struct cause cause_link_down = {
	.type = { .key = "link-down",
		  .title = "link down",
		  .preposition = "at ",
		  .badge = "lost",
		  .traits = FINDING_OF_HOLE | FINDING_OF_FAULT | FINDING_OF_STATE,
		  .clauses = clauses,
		  .nclauses = ARRAY_LEN(clauses) },
	.look = look,
	.beside = beside,
};
