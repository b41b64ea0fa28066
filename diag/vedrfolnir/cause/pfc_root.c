/* SPDX-License-Identifier: BSD-3-Clause */
#include "diag/vedrfolnir/cause/pfc_root.h"

#include <math.h>
#include <stdbool.h>
#include <stdint.h>

#include "common/minmax.h"
#include "common/pkt.h"
#include "common/record/kinds.h"
#include "common/wire/detection.h"
#include "common/wire/record.h"
#include "diag/collect/evidence.h"
#include "diag/vedrfolnir/cause/cause.h"
#include "diag/vedrfolnir/provenance/provenance.h"
#include "diag/vedrfolnir/provenance/window.h"

/* The meaning of a switch's reports without a queue or a pause. */

/*
 * In packets: fewer wait wherever two flows cross. The ingress's threshold is not known, and some frames of several
 * egresses may reach it: a queue that is no cause by itself (CAUSE_MIN_DEPTH) may be a reason to pause.
 */
#define SHALLOW 2

/*
 * A PAUSE acts at the port that receives it a link's delay after the switch behind that link had a reason to send it. A
 * polling packet that leaves that port arrives there after the same delay.
 */
static uint64_t
link_delay_ps(const struct evidence *ev, const struct ev_port *paused)
{
	return paused->peer != EV_NONE ? max_u64(paused->delay_ps, ev->ports[paused->peer].delay_ps) : 0;
}

static bool
is_telemetry_lost(const struct evidence *ev, struct window step)
{
	for (uint32_t i = 0; i < ev->gaps.count; i++) {
		const struct rec_gap *gap = EV_AT(ev->gaps, struct rec_gap, i);

		if (record_is(gap->kind, REC_TELEMETRY) && gap->from_ps <= step.to_ps && gap->to_ps >= step.from_ps)
			return true;
	}
	return false;
}

/*
 * Did an ingress answer this polling packet, in the step's time? A port may keep one report in CAUSE_RETAIN_PS: then
 * the one that it kept is the answer.
 * @param arrived_ps  when the packet arrived at the ingress
 */
static bool
has_replied(const struct evidence *ev, struct window step, uint32_t ingress, const struct rec_poll *poll,
	    uint64_t arrived_ps)
{
	const struct ev_port *port = &ev->ports[ingress];

	for (uint32_t i = port->first_state; i < port->first_state + port->nstates; i++) {
		const struct rec_hdr *row = &EV_AT(ev->states, struct rec_port_row, i)->hdr;

		if (row->event == poll->hdr.event ||
		    (window_has(step, row->time_ps) && row->time_ps <= arrived_ps + CAUSE_RETAIN_PS &&
		     arrived_ps <= row->time_ps + CAUSE_RETAIN_PS))
			return true;
	}
	return false;
}

/* The start of the oldest epoch that a report at some time includes. */
static uint64_t
kept_from_ps(const struct evidence *ev, uint64_t time_ps)
{
	uint64_t open = time_ps / ev->run.epoch_ps;

	return open >= ev->run.epochs_kept ? (open + 1 - ev->run.epochs_kept) * ev->run.epoch_ps : 0;
}

/*
 * The time from which the answer to this polling packet shows why the port that it crossed was paused: from when PAUSE of
 * the oldest epoch that the switch keeps arrived; of a pause that lasts then, from its start: its cause still stands
 * there.
 */
static uint64_t
reports_from_ps(const struct evidence *ev, const struct ev_port *paused, uint8_t prio, const struct rec_poll *poll)
{
	uint64_t time_ps = poll->hdr.time_ps, delay_ps = link_delay_ps(ev, paused);
	uint64_t from_ps = kept_from_ps(ev, time_ps + delay_ps) + delay_ps;

	for (uint32_t i = paused->first_state; i < paused->first_state + paused->nstates; i++) {
		const struct rec_port_row *row = EV_AT(ev->states, struct rec_port_row, i);

		if (row->paused && row->prio == prio && row->paused_since_ps < from_ps && row->hdr.time_ps >= time_ps)
			from_ps = row->paused_since_ps;
	}
	return from_ps;
}

/*
 * How long a port was paused in a part of the step: by its counters, or by a pause that lasted at a report. Where most
 * of the time that a row covers is not the step's, the pause may not have been either.
 */
