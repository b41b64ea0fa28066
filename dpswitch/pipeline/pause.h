/* SPDX-License-Identifier: BSD-3-Clause */
/* PAUSE and RESUME frames that a port sends to its peer, for its own accounting or a storm. */
#pragma once

#include "dpswitch/fabric/node.h"

struct sw;

struct pause_sender {
	uint64_t window_free_ps; /* when the window opened, the transmitter's last frame had left or would leave:
	                            switch_pauses_open() */
	uint64_t done_ps;        /* last PAUSE frame's last bit */
	uint64_t since_ps[8];    /* since when the port asks its peer to hold class p */
	uint8_t own_xoff;        /* bit p: the last frame of our own accounting for class p was XOFF */
};

/* Before the egresses go through a window in which PAUSE or RESUME may leave. */
void switch_pauses_open(struct sw *sw);
/* Our own accounting's decision for one class; a storm on the port swallows its RESUMEs. */
void switch_own_pause(struct sw *sw, uint16_t port, uint8_t prio, bool xoff, uint64_t now_ps, const struct window *window);
/* Classes that a port asks its peer to hold, by its own accounting or a storm. */
uint8_t switch_pausing(const struct sw *sw, uint16_t port);

/* A port that keeps sending PAUSE whatever its buffer holds (dpswitch/faults/pfc_storm.c). */

struct sw;

struct storm {
	uint64_t next_ps, interval_ps;
	uint8_t classes; /* 0: no storm */
	uint8_t ended;   /* classes to RESUME because their storm is over */
};

/* Of struct node_ops: a storm of one class begins or ends; several may rage at a port. */
void switch_set_storm(struct sw *sw, uint16_t port, uint8_t prio, bool on, uint64_t now_ps, uint64_t interval_ps);
/* Sends what storms have due in the window. */
void switch_storm(struct sw *sw, const struct window *window);
/* RESUMEs of storms that have ended. */
void switch_storms_ended(struct sw *sw, const struct window *window);
