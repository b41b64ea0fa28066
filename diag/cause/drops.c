/* SPDX-License-Identifier: BSD-3-Clause */
#include "diag/cause/drops.h"

#include <stdio.h>

#include "common/pkt.h"

static bool
hits(const struct evidence *ev, uint32_t flow, uint32_t port, const struct rec_drop_row *row)
{
	const struct ev_flow *f = &ev->flows[flow];

	if (evidence_flow(ev, &row->last) == flow)
		return true;
	for (uint32_t h = 0; h < f->nhops; h++) {
		/* Data is dropped at an egress of the path, or where it came in: the other end of the hop before. */
		if (ev->hops[f->first_hop + h] == port || ev->ports[ev->hops[f->first_hop + h]].peer == port)
			return true;
	}
	return false;
}

bool
drops_add(struct cause_set *set, uint32_t step, enum verdict_type type, enum rec_drop reason, const char *what)
{
	const struct evidence *ev = set->in->ev;
	const struct verdict_step *s = &set->in->steps[step];
	double excess_ps = (double)(s->end_ps - s->start_ps) - (double)s->expect_ps;
	bool added = false;

	for (uint32_t i = 0; i < ev->drops.count && s->slow; i++) {
		const struct rec_drop_row *row = EV_AT(ev->drops, struct rec_drop_row, i);
		uint32_t port = evidence_port(ev, row->hdr.node, row->port);
		struct cause_finding *finding;
		char text[160], name[48];

		if (row->reason != reason || row->first_ps > s->end_ps || row->last_ps < s->start_ps ||
		    !hits(ev, s->flow, port, row))
			continue;
		added = true;
		finding = cause_add(set, type, port, NULL, 0, step);
		if (finding == NULL)
			continue;
		cause_port(set, finding, port);
		cause_time(finding, row->first_ps, row->last_ps);
		cause_explains(finding, port, cause_excess_ps(set->in, step));
		if (cause_score(finding, cause_lost_frames(set->in, step, excess_ps)))
			snprintf(finding->out.evidence, sizeof(finding->out.evidence),
				 "%s: %s counts %llu %s; the step sent %u packets again",
				 cause_step_text(set->in, step, text, sizeof(text)), evidence_port_name(ev, port, name),
				 (unsigned long long)row->packets, what, s->retransmits);
	}
	return added;
}

bool
drops_explain(const struct evidence *ev, const struct verdict_step *s)
{
	for (uint32_t i = 0; i < ev->drops.count; i++) {
		const struct rec_drop_row *row = EV_AT(ev->drops, struct rec_drop_row, i);

		if (row->reason != REC_DROP_INJECTED && row->first_ps <= s->end_ps && row->last_ps >= s->start_ps &&
		    evidence_flow(ev, &row->last) == s->flow)
			return true;
	}
	return false;
}

static bool
telemetry_lost(const struct evidence *ev, const struct verdict_step *s)
{
	for (uint32_t i = 0; i < ev->gaps.count; i++) {
		const struct rec_gap *gap = EV_AT(ev->gaps, struct rec_gap, i);

		if (gap->kind >= REC_POLL && gap->kind <= REC_DROP_ROW && gap->from_ps <= s->end_ps &&
		    gap->to_ps >= s->start_ps)
			return true;
	}
	return false;
}

/* A polling packet that follows the step's flow, early enough in the step to arrive within it. */
static bool
follows(const struct evidence *ev, const struct verdict_step *s, const struct rec_poll *poll)
{
	return (poll->flags & POLL_VICTIM) && evidence_flow(ev, &poll->victim) == s->flow &&
	       poll->hdr.time_ps >= s->start_ps && poll->hdr.time_ps + s->base_rtt_ps <= s->end_ps;
}

/* Was the polling packet seen by this node? */
static bool
seen_at(const struct evidence *ev, const struct rec_poll *poll, uint32_t node)
{
	for (uint32_t i = 0; i < ev->polls.count; i++) {
		const struct rec_poll *other = EV_AT(ev->polls, struct rec_poll, i);

		if (other->hdr.event == poll->hdr.event && other->hdr.node == node)
			return true;
	}
	return false;
}

uint32_t
drops_silent_end(const struct cause_input *in, uint32_t step)
{
	const struct evidence *ev = in->ev;
	const struct verdict_step *s = &in->steps[step];
	uint32_t end = EV_NONE;

	if (!s->slow || (!s->open && s->retransmits == 0) || telemetry_lost(ev, s) || drops_explain(ev, s))
		return EV_NONE;
	for (uint32_t i = 0; i < ev->polls.count; i++) {
		const struct rec_poll *poll = EV_AT(ev->polls, struct rec_poll, i);
		uint32_t port = evidence_port(ev, poll->hdr.node, poll->out_port);

		if (!follows(ev, s, poll) || poll->repeated)
			continue;
		if (port == EV_NONE) /* the destination was reached */
			return EV_NONE;
		if (ev->ports[port].peer_node != EV_NONE && !seen_at(ev, poll, ev->ports[port].peer_node)) {
			if (end != EV_NONE && end != port)
				return EV_NONE;
			end = port;
		}
	}
	return end;
}