static double
paused_ps(const struct evidence *ev, const struct ev_port *port, uint8_t prio, struct window step, struct window part)
{
	const struct window after = { part.to_ps, step.to_ps };
	double counted_ps = 0, lasting_ps = 0, total_ps = 0, beyond_ps = 0;

	for (uint32_t i = port->first_epoch; i < port->first_epoch + port->nepochs; i++) {
		const struct ev_epoch *epoch = &ev->epochs[i];

		const struct rec_port_row *row = evidence_port_row(ev, epoch, prio);

		if (row != NULL && window_share(step, epoch->from_ps, epoch->to_ps) >= CAUSE_REPORTED_OF_PAUSE)
			counted_ps += window_share(part, epoch->from_ps, epoch->to_ps) * (double)row->pause_ps;
		total_ps += row != NULL ? (double)row->pause_ps : 0;
	}
	for (uint32_t i = port->first_state; i < port->first_state + port->nstates; i++) {
		const struct rec_port_row *row = EV_AT(ev->states, struct rec_port_row, i);
		double inside_ps = row->paused && row->prio == prio
					   ? (double)window_overlap_ps(part, row->paused_since_ps, row->hdr.time_ps)
					   : 0;

		lasting_ps = fmax(lasting_ps, inside_ps);
		if (row->paused && row->prio == prio)
			beyond_ps =
				fmax(beyond_ps, (double)window_overlap_ps(after, row->paused_since_ps, row->hdr.time_ps));
	}
	/* A pause that is known to have begun after that part is none of it, however evenly rows are spread. */
	counted_ps = fmax(0, fmin(counted_ps, total_ps - beyond_ps));
	return counted_ps > lasting_ps ? counted_ps : lasting_ps;
}

/*
 * The time up to which an egress reported its queue when a polling packet asked its switch, from some time on. Of the
 * reports that a port makes in CAUSE_RETAIN_PS one is kept: the one before the packet may be its answer, or a later one,
 * whose oldest epoch may have begun after that time. One without counters covers the time before its epoch: a queue may
 * have built up and drained since.
 * @return UINT64_MAX: it was not asked, so that the ingress did not feed it
 */
static uint64_t
egress_reported_until_ps(const struct evidence *ev, uint32_t egress, uint64_t polled_ps, uint64_t from_ps)
{
	const struct window around = { polled_ps - min_u64(polled_ps, CAUSE_RETAIN_PS), polled_ps + CAUSE_RETAIN_PS };
	struct ev_range states = evidence_states(ev, egress, around.from_ps, around.to_ps);
	uint64_t until_ps = 0;
	bool asked = false;

	for (uint32_t i = states.first; i < states.end; i++) {
		const struct rec_port_row *row = EV_AT(ev->states, struct rec_port_row, i);

		if (!window_has(around, row->hdr.time_ps))
			continue;
		asked = true;
		if (kept_from_ps(ev, row->hdr.time_ps) <= max_u64(until_ps, from_ps))
			until_ps = max_u64(until_ps, row->state_only ? row->from_ps : row->hdr.time_ps);
	}
	return asked ? until_ps : UINT64_MAX;
}

/* Up to when did all of them? */
static uint64_t
switch_reported_until_ps(const struct evidence *ev, uint32_t ingress, uint64_t polled_ps, uint64_t from_ps)
{
	const struct ev_node *node = &ev->nodes[ev->ports[ingress].node];
	uint64_t until_ps = polled_ps;

	for (uint32_t p = node->first_port; p < node->first_port + node->nports; p++)
		if (p != ingress)
			until_ps = min_u64(until_ps, egress_reported_until_ps(ev, p, polled_ps, from_ps));
	return until_ps;
}

/*
 * Where every switch reports all its ports at the end of every epoch, silence is evidence about the epochs that a
 * report of all of them includes. A port keeps one report in CAUSE_RETAIN_PS: it may keep fewer epochs than end in that
 * time. The epoch that was open at the run's end is unknown.
 */
