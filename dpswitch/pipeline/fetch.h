/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The state of ports asked for before it is needed. A port that gets a packet or two in a window, one of many, finds its state
 * in no near cache: line after line is waited for, and each tells where the next is. So it is asked for step by step, while
 * ports before it go through the window.
 */
#pragma once

#include "dpswitch/pipeline/switch.h"

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
