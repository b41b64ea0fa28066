/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Path delay: the round trips of a slow step took longer than those of an idle path, by more than the queues on its
 * path can account for. Some link of its path, or of its ACKs', takes longer than configured (delays.h): the link, if
 * polling packets were late there, or if the steps that crossed it, and those that were in time beside them, leave one;
 * else the path of the flow that lost most by it.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "common/array.h"
#include "common/minmax.h"
#include "common/pkt.h"
#include "common/wire/detection.h"
#include "common/wire/drop.h"
#include "diag/vedrfolnir/cause/cause.h"
#include "diag/vedrfolnir/cause/delays.h"
#include "diag/vedrfolnir/provenance/window.h"

enum { CLAUSE_LONGER, CLAUSE_LINK, CLAUSE_PATH, CLAUSE_POLLED };

/* The links that may be at fault; where none is left, all of its paths. */
static void
add_ports(struct cause_set *set, struct cause_finding *finding, const struct delay_place *place, uint32_t flow)
{
	const struct ev_flow *of = &set->in->ev->flows[flow];

	for (uint32_t i = 0; i < place->count; i++)
		cause_port(set, finding, set->delays->ports[place->first + i]);
	for (uint32_t h = 0; h < of->nhops + of->nback && place->count == 0; h++)
		cause_port(set, finding, set->in->ev->hops[of->first_hop + h]);
}

static bool
is_end(const struct ev_port *link, uint32_t node)
{
	return link->node == node || link->peer_node == node;
}

/* The node that all links that may be at fault begin or end at. @return EV_NONE: there is none */
static uint32_t
common_node(const struct evidence *ev, const uint32_t *ports, uint32_t count)
{
	const struct ev_port *first = count != 0 ? &ev->ports[ports[0]] : NULL;
	bool here = first != NULL, there = first != NULL && first->peer_node != EV_NONE;

	for (uint32_t i = 1; i < count; i++) {
		here &= is_end(&ev->ports[ports[i]], first->node);
		there &= is_end(&ev->ports[ports[i]], first->peer_node);
	}
	if (here)
		return first->node;
	return there ? first->peer_node : EV_NONE;
}

/* Of a full frame on the slowest link of a flow's path. */
static double
flow_frame_ps(const struct evidence *ev, const struct ev_flow *flow)
{
	double most_ps = 0;

	for (uint32_t h = 0; h < flow->nhops; h++)
		most_ps = fmax(most_ps,
			       ev->run.frame_bytes * 8e12 / (double)ev->ports[ev->hops[flow->first_hop + h]].rate_bps);
	return most_ps;
}

/* The step's cost by its window, where its sender keeps no ledger. */
static double
windows_cost_ps(const struct cause_input *in, uint32_t step, double extra_ps)
{
	const struct run_step *s = &in->steps[step];
	double bytes = (double)(s->open ? s->acked_bytes : s->bytes), done = s->bytes != 0 ? bytes / (double)s->bytes : 1;
	double packets = fmax(1, ceil(bytes / fmax(1, in->ev->run.payload_bytes)));
	double rtt_ps = (double)s->base_rtt_ps + extra_ps, rounds = floor((packets - 1) / in->window);
	double takes_ps =
		(rounds + 1) * rtt_ps + (packets - rounds * in->window) * flow_frame_ps(in->ev, &in->ev->flows[s->flow]);

	return fmax(extra_ps, takes_ps - done * (double)s->expect_ps);
}

double
delay_cost_ps(const struct cause_input *in, uint32_t step, double extra_ps)
{
	const struct run_step *s = &in->steps[step];
	double longer_ps = (double)s->rtt_mean_ps - (double)s->base_rtt_ps;
	double late_ps = (double)evidence_ledger_ps(in->ev, step, LEDGER_LATE) +
			 (in->paced_by_marks ? 0 : (double)evidence_ledger_ps(in->ev, step, LEDGER_PACED));

	if (!evidence_has_ledger(in->ev, step) || longer_ps <= 0)
		return windows_cost_ps(in, step, extra_ps);
	return fmin(late_ps, fmax(windows_cost_ps(in, step, extra_ps),
				  (double)evidence_ledger_ps(in->ev, step, LEDGER_LATE) * fmin(1, extra_ps / longer_ps)));
}

/* Polling packets that left a port: time that they took. */
static double
polls_at(const struct evidence *ev, uint32_t port, struct window during)
{
	struct ev_range polls = evidence_polls_at(ev, port, during.from_ps, during.to_ps);
	double bytes = (double)ev->end.polling_bytes / fmax(1, (double)ev->end.polling_packets);

	return (polls.end - polls.first) * (bytes > 0 ? bytes : ev->run.frame_bytes) * 8e12 /
	       (double)ev->ports[port].rate_bps;
}