static double
reported_by_all_ps(const struct evidence *ev, const struct prov_graph *graph, uint32_t paused, struct window step)
{
	uint32_t ingress = ev->ports[paused].peer;
	const struct ev_port *port = &ev->ports[ingress];
	uint64_t done_ps = step.from_ps, delay_ps = link_delay_ps(ev, &ev->ports[paused]);
	double sum_ps = 0;

	for (uint32_t i = port->first_state; i < port->first_state + port->nstates; i++) {
		uint64_t time_ps = EV_AT(ev->states, struct rec_port_row, i)->hdr.time_ps;
		struct window reported = { max_u64(done_ps, kept_from_ps(ev, time_ps) + delay_ps), step.to_ps };
		uint64_t until_ps = switch_reported_until_ps(ev, ingress, time_ps,
							     reported.from_ps - min_u64(reported.from_ps, delay_ps));

		reported.to_ps = min_u64(until_ps + delay_ps, step.to_ps);
		if (reported.to_ps <= reported.from_ps)
			continue;
		sum_ps += paused_ps(ev, &ev->ports[paused], graph->prio, step, reported);
		done_ps = reported.to_ps;
	}
	return sum_ps;
}

/* From the first to the last of a port's pauses in the step, as far as they were reported: rows cover whole epochs. */
static struct window
pauses_of(const struct evidence *ev, const struct prov_graph *graph, uint32_t paused)
{
	struct ev_range epochs = evidence_epochs(ev, paused, graph->from_ps, graph->to_ps);
	struct ev_range states = evidence_states(ev, paused, graph->from_ps, graph->to_ps);
	struct window pauses = { UINT64_MAX, 0 };

	for (uint32_t i = epochs.first; i < epochs.end; i++) {
		const struct rec_port_row *row = evidence_port_row(ev, &ev->epochs[i], graph->prio);

		if (row == NULL || row->pause_ps == 0)
			continue;
		pauses.from_ps = min_u64(pauses.from_ps, ev->epochs[i].from_ps);
		pauses.to_ps = max_u64(pauses.to_ps, ev->epochs[i].to_ps);
	}
	for (uint32_t i = states.first; i < states.end; i++) {
		const struct rec_port_row *row = EV_AT(ev->states, struct rec_port_row, i);

		if (!row->paused || row->prio != graph->prio)
			continue;
		pauses.from_ps = min_u64(pauses.from_ps, row->paused_since_ps);
		pauses.to_ps = max_u64(pauses.to_ps, row->hdr.time_ps);
	}
	return pauses;
}

/*
 * Did an egress have a queue in a time, or was it paused? Its packets counted the queue when they were enqueued: a
 * queue without new packets shows at reports alone.
 */
static bool
is_held_up(const struct evidence *ev, uint32_t egress, uint8_t prio, struct window during)
{
	struct ev_range epochs = evidence_epochs(ev, egress, during.from_ps, during.to_ps);
	struct ev_range states = evidence_states(ev, egress, during.from_ps, during.to_ps);

	for (uint32_t i = epochs.first; i < epochs.end; i++) {
		const struct rec_port_row *row = evidence_port_row(ev, &ev->epochs[i], prio);

		if (row != NULL && (row->depth_max >= SHALLOW || row->pause_ps != 0))
			return true;
	}
	for (uint32_t i = states.first; i < states.end; i++) {
		const struct rec_port_row *row = EV_AT(ev->states, struct rec_port_row, i);

		if (row->prio == prio &&
		    (row->paused || (row->queue_packets >= SHALLOW && window_has(during, row->hdr.time_ps))))
			return true;
	}
	return false;
}

/* Was the ingress seen pausing, in a time, with enough bytes held that it had to? */
static bool
is_full(const struct evidence *ev, uint32_t ingress, uint8_t prio, struct window during, double fill)
{
	const struct ev_port *port = &ev->ports[ingress];

	for (uint32_t i = port->first_state; i < port->first_state + port->nstates; i++) {
		const struct rec_port_row *row = EV_AT(ev->states, struct rec_port_row, i);

		if (row->pausing && row->prio == prio && row->pausing_since_ps <= during.to_ps &&
		    row->hdr.time_ps >= during.from_ps &&
		    (double)row->ingress_bytes >= fill * (double)row->ingress_xoff_bytes)
			return true;
	}
	return false;
}

/*
 * May the switch behind a paused port have had a reason for its pauses? Any queue at another of its ports may be one,
 * however little of it is known to have entered here.
 */
