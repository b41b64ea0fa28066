/* SPDX-License-Identifier: BSD-3-Clause */
#include "diag/vedrfolnir/cause/delays.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "common/array.h"
#include "common/minmax.h"
#include "diag/vedrfolnir/cause/cause.h"
#include "diag/vedrfolnir/provenance/window.h"

/* The queueing delays of a step's packets on its path, by telemetry: the part of round trips that queues explain. */

/*
 * Of the packets that passed before: with fewer seen, some took another path, or their rows are lost. In an epoch some
 * have not got so far.
 */
#define MOST_PACKETS 0.9
#define SOME_PACKETS 0.5
/* So few need not be spread over their step's time: one that no row has may have waited longer than all others. */
#define FEW_PACKETS 16

static double
frame_ps(const struct evidence *ev, uint32_t port)
{
	return ev->run.frame_bytes * 8e12 / (double)ev->ports[port].rate_bps;
}

/* Up to when is an epoch known of a flow? Its port may have been polled again, and the flow's row not have arrived. */
static uint64_t
known_to_ps(const struct ev_epoch *epoch, const struct rec_flow_row *row)
{
	return row != NULL ? min_u64(epoch->to_ps, row->hdr.time_ps) : epoch->to_ps;
}

/* A paused port holds up the packets in flight once for each pause. @return the delay of each of these packets */
static double
held_ps(const struct cause_input *in, double pause_ps, double packets)
{
	return pause_ps > 0 ? pause_ps * fmin(1, in->most_in_flight / packets) : 0;
}

/* Classes of data that sent in an epoch. */
static double
classes_in(const struct evidence *ev, const struct ev_epoch *epoch)
{
	double classes = 0;

	for (uint32_t i = epoch->first_row; i < epoch->first_row + epoch->nrows; i++)
		classes += EV_AT(ev->port_rows, struct rec_port_row, i)->packets != 0;
	return classes;
}

/* Data of classes that are served before the flow's: all that they sent in an epoch may have gone ahead. */
static double
served_before_ps(const struct evidence *ev, const struct ev_epoch *epoch, uint32_t flow)
{
	double bits = 0;

	for (uint32_t i = epoch->first_row; i < epoch->first_row + epoch->nrows; i++) {
		const struct rec_port_row *row = EV_AT(ev->port_rows, struct rec_port_row, i);

		if (evidence_class_is_ahead(ev, (uint8_t)row->prio, flow))
			bits += (double)row->bytes * 8;
	}
	return bits * 1e12 / (double)ev->ports[epoch->port].rate_bps;
}

/* Packets of a step on their path. */
struct passing {
	uint32_t step;
	struct window during; /* when they passed; the time from switch to switch is short against it */
	double packets;       /* of the step */
	double samples;       /* those with a measured round trip: an ACK may be for several */
	double least;         /* the share of them that has to be seen */
	double missing_ps;    /* out: the longest time without a report of a switch */
};

/* Of a step, as far as it has sent. */
static double
packets_of(const struct cause_input *in, const struct run_step *s)
{
	return ceil((double)(s->open ? s->acked_bytes : s->bytes) / fmax(1, in->ev->run.payload_bytes));
}

/*
 * What a neighbour of a step sent in an epoch by the same flow, at most: all of it, or as much as the link carries while
 * both last.
 */
static double
sent_beside(const struct cause_input *in, uint32_t step, uint32_t other, struct window epoch)
{
	const struct run_step *s = &in->steps[step], *o = &in->steps[other];
	uint64_t overlap_ps = o->started ? window_overlap_ps(epoch, o->start_ps, o->open ? epoch.to_ps : o->end_ps) : 0;
	uint32_t port = in->ev->flows[s->flow].src_port;

	if (o->flow != s->flow || !o->reported || overlap_ps == 0)
		return 0;
	return fmin(packets_of(in, o), ceil((double)overlap_ps / frame_ps(in->ev, port)));
}

static bool
is_neighbour(const struct cause_input *in, uint32_t step, uint32_t other)
{
	const struct run_step *s = &in->steps[step], *o = &in->steps[other];

	return other < in->nsteps && o->collective == s->collective && o->rank == s->rank;
}

/* Packets of a row that are of a step: not those that other steps of its rank may have sent. They follow each other. */
static double
packets_in_row(const struct cause_input *in, uint32_t step, struct window epoch, const struct rec_flow_row *row)
{
	double packets = (double)row->packets;

	for (uint32_t i = step; i-- > 0 && is_neighbour(in, step, i) && in->steps[i].end_ps > epoch.from_ps && packets > 0;)
		packets -= sent_beside(in, step, i, epoch);
	for (uint32_t i = step + 1; i < in->nsteps && is_neighbour(in, step, i) && packets > 0; i++) {
		if (in->steps[i].started && in->steps[i].start_ps >= epoch.to_ps)
			break;
		packets -= sent_beside(in, step, i, epoch);
	}
	return fmax(0, packets);
}

