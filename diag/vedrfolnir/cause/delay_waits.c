/* SPDX-License-Identifier: BSD-3-Clause */
#include "diag/vedrfolnir/cause/delay_waits.h"

#include <math.h>

#include "common/minmax.h"
#include "diag/vedrfolnir/provenance/window.h"

/* Of the packets that passed before: fewer went another way, or their rows are lost. In an epoch some have not come so far. */
#define MOST 0.9
#define SOME 0.5

static double
frame_ps(const struct evidence *ev, uint32_t port)
{
	return ev->run.frame_bytes * 8e12 / (double)ev->ports[port].rate_bps;
}

/* The flow's row in an epoch. @return NULL: there is none */
static const struct rec_flow_row *
row_of(const struct evidence *ev, const struct ev_epoch *epoch, uint32_t flow)
{
	for (uint32_t i = epoch->first_flow; i < epoch->first_flow + epoch->nflows; i++)
		if (ev->flow_of_row[i] == flow)
			return EV_AT(ev->flow_rows, struct rec_flow_row, i);
	return NULL;
}

/* Until when is an epoch known of a flow? Its port may have been asked again, and the flow's row not have come. */
static uint64_t
known_to_ps(const struct ev_epoch *epoch, const struct rec_flow_row *row)
{
	return row != NULL ? min_u64(epoch->to_ps, row->hdr.time_ps) : epoch->to_ps;
}

/* A halted port holds up what is under way, once a halt. @return what that is for each of so many packets */
static double
held_ps(const struct cause_input *in, double pause_ps, double packets)
{
	return pause_ps > 0 ? pause_ps * fmin(1, in->window / packets) : 0;
}