static bool
may_have_reason(const struct evidence *ev, const struct prov_graph *graph, uint32_t paused, double fill)
{
	uint32_t ingress = ev->ports[paused].peer;
	const struct ev_node *node = &ev->nodes[ev->ports[ingress].node];
	struct window pauses = pauses_of(ev, graph, paused);

	pauses.from_ps -= min_u64(pauses.from_ps, link_delay_ps(ev, &ev->ports[paused]));
	for (uint32_t p = node->first_port; p < node->first_port + node->nports; p++)
		if (p != ingress && is_held_up(ev, p, graph->prio, pauses))
			return true;
	return is_full(ev, ingress, graph->prio, pauses, fill);
}

/*
 * A polling packet that crosses a paused port makes the switch behind it report every queue that the ingress feeds, as
 * far back as it knows. Its reports before the pause are no evidence about it, nor those after the epochs in which it
 * decided to send it, which is a link's delay before the pause. One on the path of the ACKs asks for its own egress alone.
 */
static bool
pfc_silence_means(const struct evidence *ev, const struct prov_graph *graph, const struct prov_port *paused, double fill)
{
	const struct window step = { graph->from_ps, graph->to_ps };
	const struct ev_port *port = &ev->ports[paused->port];
	struct window since_reported = { 0, step.from_ps };
	uint64_t delay_ps = link_delay_ps(ev, port);
	double reported_ps = 0;

	if (is_telemetry_lost(ev, step) || may_have_reason(ev, graph, paused->port, fill))
		return false;
	if (ev->run.policy == REC_POLICY_FULL_POLLING)
		reported_ps = reported_by_all_ps(ev, graph, paused->port, step);
	for (uint32_t i = port->first_poll; i < port->first_poll + port->npolls; i++) {
		const struct rec_poll *poll = EV_AT(ev->polls, struct rec_poll, ev->poll_by_port[i]);
		uint64_t arrived_ps = poll->hdr.time_ps + delay_ps, from_ps;

		if (!poll->out_paused || (poll->flags & POLL_BACK) != 0 || !window_has(step, poll->hdr.time_ps) ||
		    !has_replied(ev, step, port->peer, poll, arrived_ps))
			continue;
		from_ps = reports_from_ps(ev, port, graph->prio, poll);
		since_reported.from_ps = from_ps > since_reported.to_ps
						 ? from_ps
						 : since_reported.to_ps; /* overlapping reports count once */
		since_reported.to_ps =
			switch_reported_until_ps(ev, port->peer, arrived_ps,
						 since_reported.from_ps - min_u64(since_reported.from_ps, delay_ps)) +
			delay_ps;
		if (since_reported.to_ps <= since_reported.from_ps)
			continue;
		reported_ps += paused_ps(ev, port, graph->prio, step, since_reported);
	}
	return reported_ps > 0 && reported_ps >= (1 - CAUSE_MIN_SHARE) * paused->pause_ps;
}

/* A port may be paused without a reason for a part of the time, and for another by the queues behind its peer. */

struct sighting {
	bool any;
	uint64_t longest_ps;
};

/* Was this ingress seen pausing in some time, from then until a report of it, with less held than a reason for that? */
static struct sighting
seen_without_reason(const struct evidence *ev, uint32_t ingress, uint8_t prio, struct window window, double fill)
{
	const struct ev_port *port = &ev->ports[ingress];
	struct sighting seen = { false, 0 };

	for (uint32_t i = port->first_state; i < port->first_state + port->nstates; i++) {
		const struct rec_port_row *row = EV_AT(ev->states, struct rec_port_row, i);
		uint64_t inside_ps = window_overlap_ps(window, row->pausing_since_ps, row->hdr.time_ps);

		if (!row->pausing || row->prio != prio ||
		    (double)row->ingress_bytes >= fill * (double)row->ingress_xoff_bytes ||
		    (inside_ps == 0 && !window_has(window, row->hdr.time_ps)))
			continue;
		seen.any = true;
		seen.longest_ps = max_u64(seen.longest_ps, inside_ps);
	}
	return seen;
}

enum reason { REASON_UNREPORTED, REASON_NONE, REASON_QUEUE };

