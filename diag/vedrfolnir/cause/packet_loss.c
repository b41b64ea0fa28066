/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Packet loss: a slow step sent packets again. Where frames arrived damaged, a switch's port counts them by their FCS,
 * the destination's by their ICRC: that end of the cable is named, and the other. On a link that loses frames one end
 * counts more sent than the other received; a switch that loses some has forwarded fewer packets of the flow than it
 * received; or a polling packet was lost there. A lossless class that drops for want of buffer has a counter of its
 * own, and so has an MTU. Drops of a full queue are tail drops. Else the finding names the flow's own path, or of sprayed
 * packets the flow alone. Packets that a sender takes for lost by time alone may only be late, or their ACKs: that is a
 * loss only where the receiver's counts show one. Where all of these arrived twice and in order, the ACKs of the first
 * copies were lost if no measured round trip can have lasted as long as the timer, and nothing else was found that holds
 * packets up. Drops with a known reason have signatures of their own.
 */
#include <math.h>

#include "common/array.h"
#include "common/minmax.h"
#include "common/wire/roce.h"
#include "diag/vedrfolnir/cause/drops.h"

enum {
	CLAUSE_CORRUPT,
	CLAUSE_SENT_AGAIN,
	CLAUSE_LINK,
	CLAUSE_BACK,
	CLAUSE_NODE,
	CLAUSE_POLL,
	CLAUSE_SPRAYED,
	CLAUSE_ACKS,
	CLAUSE_NO_BUFFER,
	CLAUSE_MTU = CLAUSE_NO_BUFFER + DROPS_CLAUSES
};
static const char *const clauses[] = {
	"{step}: {port}, the end of its link from {other}, counts {count} frames that arrived damaged; {again}",
	[CLAUSE_SENT_AGAIN] = "{step}: {again}, and no port that reported counted a drop of them",
	[CLAUSE_LINK] = "{step}: {port} sent {count} frames that never reached {other}, the other end of its link; {again}",
	[CLAUSE_BACK] = ("{step}: on the path of its ACKs {port} sent {count} frames that never reached {other}, the other "
			 "end of its link; {again}"),
	[CLAUSE_NODE] = "{step}: {count} of its packets left by {port}, reached {node} and never left it; {again}",
	[CLAUSE_POLL] =
		"{step}: a polling packet left by {port} and never reached {other}, the other end of its link; {again}",
	[CLAUSE_SPRAYED] = ("{step}: {count} of its packets were lost: their retransmissions were no duplicates; each "
			    "packet has its own path, and no port of these counted a drop; {again}"),
	[CLAUSE_ACKS] =
		("{step}: all that it sent again had arrived before, in order, and no measured round trip lasted as "
		 "long as its timer: ACKs were lost on their path; {again}"),
	[CLAUSE_NO_BUFFER] = DROPS_CLAUSE(
		"packets of a lossless class that found no room behind XOFF: its PFC or its headroom is wrong"),
	[CLAUSE_MTU] = DROPS_CLAUSE("packets that are larger than its MTU"),
};

/*
 * What losses of a step can have cost: of sprayed packets a loss holds its sender up until it is reported and repaired, for
 * at most two round trips each, as if no two coincided; or for as long as its ledger says.
 */
static double
held_ps(const struct cause_set *set, uint32_t step, uint64_t lost)
{
	const struct run_step *s = &set->in->steps[step];
	double excess_ps = cause_excess_ps(set->in, step), round_trips_ps;

	if (!evidence_is_sprayed(set->in->ev, s->flow))
		return excess_ps;
	round_trips_ps = 2.0 * (double)min_u64(lost, s->retransmits) * (double)s->base_rtt_ps;
	return fmin(excess_ps, fmax(round_trips_ps, (double)passage_stood_still_ps(set->in, step, 0)));
}

/*
 * @param port  the last that they left by: lost on its link, or where that ends
 * @param lost  packets of the step, at least; of one whose packets keep order it does not matter
 */
