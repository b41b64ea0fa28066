/* SPDX-License-Identifier: BSD-3-Clause */
#include "diag/vedrfolnir/cause/drops.h"

#include "common/array.h"
#include "common/minmax.h"
#include "common/pkt.h"
#include "common/record/kinds.h"
#include "common/wire/drop.h"
#include "common/wire/ending.h"
#include "common/wire/probe.h"
#include "common/wire/record.h"
#include "diag/vedrfolnir/cause/cause.h"
#include <math.h>

static bool
passes(const struct evidence *ev, uint32_t flow, uint32_t port)
{
	/* Packets are dropped at an egress of their path, or at their ingress: the end of the hop before. */
	return evidence_crosses(ev, flow, port) || evidence_crosses(ev, flow, ev->ports[port].peer);
}

static bool
hits(const struct evidence *ev, uint32_t flow, uint32_t port, const struct rec_drop_row *row)
{
	return evidence_flow(ev, &row->last) == flow || passes(ev, flow, port);
}

static bool
passes_node(const struct evidence *ev, uint32_t flow, uint32_t node)
{
	const struct ev_flow *of = &ev->flows[flow];

	for (uint32_t h = 0; h < of->nhops + of->nback; h++)
		if (ev->ports[ev->hops[of->first_hop + h]].node == node)
			return true;
	return false;
}

/*
 * A switch counts packets without a route at one of the ports that would lead on: a flow of the same host whose data or
 * ACKs pass that switch, and that sent again, had no route there either.
 */
static bool
shares_no_route(const struct evidence *ev, const struct run_step *s, const struct rec_drop_row *row)
{
	uint32_t last = row->reason == REC_DROP_NO_ROUTE ? evidence_flow(ev, &row->last) : EV_NONE;
	const struct ev_flow *of = &ev->flows[s->flow];

	return last != EV_NONE && (s->retransmits != 0 || s->open) && passes_node(ev, s->flow, row->hdr.node) &&
	       (of->dst == ev->flows[last].dst || of->src == ev->flows[last].src || of->dst == ev->flows[last].src ||
		of->src == ev->flows[last].dst);
}

/* Is a row of drops that affected the step in its time? */
static bool
concerns(const struct evidence *ev, const struct run_step *s, const struct rec_drop_row *row, enum rec_drop reason)
{
	return row->reason == reason && row->first_ps <= s->end_ps && row->last_ps >= s->start_ps &&
	       (hits(ev, s->flow, evidence_port(ev, row->hdr.node, row->port), row) || shares_no_route(ev, s, row));
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

/* A cable that is down and dropped nothing at this end, but did at the other: one end is enough to name. */
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
 * Packets of traceroutes expire by design, and a switch answers only a limited number of them: it counts the rest. May
 * they be all that a row counts? Not if a data packet is the last of them, nor if they are more than agents sent in
 * that time.
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
	return (double)row->packets <= ev->rnics.count * ((double)((row->last_ps - row->first_ps) / gap_ps) + 1);
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
	for (uint32_t i = 0; i < ev->watchdogs.count; i++)
		if (drops_by_watchdog(ev, s, i))
			return true;
	return false;
}

