/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The fabric's own truth: which flows stood in one queue together, and for how long. It goes to truth.json for
 * whoever scores a diagnosis; no record carries it.
 *
 * Pairs are many where flows are: those of a collective's flows with any other are always kept, those of two other
 * flows where one is among the first MEET_OTHERS of the port. Windows are gathered by 64, a bit each, and counted pair
 * by pair only then.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "dpswitch/telemetry/epoch.h"

#define MEET_OTHERS 32
#define MEET_BATCH 64
#define MEET_NO_ROW UINT32_MAX

struct meet {
	uint64_t *last_window; /* [cap] window + 1 in which the slot's flow was last enqueued */
	uint64_t *present;     /* [cap] bit w: in the w-th window of the batch the slot's flow was there */
	uint32_t *row;         /* [cap] the slot's row of together_ps, or MEET_NO_ROW */
	uint64_t *together_ps; /* [rows * cap] at [row of one][slot of the other] */
	uint32_t cap, rows, rows_cap;
	uint32_t nslots;       /* slots whose row is decided */
	uint32_t batched;      /* windows in the batch, each of length_ps */
	uint64_t length_ps;
};

/* Widens the tables to hold slots. Ends the program when out of memory. */
void meet_reserve(struct meet *meet, uint32_t slots);
void meet_fini(struct meet *meet);

static inline void
meet_enqueue(struct meet *meet, uint32_t slot, uint64_t window)
{
	if (__builtin_expect(slot >= meet->cap, 0))
		meet_reserve(meet, slot + 1);
	meet->last_window[slot] = window + 1;
}

/* Ends a window in which some packet had to wait: adds its length to every pair of flows present. */
void meet_count(struct meet *meet, const struct telem_port *telem, uint64_t window, uint64_t length_ps);

/* @return how long two slots' flows met; 0 too where their pair is not kept */
uint64_t meet_together_ps(const struct meet *meet, uint32_t a, uint32_t b);
/* @return flows of the port that have no row: pairs of two such are not kept */
uint32_t meet_left_out(const struct meet *meet);
