/* SPDX-License-Identifier: BSD-3-Clause */
/* How complete the evidence is. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "common/record/kinds.h"
#include "common/wire/record.h"
#include "diag/run/fill.h"
#include "diag/run/losses.h"

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
 * The share of the reports that arrived, times that of the steps of which anything did: STEP records that the
 * budget kept back are in the first already. Of a stream that broke off nobody knows.
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
	else if (dropped != 0) /* of a stream in which something came twice */
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
	uint32_t bound[2];

	for (int end = 0; end < 2; end++) { /* first stamp not before from, first stamp after to */
		uint32_t lo = 0, hi = ev->sent.count;

		while (lo < hi) {
			uint32_t mid = lo + (hi - lo) / 2;
			uint64_t at_ps = EV_AT(ev->sent, struct ev_sent, mid)->time_ps;

			if (end == 0 ? at_ps < from_ps : at_ps <= to_ps)
				lo = mid + 1;
			else
				hi = mid;
		}
		bound[end] = lo;
	}
	return bound[1] > bound[0] ? sums[bound[1]] - sums[bound[0]] : 0;
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
	for (uint32_t i = 0; i < run->nsteps; i++) {
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
	for (uint32_t i = 0; i < run->nsteps; i++)
		run->missing.steps += !run->steps[i].reported;
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