double
delay_overtaken_ps(const struct evidence *ev, uint32_t port, struct window during)
{
	struct ev_range rows = evidence_overtakes(ev, port, during.from_ps, during.to_ps);
	double sum_ps = 0;

	for (uint32_t i = rows.first; i < rows.end; i++) {
		const struct rec_overtake_row *row = EV_AT(ev->overtakes, struct rec_overtake_row, i);
		uint64_t from_ps = row->epoch_first * ev->run.epoch_ps;

		if (window_overlap_ps(during, from_ps, evidence_overtake_end_ps(ev, row)) != 0 && row->prio == 0)
			sum_ps += (double)row->bytes * 8e12 / (double)ev->ports[port].rate_bps;
	}
	return fmax(sum_ps, polls_at(ev, port, during));
}

double
delay_unseen_acks_ps(const struct evidence *ev, uint32_t port, struct window during, double waited_ps)
{
	struct ev_range rows = evidence_overtakes(ev, port, during.from_ps, during.to_ps);
	double ack_bytes = ev->run.ack_bytes, frame_bytes = ev->run.frame_bytes;

	return rows.first == rows.end ? waited_ps * ack_bytes / fmax(1, frame_bytes - ack_bytes) : 0;
}

double
delay_frames_ps(const struct evidence *ev, const struct ev_flow *flow)
{
	double sum_ps = (double)ev->run.jitter_ps;

	for (uint32_t h = 0; h < flow->nhops + flow->nback; h++)
		sum_ps += ev->run.frame_bytes * 8e12 / (double)ev->ports[ev->hops[flow->first_hop + h]].rate_bps;
	return sum_ps;
}

/*
 * Did data in classes without PFC take a part of a link that ACKs of a lossless class's flow leave by? Class 0 is one of
 * them, and rows do not distinguish these.
 */
static bool
has_lossy_data(const struct evidence *ev, const struct run_step *s)
{
	const struct ev_flow *flow = &ev->flows[s->flow];

	for (uint32_t h = flow->nhops; h < flow->nhops + flow->nback && flow->prio != 0; h++) {
		uint32_t port = ev->hops[flow->first_hop + h];
		struct ev_range epochs = evidence_epochs(ev, port, s->start_ps, s->end_ps);

		for (uint32_t e = epochs.first; e < epochs.end; e++) {
			const struct rec_port_row *row = evidence_port_row(ev, &ev->epochs[e], 0);

			if (row != NULL && (double)row->bytes * 8e12 / (double)ev->ports[port].rate_bps >=
						   CAUSE_MIN_SHARE * (double)(row->to_ps - row->from_ps))
				return true;
		}
	}
	return false;
}

/*
 * Had a port that ACKs of a flow leave by counted packets that found its queue full? Those are of a class without PFC, as
 * class 0 is, and no report shows how long such a queue stands.
 */
static bool
had_full_queue(const struct evidence *ev, const struct run_step *s)
{
	const struct ev_flow *flow = &ev->flows[s->flow];

	for (uint32_t i = 0; i < ev->drops.count; i++) {
		const struct rec_drop_row *row = EV_AT(ev->drops, struct rec_drop_row, i);
		uint32_t port = evidence_port(ev, row->hdr.node, row->port);

		for (uint32_t h = flow->nhops; h < flow->nhops + flow->nback; h++)
			if (row->reason == REC_DROP_QUEUE_FULL && row->first_ps < s->end_ps &&
			    ev->hops[flow->first_hop + h] == port)
				return true;
	}
	return false;
}

/*
 * ACKs are of class 0: behind others' data in it they wait without a report. Did such data take a part of any link,
 * anywhere, in the time of a step? Polling packets take next to nothing.
 */
static bool
acks_may_wait(const struct evidence *ev, const struct run_step *s)
{
	if (has_lossy_data(ev, s) || had_full_queue(ev, s))
		return true;
	for (uint32_t i = 0; i < ev->overtakes.count; i++) {
		const struct rec_overtake_row *row = EV_AT(ev->overtakes, struct rec_overtake_row, i);
		uint64_t from_ps = row->epoch_first * ev->run.epoch_ps, to_ps = evidence_overtake_end_ps(ev, row);
		uint32_t port = evidence_port(ev, row->hdr.node, row->port);

		if (!row->acks && row->prio == 0 && from_ps < s->end_ps && to_ps > s->start_ps &&
		    (double)row->bytes * 8e12 / (double)ev->ports[port].rate_bps >=
			    CAUSE_MIN_SHARE * (double)(to_ps - from_ps))
			return true;
	}
	return false;
}

