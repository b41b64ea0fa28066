/* SPDX-License-Identifier: BSD-3-Clause */
#include "diag/vedrfolnir/cause/drops.h"

#include "common/minmax.h"
#include "common/pkt.h"
#include "common/record/kinds.h"
#include "common/wire/ending.h"
#include "common/wire/probe.h"
#include "common/wire/record.h"
#include "diag/vedrfolnir/cause/passage.h"

static bool
hits(const struct evidence *ev, uint32_t flow, uint32_t port, const struct rec_drop_row *row)
{
	const struct ev_flow *f = &ev->flows[flow];

	if (evidence_flow(ev, &row->last) == flow)
		return true;
	for (uint32_t h = 0; h < f->nhops + f->nback; h++) {
		/* Packets are dropped at an egress of their path, or where they came in: the end of the hop before. */
		if (ev->hops[f->first_hop + h] == port || ev->ports[ev->hops[f->first_hop + h]].peer == port)
			return true;
	}
	return false;
}

/* Does a row tell of drops that hit the step in its time? */
static bool
concerns(const struct evidence *ev, const struct run_step *s, const struct rec_drop_row *row, enum rec_drop reason)
{
	return row->reason == reason && row->first_ps <= s->end_ps && row->last_ps >= s->start_ps &&
	       hits(ev, s->flow, evidence_port(ev, row->hdr.node, row->port), row);
}

bool
drops_any(const struct cause_input *in, uint32_t step, enum rec_drop reason)
{
	const struct evidence *ev = in->ev;

	for (uint32_t i = 0; i < ev->drops.count; i++)
		if (concerns(ev, &in->steps[step], EV_AT(ev->drops, struct rec_drop_row, i), reason))
			return true;
	return false;
}

/* A cut cable that dropped nothing at this end, but did at the other: one end is enough to name. */
static bool
is_reported_by_peer(const struct evidence *ev, const struct run_step *s, const struct rec_drop_row *row, uint32_t port)
{
	for (uint32_t i = 0; row->packets == 0 && i < ev->drops.count; i++) {
		const struct rec_drop_row *other = EV_AT(ev->drops, struct rec_drop_row, i);

		if (other->packets != 0 && evidence_port(ev, other->hdr.node, other->port) == ev->ports[port].peer &&
		    concerns(ev, s, other, row->reason))
			return true;
	}
	return false;
}

static bool
is_inband(const struct evidence *ev)
{
	for (uint32_t i = 0; i < ev->probe_hops.count; i++)
		if (EV_AT(ev->probe_hops, struct rec_probe_hop, i)->count != 0)
			return true;
	return false;
}

/*
 * Packets of traceroutes expire by design, and a switch answers only so many of them: the rest it counts. May they be all that a row
 * counts? Not if a data packet is the last of them, nor if they are more than agents sent in that time.
 */
static bool
may_be_traced(const struct evidence *ev, const struct rec_drop_row *row)
{
	uint32_t last = evidence_flow(ev, &row->last);
	uint64_t gap_ps;

	if (row->reason != REC_DROP_TTL || ev->pingmeshes.count == 0 || is_inband(ev))
		return false;
	if (last != EV_NONE && ev->flows[last].collective && !ev->flows[last].probed)
		return false;
	gap_ps = max_u64(1, EV_AT(ev->pingmeshes, struct rec_pingmesh, 0)->upload_ps / PROBE_TRACES);
	return row->packets <= ev->rnics.count * ((row->last_ps - row->first_ps) / gap_ps + 1);
}

bool
drops_add(struct cause_set *set, uint32_t step, enum rec_drop reason, uint32_t clause)
{
	const struct evidence *ev = set->in->ev;
	const struct run_step *s = &set->in->steps[step];
	double excess_ps = cause_excess_ps(set->in, step);
	bool added = false, traced = false;

	for (uint32_t i = 0; i < ev->drops.count && s->slow; i++) {
		const struct rec_drop_row *row = EV_AT(ev->drops, struct rec_drop_row, i);
		uint32_t port = evidence_port(ev, row->hdr.node, row->port);
		struct cause_finding *finding;

		if (!concerns(ev, s, row, reason) || is_reported_by_peer(ev, s, row, port))
			continue;
		if (may_be_traced(ev, row)) {
			traced = true;
			continue;
		}
		added = true;
		finding = cause_add(set, port, NULL, reason == REC_DROP_TTL ? DROPS_OF_OLD_AGE : 0, step);
		if (finding == NULL)
			continue;
		cause_port(set, finding, port);
		if (reason == REC_DROP_CORRUPT && ev->ports[port].peer != EV_NONE) /* it happened on the cable */
			cause_port(set, finding, ev->ports[port].peer);
		cause_time(finding, row->first_ps, row->last_ps);
		cause_explains(finding, port, excess_ps);
		if (cause_score(finding, cause_lost_frames(set->in, step, excess_ps)))
			finding->out.evidence =
				(struct finding_evidence){ .clauses = { row->packets != 0 ? clause : clause + 1 },
							   .nclauses = 1,
							   .step = step,
							   .port = port,
							   .other_port = ev->ports[port].peer,
							   .count = row->packets };
	}
	set->in->unjudged->traces += traced && !added;
	return added;
}

bool
drops_explain(const struct evidence *ev, const struct run_step *s)
{
	for (uint32_t i = 0; i < ev->drops.count; i++) {
		const struct rec_drop_row *row = EV_AT(ev->drops, struct rec_drop_row, i);

		if (row->reason != REC_DROP_INJECTED && row->first_ps <= s->end_ps && row->last_ps >= s->start_ps &&
		    (evidence_flow(ev, &row->last) == s->flow ||
		     (row->reason == REC_DROP_LINK_DOWN &&
		      hits(ev, s->flow, evidence_port(ev, row->hdr.node, row->port), row))))
			return true;
	}
	return false;
}

