/* SPDX-License-Identifier: BSD-3-Clause */
/* Two ports, a source and a sink, over rings of this process (net_ring): what has come out at the sink is moved to the source. */
#pragma once

#include "dpswitch/edge/port/port.h"

struct port_round {
	struct port *ports[2]; /* source, sink */
	struct port_rings {
		struct rte_ring *receive, *transmit;
	} rings[2];
	const uint8_t *frame;
};

/*
 * Opens both ports, with frames at the source.
 * @param frame  what all of them are; borrowed
 * @return 0 or negative with err set; port_round_fini() cleans up in any case
 */
int port_round_init(struct port_round *round, const struct port_config ends[2], const uint8_t *frame, uint32_t frame_bytes,
		    struct err *err);
void port_round_fini(struct port_round *round);

/* Moves on what has come out, as it was before. */
void port_round_turn(const struct port_round *round);