/*
 * The mean wait at a switch of the packets with a measured round trip, at most. The last of a burst finds more queued
 * than those before it, so these packets may have had all of the queue that the step's packets found. They waited for
 * that queue, for as many packets of each other class, as classes are served in turn, and for frames that were served
 * ahead of them, as for a pause: no record shows how ACKs were spread over them. Such a frame holds up those that are in
 * the queue, of which the last one found the others there. Where no row has any, as the queue is short, ACKs may have made
 * all else longer.
 */
static double
hop_wait_ps(const struct cause_input *in, uint32_t flow, uint32_t port, struct passing *p)
{
	const struct evidence *ev = in->ev;
	double took_ps = (double)(p->during.to_ps - p->during.from_ps), covered_ps = 0, missing_ps, waited_ps;
	double counted = 0, seen = 0, depth = 0, pause_ps = 0, before_ps = 0, classes = 1, waiting = 1;
	struct ev_range epochs = evidence_epochs(ev, port, p->during.from_ps, p->during.to_ps);
	double overtaken_ps = delay_overtaken_ps(ev, port, p->during), unreported_ps = 0;

	for (uint32_t e = epochs.first; e < epochs.end; e++) {
		const struct ev_epoch *epoch = &ev->epochs[e];
		const struct rec_port_row *own = evidence_port_row(ev, epoch, ev->flows[flow].prio);
		const struct rec_flow_row *row = evidence_flow_row(ev, epoch, flow);
		uint64_t overlap_ps = window_overlap_ps(p->during, epoch->from_ps, known_to_ps(epoch, row));

		if (overlap_ps == 0 || epoch->nrows == 0)
			continue;
		covered_ps += (double)overlap_ps;
		pause_ps += own != NULL ? (double)own->pause_ps : 0;
		before_ps += served_before_ps(ev, epoch, flow);
		unreported_ps += (double)epoch->bytes / REC_OVERTAKE_LEAST_SHARE * 8e12 / (double)ev->ports[port].rate_bps;
		waiting = fmax(waiting, own != NULL ? own->depth_max + 1.0 : 0);
		classes = fmax(classes, classes_in(ev, epoch));
		if (row != NULL)
			seen += packets_in_row(in, p->step, (struct window){ epoch->from_ps, known_to_ps(epoch, row) },
					       row);
		counted += row != NULL ? (double)row->packets : 0;
		depth += row != NULL ? (double)row->depth_sum : 0;
	}
	missing_ps = fmax(0, took_ps - covered_ps);
	p->missing_ps = fmax(p->missing_ps, missing_ps);
	/* In the time without a report the step's NIC sends so many at most; its others are among those counted. */
	seen = fmax(seen, fmin(counted, p->packets - ceil(missing_ps / frame_ps(ev, ev->flows[flow].src_port))));
	if (seen < 1 || seen < p->least * p->packets * (p->packets < FEW_PACKETS ? 1 : 1 - missing_ps / took_ps))
		return INFINITY;
	waited_ps = depth / fmin(p->samples, seen) * classes * frame_ps(ev, port) + held_ps(in, before_ps, p->samples);
	return waited_ps + held_ps(in, pause_ps, p->samples) +
	       fmax(fmax(overtaken_ps, unreported_ps) * fmin(1, fmin(in->most_in_flight, waiting) / p->samples),
		    delay_unseen_acks_ps(ev, port, p->during, waited_ps));
}

/* Their wait at all switches. An unreported time may have held up the packets that were in flight then. */
static double
path_wait_ps(const struct cause_input *in, const struct ev_flow *flow, struct passing *p)
{
	uint32_t id = (uint32_t)(flow - in->ev->flows);
	double sum_ps = 0;

	if (p->during.from_ps >= p->during.to_ps || p->samples < 1)
		return INFINITY;
	for (uint32_t h = 1; h < flow->nhops && isfinite(sum_ps); h++)
		sum_ps += hop_wait_ps(in, id, in->ev->hops[flow->first_hop + h], p);
	return sum_ps + held_ps(in, p->missing_ps, p->samples);
}

/* Of a step's packets, the share of which round trips were measured. */
static double
sampled(const struct cause_input *in, const struct run_step *s)
{
	return fmin(1, s->rtt_samples / packets_of(in, s));
}

/*
 * Does an epoch show a part of a step too short to compare switches? A packet may be queued at one switch in an epoch
 * and reach the next switch in a later one, and a part of the step's time need not have any packet of it. Over a part
 * of which the mean round trip is a small share, most packets passed all switches.
 */
static bool
is_cut(const struct run_step *s, struct window during)
{
	return (during.from_ps > s->start_ps || during.to_ps < s->end_ps) &&
	       (double)s->rtt_mean_ps > (1 - SOME_PACKETS) * (double)(during.to_ps - during.from_ps);
}