bool
drops_telemetry_lost(const struct evidence *ev, const struct run_step *s)
{
	for (uint32_t i = 0; i < ev->gaps.count; i++) {
		const struct rec_gap *gap = EV_AT(ev->gaps, struct rec_gap, i);

		if (record_is(gap->kind, REC_TELEMETRY) && gap->from_ps <= s->end_ps && gap->to_ps >= s->start_ps)
			return true;
	}
	return false;
}

/* Is this record of a polling packet about the step's flow, early enough in the step to arrive within it, on that way? */
static bool
follows(const struct evidence *ev, const struct run_step *s, uint32_t i, bool back)
{
	const struct rec_poll *poll = EV_AT(ev->polls, struct rec_poll, i);

	return (back ? (poll->flags & POLL_BACK) != 0 : cause_poll_follows(ev, i)) && poll->hdr.time_ps >= s->start_ps &&
	       poll->hdr.time_ps + s->base_rtt_ps <= s->end_ps;
}

/* Was the polling packet, which asks about a flow, seen by this node, on that way? */
static bool
seen_at(const struct evidence *ev, uint32_t flow, uint32_t event, uint32_t node, bool back)
{
	for (uint32_t i = ev->flows[flow].first_poll; i < ev->flows[flow].first_poll + ev->flows[flow].npolls; i++) {
		const struct rec_poll *other = EV_AT(ev->polls, struct rec_poll, ev->poll_by_flow[i]);

		if (other->hdr.event == event && other->hdr.node == node && ((other->flags & POLL_BACK) != 0) == back)
			return true;
	}
	return false;
}

bool
drops_sent_again(const struct cause_input *in, uint32_t step)
{
	const struct evidence *ev = in->ev;
	const struct run_step *s = &in->steps[step];

	return s->retransmits != 0 ||
	       (s->open && ev->ended && ev->end.reason == REC_END_QP_ERROR && ev->end.at_node == s->host);
}

/*
 * What became of the polling packets of one event on the victim's path: polls are sorted by time, a later record of
 * the event is farther on.
 * @return the port that one left by and vanished behind; EV_NONE: it arrived, looped, or is not of this step
 */
static uint32_t
vanished_behind(const struct evidence *ev, const struct run_step *s, uint32_t i, bool back, bool *arrived)
{
	const struct rec_poll *poll = EV_AT(ev->polls, struct rec_poll, i);
	uint32_t port = evidence_port(ev, poll->hdr.node, poll->out_port);

	if (!follows(ev, s, i, back))
		return EV_NONE;
	/* A host swallows none, and need not tell that one came. */
	if (port == EV_NONE || poll->repeated ||
	    (ev->ports[port].peer_node != EV_NONE && ev->nodes[ev->ports[port].peer_node].host)) {
		*arrived = true;
		return EV_NONE;
	}
	if (ev->ports[port].peer_node == EV_NONE || seen_at(ev, s->flow, poll->hdr.event, ev->ports[port].peer_node, back))
		return EV_NONE;
	return port;
}

/* Where polling packets vanish on one of the two ways. */
struct vanished {
	uint32_t port; /* the last that they left by; EV_NONE: none vanish, or not at one place */
	uint64_t first_ps;
	uint32_t longest; /* so many in a row */
	bool arrived;     /* any did */
};

static struct vanished
look_for_vanished(const struct evidence *ev, const struct run_step *s, bool back)
{
	struct vanished found = { .port = EV_NONE };
	uint32_t run = 0;

	for (uint32_t i = 0; i < ev->flows[s->flow].npolls; i++) {
		bool arrived = false;
		uint32_t poll = ev->poll_by_flow[ev->flows[s->flow].first_poll + i];
		uint32_t port = vanished_behind(ev, s, poll, back, &arrived);

		found.arrived |= arrived;
		if (arrived)
			run = 0;
		if (port == EV_NONE)
			continue;
		if (found.port != EV_NONE && found.port != port)
			return (struct vanished){ .port = EV_NONE };
		if (found.port == EV_NONE)
			found.first_ps = EV_AT(ev->polls, struct rec_poll, poll)->hdr.time_ps;
		found.port = port;
		found.longest = ++run > found.longest ? run : found.longest;
	}
	return found;
}

/* A link that lost frames is to blame, one that lost none is not; else it is who passes nothing in a row. */
static struct drops_silence
judge(const struct cause_input *in, uint32_t step, const struct vanished *found)
{
	const struct ev_port *port = &in->ev->ports[found->port];
	struct drops_silence silence = { .port = found->port, .polls = found->longest };
	struct passage_link link = passage_of_link(in, step, port->peer, found->first_ps);

	silence.lost_frames = link.lost_frames;
	silence.swallows = link.known ? link.lost_frames == 0
				      : found->longest >= DROPS_VANISHED || (in->steps[step].open && !found->arrived);
	return silence;
}

struct drops_silence
drops_silence(const struct cause_input *in, uint32_t step)
{
	const struct evidence *ev = in->ev;
	const struct run_step *s = &in->steps[step];
	const struct drops_silence none = { .port = EV_NONE };

	if (!s->slow || (!s->open && s->retransmits == 0) || drops_telemetry_lost(ev, s) || drops_explain(ev, s))
		return none;
	for (int back = 0; back < 2; back++) {
		struct vanished found = look_for_vanished(ev, s, back == 1);

		if (found.port != EV_NONE)
			return judge(in, step, &found);
	}
	return none;
}
