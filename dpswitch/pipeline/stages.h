/* SPDX-License-Identifier: BSD-3-Clause */
/* Calls between the stages of a switch: hand-overs, drops, and events for observers of a port. */
#pragma once

#include "dpswitch/pipeline/switch.h"

/* From routing to transmission: a packet has its egress for this window. Calls in the order of arrivals_add(). */
static inline void
switch_hand_over(struct sw *sw, uint16_t in_port, uint8_t egress, struct pkt *p)
{
	p->in_port = (uint8_t)in_port;
	arrivals_add(&sw->ports[egress].arrivals, in_port, p);
	account_arrive(&sw->account, p);
}

/* The same where the egress may be SWITCH_EGRESS_SPRAY, or one of a group. */
static inline void
switch_forward(struct sw *sw, uint16_t in_port, uint8_t egress, struct pkt *p)
{
	if (__builtin_expect(spray_is_on(&sw->spray), 0))
		switch_hand_over_sprayed(sw, in_port, egress, p);
	else
		switch_hand_over(sw, in_port, egress, p);
}

/*
 * Stage 1 of an ingress's arrivals: by the route cache alone, where that suffices. @param hand_over  a constant, to be
 * inlined
 */
static inline __attribute__((always_inline)) void
switch_route_all(struct sw *sw, uint16_t in_port, struct pkt *pkts, uint32_t count,
		 void (*hand_over)(struct sw *sw, uint16_t in_port, uint8_t egress, struct pkt *p))
{
	uint64_t bytes = 0;

	for (uint32_t i = 0; i < count; i++) {
		struct pkt *p = &pkts[i];
		uint8_t egress = sw->routes.route[p->flow * 2 + ((p->flags & PKT_REVERSE) != 0)];

		bytes += p->wire_bytes;
		p->ttl--;
		if (__builtin_expect(egress >= SWITCH_EGRESS_DROP || p->ttl == 0 || p->type == PKT_POLL, 0))
			switch_route_rare(sw, in_port, p, egress);
		else
			hand_over(sw, in_port, egress, p);
	}
	sw->node.count.rx_packets += count;
	sw->node.count.rx_bytes += bytes;
}

/* A packet ends here. @param port  where it counts */
void switch_drop(struct sw *sw, uint16_t port, const struct pkt *p, enum rec_drop reason, uint64_t now_ps);
/*
 * A fault swallows a packet that no ingress has been charged for: it is counted in the run's truth, and nowhere else.
 */
void switch_lose(struct sw *sw, const struct pkt *p);
/* The peer holds other classes now: reports the lossless ones to telemetry and truth. */
void switch_note_pause(const struct sw *sw, struct switch_port *port, uint8_t paused, uint64_t now_ps);
/* Moves one egress through the window. */
void switch_transmit(struct sw *sw, uint16_t port, const struct pause_frame *pauses, uint32_t npauses,
		     const struct window *window);
/* Of struct node_ops. */
void switch_link_changed(struct sw *sw, uint16_t port, uint8_t held, uint64_t now_ps);

/*
 * The state of ports asked for before it is needed. A port that gets a packet or two in a window, one of many, finds
 * its state in no near cache: line after line is waited for, and each points to the next. So it is asked for step by
 * step, while ports before it go through the window.
 */

#define FETCH_STEPS 3

/* Asks for what a port has. @param step  0: what the port points to is in its own lines; then what that points to */
static inline void
fetch_port(const struct switch_port *port, uint32_t parity, uint32_t step)
{
	const struct epoch *open = port->telem.epochs.open;
	const struct link_lane *lane = &port->egress.tx->lane[parity];

	switch (step) {
	case 0:
		__builtin_prefetch(port, 1);
		__builtin_prefetch(&port->flows, 1);
		__builtin_prefetch(&port->telem);
		break;
	case 1:
		__builtin_prefetch(port->egress.tx, 1);
		__builtin_prefetch(&port->egress.tx->delay_ps);
		__builtin_prefetch(port->flows.slot_of_flow);
		__builtin_prefetch(port->truth.last_window, 1);
		__builtin_prefetch(open, 1);
		break;
	default:
		__builtin_prefetch(lane->pkts + lane->npkts, 1);
		if (open != NULL)
			__builtin_prefetch(open->rows, 1);
	}
}
