/* SPDX-License-Identifier: BSD-3-Clause */
#include "diag/vedrfolnir/cause/pfc_silence.h"

#include <math.h>

#include "common/minmax.h"
#include "common/record/kinds.h"
#include "common/wire/detection.h"
#include "common/wire/record.h"
#include "diag/vedrfolnir/cause/cause.h"
#include "diag/vedrfolnir/provenance/window.h"

/*
 * Packets: fewer wait wherever two flows cross. The ingress's threshold is not known, and some frames of several egresses may
 * reach it: a queue that is no cause by itself (CAUSE_MIN_DEPTH) may be a reason to pause.
 */
#define SHALLOW 2

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
reports_from_ps(const struct evidence *ev, const struct ev_port *paused, uint8_t prio, const struct rec_poll *poll)
{
	uint64_t time_ps = poll->hdr.time_ps, open = time_ps / ev->run.epoch_ps;
	uint64_t from_ps = open >= ev->run.epochs_kept ? (open + 1 - ev->run.epochs_kept) * ev->run.epoch_ps : 0;

	for (uint32_t i = paused->first_state; i < paused->first_state + paused->nstates; i++) {
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
 * Where every switch reports all its ports at the end of every epoch, silence means something up to the last end that it
 * reported: of the epoch that was open at the run's end nothing is known.
 */
static double
reported_by_all_ps(const struct evidence *ev, const struct prov_graph *graph, uint32_t paused, struct window step)
{
	const struct ev_node *node = &ev->nodes[ev->ports[ev->ports[paused].peer].node];
	struct window since_reported = step;

	since_reported.to_ps = 0;
	for (uint32_t p = node->first_port; p < node->first_port + node->nports; p++)
		for (uint32_t i = ev->ports[p].first_epoch; i < ev->ports[p].first_epoch + ev->ports[p].nepochs; i++)
			since_reported.to_ps = max_u64(since_reported.to_ps, ev->epochs[i].to_ps);
	since_reported.to_ps = min_u64(since_reported.to_ps, step.to_ps);
	return since_reported.to_ps > since_reported.from_ps
		       ? paused_ps(ev, &ev->ports[paused], graph->prio, step, since_reported)
		       : 0;
}

/*
 * Up to when did an egress report its queue when a polling packet asked its switch? Of the reports that a port makes in
 * CAUSE_RETAIN_PS one is kept: the one before the packet may be its answer. One without counters covers the time before its
 * epoch: a queue may have come and gone since.
 * @return UINT64_MAX: it was not asked, so that the ingress did not feed it
 */
static uint64_t
egress_reported_until_ps(const struct evidence *ev, uint32_t egress, uint64_t polled_ps)
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
		until_ps = max_u64(until_ps, row->state_only ? row->from_ps : row->hdr.time_ps);
	}
	return asked ? until_ps : UINT64_MAX;
}

/* Up to when did all of them? */
static uint64_t
switch_reported_until_ps(const struct evidence *ev, uint32_t ingress, uint64_t polled_ps)
{
	const struct ev_node *node = &ev->nodes[ev->ports[ingress].node];
	uint64_t until_ps = polled_ps;

	for (uint32_t p = node->first_port; p < node->first_port + node->nports; p++)
		if (p != ingress)
			until_ps = min_u64(until_ps, egress_reported_until_ps(ev, p, polled_ps));
	return until_ps;
}

/* From the first to the last of a port's pauses in the step, as far as they were reported: rows tell of whole epochs. */
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
 * Did an egress have a queue in a time, or was it halted? Its packets counted the queue when they were enqueued: one that
 * nobody joins shows at reports alone.
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

/* Was the ingress seen pausing, in a time, with so much held that it had to? */
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
 * May the switch behind a halted port have had a reason for its pauses? Any queue at another of its ports may be one, however
 * little of it is known to have come in here.
 */
static bool
may_have_reason(const struct evidence *ev, const struct prov_graph *graph, uint32_t paused, double fill)
{
	uint32_t ingress = ev->ports[paused].peer;
	const struct ev_node *node = &ev->nodes[ev->ports[ingress].node];
	struct window pauses = pauses_of(ev, graph, paused);

	for (uint32_t p = node->first_port; p < node->first_port + node->nports; p++)
		if (p != ingress && is_held_up(ev, p, graph->prio, pauses))
			return true;
	return is_full(ev, ingress, graph->prio, pauses, fill);
}

/*
 * A polling packet that crosses a halted port makes the switch behind it tell of every queue that the ingress feeds, as
 * far back as it knows. What it said before the pause says nothing of it.
 */
bool
pfc_silence_means(const struct evidence *ev, const struct prov_graph *graph, const struct prov_port *paused, double fill)
{
	const struct window step = { graph->from_ps, graph->to_ps };
	const struct ev_port *port = &ev->ports[paused->port];
	struct window since_reported = { 0, step.from_ps };
	double reported_ps = 0;

	if (is_telemetry_lost(ev, step) || may_have_reason(ev, graph, paused->port, fill))
		return false;
	if (ev->run.policy == REC_POLICY_FULL_POLLING)
		reported_ps = reported_by_all_ps(ev, graph, paused->port, step);
	for (uint32_t i = port->first_poll; i < port->first_poll + port->npolls; i++) {
		const struct rec_poll *poll = EV_AT(ev->polls, struct rec_poll, ev->poll_by_port[i]);
		uint64_t from_ps;

		if (!poll->out_paused || !window_has(step, poll->hdr.time_ps) || !has_replied(ev, step, port->peer, poll))
			continue;
		from_ps = reports_from_ps(ev, port, graph->prio, poll);
		since_reported.from_ps = from_ps > since_reported.to_ps
						 ? from_ps
						 : since_reported.to_ps; /* what was told before counts once */
		since_reported.to_ps = switch_reported_until_ps(ev, port->peer, poll->hdr.time_ps);
		if (since_reported.to_ps <= since_reported.from_ps)
			continue;
		reported_ps += paused_ps(ev, port, graph->prio, step, since_reported);
	}
	return reported_ps > 0 && reported_ps >= (1 - CAUSE_MIN_SHARE) * paused->pause_ps;
}
