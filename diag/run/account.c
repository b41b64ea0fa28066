/* SPDX-License-Identifier: BSD-3-Clause */
/* How complete the evidence is. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "common/array.h"
#include "common/minmax.h"
#include "common/record/kinds.h"
#include "common/wire/record.h"
#include "diag/collect/evidence.h"
#include "diag/run/fill.h"

/* Telemetry bytes that the exporter's budget kept back, over time. */

struct losses {
	struct loss *spread; /* [nspread] sorted by time: from there on, loss for each picosecond */
	uint32_t nspread;
	struct ev_sent *points; /* [npoints] sorted by time: lost at one moment; bytes of it and those before */
	uint32_t npoints;
};

struct loss {
	uint64_t at_ps;
	double rate;  /* bytes a picosecond that the gap adds; after summing up, all that are open */
	double bytes; /* lost before */
};

static int
cmp_loss(const void *pa, const void *pb)
{
	const struct loss *a = pa, *b = pb;

	return a->at_ps != b->at_ps ? (a->at_ps < b->at_ps ? -1 : 1) : ORDER(a->rate, b->rate);
}

static int
cmp_point(const void *pa, const void *pb)
{
	const struct ev_sent *a = pa, *b = pb;

	return ORDER(a->time_ps, b->time_ps);
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

/* @return 0 or -ENOMEM with err; losses_fini() in any case */
static int
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

static void
losses_fini(struct losses *losses)
{
	free(losses->spread);
	free(losses->points);
}

/* Spread losses up to a time. */
static double
spread_before(const struct losses *losses, uint64_t time_ps)
{
	uint32_t lo = ARRAY_AFTER(losses->spread, at_ps, 0, losses->nspread, time_ps);
	const struct loss *at;

	if (lo == 0)
		return 0;
	at = &losses->spread[lo - 1];
	return at->bytes + at->rate * (double)(time_ps - at->at_ps);
}

/* Losses of a moment up to a time. @param with  those of the time itself too */
static uint64_t
points_before(const struct losses *losses, uint64_t time_ps, bool with)
{
	uint32_t lo = with ? ARRAY_AFTER(losses->points, time_ps, 0, losses->npoints, time_ps)
			   : ARRAY_FROM(losses->points, time_ps, 0, losses->npoints, time_ps);

	return lo > 0 ? losses->points[lo - 1].bytes : 0;
}

/*
 * Bytes lost in [from, to], each gap's spread evenly over its time; less than half a byte is none. In logarithmic time.
 */
static double
losses_within(const struct losses *losses, uint64_t from_ps, uint64_t to_ps)
{
	double lost;

	if (from_ps > to_ps)
		return 0;
	lost = spread_before(losses, to_ps) - spread_before(losses, from_ps) +
	       (double)(points_before(losses, to_ps, true) - points_before(losses, from_ps, false));
	return lost >= 0.5 ? lost : 0;
}

static int
fill_kinds(struct run_overhead *over, const struct evidence *ev, struct err *err)
{
	over->kinds = run_alloc(RECORD_KINDS, sizeof(*over->kinds), err);
	if (over->kinds == NULL)
		return -ENOMEM;
	for (uint32_t k = 0; k < RECORD_KINDS; k++) {
		struct run_kind kind = { k, ev->kinds[k], ev->kind_bytes[k], 0 };

		for (uint32_t g = 0; g < ev->gaps.count; g++) {
			const struct rec_gap *gap = EV_AT(ev->gaps, struct rec_gap, g);

			kind.dropped += gap->kind == k ? gap->dropped : 0;
		}
		over->records += kind.records;
		if (kind.records != 0 || kind.dropped != 0)
			over->kinds[over->nkinds++] = kind;
	}
	return 0;
}

/*
 * The share of the reports that arrived, times that of the steps with any report, or without a beginning: STEP records that
 * the budget kept back are in the first already. Of a truncated stream it is unknown.
 */
static double
completeness(const struct run *run, const struct evidence *ev)
{
	uint64_t arrived = 0, dropped = 0, dropped_steps = 0, missing = run->missing.steps;
	double share = 1;

	if (!ev->ended)
		return 0;
	for (uint32_t k = 0; k < run->overhead.nkinds; k++) {
		const struct run_kind *kind = &run->overhead.kinds[k];

		arrived += record_is_report(kind->kind) ? kind->records : 0;
		dropped += kind->dropped;
		dropped_steps += kind->kind == REC_STEP ? kind->dropped : 0;
	}
	if (ev->end.offered_records > arrived)
		share = (double)arrived / (double)ev->end.offered_records;
	else if (dropped != 0) /* of a stream with duplicates */
		share = (double)arrived / (double)(arrived + dropped);
	return missing > dropped_steps ? share * (1 - (double)(missing - dropped_steps) / run->nsteps) : share;
}

static void
fill_overhead(struct run_overhead *over, const struct evidence *ev)
{
	uint64_t lost = 0, arrived = 0;

	for (uint32_t k = 0; k < over->nkinds; k++) {
		lost += over->kinds[k].dropped;
		arrived += record_is_report(over->kinds[k].kind) ? over->kinds[k].records : 0;
	}
	over->left_out = ev->left_out;
	over->row_bytes = ev->telemetry_bytes;
	if (ev->ended && ev->end.sent_records > arrived + ev->left_out)
		over->astray = ev->end.sent_records - arrived - ev->left_out;
	over->report_bytes = ev->ended ? ev->end.sent_bytes : ev->bytes;
	over->dropped = ev->ended ? ev->end.dropped_records : lost;
	if (ev->ended) {
		over->polling_packets = ev->end.polling_packets;
		over->polling_bytes = ev->end.polling_bytes;
		over->notification_packets = ev->end.notification_packets;
		over->notification_bytes = ev->end.notification_bytes;
		over->deferred = ev->end.deferred_records;
		over->triggers = ev->end.detections;
		over->reports = ev->end.kept_reports;
		over->telemetry_bytes = ev->end.kept_bytes;
		over->reports_collected = ev->end.collected_reports;
		over->telemetry_bytes_collected = ev->end.collected_bytes;
		over->bandwidth_bytes = over->telemetry_bytes + over->polling_bytes + over->notification_bytes;
	}
}

/* sums[i]: telemetry bytes of the first i time stamps. @return bytes that arrived in [from, to] */
static uint64_t
sent_within(const struct evidence *ev, const uint64_t *sums, uint64_t from_ps, uint64_t to_ps)
{
	const struct ev_sent *sent = ev->sent.data;
	uint32_t first = ARRAY_FROM(sent, time_ps, 0, ev->sent.count, from_ps);
	uint32_t end = ARRAY_AFTER(sent, time_ps, 0, ev->sent.count, to_ps);

	return end > first ? sums[end] - sums[first] : 0;
}

static int
fill_completeness(struct run *run, const struct evidence *ev, struct err *err)
{
	uint64_t *sums = run_alloc((size_t)ev->sent.count + 1, sizeof(*sums), err);
	struct losses losses;
	int rc = losses_init(&losses, ev, err);

	if (sums == NULL || rc != 0) {
		free(sums);
		losses_fini(&losses);
		return -ENOMEM;
	}
	for (uint32_t i = 0; i < ev->sent.count; i++)
		sums[i + 1] = sums[i] + EV_AT(ev->sent, struct ev_sent, i)->bytes;
	for (uint32_t i = 0; i < run->nsteps && losses.nspread + losses.npoints != 0; i++) {
		struct run_step *step = &run->steps[i];
		double lost;

		if (!step->started)
			continue;
		lost = losses_within(&losses, step->start_ps, step->end_ps);
		if (lost > 0)
			step->completeness =
				1 - lost / (lost + (double)sent_within(ev, sums, step->start_ps, step->end_ps));
	}
	free(sums);
	losses_fini(&losses);
	return 0;
}

static void
fill_missing(struct run *run, const struct evidence *ev)
{
	for (uint32_t i = 0; i < run->nsteps; i++) {
		run->missing.steps += !run->steps[i].reported && !run->steps[i].waits;
		run->missing.waiting += run->steps[i].waits;
	}
	run->missing.unscheduled = ev->unscheduled_steps;
	run->missing.torn_bytes = ev->torn_bytes;
	run->missing.left_out_node = ev->left_out_node < ev->nnodes ? ev->left_out_node : RUN_NONE;
	snprintf(run->missing.left_out_why, sizeof(run->missing.left_out_why), "%.200s", ev->left_out_why.text);
}

int
run_account(struct run *run, const struct evidence *ev, struct err *err)
{
	int rc = fill_kinds(&run->overhead, ev, err);

	if (rc != 0)
		return rc;
	fill_overhead(&run->overhead, ev);
	fill_missing(run, ev);
	run->overhead.completeness = completeness(run, ev);
	return fill_completeness(run, ev, err);
}