/*
 * Were packets of the flow seen at a port that is not on its configured path? Then the time of an idle path is unknown.
 */
static bool
has_left_its_path(const struct evidence *ev, const struct prov_graph *graph, const struct ev_flow *flow)
{
	for (uint32_t p = 0; p < graph->nreached; p++) {
		const struct prov_at *at = prov_at_find(graph, &graph->ports[p], graph->victim);
		uint32_t hop = 0;

		while (hop < flow->nhops && ev->hops[flow->first_hop + hop] != graph->ports[p].port)
			hop++;
		if (at != NULL && at->packets > 0 && hop == flow->nhops)
			return true;
	}
	return false;
}

bool
delay_is_reported(const struct cause_input *in, uint32_t step)
{
	const struct run_step *s = &in->steps[step];
	const struct ev_flow *flow = &in->ev->flows[s->flow];

	return in->graphs[step] != NULL && flow->nhops >= 2 && !has_left_its_path(in->ev, in->graphs[step], flow) &&
	       !acks_may_wait(in->ev, s);
}

bool
delay_paths_differ(const struct evidence *ev)
{
	const struct ev_port *first = NULL;

	for (uint32_t p = 0; p < ev->nports; p++) {
		const struct ev_port *port = &ev->ports[p];

		if (port->peer_node == EV_NONE || ev->nodes[port->node].host || ev->nodes[port->peer_node].host)
			continue;
		if (first == NULL)
			first = port;
		if (port->rate_bps != first->rate_bps || port->delay_ps != first->delay_ps)
			return true;
	}
	return false;
}

/* What a port shows of the time in which one packet passed it. */
struct shown {
	uint64_t from_ps, to_ps;  /* without a gap; to_ps 0: nothing */
	double pause_ps;          /* of all that its rows have of that time, as the next two */
	double data_ps, ahead_ps; /* of data; of data of other classes */
	double depth;             /* packets of data that one of the flow's class found, at most */
};

/* @return false: rows between were lost, or an epoch has nothing of the flow's class */
static bool
add_epoch(const struct evidence *ev, const struct ev_epoch *epoch, uint32_t flow, struct shown *shown)
{
	const struct rec_port_row *own = evidence_port_row(ev, epoch, ev->flows[flow].prio);
	double byte_ps = 8e12 / (double)ev->ports[epoch->port].rate_bps;

	if (own == NULL || (shown->to_ps != 0 && epoch->from_ps > shown->to_ps))
		return false;
	shown->from_ps = shown->to_ps == 0 ? epoch->from_ps : shown->from_ps;
	shown->to_ps = epoch->to_ps;
	shown->pause_ps += (double)own->pause_ps;
	shown->data_ps += (double)epoch->bytes * byte_ps;
	shown->ahead_ps += (double)(epoch->bytes - min_u64(own->bytes, epoch->bytes)) * byte_ps;
	shown->depth = fmax(shown->depth, own->depth_max);
	return true;
}

/*
 * The longest possible wait of a packet at a port that it reached in this time. It waited for the longest queue, which
 * may be older than the time; for all data of other classes that arrived meanwhile; for pauses; and for frames of class 0.
 * @param known_to_ps  until then all switches up to here report: made earlier
 * @return INFINITY: its rows do not report it. A packet that arrived before they begin may have found any queue
 */
static double
trip_wait_ps(const struct evidence *ev, uint32_t flow, uint32_t port, struct window during, uint64_t *known_to_ps)
{
	struct ev_range epochs = evidence_epochs(ev, port, during.from_ps, during.to_ps);
	struct shown shown = { 0 };
	double frame_ps = ev->run.frame_bytes * 8e12 / (double)ev->ports[port].rate_bps, waited_ps;

	for (uint32_t e = epochs.first; e < epochs.end; e++)
		if (window_overlap_ps(during, ev->epochs[e].from_ps, ev->epochs[e].to_ps) != 0 &&
		    !add_epoch(ev, &ev->epochs[e], flow, &shown))
			return INFINITY;
	if (shown.to_ps == 0 || shown.from_ps > during.from_ps)
		return INFINITY;
	*known_to_ps = min_u64(*known_to_ps, shown.to_ps);
	waited_ps = shown.depth * frame_ps + shown.ahead_ps;
	return shown.pause_ps + waited_ps +
	       fmax(fmax(delay_overtaken_ps(ev, port, during), shown.data_ps / REC_OVERTAKE_LEAST_SHARE),
		    delay_unseen_acks_ps(ev, port, during, waited_ps));
}