/* The wait of those packets of a step that the first switch of their path reports in one epoch. */
static double
epoch_wait_ps(const struct cause_input *in, const struct run_step *s, const struct ev_epoch *epoch, bool *cut)
{
	const struct rec_flow_row *row = evidence_flow_row(in->ev, epoch, s->flow);
	struct passing p = { .step = (uint32_t)(s - in->steps),
			     .during = { epoch->from_ps > s->start_ps ? epoch->from_ps : s->start_ps,
					 min_u64(known_to_ps(epoch, row), s->end_ps) },
			     .least = SOME_PACKETS };
	double wait_ps;

	/*
	 * Others of the flow's steps may have sent most of the row's packets: the step has at most the part of its
	 * time.
	 */
	if (row != NULL && epoch->from_ps < epoch->to_ps && s->start_ps < s->end_ps)
		p.packets = fmin(window_share(p.during, epoch->from_ps, epoch->to_ps) * (double)row->packets,
				 window_share(p.during, s->start_ps, s->end_ps) * packets_of(in, s));
	/* Round trips of packets that were sent again are not measured, and all that the epoch shows may be such. */
	p.packets = fmax(0, p.packets - s->retransmits);
	p.samples = p.packets * sampled(in, s);
	wait_ps = path_wait_ps(in, &in->ev->flows[s->flow], &p);
	if (!isfinite(wait_ps) || !is_cut(s, p.during))
		return wait_ps;
	*cut = true;
	return INFINITY;
}

/*
 * The longest possible wait of the luckiest of a step's packets, there and back: in an epoch the least wait is at most
 * the mean. Of the epochs of the step's time that all switches on its path report, the one with the least. The whole
 * queue of the flow's packets in an epoch counts for those of the step; a paused port held up a window of them for the
 * length of the pause; at each port of both paths a frame may have been in transmission, and hosts may be late by the
 * run's jitter.
 * @param cut  set if all switches report an epoch that is_cut()
 * @return INFINITY: unknown: no other epoch is reported by all, or packets were seen off their path
 */
static double
delay_least_wait_ps(const struct cause_input *in, uint32_t step, bool *cut)
{
	const struct run_step *s = &in->steps[step];
	const struct ev_flow *flow = &in->ev->flows[s->flow];
	double least_ps = INFINITY;
	struct ev_range epochs;

	*cut = false;
	if (!delay_is_reported(in, step))
		return INFINITY;
	epochs = evidence_epochs(in->ev, in->ev->hops[flow->first_hop + 1], s->start_ps, s->end_ps);
	for (uint32_t e = epochs.first; e < epochs.end; e++)
		least_ps = fmin(least_ps, epoch_wait_ps(in, s, &in->ev->epochs[e], cut));
	return least_ps + delay_frames_ps(in->ev, flow);
}

/*
 * The longest possible wait of its packets on average, there and back, by the same rules.
 * @return INFINITY: unknown: a switch on its path does not report it, or packets were seen off their path
 */
static double
delay_mean_wait_ps(const struct cause_input *in, uint32_t step)
{
	const struct run_step *s = &in->steps[step];
	const struct ev_flow *flow = &in->ev->flows[s->flow];
	struct passing p = { .step = step,
			     .during = { s->start_ps, s->end_ps },
			     .packets = packets_of(in, s),
			     .samples = packets_of(in, s) * sampled(in, s),
			     .least = MOST_PACKETS };

	return delay_is_reported(in, step) ? path_wait_ps(in, flow, &p) + delay_frames_ps(in->ev, flow) : INFINITY;
}

/*
 * The mean wait of its packets in queues, by those that switches report: evidence only beside that of other steps, and
 * an estimate, not a bound.
 * @return INFINITY: a switch of the path does not report any
 */
static double
delay_likely_wait_ps(const struct cause_input *in, uint32_t step)
{
	const struct ev_flow *flow = &in->ev->flows[in->steps[step].flow];
	const struct prov_graph *graph = in->graphs[step];
	double sum_ps = 0;

	for (uint32_t h = 1; h < flow->nhops; h++) {
		uint32_t hop = in->ev->hops[flow->first_hop + h], p = 0;
		const struct prov_port *port;

		while (p < graph->nreached && graph->ports[p].port != hop)
			p++;
		port = p < graph->nreached ? &graph->ports[p] : NULL;
		if (port == NULL || port->cf_packets < 1)
			return INFINITY;
		sum_ps += port->cf_depth / port->cf_packets * frame_ps(in->ev, hop) +
			  held_ps(in, port->pause_ps, port->cf_packets);
	}
	return sum_ps;
}

/*
 * The links that may have made a step's round trips longer: those of its paths that no other step crossed in time
 * meanwhile.
 */

/* A step that crossed a port with data or ACKs. */
struct delay_crossing {
	uint32_t step;
	uint64_t start_ps;
};

struct delay_links {
	const struct cause_input *in;
	uint64_t *arrived_ps;             /* [nsteps] arrival of its message, by the next rank's start; RUN_UNKNOWN */
	uint32_t *first;                  /* [nports + 1] in crossings */
	struct delay_crossing *crossings; /* by port and start */
	uint64_t *longest_ps;             /* [nports] of the steps that crossed it */
};

