/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The fabric's own truth: which flows stood in one queue together, when, for how long and how deep the queue was, and how
 * long a pause held each up. It goes to truth.json for whoever scores a diagnosis; no record carries it.
 *
 * Pairs are many where flows are: those of a collective's flows with any other are always kept, those of two other
 * flows where one is among the first MEET_OTHERS of the port. Windows are gathered by 64, a bit each, and counted pair
 * by pair only then.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "telemetry/epoch.h"

#define MEET_OTHERS 32
#define MEET_BATCH 64
#define MEET_NO_ROW UINT32_MAX

/* What is known of two flows that met, or of one at a halted port. */
struct meet_pair {
	uint64_t together_ps;
	uint64_t first_ps, last_ps; /* start of the first window together, end of the last */
	uint64_t depth_time;        /* packets in the queue x ps, over the time together */
	uint32_t depth_max;         /* packets */
};

struct meet {
	uint64_t *last_window;   /* [cap] window + 1 in which the slot's flow was last enqueued */
	uint64_t *present;       /* [cap] bit w: in the w-th window of the batch the slot's flow was there */
	uint32_t *row;           /* [cap] the slot's row of pairs, or MEET_NO_ROW */
	struct meet_pair *held;  /* [cap] when the slot's flow was there while the port was halted, up to the batch */
	struct meet_pair *pairs; /* [rows * cap] at [row of one][slot of the other] */
	uint32_t cap, rows, rows_cap;
	uint32_t nslots;  /* slots whose row is decided */
	uint32_t batched; /* windows in the batch, each of length_ps */
	uint64_t length_ps;
	uint64_t start_ps[MEET_BATCH]; /* when each began */
	uint64_t halted;               /* bit w: at the end of the w-th the port was halted, in whatever class */
	uint64_t depth_sum;            /* over them, of the queue's depth at their end */
	uint32_t depth_max;
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

/* A window in which some packet had to wait. */
struct meet_window {
	uint64_t index, start_ps, length_ps;
	uint32_t depth; /* packets of data in the queue at its end */
};

/* Ends such a window: adds it to every pair of flows present. */
void meet_count(struct meet *meet, const struct telem_port *telem, const struct meet_window *window);

/* Pauses that ended by now held up this slot's flow at a port that counts no windows while it is halted: a NIC. */
void meet_hold(struct meet *meet, uint32_t slot, uint64_t held_ps, uint64_t now_ps);
/* @return when the slot's flow was there while the port was halted */
struct meet_pair meet_held(const struct meet *meet, uint32_t slot);

/*
 * What is known of two slots' flows, all 0 if they never met or their pair is not kept. The depth is that of the batches
 * of windows in which they met.
 */
struct meet_pair meet_pair_of(const struct meet *meet, uint32_t a, uint32_t b);
/* @return flows of the port that have no row: pairs of two such are not kept */
uint32_t meet_left_out(const struct meet *meet);
