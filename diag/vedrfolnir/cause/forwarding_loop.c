/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Forwarding loop: a polling packet that follows the victim's path returned to a switch with a smaller TTL, packets of
 * the slow step left a switch by their ingress port, or their TTL expired.
 */
#include "common/array.h"
#include "common/pkt.h"
#include "diag/vedrfolnir/cause/drops.h"

enum { CLAUSE_DIED, CLAUSE_RETURNED = DROPS_CLAUSES, CLAUSE_TURNED };
static const char *const clauses[] = {
	DROPS_CLAUSE("packets dropped with their TTL used up"),
	[CLAUSE_RETURNED] = "{step}: a polling packet arrived a second time, on its path, at {port}",
	[CLAUSE_TURNED] = "{step}: its packets left by the port by which they arrived, {port}",
};

/* The ports that the looping polling packet went through, in order of its path. */
static void
add_circle(struct cause_set *set, struct cause_finding *finding, const struct rec_poll *last)
{
	const struct evidence *ev = set->in->ev;
	const struct ev_flow *flow = &ev->flows[evidence_flow(ev, &last->victim)];

	for (uint32_t i = flow->first_poll; i < flow->first_poll + flow->npolls; i++) {
		const struct rec_poll *poll = EV_AT(ev->polls, struct rec_poll, ev->poll_by_flow[i]);

		if (poll->hdr.event == last->hdr.event && cause_poll_follows(ev, ev->poll_by_flow[i]) &&
		    evidence_port(ev, poll->hdr.node, poll->out_port) != EV_NONE)
			cause_port(set, finding, evidence_port(ev, poll->hdr.node, poll->out_port));
	}
}

static struct cause_finding *
add(struct cause_set *set, uint32_t step, uint32_t port, uint64_t end_ps, uint32_t clause)
{
	const struct run_step *s = &set->in->steps[step];
	struct cause_finding *finding = cause_add(set, port, NULL, 0, step);

	if (finding == NULL)
		return NULL;
	cause_time(finding, s->start_ps, end_ps);
	cause_explains(finding, port, cause_excess_ps(set->in, step));
	if (cause_score(finding, cause_lost_frames(set->in, step, (double)(s->end_ps - s->start_ps))))
		finding->out.evidence =
			(struct finding_evidence){ .clauses = { clause }, .nclauses = 1, .step = step, .port = port };
	return finding;
}

/* The known facts of the arrival for which a port answered a polling packet first. */
enum first_arrival { FIRST_UNREPORTED, FIRST_BESIDE, FIRST_BEFORE };

/*
 * A port that has answered a polling packet already has seen the same packet twice only if its TTL was larger then.
 * Where packets are sprayed, copies of one polling packet reach a port by paths of the same length, all with the same
 * TTL.
 * @param at  index into ev->poll_by_flow of the repeated arrival
 */
static enum first_arrival
first_arrival(const struct evidence *ev, const struct ev_flow *flow, uint32_t at)
{
	const struct rec_poll *poll = EV_AT(ev->polls, struct rec_poll, ev->poll_by_flow[at]);

	for (uint32_t i = at; i-- > flow->first_poll;) {
		const struct rec_poll *other = EV_AT(ev->polls, struct rec_poll, ev->poll_by_flow[i]);

		if (other->hdr.event != poll->hdr.event || other->hdr.node != poll->hdr.node ||
		    !(other->flags & POLL_VICTIM) || (other->flags & POLL_BACK))
			continue;
		if (other->ttl > poll->ttl)
			return FIRST_BEFORE;
		if (other->out_port == poll->out_port && !other->repeated)
			return FIRST_BESIDE;
	}
	return FIRST_UNREPORTED;
}

/*
 * @param unreported  set to true where a packet may have returned: the port's first answer to it was not received
 * @return false: no polling packet is known to have returned
 */
static bool
look_at_polls(struct cause_set *set, uint32_t step, bool *unreported)
{
	const struct evidence *ev = set->in->ev;
	const struct run_step *s = &set->in->steps[step];
	struct ev_range polls = evidence_polls(ev, s->flow, s->start_ps, s->end_ps);
	bool found = false;

	for (uint32_t i = polls.first; i < polls.end; i++) {
		uint32_t at = ev->poll_by_flow[i];
		const struct rec_poll *poll = EV_AT(ev->polls, struct rec_poll, at);
		uint32_t port = evidence_port(ev, poll->hdr.node, poll->out_port);
		enum first_arrival first;
		struct cause_finding *finding;

		/*
		 * Polls that trace pauses reach a port again where pauses join; only the victim's own path is a single
		 * one.
		 */
		if (!poll->repeated || !cause_poll_follows(ev, at) || port == EV_NONE)
			continue;
		first = first_arrival(ev, &ev->flows[s->flow], i);
		*unreported |= first == FIRST_UNREPORTED;
		if (first != FIRST_BEFORE)
			continue;
		finding = add(set, step, port, poll->hdr.time_ps, CLAUSE_RETURNED);
		if (finding != NULL)
			add_circle(set, finding, poll);
		found = true;
	}
	return found;
}

/*
 * Packets that leave a switch by their ingress port: its row shows it, no polling packet is needed. Where a link on the
 * path is down they are sent back to go round it.
 */
static bool
look_at_rows(struct cause_set *set, uint32_t step)
{
	const struct evidence *ev = set->in->ev;
	const struct prov_graph *graph = set->in->graphs[step];
	bool found = false;

	if (graph == NULL || drops_any(set->in, step, REC_DROP_LINK_DOWN))
		return false;
	for (uint32_t p = 0; p < graph->nreached && !found; p++) {
		const struct ev_port *port = &ev->ports[graph->ports[p].port];
		const struct prov_at *cf = prov_at_find(graph, &graph->ports[p], graph->victim);
		struct cause_finding *finding;

		if (ev->nodes[port->node].host || cf == NULL || cf->packets <= 0 || cf->in_port != port->index)
			continue;
		finding = add(set, step, graph->ports[p].port, cf->to_ps, CLAUSE_TURNED);
		if (finding == NULL)
			continue;
		cause_port(set, finding, graph->ports[p].port);
		if (port->peer != EV_NONE)
			cause_port(set, finding, port->peer);
		found = true;
	}
	return found;
}

/* Where the loop itself is seen, drops add no evidence: packets that left it too late expire anywhere. */
static void
look(struct cause_set *set, uint32_t step)
{
	bool unreported = false;

	if (!set->in->steps[step].slow || look_at_polls(set, step, &unreported) || look_at_rows(set, step))
		return;
	set->in->unjudged->loops += unreported;
	drops_add(set, step, REC_DROP_TTL, CLAUSE_DIED);
}

const struct cause cause_forwarding_loop = {
	.type = { .key = "forwarding-loop",
		  .title = "forwarding loop",
		  .preposition = "at ",
		  .badge = "lost",
		  .traits = FINDING_OF_LOOP | FINDING_OF_FAULT,
		  .clauses = clauses,
		  .nclauses = ARRAY_LEN(clauses) },
	.look = look,
};
