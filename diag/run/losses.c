/* SPDX-License-Identifier: BSD-3-Clause */
#include "diag/run/losses.h"

#include <errno.h>
#include <stdlib.h>

#include "common/record/kinds.h"
#include "common/wire/record.h"
#include "diag/run/fill.h"

struct loss {
	uint64_t at_ps;
	double rate;  /* bytes a picosecond that the gap adds; after summing up, all that are open */
	double bytes; /* lost before */
};

static int
cmp_loss(const void *pa, const void *pb)
{
	const struct loss *a = pa, *b = pb;

	return a->at_ps != b->at_ps ? (a->at_ps < b->at_ps ? -1 : 1) : a->rate < b->rate ? -1 : a->rate > b->rate;
}

static int
cmp_point(const void *pa, const void *pb)
{
	const struct ev_sent *a = pa, *b = pb;

	return a->time_ps < b->time_ps ? -1 : a->time_ps > b->time_ps;
}

static void
add_gap(struct losses *losses, const struct rec_gap *gap)
{
	double rate;

	if (gap->from_ps == gap->to_ps) {
		losses->points[losses->npoints++] = (struct ev_sent){ gap->from_ps, gap->dropped_bytes };
		return;
	}
	rate = (double)gap->dropped_bytes / (double)(gap->to_ps - gap->from_ps);
	losses->spread[losses->nspread++] = (struct loss){ gap->from_ps, rate, 0 };
	losses->spread[losses->nspread++] = (struct loss){ gap->to_ps, -rate, 0 };
}

int
losses_init(struct losses *losses, const struct evidence *ev, struct err *err)
{
	*losses = (struct losses){
		.spread = run_alloc(2 * (size_t)ev->gaps.count, sizeof(*losses->spread), err),
		.points = run_alloc(ev->gaps.count, sizeof(*losses->points), err),
	};
	if (losses->spread == NULL || losses->points == NULL)
		return -ENOMEM;
	for (uint32_t g = 0; g < ev->gaps.count; g++) {
		const struct rec_gap *gap = EV_AT(ev->gaps, struct rec_gap, g);

		if (record_is(gap->kind, REC_TELEMETRY))
			add_gap(losses, gap);
	}
	qsort(losses->spread, losses->nspread, sizeof(*losses->spread), cmp_loss);
	qsort(losses->points, losses->npoints, sizeof(*losses->points), cmp_point);
	for (uint32_t i = 1; i < losses->npoints; i++)
		losses->points[i].bytes += losses->points[i - 1].bytes;
	for (uint32_t i = 1; i < losses->nspread; i++) {
		struct loss *at = &losses->spread[i];

		at->bytes = at[-1].bytes + at[-1].rate * (double)(at->at_ps - at[-1].at_ps);
		at->rate += at[-1].rate;
	}
	return 0;
}

void
losses_fini(struct losses *losses)
{
	free(losses->spread);
	free(losses->points);
}

/* Spread losses up to a time. */
static double
spread_before(const struct losses *losses, uint64_t time_ps)
{
	uint32_t lo = 0, hi = losses->nspread;
	const struct loss *at;

	while (lo < hi) {
		uint32_t mid = lo + (hi - lo) / 2;

		if (losses->spread[mid].at_ps <= time_ps)
			lo = mid + 1;
		else
			hi = mid;
	}
	if (lo == 0)
		return 0;
	at = &losses->spread[lo - 1];
	return at->bytes + at->rate * (double)(time_ps - at->at_ps);
}

/* Losses of a moment up to a time. @param with  those of the time itself too */
static uint64_t
points_before(const struct losses *losses, uint64_t time_ps, bool with)
{
	uint32_t lo = 0, hi = losses->npoints;

	while (lo < hi) {
		uint32_t mid = lo + (hi - lo) / 2;
		uint64_t at_ps = losses->points[mid].time_ps;

		if (at_ps < time_ps || (with && at_ps == time_ps))
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo > 0 ? losses->points[lo - 1].bytes : 0;
}

double
losses_within(const struct losses *losses, uint64_t from_ps, uint64_t to_ps)
{
	double lost;

	if (from_ps > to_ps)
		return 0;
	lost = spread_before(losses, to_ps) - spread_before(losses, from_ps) +
	       (double)(points_before(losses, to_ps, true) - points_before(losses, from_ps, false));
	return lost >= 0.5 ? lost : 0;
}