bool
drops_by_watchdog(const struct evidence *ev, const struct run_step *s, uint32_t event)
{
	const struct rec_watchdog *rec = EV_AT(ev->watchdogs, struct rec_watchdog, event);

	uint8_t prio = ev->flows[s->flow].prio; /* 0: no row of it is known */

	return rec->action == REC_WATCHDOG_DROP && rec->packets != 0 && (prio == 0 || rec->prio == prio) &&
	       rec->since_ps <= s->end_ps && rec->hdr.time_ps >= s->start_ps &&
	       passes(ev, s->flow, evidence_port(ev, rec->hdr.node, rec->port));
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

/*
 * Is this record of a polling packet about the step's flow, early enough in the step to arrive within it, on that path?
 */
static bool
follows(const struct evidence *ev, const struct run_step *s, uint32_t i, bool back)
{
	const struct rec_poll *poll = EV_AT(ev->polls, struct rec_poll, i);

	return (back ? (poll->flags & POLL_BACK) != 0 : cause_poll_follows(ev, i)) && poll->hdr.time_ps >= s->start_ps &&
	       poll->hdr.time_ps + s->base_rtt_ps <= s->end_ps;
}

/* Did this node report the polling packet, which asks about a flow, on that path? */
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

/* Does its sender's ledger show that whatever it sent again had arrived, or that its receiver had refused it? */
static bool
resent_early(const struct cause_input *in, uint32_t step)
{
	const struct run_step *s = &in->steps[step];
	uint64_t ps[LEDGER_ENTRIES];

	for (int i = 0; i < LEDGER_ENTRIES; i++)
		ps[i] = evidence_ledger_ps(in->ev, step, i);
	/* A timer with room for round trips is early where a link or a switch held the packets: as if they were lost. */
	if (ps[LEDGER_TIMEOUT] != 0 || (ps[LEDGER_NAK] != 0 && !passage_overtaken(in, step)) ||
	    (ps[LEDGER_EARLY] != 0 && run_waited_ps(s) > ROCE_TIMER_ROUND_TRIPS * s->base_rtt_ps))
		return false;
	return ps[LEDGER_NAK] + ps[LEDGER_EARLY] + ps[LEDGER_REORDERED] + ps[LEDGER_PEER] != 0;
}

static bool
is_in_error(const struct evidence *ev, const struct run_step *s)
{
	return s->open && ev->ended && ev->end.reason == REC_END_QP_ERROR && ev->end.at_node == s->host;
}

bool
drops_gave_up_early(const struct cause_input *in, uint32_t step)
{
	const struct run_step *s = &in->steps[step];

	return is_in_error(in->ev, s) && s->waited_ns != 0 && s->naks == 0 && s->acked_bytes == 0 &&
	       s->end_ps - s->start_ps < s->base_rtt_ps;
}

bool
drops_sent_again(const struct cause_input *in, uint32_t step)
{
	const struct run_step *s = &in->steps[step];

	return !drops_gave_up_early(in, step) &&
	       ((s->retransmits != 0 && !resent_early(in, step)) || is_in_error(in->ev, s));
}

/*
 * The end of the polling packets of one event on the victim's path: polls are sorted by time, a later record of the
 * event is farther on.
 * @return the port that one left by and vanished behind; EV_NONE: it arrived, looped, or is not of this step
 */
static uint32_t
vanished_behind(const struct evidence *ev, const struct run_step *s, uint32_t i, bool back, bool *arrived)
{
	const struct rec_poll *poll = EV_AT(ev->polls, struct rec_poll, i);
	uint32_t port = evidence_port(ev, poll->hdr.node, poll->out_port);

	if (!follows(ev, s, i, back))
		return EV_NONE;
	/* A host swallows none, and need not report an arrival. */
	if (port == EV_NONE || poll->repeated ||
	    (ev->ports[port].peer_node != EV_NONE && ev->nodes[ev->ports[port].peer_node].host)) {
		*arrived = true;
		return EV_NONE;
	}
	if (ev->ports[port].peer_node == EV_NONE || seen_at(ev, s->flow, poll->hdr.event, ev->ports[port].peer_node, back))
		return EV_NONE;
	return port;
}

/* Where polling packets vanish on one of the two paths. */
struct vanished {
	uint32_t port; /* the last that they left by; EV_NONE: none vanish, or not at one place */
	uint64_t first_ps;
	uint32_t longest; /* number in a row */
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

/*
 * A link that lost frames is at fault, one that lost none is not; else the switch is that forwards nothing in a row. Of a
 * sprayed flow single polling packets take a path each: those that vanish alone were lost, and no switch forwards nothing.
 */
static struct drops_silence
judge(const struct cause_input *in, uint32_t step, const struct vanished *found)
{
	const struct ev_port *port = &in->ev->ports[found->port];
	struct drops_silence silence = { .port = found->port, .polls = found->longest };
	struct passage_link link = passage_of_link(in, step, port->peer, found->first_ps);
	bool alone = evidence_is_sprayed(in->ev, in->steps[step].flow) && found->longest < DROPS_VANISHED;

	silence.lost_frames = link.lost_frames;
	silence.swallows = link.known ? link.lost_frames == 0 && !alone
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

#define ROW_PACKETS 10 /* lost and nothing between them: by chance one in 1,024 where a half is lost */
#define BY_CHANCE 1e-6 /* less likely than that is no chance */

/* Bounds of a count that is not exactly known. */
struct span {
	uint64_t least, most;
};

static const struct rec_passage *
rec_at(const struct evidence *ev, uint32_t i)
{
	return EV_AT(ev->passages, struct rec_passage, i);
}

/* @return the first record of this time or later */
static uint32_t
first_from(const struct evidence *ev, uint64_t from_ps)
{
	const struct rec_passage *records = ev->passages.data;

	return ARRAY_FROM(records, hdr.time_ps, 0, ev->passages.count, from_ps);
}

/* The last reading of the same link up to a moment, of one flow or any (EV_NONE). @return EV_NONE: there was none */
static uint32_t
earlier(const struct evidence *ev, uint32_t i, uint64_t until_ps, uint32_t flow)
{
	do
		i = ev->passed[i].earlier;
	while (i != EV_NONE && (rec_at(ev, i)->hdr.time_ps > until_ps || (flow != EV_NONE && ev->passed[i].flow != flow)));
	return i;
}

/* Frames that the link has lost by then; 0 of none. */
static uint64_t
lost_by(const struct evidence *ev, uint32_t i)
{
	const struct rec_passage *rec = i != EV_NONE ? rec_at(ev, i) : NULL;

	return rec != NULL && rec->sent_frames > rec->in_frames ? rec->sent_frames - rec->in_frames : 0;
}

static uint64_t
more(uint64_t now, uint64_t before)
{
	return now > before ? now - before : 0;
}

/* Are two records of one polling packet, as it reached a node? Of a sprayed flow it goes on by several ports. */
static bool
is_same_visit(const struct evidence *ev, uint32_t a, uint32_t b)
{
	return ev->passed[a].in_port == ev->passed[b].in_port && ev->passed[a].flow == ev->passed[b].flow &&
	       rec_at(ev, a)->hdr.event == rec_at(ev, b)->hdr.event &&
	       rec_at(ev, a)->hdr.time_ps == rec_at(ev, b)->hdr.time_ps;
}

/*
 * Packets of the flow that a switch had counted at all ports that a polling packet left by. Those that entered by other
 * links count as well: of several links to one switch none can be short by it.
 */
static uint64_t
counted_at(const struct evidence *ev, uint32_t i)
{
	const struct rec_passage *rec = rec_at(ev, i);
	uint64_t packets = 0;
	uint32_t first = i;

	while (first > 0 && rec_at(ev, first - 1)->hdr.time_ps == rec->hdr.time_ps)
		first--;
	for (; first < ev->passages.count && rec_at(ev, first)->hdr.time_ps == rec->hdr.time_ps; first++)
		packets += is_same_visit(ev, first, i) ? rec_at(ev, first)->flow_packets : 0;
	return packets;
}

/*
 * Packets of the flow that one switch or its source had counted before a polling packet, and the next switch not: lost
 * on the link or in that next one, or left behind in the first one's queue. Those that had left arrived before the
 * polling packet.
 */
static struct span
missing_by(const struct evidence *ev, uint32_t i)
{
	const struct rec_passage *hop;
	uint64_t most;

	if (i == EV_NONE || ev->passed[i].hop == EV_NONE)
		return (struct span){ 0, 0 };
	hop = rec_at(ev, ev->passed[i].hop);
	most = more(hop->flow_packets, counted_at(ev, i));
	return (struct span){ ev->passed[ev->passed[i].hop].in_port != EV_NONE ? more(most, hop->waiting) : most, most };
}

static const struct passage_place nowhere = { EV_NONE, 0, 0, 0 };

static void
take(struct passage_place *place, const struct evidence *ev, uint32_t i, uint64_t packets, uint64_t from_ps)
{
	if (packets > place->packets)
		*place = (struct passage_place){ ev->passed[i].in_port, packets, from_ps, rec_at(ev, i)->hdr.time_ps };
}

static void
clear(struct passage_place *place, uint32_t in_port)
{
	if (place->in_port == in_port)
		*place = nowhere;
}

/* Packets of a flow's own tuple that ended at a switch by design: agents' traceroutes. One more may be under way. */
static uint64_t
expired_at(const struct evidence *ev, uint32_t flow, uint32_t node, uint64_t from_ps, uint64_t to_ps)
{
	uint64_t packets = 1;

	if (!ev->flows[flow].probed)
		return 0;
	for (uint32_t i = 0; i < ev->probe_hops.count; i++) {
		const struct rec_probe_hop *hop = EV_AT(ev->probe_hops, struct rec_probe_hop, i);

		packets += hop->count == 0 && hop->back == 0 && hop->at == node && hop->sent_ps >= from_ps &&
			   hop->sent_ps <= to_ps && evidence_flow(ev, &hop->tuple) == flow;
	}
	return packets;
}

/* Is a record of the switch next to the source? */
static bool
is_first(const struct evidence *ev, uint32_t i)
{
	return ev->passed[ev->passed[i].hop].in_port == EV_NONE;
}

/*
 * Missing packets between the counts of one hop and the next. Those between the source's queue pair and its switch never
 * left the NIC, as far as fewer frames arrived from there than its flow has, here and before.
 */
static void
take_missing(struct passage *p, const struct evidence *ev, const struct run_step *s, uint32_t i, uint64_t missing)
{
	const struct rec_passage *rec = rec_at(ev, i);
	uint32_t then = earlier(ev, i, s->start_ps, ev->passed[i].flow);
	uint64_t frames = more(rec->in_frames, then != EV_NONE ? rec_at(ev, then)->in_frames : 0);
	uint64_t left = more(rec->flow_packets, then != EV_NONE ? rec_at(ev, then)->flow_packets : 0);

	if (is_first(ev, i) && missing > more(frames, left)) {
		take(&p->nic, ev, i, missing - more(frames, left), s->start_ps);
		p->nic.in_port = p->nic.in_port == ev->passed[i].in_port ? ev->ports[p->nic.in_port].peer : p->nic.in_port;
		missing = more(frames, left);
	}
	take(&p->node, ev, i, missing, s->start_ps);
}

/*
 * Losses of a link, and of the switch behind it. Where none of the flow's own packets can be missing, others' frames
 * were lost, or none.
 */
static void
take_hop(struct passage *p, const struct evidence *ev, const struct run_step *s, uint32_t i, uint64_t lost)
{
	const struct ev_passed *passed = &ev->passed[i];
	uint32_t then = earlier(ev, i, s->start_ps, passed->flow);
	struct span now = missing_by(ev, i), before = missing_by(ev, then);
	uint64_t expired = expired_at(ev, passed->flow, ev->ports[passed->in_port].node,
				      then != EV_NONE ? rec_at(ev, then)->hdr.time_ps : 0, rec_at(ev, i)->hdr.time_ps);

	/*
	 * With packets on several paths a place counts those of all links that lead there: nothing clears one of these, and
	 * a NIC looks like its switch. Between two switches, what is missing beyond the link's loss is the second's.
	 */
	if (evidence_is_sprayed(ev, passed->flow)) {
		take(&p->link, ev, i, lost, s->start_ps);
		if (!is_first(ev, i) && !drops_telemetry_lost(ev, s))
			take(&p->node, ev, i, more(now.least, before.most + lost + expired), s->start_ps);
		return;
	}
	if (now.most <= before.least) {
		clear(&p->link, passed->in_port);
		clear(&p->node, passed->in_port);
		return;
	}
	take(&p->link, ev, i, lost, s->start_ps);
	take_missing(p, ev, s, i, more(more(now.least, before.most), lost + expired));
}

/* The destination's counts, since the step began. */
static void
take_end(struct passage *p, const struct evidence *ev, const struct run_step *s, uint32_t i)
{
	static const struct rec_passage none;
	uint32_t before = earlier(ev, i, s->start_ps, ev->passed[i].flow);
	const struct rec_passage *now = rec_at(ev, i), *then = before != EV_NONE ? rec_at(ev, before) : &none;

	p->ended = true;
	p->duplicates = (uint32_t)more(now->duplicates, then->duplicates);
	p->out_of_sequence = (uint32_t)more(now->out_of_sequence, then->out_of_sequence);
	p->most_missing = now->most_missing > then->most_missing ? now->most_missing : 0;
}

/* Did a polling packet of the flow arrive at the flow's destination? */
static bool
is_arrival(const struct evidence *ev, uint32_t i, uint32_t flow)
{
	const struct ev_passed *passed = &ev->passed[i];

	return passed->flow == flow && !passed->back && passed->in_port != EV_NONE && passed->out_port == EV_NONE &&
	       ev->ports[passed->in_port].node == ev->flows[flow].dst;
}

/* Is this a record of the same polling packet, on the path of the data? */
static bool
is_of_event(const struct evidence *ev, uint32_t i, uint32_t end)
{
	return ev->passed[i].flow == ev->passed[end].flow && !ev->passed[i].back &&
	       rec_at(ev, i)->hdr.event == rec_at(ev, end)->hdr.event;
}

/* What a polling packet reports of a flow's packets that were sent again, from its source to its arrival. */
struct resends {
	uint64_t sent;           /* since the run began; 0 as well if the source's record is of an earlier step */
	uint64_t waiting, ports; /* packets that it may have overtaken, and the number of ports */
};

/*
 * @param first      the step's first record
 * @param end        the record of the polling packet's arrival
 * @param longer_ps  by how much longer its other copies may be in flight
 */
static struct resends
resends_by(const struct evidence *ev, uint32_t first, uint32_t end, uint64_t longer_ps)
{
	struct resends resends = { 0, 0, 0 };
	uint32_t i = end;
	uint64_t until_ps;

	while (i != first && !(is_of_event(ev, i, end) && ev->passed[i].in_port == EV_NONE))
		i--;
	if (!is_of_event(ev, i, end) || ev->passed[i].in_port != EV_NONE)
		return resends;
	resends.sent = rec_at(ev, i)->resent;
	/* On a path of the same length a copy may wait longer: for as long again as this one took to arrive. */
	until_ps = 2 * rec_at(ev, end)->hdr.time_ps - rec_at(ev, i)->hdr.time_ps + longer_ps;
	for (i++; i < ev->passages.count && rec_at(ev, i)->hdr.time_ps <= until_ps; i++) {
		if (!is_of_event(ev, i, end) || ev->passed[i].out_port == EV_NONE)
			continue;
		resends.waiting += rec_at(ev, i)->waiting;
		resends.ports++;
	}
	return resends;
}

/*
 * By how much longer a sprayed packet may be in flight than another, at most: as if each of its hops were the longest
 * link between switches, and each of the other's the shortest.
 */
static uint64_t
detour_ps(const struct evidence *ev, uint32_t flow)
{
	uint64_t longest_ps = 0, shortest_ps = UINT64_MAX, all_ps;

	for (uint32_t p = 0; p < ev->nports; p++) {
		const struct ev_port *port = &ev->ports[p];

		if (port->peer_node == EV_NONE || ev->nodes[port->node].host || ev->nodes[port->peer_node].host)
			continue;
		longest_ps = max_u64(longest_ps, port->delay_ps);
		shortest_ps = min_u64(shortest_ps, port->delay_ps);
	}
	if (__builtin_mul_overflow(ev->flows[flow].nhops, more(longest_ps, shortest_ps), &all_ps))
		return RECORD_MAX_PS;
	return min_u64(all_ps, RECORD_MAX_PS);
}

/* The first arrival of a polling packet of the flow in a time. @return EV_NONE: there is none */
static uint32_t
arrival_within(const struct evidence *ev, uint32_t flow, uint64_t from_ps, uint64_t until_ps)
{
	for (uint32_t i = first_from(ev, from_ps); i < ev->passages.count && rec_at(ev, i)->hdr.time_ps <= until_ps; i++)
		if (is_arrival(ev, i, flow))
			return i;
	return EV_NONE;
}

/* Packets that earlier steps of the same flow sent again. UINT32_MAX or more: not all of these are reported. */
static uint64_t
sent_before(const struct cause_input *in, const struct run_step *s)
{
	uint64_t packets = 0;

	for (const struct run_step *o = in->steps; o < in->steps + in->nsteps; o++)
		if (o->flow == s->flow && (o->reported ? o->start_ps < s->start_ps : o < s))
			packets += o->reported ? o->retransmits : UINT32_MAX;
	return packets;
}

/*
 * Packets lost, of those that the step had sent again when a polling packet left: the others arrived twice. Where
 * packets keep order, those that it did not overtake arrive before it. Where they are sprayed, a packet with a slower
 * copy behind it arrives after the fastest: a round trip and a detour later it has arrived. Where no path is longer,
 * that is one packet of each port at most, which a link was sending.
 * @param before  packets that the flow had sent again before the step
 */
static uint64_t
lost_by_arrival(const struct evidence *ev, const struct run_step *s, uint32_t first, uint32_t end, uint64_t before)
{
	bool sprayed = evidence_is_sprayed(ev, s->flow);
	uint64_t longer_ps = sprayed ? detour_ps(ev, s->flow) : 0;
	struct resends resends = resends_by(ev, first, end, longer_ps);
	uint32_t then = earlier(ev, end, s->start_ps, s->flow), next;
	uint64_t twice_before = then != EV_NONE ? rec_at(ev, then)->duplicates : 0;
	uint64_t twice = before + more(rec_at(ev, end)->duplicates, twice_before);
	uint64_t sent = more(resends.sent, resends.waiting), lost;

	if (sent <= twice || !sprayed)
		return more(sent, twice);
	lost = longer_ps == 0 ? more(sent, twice + resends.ports) : 0;
	next = arrival_within(ev, s->flow, rec_at(ev, end)->hdr.time_ps + s->base_rtt_ps + longer_ps,
			      s->end_ps + (s->end_ps - s->start_ps));
	if (next != EV_NONE)
		lost = max_u64(lost, more(sent, before + more(rec_at(ev, next)->duplicates, twice_before)));
	return lost;
}

/* Packets that the network may have lost by then, at most: between the source's count and its arrival. */
static uint64_t
missing_on_path(const struct evidence *ev, uint32_t first, uint32_t end)
{
	uint32_t i = end, last = ev->passed[end].hop;

	while (i != first && !(is_of_event(ev, i, end) && ev->passed[i].in_port == EV_NONE))
		i--;
	if (!is_of_event(ev, i, end) || ev->passed[i].in_port != EV_NONE || last == EV_NONE)
		return UINT64_MAX;
	return more(rec_at(ev, i)->flow_packets, rec_at(ev, last)->flow_packets) + lost_by(ev, end);
}

/*
 * Of a flow whose receiver had no gap: behind one it may drop others, which arrive once. What the network had not lost,
 * the destination's NIC did not hand on.
 */
static void
take_lost(struct passage *p, const struct cause_input *in, const struct run_step *s, uint32_t first, uint64_t until_ps)
{
	const struct evidence *ev = in->ev;
	bool sprayed = evidence_is_sprayed(ev, s->flow);
	uint64_t before;

	if (s->retransmits == 0 || drops_telemetry_lost(ev, s))
		return;
	before = sent_before(in, s);
	for (uint32_t i = first; i < ev->passages.count && rec_at(ev, i)->hdr.time_ps <= until_ps; i++) {
		uint64_t lost;

		if (!is_arrival(ev, i, s->flow))
			continue;
		lost = min_u64(s->retransmits, lost_by_arrival(ev, s, first, i, before));
		p->lost = max_u64(p->lost, lost);
		if (!sprayed && ev->ports[ev->passed[i].in_port].peer != EV_NONE)
			take(&p->nic, ev, i, more(lost, missing_on_path(ev, first, i)), s->start_ps);
	}
}

/*
 * Of n packets k were lost, each as likely as another: the probability that any m in a row were is at most this, for
 * there are n - m + 1 rows, and of each all are lost with k / n * (k - 1) / (n - 1) * ...
 */
static double
row_by_chance(double m, double k, double n)
{
	return (n - m + 1) * exp(lgamma(k + 1) - lgamma(k - m + 1) + lgamma(n - m + 1) - lgamma(n + 1));
}

/*
 * Of a flow with a gap: what its destination missed in a row, and its switches and links had not lost by then, that NIC did
 * not hand on. The gap ends with a packet that arrived, so nothing of it was in flight then.
 */
static void
take_gap(struct passage *p, const struct cause_input *in, const struct run_step *s, uint32_t first, uint64_t until_ps)
{
	const struct evidence *ev = in->ev;
	double lost = (double)more(s->retransmits, p->out_of_sequence), row = p->most_missing;

	if (row < ROW_PACKETS || evidence_is_sprayed(ev, s->flow) ||
	    row_by_chance(row, fmax(row, lost), fmax(row, lost) + p->out_of_sequence) >= BY_CHANCE)
		return;
	for (uint32_t i = first; i < ev->passages.count && rec_at(ev, i)->hdr.time_ps <= until_ps; i++)
		if (is_arrival(ev, i, s->flow) && rec_at(ev, i)->most_missing == p->most_missing &&
		    ev->ports[ev->passed[i].in_port].peer != EV_NONE)
			take(&p->nic, ev, i, more(p->most_missing, missing_on_path(ev, first, i)), s->start_ps);
}

/* One place: the NIC, if it lost most, and not by chance; nor did a receiver that was not ready refuse them. */
static void
choose_place(struct passage *p, const struct cause_input *in, uint32_t step)
{
	if (p->nic.packets < ROW_PACKETS || p->nic.packets < max_u64(p->node.packets, p->link.packets) ||
	    evidence_ledger_ps(in->ev, step, LEDGER_PEER) != 0)
		p->nic = nowhere;
	else
		p->node = p->link = nowhere;
}

/*
 * The epoch of a port's rows that covers the same epochs as another's, and is not older: of epochs that were open at the
 * last report, what the other had sent by then has arrived or is under way.
 */
static const struct ev_epoch *
same_epoch(const struct evidence *ev, uint32_t port, const struct ev_epoch *epoch)
{
	struct ev_range range = evidence_epochs(ev, port, epoch->from_ps, epoch->to_ps);

	for (uint32_t e = range.first; e < range.end; e++) {
		const struct ev_epoch *other = &ev->epochs[e];

		if (other->epoch_first == epoch->epoch_first && other->epoch_last == epoch->epoch_last &&
		    other->nrows != 0 && other->to_ps >= epoch->to_ps)
			return other;
	}
	return NULL;
}

/* Bytes that a port sent in an epoch of the flows that another one reports then. */
static uint64_t
bytes_for(const struct evidence *ev, const struct ev_epoch *epoch, const struct ev_epoch *other)
{
	uint64_t bytes = 0;

	for (uint32_t i = epoch->first_flow; i < epoch->first_flow + epoch->nflows; i++)
		if (evidence_flow_row(ev, other, ev->flow_of_row[i]) != NULL)
			bytes += EV_AT(ev->flow_rows, struct rec_flow_row, i)->bytes;
	return bytes;
}

/* Bytes that entered a switch at one port and left by another in an epoch. @return false: no row says so */
static bool
metered(const struct evidence *ev, uint32_t in_port, uint32_t out_port, const struct ev_epoch *epoch, uint64_t *bytes)
{
	const struct ev_port *in = &ev->ports[in_port];
	bool found = false;

	*bytes = 0;
	for (uint32_t f = in->first_feed; f < in->first_feed + in->nfeeds; f++)
		for (uint32_t r = 0; ev->feeds[f].egress == out_port && r < ev->feeds[f].nrows; r++) {
			const struct rec_meter_row *row = ev->feed_rows[ev->feeds[f].first_row + r].row;

			if (row->epoch_first == epoch->epoch_first && row->epoch_last == epoch->epoch_last) {
				*bytes += row->bytes;
				found = true;
			}
		}
	return found;
}

/* Bytes that a port had counted and the next one not yet, at most: in its deepest queue, being sent, and on the cable. */
static double
in_flight(const struct evidence *ev, const struct ev_epoch *epoch)
{
	const struct ev_port *port = &ev->ports[epoch->port];
	double frames = 2;

	for (uint32_t i = epoch->first_row; i < epoch->first_row + epoch->nrows; i++)
		frames += EV_AT(ev->port_rows, struct rec_port_row, i)->depth_max;
	return frames * ev->run.frame_bytes + (double)port->rate_bps / 8e12 * (double)port->delay_ps;
}

/*
 * Packets lost on or behind a cable in a step's time, at least, by what entered there and left by a port: bytes that the
 * other end sent of that port's flows, less those that the port's meters have from there. What is under way at an epoch's
 * end arrives in the next one.
 */
static uint64_t
short_of(const struct evidence *ev, const struct run_step *s, uint32_t in_port, uint32_t out_port)
{
	struct ev_range range = evidence_epochs(ev, ev->ports[in_port].peer, s->start_ps, s->end_ps);
	double lost = 0, last = 0;
	uint32_t next = 0;

	for (uint32_t e = range.first; e < range.end; e++) {
		const struct ev_epoch *epoch = &ev->epochs[e], *other = same_epoch(ev, out_port, epoch);
		uint64_t bytes;

		if (epoch->nrows == 0 || other == NULL || !metered(ev, in_port, out_port, epoch, &bytes))
			continue;
		lost -= epoch->epoch_first != next ? last : 0;
		lost += (double)bytes_for(ev, epoch, other) - (double)bytes;
		last = in_flight(ev, epoch);
		next = epoch->epoch_last + 1;
	}
	return lost > last ? (uint64_t)fmin((lost - last) / ev->run.frame_bytes, UINT32_MAX) : 0;
}

/* Does a flow's polling packet reach this record's switch by another of its ports, too? */
static bool
has_other_path(const struct evidence *ev, uint32_t i, uint32_t first, uint64_t until_ps)
{
	for (uint32_t j = first; j < ev->passages.count && rec_at(ev, j)->hdr.time_ps <= until_ps; j++)
		if (ev->passed[j].flow == ev->passed[i].flow && ev->passed[j].in_port != ev->passed[i].in_port &&
		    ev->passed[j].out_port == ev->passed[i].out_port)
			return true;
	return false;
}

/*
 * Of several links that bring a sprayed flow's packets to a switch, the one that is short of most, where the step lost
 * some.
 */
static void
take_short(struct passage *p, const struct evidence *ev, const struct run_step *s, uint32_t first, uint64_t until_ps)
{
	if (!p->sprayed || p->lost == 0 || p->node.packets != 0 || p->link.packets != 0 || drops_telemetry_lost(ev, s))
		return;
	for (uint32_t i = first; i < ev->passages.count && rec_at(ev, i)->hdr.time_ps <= until_ps; i++) {
		const struct ev_passed *passed = &ev->passed[i];

		if (passed->flow == s->flow && !passed->back && passed->in_port != EV_NONE && passed->out_port != EV_NONE &&
		    ev->ports[passed->in_port].peer != EV_NONE && has_other_path(ev, i, first, until_ps))
			take(&p->node, ev, i,
			     more(short_of(ev, s, passed->in_port, passed->out_port),
				  expired_at(ev, s->flow, ev->ports[passed->in_port].node, s->start_ps, until_ps)),
			     s->start_ps);
	}
	p->node.packets = min_u64(p->node.packets, p->lost); /* other flows to that port may have lost the rest */
}

struct passage
passage_find(const struct cause_input *in, uint32_t step)
{
	const struct evidence *ev = in->ev;
	const struct run_step *s = &in->steps[step];
	struct passage p = { .link = nowhere, .node = nowhere, .back = nowhere, .nic = nowhere };
	uint64_t until_ps = s->end_ps + 2 * s->base_rtt_ps; /* the packet sent at a step's end is still in flight */
	uint32_t first = first_from(ev, s->start_ps);

	p.sprayed = evidence_is_sprayed(ev, s->flow);
	for (uint32_t i = first; i < ev->passages.count && rec_at(ev, i)->hdr.time_ps <= until_ps; i++) {
		const struct ev_passed *passed = &ev->passed[i];
		uint64_t lost;

		if (passed->flow != s->flow || passed->in_port == EV_NONE || ev->ports[passed->in_port].peer == EV_NONE)
			continue;
		lost = more(lost_by(ev, i), lost_by(ev, earlier(ev, i, s->start_ps, EV_NONE)));
		if (passed->back)
			take(&p.back, ev, i, lost, s->start_ps);
		else if (passed->out_port != EV_NONE && passed->hop != EV_NONE)
			take_hop(&p, ev, s, i, lost);
		else
			take(&p.link, ev, i, lost, s->start_ps);
		if (!passed->back && passed->out_port == EV_NONE)
			take_end(&p, ev, s, i);
	}
	if (p.ended && p.out_of_sequence == 0)
		take_lost(&p, in, s, first, until_ps);
	else if (p.ended)
		take_gap(&p, in, s, first, until_ps);
	/* All retransmitted packets arrived twice: packets that a switch had not forwarded then it forwarded later. */
	if (p.ended && p.out_of_sequence == 0 && !s->open && s->retransmits != 0 && p.duplicates >= s->retransmits)
		p.node = nowhere;
	take_short(&p, ev, s, first, until_ps);
	choose_place(&p, in, step);
	return p;
}

bool
passage_overtaken(const struct cause_input *in, uint32_t step)
{
	const struct run_step *s = &in->steps[step];
	struct passage passage;

	if (s->naks == 0 || evidence_ledger_ps(in->ev, step, LEDGER_TIMEOUT) != 0)
		return false;
	passage = passage_find(in, step);
	return passage.ended && passage.duplicates >= s->naks;
}

bool
passage_swallows(const struct passage *passage)
{
	double lost = (double)passage->node.packets, arrived = passage->out_of_sequence, row;

	if (passage->nic.packets != 0)
		return true;
	if (lost < ROW_PACKETS || passage->sprayed)
		return false;
	if (!passage->ended || arrived == 0)
		return true;
	row = fmin(passage->most_missing, lost);
	return row >= ROW_PACKETS && row_by_chance(row, lost, lost + arrived) < BY_CHANCE;
}

struct passage_link
passage_of_link(const struct cause_input *in, uint32_t step, uint32_t in_port, uint64_t since_ps)
{
	const struct evidence *ev = in->ev;
	uint32_t after = EV_NONE, before;

	for (uint32_t i = ev->ports[in_port].last_passed; i != EV_NONE && rec_at(ev, i)->hdr.time_ps >= since_ps;
	     i = ev->passed[i].earlier)
		after = i;
	if (after == EV_NONE)
		return (struct passage_link){ false, 0, 0 };
	before = earlier(ev, after, in->steps[step].start_ps, EV_NONE);
	return (struct passage_link){ true, more(lost_by(ev, after), lost_by(ev, before)),
				      more(rec_at(ev, after)->in_frames,
					   before != EV_NONE ? rec_at(ev, before)->in_frames : 0) };
}

uint64_t
passage_stood_still_ps(const struct cause_input *in, uint32_t step, double frame_ps)
{
	const struct run_step *s = &in->steps[step];
	bool acks = s->waited_ns != 0 && evidence_ledger_ps(in->ev, step, LEDGER_EARLY) != 0;
	double again_ps = s->retransmits * frame_ps;
	uint64_t nak_ps = evidence_ledger_ps(in->ev, step, LEDGER_NAK);
	uint64_t stood_ps = evidence_ledger_ps(in->ev, step, LEDGER_TIMEOUT) +
			    evidence_ledger_ps(in->ev, step, LEDGER_PEER) + nak_ps - min_u64(nak_ps, (uint64_t)again_ps);

	if (stood_ps == 0 && !evidence_has_ledger(in->ev, step))
		return acks ? evidence_ledger_ps(in->ev, step, LEDGER_LATE) : run_waited_ps(s);
	return stood_ps + (acks ? evidence_ledger_ps(in->ev, step, LEDGER_LATE) : 0);
}

uint64_t
passage_stopped_ps(const struct cause_input *in, uint32_t step, uint32_t port)
{
	bool own = port != EV_NONE && in->ev->flows[in->steps[step].flow].src_port == port;

	return own ? evidence_ledger_ps(in->ev, step, LEDGER_NIC) : 0;
}