static void
add_behind(struct cause_set *set, uint32_t step, uint32_t port, uint32_t clause, uint64_t packets, uint64_t lost)
{
	const struct evidence *ev = set->in->ev;
	const struct run_step *s = &set->in->steps[step];
	uint32_t end = ev->ports[port].peer, root = clause == CLAUSE_NODE ? end : port;
	double claim_ps = held_ps(set, step, lost);
	struct cause_finding *finding = cause_add(set, root, NULL, 0, step);

	if (finding == NULL)
		return;
	cause_port(set, finding, port);
	cause_port(set, finding, end);
	cause_time(finding, s->start_ps, s->end_ps);
	cause_explains(finding, EV_NONE, claim_ps);
	if (cause_score(finding, cause_lost_frames(set->in, step, claim_ps)))
		finding->out.evidence = (struct finding_evidence){ .clauses = { clause },
								   .nclauses = 1,
								   .step = step,
								   .port = port,
								   .other_port = end,
								   .node = ev->ports[port].peer_node,
								   .count = packets };
}

/* Where counts or polling packets show a loss. @return whether they do */
static bool
add_places(struct cause_set *set, uint32_t step)
{
	const struct evidence *ev = set->in->ev;
	const struct run_step *s = &set->in->steps[step];
	const struct passage passage = passage_find(set->in, step);
	const struct drops_silence silence = drops_silence(set->in, step);
	bool swallows = passage_swallows(&passage) || silence.swallows;
	bool forth = passage.link.packets != 0 || passage.node.packets != 0;

	if (passage.link.packets != 0 && passage.link.packets >= passage.node.packets)
		add_behind(set, step, ev->ports[passage.link.in_port].peer, CLAUSE_LINK, passage.link.packets,
			   max_u64(passage.lost, passage.link.packets));
	else if (passage.node.packets != 0 && !swallows)
		add_behind(set, step, ev->ports[passage.node.in_port].peer, CLAUSE_NODE, passage.node.packets,
			   max_u64(passage.lost, passage.node.packets));
	/* Lost ACKs cost time where data was received twice because of them. */
	if (passage.back.packets != 0 && (!forth || passage.duplicates != 0))
		add_behind(set, step, ev->ports[passage.back.in_port].peer, CLAUSE_BACK, passage.back.packets,
			   passage.back.packets);
	if (forth || passage.back.packets != 0 || swallows)
		return true;
	if (silence.port == EV_NONE)
		return false;
	if (silence.lost_frames != 0)
		add_behind(set, step, silence.port, CLAUSE_LINK, silence.lost_frames, s->retransmits);
	else
		add_behind(set, step, silence.port, CLAUSE_POLL, silence.polls, s->retransmits);
	return true;
}

/* Somewhere on the path of the data, or of the ACKs: so many timers ended for want of them. */
static void
add_path(struct cause_set *set, uint32_t step, uint64_t acks)
{
	struct cause_finding *finding = cause_on_path(set, step, acks != 0);

	if (finding != NULL)
		finding->out.evidence =
			(struct finding_evidence){ .clauses = { acks != 0 ? CLAUSE_ACKS : CLAUSE_SENT_AGAIN },
						   .nclauses = 1,
						   .step = step,
						   .count = acks };
}

/*
 * How long the oldest packet that an ACK is for may have waited until the last of them left, at most, by the sender's
 * ledger. A receiver sends one ACK for many packets, as many for each but the message's last. What held the sender
 * back between its frames need not be spread as evenly: all of it may stand between two ACKs. Time with its window
 * full or behind its last frame does not count: the next ACK was requested.
 */