/* Did one of the queues that the peer feeds, by their reports of that time, give it a reason? */
static enum reason
reason_of(const struct evidence *ev, const struct prov_graph *graph, const struct prov_port *port, struct window sent)
{
	enum reason reason = REASON_UNREPORTED;

	for (uint32_t l = port->first_link; l < port->first_link + port->nlinks; l++) {
		uint32_t to = graph->ports[graph->links[l].to].port;
		struct ev_range epochs = evidence_epochs(ev, to, sent.from_ps, sent.to_ps);

		for (uint32_t i = epochs.first; i < epochs.end; i++) {
			const struct ev_epoch *there = &ev->epochs[i];
			const struct rec_port_row *row = evidence_port_row(ev, there, graph->prio);

			if (there->nrows == 0 || there->from_ps >= sent.to_ps || there->to_ps <= sent.from_ps)
				continue;
			if (row != NULL && (row->depth_max >= CAUSE_MIN_DEPTH || row->pause_ps != 0))
				return REASON_QUEUE;
			reason = REASON_NONE;
		}
	}
	return reason;
}

/*
 * When the peer sent the pauses of an epoch. Epochs of all ports begin at the same times: the link's delay counts in
 * whole ones, as most of a shorter delay's pauses are of the same epoch.
 */
static struct window
sent_in(const struct evidence *ev, uint32_t paused, const struct ev_epoch *epoch)
{
	uint64_t back_ps = link_delay_ps(ev, &ev->ports[paused]) / ev->run.epoch_ps * ev->run.epoch_ps;

	return (struct window){ epoch->from_ps - min_u64(epoch->from_ps, back_ps),
				epoch->to_ps - min_u64(epoch->to_ps, back_ps) };
}

/*
 * Of the pauses of a paused port, the part in epochs in which its peer had no reason for them: it was seen pausing with
 * too little held, or none of the queues that it feeds was deep or paused itself. Epochs without any of these reports
 * are no evidence for either.
 * @param port  of the graph; its peer is known to pause without a reason at some time of the step
 * @param fill  of the XOFF threshold: less is too little
 * @return 0 to 1; 1 where no epoch separates the two
 */
static double
pfc_split_storm(const struct evidence *ev, const struct prov_graph *graph, const struct prov_port *port, double fill)
{
	const struct window window = { graph->from_ps, graph->to_ps };
	struct ev_range epochs = evidence_epochs(ev, port->port, graph->from_ps, graph->to_ps);
	uint32_t peer = ev->ports[port->port].peer;
	double storm_ps = 0, queue_ps = 0;

	for (uint32_t i = epochs.first; i < epochs.end && peer != EV_NONE; i++) {
		const struct ev_epoch *epoch = &ev->epochs[i];
		const struct rec_port_row *row = evidence_port_row(ev, epoch, graph->prio);
		double pause_ps =
			row != NULL ? (double)row->pause_ps * window_share(window, epoch->from_ps, epoch->to_ps) : 0;

		struct window sent = sent_in(ev, port->port, epoch);

		if (pause_ps <= 0)
			continue;
		if (seen_without_reason(ev, peer, graph->prio, sent, fill).any) {
			storm_ps += pause_ps;
			continue;
		}
		switch (reason_of(ev, graph, port, sent)) {
		case REASON_NONE:
			storm_ps += pause_ps;
			break;
		case REASON_QUEUE:
			queue_ps += pause_ps;
			break;
		case REASON_UNREPORTED:
			break;
		}
	}
	if (peer != EV_NONE) /* the epoch itself need not have been reported */
		storm_ps = fmax(storm_ps, (double)seen_without_reason(ev, peer, graph->prio, window, fill).longest_ps);
	return storm_ps + queue_ps > 0 ? storm_ps / (storm_ps + queue_ps) : 1;
}

struct walk {
	const struct cause_set *set;
	const struct cause_input *in;
	const struct prov_graph *graph;
	uint32_t step;
	struct pfc_root root;                /* path so far */
	uint32_t on_path[PFC_ROOT_MAX_PATH]; /* indices of the ports on it */
	uint32_t steps;
	bool blind; /* a paused port was reached of whose pauses no report shows the reason */
	pfc_root_fn *fn;
	void *ctx;
};

static void follow(struct walk *walk, uint32_t index, double weight);

static void
add_weight(const struct pfc_root *root, void *ctx)
{
	*(double *)ctx += root->weight;
}

bool
pfc_root_each(const struct cause_set *set, uint32_t step, uint32_t index, pfc_root_fn *fn, void *ctx)
{
	double weights = 0;
	struct walk weigh = { .set = set,
			      .in = set->in,
			      .graph = set->in->graphs[step],
			      .step = step,
			      .root.paused = index,
			      .fn = add_weight,
			      .ctx = &weights };
	struct walk walk = weigh;

	follow(&weigh, index, 1.0);
	walk.root.weights = weights;
	walk.fn = fn;
	walk.ctx = ctx;
	follow(&walk, index, 1.0);
	return walk.blind;
}

