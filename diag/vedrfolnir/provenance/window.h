/* SPDX-License-Identifier: BSD-3-Clause */
/* How telemetry rows relate to a step's time. Pure. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct window {
	uint64_t from_ps, to_ps;
};

static inline uint64_t
window_overlap_ps(struct window w, uint64_t from_ps, uint64_t to_ps)
{
	uint64_t from = from_ps > w.from_ps ? from_ps : w.from_ps;
	uint64_t to = to_ps < w.to_ps ? to_ps : w.to_ps;

	return to > from ? to - from : 0;
}

/*
 * Share of a row's counters that belongs to the window: packets are taken as spread evenly over the row's time, as in
 * the replay estimate. An instant counts whole if inside.
 */
static inline double
window_share(struct window w, uint64_t from_ps, uint64_t to_ps)
{
	if (from_ps >= to_ps)
		return from_ps >= w.from_ps && from_ps <= w.to_ps ? 1.0 : 0.0;
	return (double)window_overlap_ps(w, from_ps, to_ps) / (double)(to_ps - from_ps);
}

static inline bool
window_has(struct window w, uint64_t time_ps)
{
	return time_ps >= w.from_ps && time_ps <= w.to_ps;
}
