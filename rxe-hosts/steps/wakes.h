/* SPDX-License-Identifier: BSD-3-Clause */
/* Who wants to be woken when: a heap by time, then by rank and chain. Never grows after its start. */
#pragma once

#include <stdint.h>

struct wake {
	uint64_t time_ps;
	uint32_t slot, chain; /* of a host's ranks, and of that one's chains */
};

struct wakes {
	struct wake *heap; /* [cap] */
	uint32_t count, cap;
};

/* @return 0 or -ENOMEM */
int wakes_init(struct wakes *wakes, uint32_t cap);
void wakes_fini(struct wakes *wakes);

/* @return the earliest time, TIME_NEVER: nobody waits */
uint64_t wakes_next_ps(const struct wakes *wakes);
/* There is room: every (slot, chain) is there once at most. */
void wakes_add(struct wakes *wakes, struct wake wake);
/* Takes the earliest out. There is one. */
struct wake wakes_take(struct wakes *wakes);