struct root_visit {
	struct cause_set *set;
	uint32_t step;
	pfc_root_reached_fn *fn;
};

static void
note_reached(const struct pfc_root *root, void *ctx)
{
	const struct root_visit *visit = ctx;

	visit->fn(visit->set, visit->step, root);
}

bool
pfc_root_each_reached(struct cause_set *set, uint32_t step, pfc_root_reached_fn *fn)
{
	const struct prov_graph *graph = set->in->graphs[step];
	struct root_visit visit = { set, step, fn };
	bool blind = false;

	for (uint32_t p = 0; graph != NULL && set->in->steps[step].slow && p < graph->nreached; p++)
		if (graph->ports[p].paused)
			blind |= pfc_root_each(set, step, p, note_reached, &visit);
	return blind;
}

/*
 * Is the port sent more than it can send while this flow arrives? Only by ingresses that are faster together: one of
 * its own speed leaves no queue but that of a pause, and so do two whose flows arrive one after the other. Flows with
 * less than CAUSE_MIN_SHARE of the port's packets do not count, nor those that found no queue.
 */
static bool
overruns(const struct cause_set *set, uint32_t step, const struct prov_port *port, const struct prov_at *at)
{
	const struct evidence *ev = set->in->ev;
	const struct prov_graph *graph = set->in->graphs[step];
	const struct ev_port *p = &ev->ports[port->port];
	uint64_t counted[RECORD_MAX_PORTS_A_NODE / 64] = { 0 };
	uint64_t rate_bps = 0;

	for (uint32_t a = port->first_at; a < port->first_at + port->nats; a++) {
		const struct prov_at *other = &graph->ats[a];
		uint32_t ingress = evidence_port(ev, p->node, other->in_port);
		uint64_t bit = 1ULL << (other->in_port % 64);

		if (ingress == EV_NONE || (counted[other->in_port / 64] & bit) != 0 ||
		    other->packets < CAUSE_MIN_SHARE * port->packets ||
		    other->depth_sum < CAUSE_MIN_WAIT * other->packets ||
		    (other != at && !cause_both_at_once(set, graph->flows[at->flow], graph->flows[other->flow], step)))
			continue;
		counted[other->in_port / 64] |= bit;
		rate_bps += ev->ports[ingress].rate_bps;
	}
	return rate_bps > p->rate_bps;
}

bool
pfc_root_culprit(const struct cause_set *set, uint32_t step, const struct prov_port *root, const struct prov_at *at,
		 bool collective)
{
	const struct prov_graph *graph = set->in->graphs[step];
	uint32_t flow = graph->flows[at->flow];

	return set->in->ev->flows[flow].collective == collective && at->flow != graph->victim && at->contrib > 0 &&
	       at->contrib >= CAUSE_MIN_SHARE * root->depth_sum && at->depth_sum >= CAUSE_MIN_WAIT * at->packets &&
	       cause_at_once(set, flow, step) && overruns(set, step, root, at);
}

/* Do others than the victim fill this queue? Where its flows were not reported, they may. */
static bool
has_culprits(const struct walk *walk, const struct prov_port *port)
{
	for (uint32_t a = port->first_at; a < port->first_at + port->nats; a++) {
		const struct prov_at *at = &walk->graph->ats[a];

		if (pfc_root_culprit(walk->set, walk->step, port, at, false) ||
		    pfc_root_culprit(walk->set, walk->step, port, at, true))
			return true;
	}
	return port->nats == 0;
}

/*
 * The part of the time in which a port's own queue is the root of pauses before it, 0: never. A port that is itself
 * paused for some time is one all the same if it is busy in the rest of the time.
 */
static double
root_share(const struct walk *walk, const struct prov_port *port)
{
	double rate_bps = (double)walk->in->ev->ports[port->port].rate_bps;
	double busy_ps = port->packets * walk->in->ev->run.frame_bytes * 8e12 / rate_bps;
	double free_ps = port->covered_ps - port->pause_ps;

	if (!cause_has_queue(walk->in, port) || !has_culprits(walk, port))
		return 0;
	if (!port->paused)
		return 1;
	return free_ps >= CAUSE_ROOT_UNPAUSED * port->covered_ps && busy_ps >= CAUSE_ROOT_BUSY * free_ps
		       ? free_ps / port->covered_ps
		       : 0;
}

