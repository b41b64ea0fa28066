/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Which flows were at a port together with the victim. The counters of one epoch mix what was there at different times:
 * before the step, or while the victim was held up on its way. What reports within the epoch add to each other tells
 * more, and so does what stood queued at one.
 */
#include <math.h>

#include "diag/vedrfolnir/provenance/build.h"

#define TOGETHER_SHARE 0.5 /* of the time between two reports, or of the step, in which the victim can have come */

struct port_times {
	struct window step;
	struct window held; /* the victim could not come then */
};

/* How long a full queue takes to drain. @return INFINITY: it may not */
static double
drain_ps(const struct prov_builder *b, const struct prov_port *port)
{
	double frame_ps = b->ev->run.frame_bytes * 8e12 / (double)b->ev->ports[port->port].rate_bps;
	double moving = port->covered_ps > 0 ? 1 - port->pause_ps / port->covered_ps : 0;

	return port->standing || moving <= 0 ? INFINITY : port->depth_max * frame_ps / moving;
}

/*
 * The longest pause, still on at a report, that held up the victim before it came to this port; without the time in
 * which the packets that had come before may have stood here.
 */
static struct window
find_held(const struct prov_builder *b, const struct prov_port *port)
{
	const struct ev_flow *flow = &b->ev->flows[b->flow];
	double late_ps = drain_ps(b, port);
	struct window held = { 0, 0 };
	uint32_t before = 0;

	while (before < flow->nhops && b->ev->hops[flow->first_hop + before] != port->port)
		before++;
	if (before == flow->nhops)
		return held;
	for (uint32_t h = 0; h < before; h++) {
		const struct ev_port *hop = &b->ev->ports[b->ev->hops[flow->first_hop + h]];

		for (uint32_t i = hop->first_state; i < hop->first_state + hop->nstates; i++) {
			const struct rec_port_row *row = EV_AT(b->ev->states, struct rec_port_row, i);
			double from_ps = (double)row->paused_since_ps + late_ps, to_ps = (double)row->hdr.time_ps;

			if (row->paused && to_ps - from_ps > (double)(held.to_ps - held.from_ps))
				held = (struct window){ (uint64_t)from_ps, row->hdr.time_ps };
		}
	}
	return held;
}

/* May the victim, in this step, have been at the port for enough of the time between two reports? */
static bool
is_enough(const struct port_times *times, uint64_t from_ps, uint64_t to_ps)
{
	uint64_t step_ps = times->step.to_ps - times->step.from_ps, all_ps = to_ps - from_ps;
	struct window both = { from_ps > times->step.from_ps ? from_ps : times->step.from_ps,
			       to_ps < times->step.to_ps ? to_ps : times->step.to_ps };
	uint64_t inside_ps;

	if (from_ps >= to_ps)
		return window_has(times->step, from_ps);
	if (both.from_ps >= both.to_ps)
		return false;
	inside_ps = both.to_ps - both.from_ps - window_overlap_ps(times->held, both.from_ps, both.to_ps);
	return (double)inside_ps >= TOGETHER_SHARE * (double)(all_ps < step_ps ? all_ps : step_ps);
}

/* Flow rows of one report. */
struct rows {
	const struct rec_flow_row *rows;
	const uint32_t *flows;
	uint32_t count;
};

/* Takes over what a report counts. @return packets of the flow since the report before */
static uint64_t
count(struct prov_builder *b, const struct rec_flow_row *row, uint32_t flow)
{
	uint64_t more = row->packets > b->counted[flow] ? row->packets - b->counted[flow] : 0;

	b->counted[flow] += more;
	return more;
}

static void
read_report(struct prov_builder *b, const struct rows *rows, const struct port_times *times, uint64_t from_ps,
	    uint64_t to_ps)
{
	bool enough = is_enough(times, from_ps, to_ps), came = false, queued = false;

	for (uint32_t i = 0; i < rows->count; i++) {
		if (rows->flows[i] != b->flow)
			continue;
		came = enough && count(b, &rows->rows[i], b->flow) != 0;
		queued = rows->rows[i].queue_packets != 0 && window_has(times->step, rows->rows[i].hdr.time_ps);
	}
	for (uint32_t i = 0; i < rows->count; i++) {
		uint32_t slot = b->flow_slot[rows->flows[i]];
		bool more = count(b, &rows->rows[i], rows->flows[i]) != 0;

		if (slot != 0 && ((came && more) || (queued && rows->rows[i].queue_packets != 0)))
			b->graph->ats[slot - 1].together = true;
	}
}

static void
read_epoch(struct prov_builder *b, const struct ev_epoch *epoch, const struct port_times *times)
{
	const struct rec_flow_row *states = b->ev->flow_states.data;
	struct rows last = { EV_AT(b->ev->flow_rows, struct rec_flow_row, epoch->first_flow),
			     &b->ev->flow_of_row[epoch->first_flow], epoch->nflows };
	uint32_t end = epoch->first_state + epoch->nstates, next;
	uint64_t from_ps = epoch->from_ps;

	for (uint32_t i = 0; i < last.count; i++)
		b->counted[last.flows[i]] = 0;
	for (uint32_t i = epoch->first_state; i < end; i++)
		b->counted[b->ev->flow_of_state[i]] = 0;
	for (uint32_t i = epoch->first_state; i < end; i = next) {
		struct rows rows = { &states[i], &b->ev->flow_of_state[i], 0 };
		uint64_t to_ps = states[i].hdr.time_ps < epoch->to_ps ? states[i].hdr.time_ps : epoch->to_ps;

		for (next = i; next < end && states[next].hdr.time_ps == states[i].hdr.time_ps; next++)
			rows.count++;
		read_report(b, &rows, times, from_ps, to_ps);
		from_ps = to_ps;
	}
	if (from_ps < epoch->to_ps || epoch->nstates == 0)
		read_report(b, &last, times, from_ps, epoch->to_ps);
}

void
prov_port_together(struct prov_builder *b, const struct prov_port *port)
{
	const struct ev_port *p = &b->ev->ports[port->port];
	struct port_times times = { b->window, find_held(b, port) };

	for (uint32_t i = p->first_epoch; i < p->first_epoch + p->nepochs; i++) {
		const struct ev_epoch *epoch = &b->ev->epochs[i];

		if (window_share(b->window, epoch->from_ps, epoch->to_ps) > 0)
			read_epoch(b, epoch, &times);
	}
}
