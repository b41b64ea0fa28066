/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The fabric's own truth of who took a port's link from data that waited: frames of class 0, which is served strictly first,
 * by flow and direction, all of them. It goes to truth.json; telemetry has a table of its own, of few places.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct overtaking {
	uint64_t wire_bytes;
	uint64_t first_ps, last_ps; /* when frames were queued ahead */
	uint32_t packets;           /* 0: a free place */
	uint32_t flow;
	bool acks; /* what travels back to the flow's sender */
};

/* Zero-initialise. A hash table, no more than half full. */
struct overtakings {
	struct overtaking *at; /* [cap] */
	uint32_t cap, count;
};

void overtakings_fini(struct overtakings *overtakings);

/* A frame went ahead of data. Ends the program when out of memory. */
void overtakings_add(struct overtakings *overtakings, uint32_t flow, bool acks, uint32_t wire_bytes, uint64_t now_ps);