#define IN_TIME 0.5   /* of the delay: a step with a smaller excess did not have it */
#define MOST_TIME 0.9 /* of a step's time: a condition that held for this share also held when it was delayed */

enum direction { DIRECTION_UNKNOWN, DIRECTION_FORWARD, DIRECTION_REVERSE };

static bool
is_decisive(const struct cause_input *in, uint32_t step)
{
	const struct run_step *s = &in->steps[step];

	return !run_is_local(s) && s->reported && s->started && s->rtt_min_ps != 0 && s->base_rtt_ps != 0;
}

/* Counts, or puts, the step at each port of both paths. */
static void
cross(struct delay_links *links, uint32_t step, bool put)
{
	const struct run_step *s = &links->in->steps[step];
	const struct ev_flow *flow = &links->in->ev->flows[s->flow];

	for (uint32_t h = 0; h < flow->nhops + flow->nback; h++) {
		uint32_t port = links->in->ev->hops[flow->first_hop + h];

		if (put)
			links->crossings[links->first[port]++] =
				(struct delay_crossing){ .step = step, .start_ps = s->start_ps };
		else
			links->first[port + 1]++;
		if (s->end_ps - s->start_ps > links->longest_ps[port])
			links->longest_ps[port] = s->end_ps - s->start_ps;
	}
}

static int
by_start(const void *a, const void *b)
{
	const struct delay_crossing *x = a, *y = b;

	if (x->start_ps != y->start_ps)
		return x->start_ps < y->start_ps ? -1 : 1;
	return (x->step > y->step) - (x->step < y->step);
}

/* Arrivals of messages: a step that waited for one, and was not late, began then. */
static void
note_arrivals(struct delay_links *links)
{
	const struct cause_input *in = links->in;

	for (uint32_t i = 0; i < in->nsteps; i++)
		links->arrived_ps[i] = RUN_UNKNOWN;
	for (uint32_t i = 0; i < in->nsteps; i++) {
		const struct run_step *s = &in->steps[i];

		if (s->started && s->late_ps == 0 && s->waited_for != RUN_NONE && in->steps[s->waited_for].host != s->host)
			links->arrived_ps[s->waited_for] = s->start_ps;
	}
}

/* @return 0 or -ENOMEM */
static int
delay_links_init(struct delay_links *links, const struct cause_input *in)
{
	uint32_t nports = in->ev->nports;

	*links = (struct delay_links){ .in = in };
	links->arrived_ps = calloc((size_t)in->nsteps + 1, sizeof(*links->arrived_ps));
	links->first = calloc((size_t)nports + 2, sizeof(*links->first));
	links->longest_ps = calloc((size_t)nports + 1, sizeof(*links->longest_ps));
	if (links->arrived_ps == NULL || links->first == NULL || links->longest_ps == NULL)
		return -ENOMEM;
	note_arrivals(links);
	for (uint32_t i = 0; i < in->nsteps; i++)
		if (is_decisive(in, i))
			cross(links, i, false);
	for (uint32_t p = 0; p < nports; p++)
		links->first[p + 1] += links->first[p];
	links->crossings = calloc((size_t)links->first[nports] + 1, sizeof(*links->crossings));
	if (links->crossings == NULL)
		return -ENOMEM;
	for (uint32_t i = 0; i < in->nsteps; i++)
		if (is_decisive(in, i))
			cross(links, i, true);
	for (uint32_t p = nports; p > 0; p--) /* each has moved to where the next begins */
		links->first[p] = links->first[p - 1];
	links->first[0] = 0;
	for (uint32_t p = 0; p < nports; p++)
		if (links->first[p + 1] - links->first[p] > 1)
			qsort(links->crossings + links->first[p], links->first[p + 1] - links->first[p],
			      sizeof(*links->crossings), by_start);
	return 0;
}

static void
delay_links_fini(struct delay_links *links)
{
	free(links->arrived_ps);
	free(links->first);
	free(links->longest_ps);
	free(links->crossings);
}

/*
 * Would a step have taken longer than its mean, if a link of its paths had added this time for as long as it ran beside
 * another? A sender that waits for its window has fewer packets in flight while they take longer.
 */
static bool
was_in_time(const struct run_step *s, const struct run_step *delayed, double extra_ps)
{
	struct window during = { delayed->start_ps, delayed->end_ps };
	double base_ps = (double)s->base_rtt_ps, took_ps = (double)(s->end_ps - s->start_ps);
	double both_ps = (double)window_overlap_ps(during, s->start_ps, s->end_ps), packets;

	if (took_ps <= 0 || both_ps <= 0)
		return false;
	if (both_ps >= took_ps) /* each of its packets, then */
		return (double)s->rtt_min_ps - base_ps < IN_TIME * extra_ps;
	packets = both_ps / (base_ps + extra_ps);
	packets /= packets + (took_ps - both_ps) / base_ps;
	return (double)s->rtt_mean_ps - base_ps < IN_TIME * extra_ps * packets;
}

