/* SPDX-License-Identifier: BSD-3-Clause */
#include "dpswitch/telemetry/meet.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void
meet_reserve(struct meet *meet, uint32_t slots)
{
	uint32_t cap = meet->cap != 0 ? meet->cap : 8;
	uint64_t *last, *together;

	if (slots <= meet->cap)
		return;
	while (cap < slots)
		cap *= 2;
	last = calloc(cap, sizeof(*last));
	together = calloc((size_t)cap * cap, sizeof(*together));
	if (last == NULL || together == NULL) {
		fprintf(stderr, "rocelab: out of memory for the meetings of %u flows at a port\n", slots);
		abort();
	}
	for (uint32_t hi = 0; hi < meet->cap; hi++) {
		last[hi] = meet->last_window[hi];
		memcpy(together + (size_t)hi * cap, meet->together_ps + (size_t)hi * meet->cap,
		       meet->cap * sizeof(*together));
	}
	meet_fini(meet);
	*meet = (struct meet){ .last_window = last, .together_ps = together, .cap = cap };
}

void
meet_fini(struct meet *meet)
{
	free(meet->last_window);
	free(meet->together_ps);
	*meet = (struct meet){ 0 };
}

static bool
is_present(const struct meet *meet, const uint32_t *queued, uint32_t slot, uint64_t window)
{
	return queued[slot] != 0 || meet->last_window[slot] == window + 1;
}

void
meet_count(struct meet *meet, const uint32_t *queued, uint32_t slots, uint64_t window, uint64_t length_ps)
{
	meet_reserve(meet, slots);
	for (uint32_t hi = 1; hi < slots; hi++) {
		if (!is_present(meet, queued, hi, window))
			continue;
		for (uint32_t lo = 0; lo < hi; lo++)
			if (is_present(meet, queued, lo, window))
				meet->together_ps[(size_t)hi * meet->cap + lo] += length_ps;
	}
}
