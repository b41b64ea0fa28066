/* SPDX-License-Identifier: BSD-3-Clause */
/* How often and for how long a port was paused in a class, or paused its peer: counters, as MACs keep them. Pure. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct pause_count {
	uint64_t times;             /* that it began */
	uint64_t total_ps;          /* of those that are over */
	uint64_t since_ps, last_ps; /* of the latest: when it began; its length, if it is over */
};

/*
 * Classes that are paused have changed.
 * @param counts  [8] by class
 * @param was, is  bit p: class p is paused
 */
static inline void
pause_counts_change(struct pause_count *counts, uint8_t was, uint8_t is, uint64_t now_ps)
{
	for (uint32_t changed = was ^ is; changed != 0; changed &= changed - 1) {
		uint32_t prio = (uint32_t)__builtin_ctz(changed);
		struct pause_count *count = &counts[prio];

		if (is >> prio & 1) {
			count->times++;
			count->since_ps = now_ps;
		} else {
			count->last_ps = now_ps > count->since_ps ? now_ps - count->since_ps : 0;
			count->total_ps += count->last_ps;
		}
	}
}

/* @param paused  it is now. @return the time of all pauses, the present one up to now */
static inline uint64_t
pause_count_ps(const struct pause_count *count, bool paused, uint64_t now_ps)
{
	return count->total_ps + (paused && now_ps > count->since_ps ? now_ps - count->since_ps : 0);
}