/*
 * Did others cross a port in time while this one was delayed? If the delay lasted throughout, one is enough; else those
 * in time have to cover most of it.
 */
static bool
is_cleared(const struct delay_links *links, uint32_t port, uint32_t step, double extra_ps, bool throughout)
{
	const struct run_step *delayed = &links->in->steps[step];
	uint64_t took_ps = delayed->end_ps - delayed->start_ps, until_ps = delayed->start_ps, in_time_ps = 0;
	uint32_t end = links->first[port + 1];
	uint64_t longest_ps = links->longest_ps[port];
	uint64_t from_ps = delayed->start_ps > longest_ps ? delayed->start_ps - longest_ps : 0;
	uint32_t lo = ARRAY_FROM(links->crossings, start_ps, links->first[port], end, from_ps);

	for (; lo < end && links->crossings[lo].start_ps < delayed->end_ps; lo++) {
		const struct run_step *s = &links->in->steps[links->crossings[lo].step];

		if (s == delayed || !was_in_time(s, delayed, extra_ps))
			continue;
		if (throughout)
			return true;
		in_time_ps += window_overlap_ps((struct window){ until_ps, delayed->end_ps }, s->start_ps, s->end_ps);
		until_ps = s->end_ps > until_ps ? s->end_ps : until_ps;
		if (until_ps >= delayed->end_ps)
			break;
	}
	return (double)in_time_ps >= MOST_TIME * (double)took_ps && took_ps != 0;
}

double
delay_link_ps(const struct evidence *ev, uint32_t port, double bytes)
{
	return (double)ev->ports[port].delay_ps + bytes * 8e12 / (double)ev->ports[port].rate_bps;
}

double
delay_behind_link_ps(const struct evidence *ev, const struct run_step *s)
{
	const struct ev_flow *flow = &ev->flows[s->flow];
	double links_ps = 0;

	for (uint32_t h = 0; h < flow->nhops + flow->nback; h++)
		links_ps += delay_link_ps(ev, ev->hops[flow->first_hop + h],
					  h < flow->nhops ? ev->run.frame_bytes : ev->run.ack_bytes);
	return ((double)s->base_rtt_ps - links_ps) / (flow->nhops + flow->nback);
}

/*
 * Which of the two paths is longer: the last ACK left when the message arrived. If its trip was in time, the reason may
 * be that the delay was over by then.
 */
static enum direction
longer_direction(const struct delay_links *links, uint32_t step, double extra_ps, bool throughout)
{
	const struct evidence *ev = links->in->ev;
	const struct run_step *s = &links->in->steps[step];
	const struct ev_flow *flow = &ev->flows[s->flow];
	double back_ps = 0, trip_ps;

	if (links->arrived_ps[step] == RUN_UNKNOWN || s->open || links->arrived_ps[step] > s->end_ps || flow->nback == 0)
		return DIRECTION_UNKNOWN;
	for (uint32_t h = flow->nhops; h < flow->nhops + flow->nback; h++)
		back_ps += delay_link_ps(ev, ev->hops[flow->first_hop + h], ev->run.ack_bytes);
	trip_ps = (double)(s->end_ps - links->arrived_ps[step]);
	if (trip_ps - back_ps - delay_behind_link_ps(ev, s) * flow->nback >= IN_TIME * extra_ps)
		return DIRECTION_REVERSE;
	return throughout ? DIRECTION_FORWARD : DIRECTION_UNKNOWN;
}

/*
 * Links that may have made a step's round trips longer by this time.
 * @param throughout  all of them; else on average: it may have been so for a part of its time alone
 * @param ports  [of the hops of both paths] set to them
 * @return their number
 */
static uint32_t
delay_links_of(const struct delay_links *links, uint32_t step, double extra_ps, bool throughout, uint32_t *ports)
{
	const struct evidence *ev = links->in->ev;
	const struct ev_flow *flow = &ev->flows[links->in->steps[step].flow];
	enum direction direction = longer_direction(links, step, extra_ps, throughout);
	uint32_t count = 0;

	for (uint32_t h = 0; h < flow->nhops + flow->nback; h++) {
		uint32_t port = ev->hops[flow->first_hop + h];

		if ((direction == DIRECTION_REVERSE && h < flow->nhops) ||
		    (direction == DIRECTION_FORWARD && h >= flow->nhops) ||
		    is_cleared(links, port, step, extra_ps, throughout))
			continue;
		ports[count++] = port;
	}
	return count;
}

/* A step of which it is certain. */
struct delayed {
	uint32_t step;
	uint32_t first, count; /* in links: those that may be at fault */
	bool throughout;       /* all of its packets took longer; else they did on average */
	double cost_ps;
	bool placed;
};