static double
gathered_ps(const struct cause_set *set, uint32_t step)
{
	static const enum ledger_entry between[] = { LEDGER_PACED, LEDGER_PAUSED, LEDGER_NIC, LEDGER_BEHIND, LEDGER_PEER };
	uint32_t evenly = set->in->steps[step].rtt_samples > 1 ? set->in->steps[step].rtt_samples - 1 : 1;
	double ps = (double)evidence_ledger_ps(set->in->ev, step, LEDGER_WIRE) / evenly;

	for (size_t i = 0; i < ARRAY_LEN(between); i++)
		ps += (double)evidence_ledger_ps(set->in->ev, step, between[i]);
	return ps;
}

/*
 * Did all that the step sent again arrive twice? By the destination's count; or by the sender's ledger, where ACKs of all
 * of it returned before any second copy can have caused them: a polling packet may overtake the last of these.
 */
static bool
all_had_arrived(const struct cause_input *in, uint32_t step, const struct passage *passage)
{
	const struct run_step *s = &in->steps[step];

	return passage->duplicates >= s->retransmits ||
	       (passage->duplicates != 0 && passage->lost == 0 && evidence_ledger_ps(in->ev, step, LEDGER_EARLY) != 0 &&
		evidence_ledger_ps(in->ev, step, LEDGER_TIMEOUT) == 0);
}

/* Has each switch's port on a flow's configured path a row that covers some of a time? Few of its reports are kept. */
static bool
path_reported(const struct evidence *ev, const struct ev_flow *flow, uint64_t from_ps, uint64_t to_ps)
{
	for (uint32_t h = 0; h < flow->nhops; h++) {
		uint32_t port = ev->hops[flow->first_hop + h];
		struct ev_range epochs = evidence_epochs(ev, port, from_ps, to_ps);
		bool reported = ev->nodes[ev->ports[port].node].host;

		for (uint32_t i = epochs.first; i < epochs.end && !reported; i++)
			reported = ev->epochs[i].from_ps <= to_ps && ev->epochs[i].to_ps >= from_ps;
		if (!reported)
			return false;
	}
	return true;
}

/*
 * Did a polling packet pass all of the step's path while its sender waited for the timer, and did all ports there report?
 * Then their rows show what may have held its packets up: no round trip needs to.
 */
static bool
asked_while_it_waited(const struct evidence *ev, const struct run_step *s)
{
	for (uint32_t i = 0; i < ev->flows[s->flow].npolls; i++) {
		uint32_t at = ev->poll_by_flow[ev->flows[s->flow].first_poll + i];
		const struct rec_poll *poll = EV_AT(ev->polls, struct rec_poll, at);
		uint32_t port = evidence_port(ev, poll->hdr.node, poll->out_port);

		if (cause_poll_follows(ev, at) && port != EV_NONE && ev->ports[port].peer_node == ev->flows[s->flow].dst &&
		    poll->hdr.time_ps + run_waited_ps(s) >= s->end_ps && poll->hdr.time_ps + s->base_rtt_ps <= s->end_ps &&
		    path_reported(ev, &ev->flows[s->flow], poll->hdr.time_ps - min_u64(poll->hdr.time_ps, s->base_rtt_ps),
				  s->end_ps))
			return true;
	}
	return false;
}

/*
 * All of the packets had arrived, in order; the timer leaves room for round trips; none that was measured can have lasted
 * as long as it, together with what was sent for an ACK, as if one had all that they exceed idle ones by; and what else was
 * found leaves most of the time, in complete reports: an ACK that is as late as the timer gives no sample, as it may be the
 * second copy's (Karn), and a pause may begin between two samples. Late ACKs of sprayed packets have paths of their own.
 */
