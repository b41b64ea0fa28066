/* SPDX-License-Identifier: BSD-3-Clause */
/* What every node, switch or host, keeps and tells of the polling packets that it meets (VEDRFOLNIR III-C3). */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "common/flow.h"
#include "common/pkt.h"
#include "common/record/buffer.h"

/* Events that a host's port remembers having answered. */
#define POLLED_EVENTS 16

/* A host's port answers one event once; it remembers the latest. */
struct polled {
	uint32_t events[POLLED_EVENTS], count;
};

/* Notes that the port is asked. @return whether it had answered this event before */
bool polled_before(struct polled *polled, uint32_t event);

/*
 * Puts the record that a polling packet passed, unless it is one of a flood (POLL_QUIET).
 * @param in_port, out_port  where it came in, and the egress that it concerns; REC_NO_PORT: none
 * @param paused    that egress is, or was within the kept epochs, paused
 * @param repeated  that egress had answered the event before
 */
void polled_record(const struct pkt *poll, const struct flow_table *flows, uint16_t in_port, uint16_t out_port, bool paused,
		   bool repeated, struct recbuf *records, uint64_t now_ps);
