/* SPDX-License-Identifier: BSD-3-Clause */
#include "diag/vedrfolnir/cause/pfc_silence.h"

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
	double counted_ps = 0, lasting_ps = 0;

	for (uint32_t i = port->first_epoch; i < port->first_epoch + port->nepochs; i++) {
		const struct ev_epoch *epoch = &ev->epochs[i];

		const struct rec_port_row *row = evidence_port_row(ev, epoch, prio);

		if (row != NULL && window_share(step, epoch->from_ps, epoch->to_ps) >= CAUSE_REPORTED_OF_PAUSE)
			counted_ps += window_share(part, epoch->from_ps, epoch->to_ps) * (double)row->pause_ps;
	}
	for (uint32_t i = port->first_state; i < port->first_state + port->nstates; i++) {
		const struct rec_port_row *row = EV_AT(ev->states, struct rec_port_row, i);
		double inside_ps = row->paused && row->prio == prio
					   ? (double)window_overlap_ps(part, row->paused_since_ps, row->hdr.time_ps)
					   : 0;

		lasting_ps = inside_ps > lasting_ps ? inside_ps : lasting_ps;
	}
	return counted_ps > lasting_ps ? counted_ps : lasting_ps;
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
	double reported_ps = 0;

	if (is_telemetry_lost(ev, step))
		return false;
	if (ev->run.policy == REC_POLICY_FULL_POLLING)
		return true;
	for (uint32_t i = port->first_poll; i < port->first_poll + port->npolls; i++) {
		const struct rec_poll *poll = EV_AT(ev->polls, struct rec_poll, ev->poll_by_port[i]);
		uint64_t from_ps;

		if (!poll->out_paused || !window_has(step, poll->hdr.time_ps) || !has_replied(ev, step, port->peer, poll))
			continue;
		from_ps = tells_from_ps(ev, port, graph->prio, poll);
		told.from_ps = from_ps > told.to_ps ? from_ps : told.to_ps; /* what was told before counts once */
		told.to_ps = poll->hdr.time_ps;
		reported_ps += halted_ps(ev, port, graph->prio, step, told);
	}
	return reported_ps > 0 && reported_ps >= CAUSE_REPORTED_OF_PAUSE * halted->pause_ps;
}