/*
 * The queues that an ingress feeds, as far as they were reported. However little it fed them within the step: the bytes
 * held there make it pause, and held bytes do not move.
 */
struct downstream {
	bool paused;    /* one of them is paused itself */
	bool congested; /* one of them has a queue */
};

static struct downstream
look_downstream(const struct walk *walk, const struct prov_port *port)
{
	struct downstream down = { false, false };

	for (uint32_t l = port->first_link; l < port->first_link + port->nlinks; l++) {
		const struct prov_port *to = &walk->graph->ports[walk->graph->links[l].to];

		if (walk->graph->links[l].weight <= 0)
			continue;
		down.paused |= to->paused;
		down.congested |= !to->paused && cause_has_queue(walk->in, to);
	}
	return down;
}

const struct rec_port_row *
pfc_root_pausing(const struct evidence *ev, const struct prov_graph *graph, uint32_t ingress, double fill)
{
	const struct window window = { graph->from_ps, graph->to_ps };
	const struct ev_port *port = &ev->ports[ingress];

	for (uint32_t i = port->first_state; i < port->first_state + port->nstates; i++) {
		const struct rec_port_row *row = EV_AT(ev->states, struct rec_port_row, i);

		if (row->pausing && row->prio == graph->prio && window_has(window, row->hdr.time_ps) &&
		    (double)row->ingress_bytes < fill * (double)row->ingress_xoff_bytes)
			return row;
	}
	return NULL;
}

/*
 * The share of this paused port's pauses that the other end alone makes, without a reason for them. A host's NIC: all,
 * as hosts accept every packet. Likewise an ingress whose switch reported of every queue behind it that none was there.
 * One that was seen pausing while it held little: those of the epochs in which it had no reason. Where the queues that
 * it feeds are congested or paused, little is next to nothing: the held bytes may have stood there since the threshold
 * was lower, and only a frame that leaves resumes the peer.
 */
static double
storm_share(const struct walk *walk, const struct prov_port *port, struct downstream down)
{
	const struct evidence *ev = walk->in->ev;
	double fill = down.paused || down.congested ? CAUSE_STORM_EMPTY : CAUSE_STORM_FILL;
	uint32_t peer = ev->ports[port->port].peer;

	if (peer == EV_NONE)
		return 0;
	if (ev->nodes[ev->ports[peer].node].host)
		return 1;
	if (pfc_root_pausing(ev, walk->graph, peer, fill) != NULL)
		return pfc_split_storm(ev, walk->graph, port, fill);
	return !down.paused && !down.congested && pfc_silence_means(ev, walk->graph, port, fill) ? 1 : 0;
}

/*
 * Pauses with data before each: those that reports saw begin, or half of the rows with both a pause and packets, as one
 * pause has two ends.
 */
uint32_t
pfc_root_pauses(const struct evidence *ev, uint32_t port, uint8_t prio)
{
	const struct ev_port *of = &ev->ports[port];
	uint32_t seen = 0, rows = 0;
	uint64_t last_ps = UINT64_MAX;

	for (uint32_t i = of->first_state; i < of->first_state + of->nstates; i++) {
		const struct rec_port_row *row = EV_AT(ev->states, struct rec_port_row, i);

		if (!row->paused || row->prio != prio || row->paused_since_ps == last_ps)
			continue;
		last_ps = row->paused_since_ps;
		seen++;
	}
	for (uint32_t e = of->first_epoch; e < of->first_epoch + of->nepochs; e++) {
		const struct rec_port_row *row = evidence_port_row(ev, &ev->epochs[e], prio);

		rows += row != NULL && row->pause_ps != 0 && row->packets != 0 && row->pause_ps < row->to_ps - row->from_ps;
	}
	return max_u32(seen, rows / 2);
}

