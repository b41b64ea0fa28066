/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The fabric's own truth: which flows stood in one queue together, and for how long. It goes to truth.json for
 * whoever scores a diagnosis; no record carries it.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct meet {
	uint64_t *last_window; /* [cap] window + 1 in which the slot's flow was last enqueued */
	uint64_t *together_ps; /* [cap * cap] at [larger slot * cap + smaller slot] */
	uint32_t cap;
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

/*
 * Ends a window in which some packet had to wait: adds its length to every pair of flows present.
 * @param queued  [slots] packets in the queue at the window's end
 */
void meet_count(struct meet *meet, const uint32_t *queued, uint32_t slots, uint64_t window, uint64_t length_ps);

static inline uint64_t
meet_together_ps(const struct meet *meet, uint32_t a, uint32_t b)
{
	uint32_t hi = a > b ? a : b, lo = a > b ? b : a;

	return hi < meet->cap ? meet->together_ps[hi * meet->cap + lo] : 0;
}