/*
 * Was the round trip of a detection longer than queues can have made it? It may be the longest that was measured since the
 * detection before. While some switch does not report, the packet may have waited all the time, at one switch or another.
 * @param since_ps  of the detection before in this step, or its start
 */
static bool
is_longer_trip(const struct cause_input *in, const struct run_detection *detection, uint64_t since_ps)
{
	const struct run_step *s = &in->steps[detection->step];
	const struct ev_flow *flow = &in->ev->flows[s->flow];
	uint64_t from_ps = min_u64(since_ps, detection->time_ps - min_u64(detection->rtt_ps, detection->time_ps));
	double left_ps = (double)detection->rtt_ps - (double)s->base_rtt_ps - delay_frames_ps(in->ev, flow);
	struct window during = { max_u64(s->start_ps, from_ps - min_u64(detection->rtt_ps, from_ps)), detection->time_ps };
	uint64_t known_to_ps = during.to_ps;

	for (uint32_t h = 0; h < flow->nhops && left_ps > 0; h++) /* its NIC may have been paused, too */
		left_ps -= trip_wait_ps(in->ev, s->flow, in->ev->hops[flow->first_hop + h], during, &known_to_ps);
	left_ps -= (double)(during.to_ps - known_to_ps);
	return left_ps >= CAUSE_MIN_SHARE * (double)s->base_rtt_ps;
}

/*
 * A step whose detections may be evidence: it was slow, each of its packets was sent once, by one path, whose cables have
 * the rate that they should.
 */
static bool
may_show_trips(const struct cause_input *in, uint32_t step)
{
	const struct run_step *s = &in->steps[step];

	return s->slow && !run_is_local(s) && s->base_rtt_ps != 0 && s->retransmits == 0 && s->naks == 0 &&
	       in->graphs[step] != NULL && !evidence_is_sprayed(in->ev, s->flow) && delay_is_reported(in, step);
}

int
delay_count_trips(const struct cause_input *in, uint32_t *trips)
{
	uint64_t *since_ps;

	if (in->ev->link_rates.count != 0)
		return 0;
	since_ps = calloc((size_t)in->nsteps + 1, sizeof(*since_ps));
	if (since_ps == NULL)
		return -ENOMEM;
	for (uint32_t i = 0; i < in->run->ndetections; i++) { /* in order of time */
		const struct run_detection *detection = &in->run->detections[i];
		uint32_t step = detection->step;

		if (step >= in->nsteps)
			continue;
		if (detection->cause == REC_TRIGGER_RTT && may_show_trips(in, step))
			trips[step] += is_longer_trip(in, detection, max_u64(since_ps[step], in->steps[step].start_ps));
		since_ps[step] = max_u64(since_ps[step], detection->time_ps);
	}
	free(since_ps);
	return 0;
}

#define MOST_RECORDS 64 /* of a flow's polling packets that are looked at for the next one of the same packet */

/*
 * How long a polling packet took from the time that a port sent it to its record at the other end.
 * @param at  in ev->poll_by_port
 * @return < 0: not known; that of one that the port may have held up, as it was paused, does not count
 */
static double
crossing_ps(const struct evidence *ev, uint32_t port, uint32_t at)
{
	const struct rec_poll *left = EV_AT(ev->polls, struct rec_poll, ev->poll_by_port[at]);
	uint32_t flow = evidence_flow(ev, &left->victim);
	struct ev_range range = { 0, 0 };

	if (flow != EV_NONE && ev->ports[port].peer != EV_NONE && !left->out_paused)
		range = evidence_polls(ev, flow, left->hdr.time_ps, UINT64_MAX);
	for (uint32_t i = range.first; i < range.end && i < range.first + MOST_RECORDS; i++) {
		const struct rec_poll *there = EV_AT(ev->polls, struct rec_poll, ev->poll_by_flow[i]);

		if (there->hdr.event == left->hdr.event && !there->repeated &&
		    (there->flags & POLL_BACK) == (left->flags & POLL_BACK) &&
		    there->hdr.node == ev->ports[port].peer_node &&
		    evidence_port(ev, there->hdr.node, there->in_port) == ev->ports[port].peer)
			return (double)(there->hdr.time_ps - left->hdr.time_ps);
	}
	return -1;
}

