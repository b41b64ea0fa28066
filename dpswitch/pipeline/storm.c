/* SPDX-License-Identifier: BSD-3-Clause */
#include "dpswitch/pipeline/storm.h"

#include "common/minmax.h"
#include "dpswitch/pipeline/switch.h"

void
switch_storm(struct sw *sw, const struct window *window)
{
	for (uint16_t i = 0; i < sw->node.nports; i++) {
		struct storm *storm = &sw->ports[i].storm;

		while (storm->classes != 0 && storm->next_ps < window->end_ps) {
			switch_send_pause(sw, i, storm->classes, true, storm->next_ps, window);
			/* Not faster than the wire takes them. */
			storm->next_ps = max_u64(storm->next_ps + storm->interval_ps, sw->ports[i].pause.done_ps);
		}
	}
}

void
switch_storms_ended(struct sw *sw, const struct window *window)
{
	for (uint16_t i = 0; i < sw->node.nports; i++) {
		struct storm *storm = &sw->ports[i].storm;

		if (storm->ended != 0)
			switch_send_pause(sw, i, storm->ended, false, window->start_ps, window);
		storm->ended = 0;
	}
}

void
switch_set_storm(struct sw *sw, uint16_t port_index, uint8_t prio, bool on, uint64_t now_ps, uint64_t interval_ps)
{
	struct switch_port *port = &sw->ports[port_index];
	struct storm *storm = &port->storm;
	uint8_t bit = (uint8_t)(1u << prio);

	if (((storm->classes & bit) != 0) == on)
		return;
	if (on && !(switch_pausing(sw, port_index) & bit))
		port->pause.since_ps[prio] = now_ps;
	sw->storms -= storm->classes != 0;
	if (on) {
		if (storm->classes == 0 || interval_ps < storm->interval_ps)
			storm->interval_ps = interval_ps;
		storm->next_ps = now_ps;
		storm->classes |= bit;
		storm->ended &= (uint8_t)~bit;
	} else {
		/* RESUME what our own accounting does not hold, with the next window's frames. */
		storm->classes &= (uint8_t)~bit;
		storm->ended |= bit & (uint8_t)~port->pause.own_xoff;
		sw->account.recheck = true;
	}
	sw->storms += storm->classes != 0;
}
