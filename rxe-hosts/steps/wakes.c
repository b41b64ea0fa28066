/* SPDX-License-Identifier: BSD-3-Clause */
#include "rxe-hosts/steps/wakes.h"

#include <assert.h>
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>

#include "common/units.h"

int
wakes_init(struct wakes *wakes, uint32_t cap)
{
	*wakes = (struct wakes){ .heap = calloc(cap + 1u, sizeof(*wakes->heap)), .cap = cap };
	return wakes->heap == NULL ? -ENOMEM : 0;
}

void
wakes_fini(struct wakes *wakes)
{
	free(wakes->heap);
	*wakes = (struct wakes){ 0 };
}

uint64_t
wakes_next_ps(const struct wakes *wakes)
{
	return wakes->count != 0 ? wakes->heap[0].time_ps : TIME_NEVER;
}

static bool
earlier(const struct wake *a, const struct wake *b)
{
	if (a->time_ps != b->time_ps)
		return a->time_ps < b->time_ps;
	if (a->slot != b->slot)
		return a->slot < b->slot;
	return a->chain < b->chain;
}

void
wakes_add(struct wakes *wakes, struct wake wake)
{
	uint32_t at = wakes->count++;

	assert(at < wakes->cap);
	for (; at > 0 && earlier(&wake, &wakes->heap[(at - 1) / 2]); at = (at - 1) / 2)
		wakes->heap[at] = wakes->heap[(at - 1) / 2];
	wakes->heap[at] = wake;
}

struct wake
wakes_take(struct wakes *wakes)
{
	struct wake first = wakes->heap[0], last;
	uint32_t at = 0;

	assert(wakes->count > 0);
	last = wakes->heap[--wakes->count];
	for (;;) {
		uint32_t child = 2 * at + 1;

		if (child + 1 < wakes->count && earlier(&wakes->heap[child + 1], &wakes->heap[child]))
			child++;
		if (child >= wakes->count || !earlier(&wakes->heap[child], &last))
			break;
		wakes->heap[at] = wakes->heap[child];
		at = child;
	}
	wakes->heap[at] = last;
	return first;
}