struct placing {
	const struct cause_input *in;
	struct delays *out;
	struct delayed *delayed; /* [ndelayed] */
	uint32_t ndelayed;
	uint32_t *links;
	double *cost_ps; /* [nports] */
	bool uneven;     /* delay_paths_differ() */
};

double
delays_known(const struct delays *delays, uint32_t step)
{
	return delays->extra_ps[step] > 0 ? fmin(1, delays->certain_ps[step] / delays->extra_ps[step]) : 0;
}

static bool
is_of_many_paths(const struct placing *p, const struct run_step *s)
{
	return p->uneven && !run_is_local(s) && evidence_is_sprayed(p->in->ev, s->flow);
}

static bool
may_be_delayed(const struct placing *p, uint32_t step)
{
	const struct cause_input *in = p->in;
	const struct run_step *s = &in->steps[step];

	return s->slow && !is_of_many_paths(p, s) && !run_is_local(s) && in->graphs[step] != NULL && s->rtt_min_ps != 0 &&
	       s->base_rtt_ps != 0;
}

/* @return 0: queues may have made them so long */
static double
at_least_ps(const struct run_step *s, double rtt_ps, double wait_ps)
{
	double extra_ps = rtt_ps - (double)s->base_rtt_ps - wait_ps;

	return extra_ps >= CAUSE_MIN_SHARE * (double)s->base_rtt_ps ? extra_ps : 0;
}

/* The excess of all of its round trips. */
static double
least_extra_ps(const struct cause_input *in, uint32_t step)
{
	const struct run_step *s = &in->steps[step];
	bool cut;

	return at_least_ps(s, (double)s->rtt_min_ps, delay_least_wait_ps(in, step, &cut));
}

/* Would its least round trip show a delay if its epochs were longer? */
static bool
is_unjudged(const struct cause_input *in, uint32_t step)
{
	const struct run_step *s = &in->steps[step];
	bool cut;

	return isinf(delay_least_wait_ps(in, step, &cut)) && cut &&
	       at_least_ps(s, (double)s->rtt_min_ps, delay_frames_ps(in->ev, &in->ev->flows[s->flow])) > 0;
}

/* On average. */
static double
mean_extra_ps(const struct cause_input *in, uint32_t step)
{
	const struct run_step *s = &in->steps[step];

	return at_least_ps(s, (double)s->rtt_mean_ps, delay_mean_wait_ps(in, step));
}

/* On average, of which unreported queues may have been a part. */
static double
likely_extra_ps(const struct cause_input *in, uint32_t step)
{
	const struct run_step *s = &in->steps[step];

	return at_least_ps(s, (double)s->rtt_mean_ps, delay_likely_wait_ps(in, step));
}

static uint32_t
hops_of(const struct cause_input *in, uint32_t step)
{
	const struct ev_flow *flow = &in->ev->flows[in->steps[step].flow];

	return flow->nhops + flow->nback;
}

/* @param trips  its round trips that took longer than it can have waited  @return its excess, 0: none is certain */
static double
note_extra(struct placing *p, uint32_t step, uint32_t trips)
{
	const struct cause_input *in = p->in;
	double extra_ps, polled_ps, part = 1;

	if (!may_be_delayed(p, step))
		return 0;
	extra_ps = fmax(least_extra_ps(in, step), mean_extra_ps(in, step));
	if (extra_ps <= 0 && trips != 0) {
		extra_ps = likely_extra_ps(in, step);
		part = (trips + 1.0) / (trips + 2.0);
	}
	polled_ps = delay_polled_ps(in, step, &p->out->polled[step]);
	part = polled_ps > extra_ps ? 1 : part;
	extra_ps = fmax(extra_ps, polled_ps);
	in->unjudged->epochs += extra_ps <= 0 && is_unjudged(in, step);
	p->out->certain_ps[step] = part * extra_ps;
	p->out->extra_ps[step] = extra_ps;
	return extra_ps;
}

