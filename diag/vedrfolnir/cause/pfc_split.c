/* SPDX-License-Identifier: BSD-3-Clause */
#include "diag/vedrfolnir/cause/pfc_split.h"

#include <math.h>

#include "common/minmax.h"
#include "diag/vedrfolnir/provenance/window.h"

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

/* Did one of the queues that the peer feeds, as far as they told of that time, give it a reason? */
static enum reason
reason_of(const struct evidence *ev, const struct prov_graph *graph, const struct prov_port *port,
	  const struct ev_epoch *epoch)
{
	enum reason reason = REASON_UNREPORTED;

	for (uint32_t l = port->first_link; l < port->first_link + port->nlinks; l++) {
		uint32_t to = graph->ports[graph->links[l].to].port;
		struct ev_range epochs = evidence_epochs(ev, to, epoch->from_ps, epoch->to_ps);

		for (uint32_t i = epochs.first; i < epochs.end; i++) {
			const struct ev_epoch *there = &ev->epochs[i];
			const struct rec_port_row *row = evidence_port_row(ev, there, graph->prio);

			if (there->nrows == 0 || there->from_ps >= epoch->to_ps || there->to_ps <= epoch->from_ps)
				continue;
			if (row != NULL && (row->depth_max >= CAUSE_MIN_DEPTH || row->pause_ps != 0))
				return REASON_QUEUE;
			reason = REASON_NONE;
		}
	}
	return reason;
}

double
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

		if (pause_ps <= 0)
			continue;
		if (seen_without_reason(ev, peer, graph->prio, (struct window){ epoch->from_ps, epoch->to_ps }, fill).any) {
			storm_ps += pause_ps;
			continue;
		}
		switch (reason_of(ev, graph, port, epoch)) {
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
	if (peer != EV_NONE) /* the epoch itself need not have been told */
		storm_ps = fmax(storm_ps, (double)seen_without_reason(ev, peer, graph->prio, window, fill).longest_ps);
	return storm_ps + queue_ps > 0 ? storm_ps / (storm_ps + queue_ps) : 1;
}
