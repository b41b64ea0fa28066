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

			if (row->paused && row->prio == b->graph->prio &&
			    to_ps - from_ps > (double)(held.to_ps - held.from_ps))
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

static void
read_slice(struct prov_builder *b, const struct prov_slice *slice, void *arg)
{
	const struct port_times *times = arg;
	bool enough = is_enough(times, slice->from_ps, slice->to_ps), arrived = false, queued = false;

	for (uint32_t i = 0; i < slice->count; i++) {
		if (slice->flows[i] != b->flow)
			continue;
		arrived = enough && b->more[b->flow].packets != 0;
		queued = slice->rows[i].queue_packets != 0 && window_has(times->step, slice->rows[i].hdr.time_ps);
	}
	for (uint32_t i = 0; i < slice->count; i++) {
		uint32_t slot = b->flow_slot[slice->flows[i]];
		bool more = b->more[slice->flows[i]].packets != 0;

		if (slot != 0 && ((arrived && more) || (queued && slice->rows[i].queue_packets != 0)))
			b->graph->ats[slot - 1].together = true;
	}
}

void
prov_port_together(struct prov_builder *b, const struct prov_port *port)
{
	struct port_times times = { b->window, find_held(b, port) };

	prov_each_slice(b, port->port, read_slice, &times);
}