/* The steps with a certain delay, and the links that may have delayed each. @return 0 or -ENOMEM */
static int
find_delayed(struct placing *p)
{
	const struct cause_input *in = p->in;
	struct delay_links links = { 0 };
	uint32_t nlinks = 0, *trips = calloc((size_t)in->nsteps + 1, sizeof(*trips));
	int rc = 0;

	if (trips == NULL || delay_count_trips(in, trips) < 0) {
		free(trips);
		return -ENOMEM;
	}
	for (uint32_t i = 0; i < in->nsteps; i++) {
		double extra_ps = note_extra(p, i, trips[i]);

		in->unjudged->paths += in->steps[i].slow && is_of_many_paths(p, &in->steps[i]);
		p->ndelayed += extra_ps > 0;
		nlinks += extra_ps > 0 ? hops_of(in, i) : 0;
	}
	free(trips);
	if (p->ndelayed == 0)
		return 0;
	p->delayed = calloc(p->ndelayed, sizeof(*p->delayed));
	p->links = calloc((size_t)nlinks + 1, sizeof(*p->links));
	p->cost_ps = calloc((size_t)in->ev->nports + 1, sizeof(*p->cost_ps));
	p->out->places = calloc(p->ndelayed, sizeof(*p->out->places));
	p->out->ports = calloc((size_t)nlinks + 1, sizeof(*p->out->ports));
	if (p->delayed == NULL || p->links == NULL || p->cost_ps == NULL || p->out->places == NULL || p->out->ports == NULL)
		rc = -ENOMEM;
	if (rc == 0)
		rc = delay_links_init(&links, in);
	nlinks = p->ndelayed = 0;
	for (uint32_t i = 0; i < in->nsteps && rc == 0; i++) {
		struct delayed *at = &p->delayed[p->ndelayed];

		if (p->out->extra_ps[i] <= 0)
			continue;
		p->ndelayed++;
		*at = (struct delayed){ .step = i, .first = nlinks, .throughout = least_extra_ps(in, i) > 0 };
		if (p->out->polled[i] == EV_NONE) {
			at->count = delay_links_of(&links, i, at->throughout ? least_extra_ps(in, i) : p->out->extra_ps[i],
						   at->throughout, p->links + nlinks);
			p->out->extra_ps[i] = fmax(p->out->extra_ps[i], likely_extra_ps(in, i));
		} else {
			p->links[nlinks] = p->out->polled[i];
			at->count = 1;
		}
		nlinks += at->count;
		at->cost_ps = delay_cost_ps(in, i, p->out->extra_ps[i]);
	}
	delay_links_fini(&links);
	return rc;
}

static bool
may_be(const struct placing *p, const struct delayed *at, uint32_t port)
{
	for (uint32_t i = at->first; i < at->first + at->count; i++)
		if (p->links[i] == port)
			return true;
	return false;
}

/*
 * The link that most of the time lost by steps without a place has in common. @return EV_NONE: none is left to any of
 * them
 */
static uint32_t
most_in_common(struct placing *p)
{
	uint32_t best = EV_NONE;

	for (uint32_t port = 0; port < p->in->ev->nports; port++)
		p->cost_ps[port] = 0;
	for (uint32_t d = 0; d < p->ndelayed; d++)
		for (uint32_t i = 0; i < p->delayed[d].count && !p->delayed[d].placed; i++)
			p->cost_ps[p->links[p->delayed[d].first + i]] += p->delayed[d].cost_ps;
	for (uint32_t port = 0; port < p->in->ev->nports; port++)
		if (p->cost_ps[port] > 0 && (best == EV_NONE || p->cost_ps[port] > p->cost_ps[best]))
			best = port;
	return best;
}

/* Is a link as likely as another: may it have delayed the same steps? */
static bool
is_alike(const struct placing *p, uint32_t port, uint32_t best)
{
	for (uint32_t d = 0; d < p->ndelayed; d++)
		if (!p->delayed[d].placed && may_be(p, &p->delayed[d], port) != may_be(p, &p->delayed[d], best))
			return false;
	return true;
}

static void
add_step(struct placing *p, struct delay_place *place, struct delayed *at, double *most_ps)
{
	const struct run_step *s = &p->in->steps[at->step];

	at->placed = true;
	p->out->place[at->step] = (uint32_t)(place - p->out->places);
	if (at->cost_ps > *most_ps) {
		*most_ps = at->cost_ps;
		place->flow = s->flow;
	}
	place->from_ps = s->start_ps < place->from_ps ? s->start_ps : place->from_ps;
	place->to_ps = s->end_ps > place->to_ps ? s->end_ps : place->to_ps;
}

static void
name_root(const struct evidence *ev, const uint32_t *ports, struct delay_place *place)
{
	place->root_port = place->count != 0 ? ports[place->first] : EV_NONE;
	for (uint32_t i = 1; i < place->count; i++)
		if (ports[place->first + i] != ev->ports[place->root_port].peer) {
			place->root_port = EV_NONE;
			return;
		}
}

/* @param best  EV_NONE: of the first step that has no place, of which only the path is left */
static void
make_place(struct placing *p, uint32_t best, uint32_t *nports)
{
	struct delay_place *place = &p->out->places[p->out->nplaces++];
	double most_ps = -1;

	*place = (struct delay_place){ .first = *nports, .root_port = EV_NONE, .flow = EV_NONE, .from_ps = UINT64_MAX };
	for (uint32_t port = 0; best != EV_NONE && port < p->in->ev->nports; port++)
		if (p->cost_ps[port] > 0 && (port == best || is_alike(p, port, best)))
			p->out->ports[(*nports)++] = port;
	place->count = *nports - place->first;
	name_root(p->in->ev, p->out->ports, place);
	for (uint32_t d = 0; d < p->ndelayed; d++) {
		struct delayed *at = &p->delayed[d];

		if (at->placed || (best != EV_NONE && !may_be(p, at, best)) ||
		    (best == EV_NONE && place->flow != EV_NONE && p->in->steps[at->step].flow != place->flow))
			continue;
		add_step(p, place, at, &most_ps);
	}
}