/* Frames of class 0 that went ahead of data that waited: time that they took. */
static double
overtaken_at(const struct evidence *ev, uint32_t port, struct window during)
{
	struct ev_range rows = evidence_overtakes(ev, port, during.from_ps, during.to_ps);
	double sum_ps = 0;

	for (uint32_t i = rows.first; i < rows.end; i++) {
		const struct rec_overtake_row *row = EV_AT(ev->overtakes, struct rec_overtake_row, i);
		uint64_t from_ps = row->epoch_first * ev->run.epoch_ps;

		if (window_overlap_ps(during, from_ps, evidence_overtake_end_ps(ev, row)) != 0 && row->prio == 0)
			sum_ps += (double)row->bytes * 8e12 / (double)ev->ports[port].rate_bps;
	}
	return sum_ps;
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

/* Packets of a step on their way. */
struct passing {
	struct window during; /* when they passed, the way from switch to switch being short beside it */
	double packets;       /* so many of the step */
	double samples;       /* so many of these had their round trip measured: an ACK may speak for several */
	double least;         /* the share of them that has to be seen */
	double missing_ps;    /* out: the longest time that a switch does not tell of */
};

/*
 * What those whose round trips were measured waited at a switch on average, at most: the last of a burst finds more queued than
 * those before it, so that they may have found all that the step's packets did. They waited for those that they found there, for as many of each other class, as classes are
 * served in turn, and for what went ahead of them, as for a halt: nothing says how evenly ACKs did.
 */
static double
hop_wait_ps(const struct cause_input *in, uint32_t flow, uint32_t port, struct passing *p)
{
	const struct evidence *ev = in->ev;
	double took_ps = (double)(p->during.to_ps - p->during.from_ps), covered_ps = 0, missing_ps;
	double seen = 0, depth = 0, pause_ps = 0, classes = 1;
	struct ev_range epochs = evidence_epochs(ev, port, p->during.from_ps, p->during.to_ps);
	double overtaken_ps = overtaken_at(ev, port, p->during);

	for (uint32_t e = epochs.first; e < epochs.end; e++) {
		const struct ev_epoch *epoch = &ev->epochs[e];
		const struct rec_port_row *own = evidence_port_row(ev, epoch, ev->flows[flow].prio);
		const struct rec_flow_row *row = row_of(ev, epoch, flow);
		uint64_t overlap_ps = window_overlap_ps(p->during, epoch->from_ps, known_to_ps(epoch, row));

		if (overlap_ps == 0 || epoch->nrows == 0)
			continue;
		covered_ps += (double)overlap_ps;
		pause_ps += own != NULL ? (double)own->pause_ps : 0;
		pause_ps += served_before_ps(ev, epoch, flow);
		classes = fmax(classes, classes_in(ev, epoch));
		seen += row != NULL ? (double)row->packets : 0;
		depth += row != NULL ? (double)row->depth_sum : 0;
	}
	missing_ps = fmax(0, took_ps - covered_ps);
	p->missing_ps = fmax(p->missing_ps, missing_ps);
	if (seen < 1 || seen < p->least * p->packets * (1 - missing_ps / took_ps))
		return INFINITY;
	return depth / fmin(p->samples, seen) * classes * frame_ps(ev, port) +
	       held_ps(in, pause_ps + overtaken_ps, p->samples);
}

/* What they waited at all switches. What nobody tells of may have held up what was under way then. */
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

/*
 * ACKs are of class 0: behind others' data in it they wait where nobody tells. Did such data take a part of any link, anywhere,
 * in the time of a step? Polling packets take next to nothing.
 */
static bool
acks_may_wait(const struct evidence *ev, const struct run_step *s)
{
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

/* Whether packets of the flow were seen at a port that its configured way has not: nobody knows what an idle path takes then. */
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

/* A frame that is being sent at each port of both ways, and the hosts' jitter. */
static double
frames_ps(const struct evidence *ev, const struct ev_flow *flow)
{
	double sum_ps = (double)ev->run.jitter_ps;

	for (uint32_t h = 0; h < flow->nhops + flow->nback; h++)
		sum_ps += frame_ps(ev, ev->hops[flow->first_hop + h]);
	return sum_ps;
}

/* Whether something is known of the waits of a step's packets. */
static bool
is_reported(const struct cause_input *in, uint32_t step)
{
	const struct run_step *s = &in->steps[step];
	const struct ev_flow *flow = &in->ev->flows[s->flow];

	return in->graphs[step] != NULL && flow->nhops >= 2 && !has_left_its_path(in->ev, in->graphs[step], flow) &&
	       !acks_may_wait(in->ev, s);
}

/* Of a step, as far as it is known to have sent. */
static double
packets_of(const struct cause_input *in, const struct run_step *s)
{
	return ceil((double)(s->open ? s->acked_bytes : s->bytes) / fmax(1, in->ev->run.payload_bytes));
}

/* Of a step's packets, the share of which round trips were measured. */
static double
sampled(const struct cause_input *in, const struct run_step *s)
{
	return fmin(1, s->rtt_samples / packets_of(in, s));
}

/* What those packets of a step waited that the first switch of their way tells of in one epoch. */
static double
epoch_wait_ps(const struct cause_input *in, const struct run_step *s, const struct ev_epoch *epoch)
{
	const struct rec_flow_row *row = row_of(in->ev, epoch, s->flow);
	struct passing p = { .during = { epoch->from_ps > s->start_ps ? epoch->from_ps : s->start_ps,
					 min_u64(known_to_ps(epoch, row), s->end_ps) },
			     .least = SOME };

	/* Others of the flow's steps may have sent most of the row's packets: no more are the step's than its time's part. */
	if (row != NULL && epoch->from_ps < epoch->to_ps && s->start_ps < s->end_ps)
		p.packets = fmin(window_share(p.during, epoch->from_ps, epoch->to_ps) * (double)row->packets,
				 window_share(p.during, s->start_ps, s->end_ps) * packets_of(in, s));
	p.samples = p.packets * sampled(in, s);
	return path_wait_ps(in, &in->ev->flows[s->flow], &p);
}

double
delay_least_wait_ps(const struct cause_input *in, uint32_t step)
{
	const struct run_step *s = &in->steps[step];
	const struct ev_flow *flow = &in->ev->flows[s->flow];
	double least_ps = INFINITY;
	struct ev_range epochs;

	if (!is_reported(in, step))
		return INFINITY;
	epochs = evidence_epochs(in->ev, in->ev->hops[flow->first_hop + 1], s->start_ps, s->end_ps);
	for (uint32_t e = epochs.first; e < epochs.end; e++)
		least_ps = fmin(least_ps, epoch_wait_ps(in, s, &in->ev->epochs[e]));
	return least_ps + frames_ps(in->ev, flow);
}

double
delay_mean_wait_ps(const struct cause_input *in, uint32_t step)
{
	const struct run_step *s = &in->steps[step];
	const struct ev_flow *flow = &in->ev->flows[s->flow];
	struct passing p = { .during = { s->start_ps, s->end_ps },
			     .packets = packets_of(in, s),
			     .samples = packets_of(in, s) * sampled(in, s),
			     .least = MOST };

	return is_reported(in, step) ? path_wait_ps(in, flow, &p) + frames_ps(in->ev, flow) : INFINITY;
}

double
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
