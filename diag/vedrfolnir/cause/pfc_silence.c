/* SPDX-License-Identifier: BSD-3-Clause */
#include "diag/vedrfolnir/cause/pfc_silence.h"

#include <math.h>

#include "common/minmax.h"
#include "common/record/kinds.h"
#include "common/wire/detection.h"
#include "common/wire/record.h"
#include "diag/vedrfolnir/cause/cause.h"
#include "diag/vedrfolnir/provenance/window.h"

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
 * Did an ingress answer this polling packet, in the step's time? A port may keep one report in CAUSE_RETAIN_PS: then the
 * one that it kept is the answer.
 */
static bool
has_replied(const struct evidence *ev, struct window step, uint32_t ingress, const struct rec_poll *poll)
{
	const struct ev_port *port = &ev->ports[ingress];

	for (uint32_t i = port->first_state; i < port->first_state + port->nstates; i++) {
		const struct rec_hdr *row = &EV_AT(ev->states, struct rec_port_row, i)->hdr;

		if (row->event == poll->hdr.event ||
		    (window_has(step, row->time_ps) && row->time_ps <= poll->hdr.time_ps + CAUSE_RETAIN_PS &&
		     poll->hdr.time_ps <= row->time_ps + CAUSE_RETAIN_PS))
			return true;
	}
	return false;
}

/*
 * From when on does the answer to this polling packet tell why the port that it crossed was halted? From the oldest epoch
 * that the switch keeps; of a pause that lasts then, from its start: what it is for still stands there.
 */
static uint64_t
tells_from_ps(const struct evidence *ev, const struct ev_port *halted, uint8_t prio, const struct rec_poll *poll)
{
	uint64_t time_ps = poll->hdr.time_ps, open = time_ps / ev->run.epoch_ps;
	uint64_t from_ps = open >= ev->run.epochs_kept ? (open + 1 - ev->run.epochs_kept) * ev->run.epoch_ps : 0;

	for (uint32_t i = halted->first_state; i < halted->first_state + halted->nstates; i++) {
		const struct rec_port_row *row = EV_AT(ev->states, struct rec_port_row, i);

		if (row->paused && row->prio == prio && row->paused_since_ps < from_ps && row->hdr.time_ps >= time_ps)
			from_ps = row->paused_since_ps;
	}
	return from_ps;
}

/*
 * How long a port was halted in a part of the step: by its counters, or by a pause that lasted at a report. Where most of
 * the time that a row tells of is not the step's, the pause may not have been either.
 */
static double
halted_ps(const struct evidence *ev, const struct ev_port *port, uint8_t prio, struct window step, struct window part)
{
	const struct window after = { part.to_ps, step.to_ps };
	double counted_ps = 0, lasting_ps = 0, total_ps = 0, outside_ps = 0;

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
			outside_ps =
				fmax(outside_ps, (double)window_overlap_ps(after, row->paused_since_ps, row->hdr.time_ps));
	}
	/* A pause that is known to have begun after that part is none of it, however evenly rows are spread. */
	counted_ps = fmax(0, fmin(counted_ps, total_ps - outside_ps));
	return counted_ps > lasting_ps ? counted_ps : lasting_ps;
}

/*
 * Where every switch reports all its ports at the end of every epoch, silence means something up to the last end that it
 * reported: of the epoch that was open at the run's end nothing is known.
 */
static double
reported_by_all_ps(const struct evidence *ev, const struct prov_graph *graph, uint32_t halted, struct window step)
{
	const struct ev_node *node = &ev->nodes[ev->ports[ev->ports[halted].peer].node];
	struct window told = step;

	told.to_ps = 0;
	for (uint32_t p = node->first_port; p < node->first_port + node->nports; p++)
		for (uint32_t i = ev->ports[p].first_epoch; i < ev->ports[p].first_epoch + ev->ports[p].nepochs; i++)
			told.to_ps = max_u64(told.to_ps, ev->epochs[i].to_ps);
	told.to_ps = min_u64(told.to_ps, step.to_ps);
	return told.to_ps > told.from_ps ? halted_ps(ev, &ev->ports[halted], graph->prio, step, told) : 0;
}

/*
 * Up to when do the queues that an ingress is known to have fed in the step report? Of the reports that a port makes in
 * CAUSE_RETAIN_PS one is kept: it may be older than the pause, or than the step.
 */
static uint64_t
queues_reported_until_ps(const struct evidence *ev, uint32_t ingress, struct window step)
{
	const struct ev_port *port = &ev->ports[ingress];
	uint64_t until_ps = step.to_ps;

	for (uint32_t i = port->first_feed; i < port->first_feed + port->nfeeds; i++) {
		const struct ev_feed *feed = &ev->feeds[i];
		uint64_t reach_ps = feed->nrows != 0 ? ev->feed_rows[feed->first_row + feed->nrows - 1].reach_ps : 0;

		if (reach_ps + CAUSE_RETAIN_PS >= step.from_ps)
			until_ps = min_u64(until_ps, reach_ps);
	}
	return until_ps;
}

/*
 * A polling packet that crosses a halted port makes the switch behind it tell of every queue that the ingress feeds, as
 * far back as it knows. What it said before the pause says nothing of it.
 */
bool
pfc_silence_means(const struct evidence *ev, const struct prov_graph *graph, const struct prov_port *halted)
{
	const struct window step = { graph->from_ps, graph->to_ps };
	const struct ev_port *port = &ev->ports[halted->port];
	struct window told = { 0, step.from_ps };
	uint64_t until_ps = queues_reported_until_ps(ev, port->peer, step);
	double reported_ps = 0;

	if (is_telemetry_lost(ev, step))
		return false;
	if (ev->run.policy == REC_POLICY_FULL_POLLING)
		reported_ps = reported_by_all_ps(ev, graph, halted->port, step);
	for (uint32_t i = port->first_poll; i < port->first_poll + port->npolls; i++) {
		const struct rec_poll *poll = EV_AT(ev->polls, struct rec_poll, ev->poll_by_port[i]);
		uint64_t from_ps;

		if (!poll->out_paused || !window_has(step, poll->hdr.time_ps) || !has_replied(ev, step, port->peer, poll))
			continue;
		from_ps = tells_from_ps(ev, port, graph->prio, poll);
		told.from_ps = from_ps > told.to_ps ? from_ps : told.to_ps; /* what was told before counts once */
		told.to_ps = min_u64(poll->hdr.time_ps, until_ps);
		if (told.to_ps <= told.from_ps)
			continue;
		reported_ps += halted_ps(ev, port, graph->prio, step, told);
	}
	return reported_ps > 0 && reported_ps >= CAUSE_REPORTED_OF_PAUSE * halted->pause_ps;
}