/* By how much polling packets took longer over a link in a step's time than over an idle one, on average. */
static double
link_late_ps(const struct evidence *ev, const struct run_step *s, uint32_t port)
{
	struct ev_range polls = evidence_polls_at(ev, port, s->start_ps, s->end_ps);
	double bytes = (double)ev->end.polling_bytes / fmax(1, (double)ev->end.polling_packets), late_ps = 0, count = 0;
	double idle_ps = delay_link_ps(ev, port, bytes) + delay_behind_link_ps(ev, s) +
			 ev->run.frame_bytes * 8e12 / (double)ev->ports[port].rate_bps;

	for (uint32_t i = polls.first; i < polls.end; i++) {
		double took_ps = crossing_ps(ev, port, i);

		if (took_ps < 0)
			continue;
		late_ps += fmax(0, took_ps - idle_ps);
		count++;
	}
	return count != 0 ? late_ps / count : 0;
}

double
delay_polled_ps(const struct cause_input *in, uint32_t step, uint32_t *port)
{
	const struct run_step *s = &in->steps[step];
	const struct ev_flow *flow = &in->ev->flows[s->flow];
	double most_ps = 0;

	*port = EV_NONE;
	if (in->run->starved != NULL || in->run->clock_error_ps != 0 || !delay_is_reported(in, step))
		return 0;
	for (uint32_t h = 0; h < flow->nhops + flow->nback; h++) {
		double late_ps = link_late_ps(in->ev, s, in->ev->hops[flow->first_hop + h]);

		if (late_ps <= most_ps || late_ps < CAUSE_MIN_SHARE * (double)s->base_rtt_ps)
			continue;
		most_ps = late_ps;
		*port = in->ev->hops[flow->first_hop + h];
	}
	most_ps = fmin(most_ps, (double)s->rtt_mean_ps - (double)s->base_rtt_ps);
	if (most_ps >= CAUSE_MIN_SHARE * (double)s->base_rtt_ps)
		return most_ps;
	*port = EV_NONE;
	return 0;
}

static void
look(struct cause_set *set, uint32_t step)
{
	const struct run_step *s = &set->in->steps[step];
	double extra_ps = set->delays->extra_ps[step];
	const struct delay_place *place;
	struct cause_finding *finding;
	uint32_t node, polled = set->delays->polled[step];
	char flow[96];

	if (set->delays->place[step] == EV_NONE)
		return;
	place = &set->delays->places[set->delays->place[step]];
	finding = cause_add(set, place->root_port, evidence_flow_name(set->in->ev, place->flow, flow), place->flow, step);
	if (finding == NULL)
		return;
	add_ports(set, finding, place, s->flow);
	node = common_node(set->in->ev, finding->out.ports, finding->out.nports);
	cause_time(finding, s->start_ps, s->end_ps);
	cause_explains(finding, EV_NONE, delay_cost_ps(set->in, step, extra_ps));
	if (!cause_score(finding, cause_lost_frames(set->in, step, cause_excess_ps(set->in, step))))
		return;
	finding->out.evidence = (struct finding_evidence){
		.clauses = { CLAUSE_LONGER, place->root_port != EV_NONE ? CLAUSE_LINK : CLAUSE_PATH },
		.nclauses = 2,
		.step = step,
		.port = place->root_port,
		.node = node,
		.flow = s->flow,
		.count = finding->out.nports,
		.ps = (double)s->rtt_mean_ps,
		.of_ps = (double)s->base_rtt_ps,
	};
	if (polled != EV_NONE) {
		finding->out.evidence.clauses[0] = CLAUSE_POLLED;
		finding->out.evidence.nclauses = 1;
		finding->out.evidence.port = polled;
		finding->out.evidence.other_port = set->in->ev->ports[polled].peer;
	}
}

static const char *const clauses[] = {
	[CLAUSE_LONGER] = ("{step}: its round trips took {ms} ms on average where an idle path takes {of ms}, and the "
			   "queues on its path do not account for it"),
	[CLAUSE_LINK] = "; of the links of its paths, in both directions, {port} is the only one that no packet crossed in "
			"time meanwhile",
	[CLAUSE_PATH] = "; one of {links} is longer than configured, and no evidence shows which",
	[CLAUSE_POLLED] = ("{step}: its round trips took {ms} ms on average where an idle path takes {of ms}; polling "
			   "packets, which go ahead of data, took longer from {port} to {other} than over an idle link"),
};

const struct cause cause_path_delay = {
	.type = { .key = "path-delay",
		  .title = "path delay",
		  .preposition = "on ",
		  .badge = "lost",
		  .traits = FINDING_BY_DEFAULT | FINDING_OF_FAULT,
		  .clauses = clauses,
		  .nclauses = ARRAY_LEN(clauses) },
	.look = look,
};
