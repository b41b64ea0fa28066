/* SPDX-License-Identifier: BSD-3-Clause */
/* Stage 4: the rows of ports that answer a polling packet, as they stand at the window's end; or of all, once an epoch. */
#include <string.h>

#include "dpswitch/pipeline/stages.h"

/* Bytes of a lossless class held in an egress's queue, by ingress. @param held [nports], cleared first */
static void
sum_held(const struct sw *sw, uint16_t port, uint8_t prio, uint64_t *held)
{
	const struct fifo *q = &sw->ports[port].egress.q[prio];

	memset(held, 0, sw->node.nports * sizeof(*held));
	for (uint32_t i = 0, count = fifo_count(q); i < count; i++)
		held[fifo_at(q, i)->in_port] += fifo_at(q, i)->wire_bytes;
}

/* The present state of a lossless class: what waits for it, and what its ingress tells the peer. */
static void
add_lossless(const struct sw *sw, uint16_t index, uint8_t prio, struct telem_present *present)
{
	const struct switch_port *port = &sw->ports[index];
	struct account_state ingress = account_state_of(&sw->account, index, prio);

	present->ingress_bytes = ingress.bytes;
	present->ingress_xoff_bytes = ingress.xoff_bytes;
	present->pausing = ingress.pausing || (port->storm.classes >> prio & 1);
	present->pausing_since_ps = port->pause.since_ps[prio];
}

/* @param asked  by so many polling packets */
static void
report_port(struct sw *sw, uint16_t index, bool whole, uint32_t event, uint64_t now_ps, uint32_t asked)
{
	struct switch_port *port = &sw->ports[index];
	struct telem_present present[TELEM_MAX_CLASSES] = { 0 };

	for (uint8_t prio = 1; prio < SWITCH_CLASSES; prio++) {
		uint32_t class = telem_class(&sw->telemetry, prio);
		uint64_t *held = &sw->polling.held_bytes[(size_t) class * sw->node.nports];

		present[class].queue_packets += fifo_count(&port->egress.q[prio]);
		present[class].queue_bytes += port->egress.q[prio].bytes;
		if (!account_is_lossless(&sw->account, prio))
			continue;
		add_lossless(sw, index, prio, &present[class]);
		if (!whole) /* the present state alone does not tell what is held */
			continue;
		sum_held(sw, index, prio, held);
		present[class].held_bytes = held;
	}
	telem_reply(&port->telem, &sw->polling.reporter, whole ? TELEM_ROWS : TELEM_STATE, present, event, now_ps, asked);
}

void
switch_report(struct sw *sw, const struct window *window)
{
	for (uint16_t i = 0; i < sw->node.nports; i++) {
		struct switch_port *port = &sw->ports[i];

		port->polls.knows_shared = port->polls.knows_carried = port->polls.knows_held = false;
		if (port->polls.asked == 0)
			continue;
		report_port(sw, i, port->polls.whole, port->polls.event, window->end_ps, port->polls.asked);
		port->polls.asked = 0;
		port->polls.whole = false;
	}
	sw->polling.due = false;
}

void
switch_report_all(struct sw *sw, uint64_t now_ps)
{
	for (uint16_t i = 0; i < sw->node.nports; i++)
		report_port(sw, i, true, 0, now_ps, 1);
}
