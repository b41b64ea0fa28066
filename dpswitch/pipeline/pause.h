/* SPDX-License-Identifier: BSD-3-Clause */
/* PAUSE and RESUME frames that a port sends to its peer, for its own accounting or a storm. */
#pragma once

#include "dpswitch/fabric/node.h"

struct sw;

struct pause_sender {
	uint64_t window_free_ps; /* when the window opened, the transmitter's last frame had left or would leave:
	                            switch_pauses_open() */
	uint64_t done_ps;        /* last PAUSE frame's last bit */
	uint64_t since_ps[8];    /* the port has been telling its peer to hold class p */
	uint8_t own_xoff;        /* bit p: the last frame of our own accounting for class p was XOFF */
};

/* Before the egresses go through a window in which PAUSE or RESUME may leave. */
void switch_pauses_open(struct sw *sw);
/* Sends PAUSE or RESUME for classes out of a port at its own time. */
void switch_send_pause(struct sw *sw, uint16_t port, uint8_t prio_mask, bool xoff, uint64_t now_ps,
		       const struct window *window);
/* Our own accounting's decision for one class; a storm on the port swallows its RESUMEs. */
void switch_own_pause(struct sw *sw, uint16_t port, uint8_t prio, bool xoff, uint64_t now_ps, const struct window *window);
/* Classes that a port tells its peer to hold, by its own accounting or a storm. */
uint8_t switch_pausing(const struct sw *sw, uint16_t port);