static bool
has_unplaced(const struct placing *p)
{
	for (uint32_t d = 0; d < p->ndelayed; d++)
		if (!p->delayed[d].placed)
			return true;
	return false;
}

/* Did a step cross a link that may be at fault? One of several only where congestion control leaves no queue to blame. */
static bool
crosses_place(const struct placing *p, uint32_t step, const struct delay_place *place)
{
	const struct evidence *ev = p->in->ev;
	uint32_t flow = p->in->steps[step].flow;
	bool crosses = false;

	if (place->root_port != EV_NONE || p->in->paced_by_marks)
		return place->root_port != EV_NONE && evidence_crosses(ev, flow, place->root_port);
	for (uint32_t i = 0; i < place->count; i++)
		crosses |= evidence_crosses(ev, flow, p->out->ports[place->first + i]);
	return crosses;
}

/* Was a step without a place beside it, with longer round trips? */
static bool
is_beside(const struct placing *p, uint32_t step, const struct delay_place *place)
{
	const struct run_step *s = &p->in->steps[step];

	return p->out->place[step] == EV_NONE && may_be_delayed(p, step) && s->start_ps <= place->to_ps &&
	       s->end_ps >= place->from_ps && crosses_place(p, step, place) && likely_extra_ps(p->in, step) > 0;
}

/*
 * Of several links those at fault that all steps beside them crossed, too, if there are such: one fault is likelier than
 * several. Queues that no switch reports may make round trips longer as well, but where congestion control goes by these,
 * it leaves none.
 */
static void
narrow(struct placing *p, struct delay_place *place)
{
	uint32_t *ports = p->out->ports + place->first, left = place->count;

	for (uint32_t i = 0; i < p->in->nsteps && place->count > 1 && left != 0; i++) {
		if (!is_beside(p, i, place))
			continue;
		left = 0;
		for (uint32_t n = 0; n < place->count; n++)
			left += evidence_crosses(p->in->ev, p->in->steps[i].flow, ports[n]);
		for (uint32_t n = 0, to = 0; n < place->count && left != 0; n++)
			if (evidence_crosses(p->in->ev, p->in->steps[i].flow, ports[n]))
				ports[to++] = ports[n];
		place->count = left;
	}
	name_root(p->in->ev, p->out->ports, place);
}

/* A faulty link was so for a part of the steps beside those times, too: their mean round trips show it. */
static void
add_neighbours(struct placing *p)
{
	const struct cause_input *in = p->in;

	for (uint32_t i = 0; i < in->nsteps; i++) {
		const struct run_step *s = &in->steps[i];
		uint64_t took_ps = s->end_ps - s->start_ps;

		for (uint32_t n = 0; n < p->out->nplaces && may_be_delayed(p, i) && p->out->place[i] == EV_NONE; n++) {
			const struct delay_place *place = &p->out->places[n];
			double extra_ps;

			if (s->start_ps > place->to_ps + took_ps || s->end_ps + took_ps < place->from_ps ||
			    !crosses_place(p, i, place))
				continue;
			extra_ps = likely_extra_ps(in, i);
			if (extra_ps <= 0)
				continue;
			p->out->extra_ps[i] = extra_ps;
			p->out->place[i] = n;
		}
	}
}

int
delays_init(struct delays *delays, const struct cause_input *in)
{
	struct placing p = { .in = in, .out = delays, .uneven = delay_paths_differ(in->ev) };
	uint32_t nports = 0;
	int rc;

	*delays = (struct delays){ 0 };
	delays->certain_ps = calloc((size_t)in->nsteps + 1, sizeof(*delays->certain_ps));
	delays->extra_ps = calloc((size_t)in->nsteps + 1, sizeof(*delays->extra_ps));
	delays->place = calloc((size_t)in->nsteps + 1, sizeof(*delays->place));
	delays->polled = calloc((size_t)in->nsteps + 1, sizeof(*delays->polled));
	if (delays->certain_ps == NULL || delays->extra_ps == NULL || delays->place == NULL || delays->polled == NULL)
		return -ENOMEM;
	for (uint32_t i = 0; i < in->nsteps; i++)
		delays->place[i] = delays->polled[i] = EV_NONE;
	rc = find_delayed(&p);
	while (rc == 0 && has_unplaced(&p))
		make_place(&p, most_in_common(&p), &nports);
	for (uint32_t n = 0; rc == 0 && n < delays->nplaces && !in->paced_by_marks; n++)
		narrow(&p, &delays->places[n]);
	if (rc == 0 && delays->nplaces != 0)
		add_neighbours(&p);
	free(p.delayed);
	free(p.links);
	free(p.cost_ps);
	return rc;
}

void
delays_fini(struct delays *delays)
{
	free(delays->certain_ps);
	free(delays->extra_ps);
	free(delays->place);
	free(delays->polled);
	free(delays->places);
	free(delays->ports);
}