bool
packet_loss_of_acks(const struct cause_set *set, uint32_t step, const struct passage *passage)
{
	const struct run_step *s = &set->in->steps[step];
	double over_ps = s->rtt_samples * ((double)s->rtt_mean_ps - (double)s->base_rtt_ps), found_ps = 0;

	for (uint32_t i = 0; i < set->count; i++)
		found_ps += set->findings[i].claimed_ps;
	return passage->ended && passage->out_of_sequence == 0 && s->naks == 0 && s->retransmits != 0 &&
	       all_had_arrived(set->in, step, passage) && s->waited_ns != 0 && !evidence_is_sprayed(set->in->ev, s->flow) &&
	       (s->rtt_samples != 0 || asked_while_it_waited(set->in->ev, s)) &&
	       run_waited_ps(s) > ROCE_TIMER_ROUND_TRIPS * s->base_rtt_ps &&
	       gathered_ps(set, step) + (double)s->base_rtt_ps + over_ps < (double)run_waited_ps(s) &&
	       passage_stood_still_ps(set->in, step, 0) != 0 && !drops_telemetry_lost(set->in->ev, s) &&
	       found_ps <= CAUSE_LOSS_LEFT * cause_excess_ps(set->in, step);
}

/* By one of many paths. */
static void
add_sprayed(struct cause_set *set, uint32_t step, uint64_t lost)
{
	const struct evidence *ev = set->in->ev;
	const struct run_step *s = &set->in->steps[step];
	double claim_ps = held_ps(set, step, lost);
	struct cause_finding *finding;
	char flow[96];

	finding = cause_add(set, EV_NONE, evidence_flow_name(ev, s->flow, flow), s->flow, step);
	if (finding == NULL)
		return;
	cause_time(finding, s->start_ps, s->end_ps);
	cause_explains(finding, EV_NONE, claim_ps);
	if (cause_score(finding, cause_lost_frames(set->in, step, claim_ps)))
		finding->out.evidence = (struct finding_evidence){
			.clauses = { CLAUSE_SPRAYED }, .nclauses = 1, .step = step, .count = lost
		};
}

/*
 * Without a place. A gap in a flow that keeps order is a loss, by the destination's count or its NAKs, and so is a packet
 * that was sent again and did not arrive twice. Packets that a sender took for lost by time alone, and that all arrived
 * twice, were late, or their ACKs were late or lost.
 */
static void
add_somewhere(struct cause_set *set, uint32_t step)
{
	const struct run_step *s = &set->in->steps[step];
	const struct passage passage = passage_find(set->in, step);
	bool sprayed = evidence_is_sprayed(set->in->ev, s->flow);
	bool shown = passage.lost != 0 || (!sprayed && (passage.out_of_sequence != 0 || s->naks != 0));
	uint32_t into;

	if (!shown && packet_loss_of_acks(set, step, &passage)) {
		/* else a switch discarded them, which is not a loss by chance */
		if (blackhole_of_acks(set->in, step, &into) == 0)
			add_path(set, step, max_u64(1, passage_stood_still_ps(set->in, step, 0) / run_waited_ps(s)));
	} else if (!shown && (s->waited_ns != 0 || passage.duplicates != 0))
		set->in->unjudged->resends++;
	else if (!sprayed)
		add_path(set, step, 0);
	else if (passage.lost != 0)
		add_sprayed(set, step, passage.lost);
}

static void
look(struct cause_set *set, uint32_t step)
{
	const struct run_step *s = &set->in->steps[step];

	if (!s->slow || drops_add(set, step, REC_DROP_CORRUPT, CLAUSE_CORRUPT) ||
	    drops_add(set, step, REC_DROP_NO_BUFFER, CLAUSE_NO_BUFFER) || drops_add(set, step, REC_DROP_MTU, CLAUSE_MTU) ||
	    (drops_sent_again(set->in, step) && drops_any(set->in, step, REC_DROP_QUEUE_FULL)) ||
	    !drops_sent_again(set->in, step) || drops_explain(set->in->ev, s) || add_places(set, step))
		return;
	add_somewhere(set, step);
}

const struct cause cause_packet_loss = {
	.type = { .key = "packet-loss",
		  .title = "packet loss",
		  .preposition = "at ",
		  .badge = "lost",
		  .traits = FINDING_OF_LOSS | FINDING_OF_FAULT,
		  .clauses = clauses,
		  .nclauses = ARRAY_LEN(clauses) },
	.look = look,
};