bool
pfc_root_is_one_pause(const struct evidence *ev, uint32_t port, uint8_t prio)
{
	const struct ev_port *of = &ev->ports[port];
	uint64_t longest_ps = 0, sum_ps = 0;

	for (uint32_t i = of->first_state; i < of->first_state + of->nstates; i++) {
		const struct rec_port_row *row = EV_AT(ev->states, struct rec_port_row, i);

		if (row->paused && row->prio == prio)
			longest_ps = max_u64(longest_ps, row->hdr.time_ps - row->paused_since_ps);
	}
	for (uint32_t e = of->first_epoch; e < of->first_epoch + of->nepochs; e++) {
		const struct rec_port_row *row = evidence_port_row(ev, &ev->epochs[e], prio);

		sum_ps += row != NULL ? row->pause_ps : 0;
	}
	return longest_ps * CAUSE_NIC_PAUSES > sum_ps;
}

/* A storm is one pause, which only its end resumes. A NIC that takes in less than its line brings resumes by itself. */
static bool
is_slow_nic(const struct walk *walk, const struct prov_port *paused)
{
	const struct evidence *ev = walk->in->ev;
	uint32_t peer = ev->ports[paused->port].peer;

	return ev->nodes[ev->ports[peer].node].host &&
	       pfc_root_pauses(ev, paused->port, walk->graph->prio) >= CAUSE_NIC_PAUSES;
}

double
pfc_root_own_ps(const struct cause_input *in, uint32_t step, uint32_t port)
{
	return in->ev->flows[in->steps[step].flow].src_port == port
		       ? (double)evidence_ledger_ps(in->ev, step, LEDGER_PAUSED)
		       : 0;
}

void
pfc_root_claim(struct cause_set *set, uint32_t step, const struct pfc_root *root, struct cause_finding *finding)
{
	const struct prov_graph *graph = set->in->graphs[step];
	const struct prov_port *reached = &graph->ports[root->paused], *last = &graph->ports[root->index];
	double paused_ps = pfc_root_own_ps(set->in, step, reached->port);

	if (paused_ps <= 0)
		paused_ps = cause_stretch_ps(set->in, step, reached, reached->pause_ps);
	for (uint32_t i = 0; i < root->npath; i++)
		cause_port(set, finding, root->path[i]);
	cause_port(set, finding, root->port);
	cause_time(finding, last->paused_from_ps, last->paused_to_ps);
	cause_explains(finding, reached->port, root->weight / root->weights * paused_ps);
}

static void
found(struct walk *walk, enum pfc_root_kind kind, uint32_t port, uint32_t index, double weight)
{
	walk->root.kind = kind;
	walk->root.port = port;
	walk->root.index = index;
	walk->root.weight = weight;
	walk->fn(&walk->root, walk->ctx);
}

static bool
is_on_path(const struct walk *walk, uint32_t index)
{
	for (uint32_t i = 0; i < walk->root.npath; i++) {
		if (walk->on_path[i] == index)
			return true;
	}
	return false;
}

/* Depth first; parts below CAUSE_MIN_FOLLOWED are not followed. */
static void
follow(struct walk *walk, uint32_t index, double weight)
{
	const struct prov_port *port = &walk->graph->ports[index];
	struct downstream down;
	double storm;

	if (weight < CAUSE_MIN_FOLLOWED || walk->root.npath == PFC_ROOT_MAX_PATH || walk->steps == PFC_ROOT_MAX_STEPS ||
	    is_on_path(walk, index))
		return;
	walk->steps++;
	walk->on_path[walk->root.npath] = index;
	walk->root.path[walk->root.npath++] = port->port;
	down = look_downstream(walk, port);
	storm = storm_share(walk, port, down);
	walk->blind |= storm <= 0 && !down.paused && !down.congested;
	if (weight * storm >= CAUSE_MIN_FOLLOWED)
		found(walk, is_slow_nic(walk, port) ? PFC_ROOT_SLOW_NIC : PFC_ROOT_STORM,
		      walk->in->ev->ports[port->port].peer, index, weight * storm);
	for (uint32_t l = port->first_link; l < port->first_link + port->nlinks && storm < 1; l++) {
		const struct prov_link *link = &walk->graph->links[l];
		const struct prov_port *to = &walk->graph->ports[link->to];
		double share = root_share(walk, to), part = weight * (1 - storm) * link->weight;

		if (part * share >= CAUSE_MIN_FOLLOWED)
			found(walk, PFC_ROOT_CONGESTED, to->port, link->to, part * share);
		if (to->paused)
			follow(walk, link->to, part * (1 - share));
	}
	walk->root.npath--;
}
