/* SPDX-License-Identifier: BSD-3-Clause */
/* A port that keeps sending PAUSE whatever its buffer holds (dpswitch/faults/pfc_storm.c). */
#pragma once

#include "dpswitch/fabric/node.h"

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
