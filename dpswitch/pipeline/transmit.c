/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Stage 2: one egress port through one window, alone. Class 0 is served strictly first and is never paused; the data
 * classes share the rest by DWRR. Arrivals at an instant come before a transmission at that instant.
 */
#include "dpswitch/pipeline/walk.h"

void
switch_transmit(struct sw *sw, uint16_t port_index, const struct pause_frame *pauses, uint32_t npauses,
		const struct window *window)
{
	struct switch_port *port = &sw->ports[port_index];
	struct arrivals arrivals = arrivals_take_all(&port->arrivals);
	uint32_t run = 0;
	uint64_t arrival_ps = arrivals_next_ps(&arrivals, &run); /* of the next, TIME_NEVER: none is left */
	uint64_t pause_ps = npauses != 0 ? pauses->time_ps : TIME_NEVER;
	uint64_t end_ps = window->end_ps;
	struct egress_walk walk = walk_open(sw, port, window);

	for (;;) {
		uint64_t event_ps = min_u64(arrival_ps, pause_ps);
		struct pkt *p;

		walk_drain(&walk, min_u64(event_ps, end_ps));
		if (event_ps == TIME_NEVER)
			break;
		walk.now_ps = event_ps;
		if (pause_ps <= arrival_ps) {
			walk_pause(sw, port, pauses++);
			pause_ps = --npauses != 0 ? pauses->time_ps : TIME_NEVER;
			continue;
		}
		p = arrivals_take(&arrivals, run);
		arrival_ps = arrivals_next_ps(&arrivals, &run);
		walk_enqueue(&walk, p, min_u64(arrival_ps, min_u64(pause_ps, end_ps)));
	}
	account_end_run(&sw->account);
	walk_close(&walk, window);
}
