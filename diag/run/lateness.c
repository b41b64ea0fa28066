/* SPDX-License-Identifier: BSD-3-Clause */
#include "diag/run/lateness.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/array.h"
#include "common/minmax.h"
#include "diag/run/fill.h"

static int
cmp_u64(uint64_t a, uint64_t b)
{
	return ORDER(a, b);
}

/* By source, and in order of time: records with their own number before those with REC_NONE. */
static int
cmp_record(const void *pa, const void *pb)
{
	const struct rec_lateness *a = pa, *b = pb;
	int by = cmp_u64(a->kind, b->kind);

	if (by == 0)
		by = cmp_u64(a->partition, b->partition);
	if (by == 0)
		by = cmp_u64(a->lcore, b->lcore);
	if (by == 0 && a->kind == REC_LATENESS_HOST)
		by = cmp_u64(a->hdr.node, b->hdr.node);
	if (by == 0)
		by = cmp_u64(a->from_ps, b->from_ps);
	return by != 0 ? by : cmp_u64(a->hdr.seq, b->hdr.seq);
}

static bool
is_of(const struct run_lateness *source, const struct rec_lateness *rec)
{
	return source->kind == rec->kind && source->partition == rec->partition && source->lcore == rec->lcore &&
	       (rec->kind != REC_LATENESS_HOST || source->node == rec->hdr.node);
}

static void
add(struct run *run, uint32_t i)
{
	const struct rec_lateness *rec = &run->late_records[i];
	struct run_lateness *source = run->nlateness != 0 ? &run->lateness[run->nlateness - 1] : NULL;
	uint64_t *of_ps;

	if (source == NULL || !is_of(source, rec)) {
		source = &run->lateness[run->nlateness++];
		*source = (struct run_lateness){ .kind = rec->kind,
						 .node = rec->hdr.node,
						 .partition = rec->partition,
						 .lcore = rec->lcore,
						 .first = i };
	}
	source->count++;
	source->late_ps = sum_u64(source->late_ps, rec->measured ? rec->late_ps : 0);
	source->most_ps = max_u64(source->most_ps, rec->kind == REC_LATENESS_WINDOWS ? rec->most_ps : rec->late_ps);
	of_ps = rec->measured ? &source->measured_ps : &source->unmeasured_ps;
	*of_ps = sum_u64(*of_ps, rec->to_ps - rec->from_ps);
	source->windows += rec->windows;
	source->late_windows += rec->late_windows;
}

static const struct run_lateness *
source_of(const struct run *run, uint32_t host)
{
	for (uint32_t i = 0; i < run->nlateness; i++)
		if (run->lateness[i].kind == REC_LATENESS_HOST && run->lateness[i].node == host)
			return &run->lateness[i];
	return NULL;
}

static uint64_t
overlap_ps(uint64_t from_ps, uint64_t to_ps, uint64_t a_ps, uint64_t b_ps)
{
	uint64_t begin_ps = max_u64(from_ps, a_ps), end_ps = min_u64(to_ps, b_ps);

	return end_ps > begin_ps ? end_ps - begin_ps : 0;
}

/* @param back  a record's lateness may have been before its time, by as much */
static struct run_machine
sum_up(const struct run *run, const struct run_lateness *source, bool back, uint64_t from_ps, uint64_t to_ps)
{
	struct run_machine sum = { 0, 0 };
	uint64_t measured_ps = 0, last_ps = to_ps + (back ? source->most_ps : 0);
	uint32_t first = source->first, end = first + source->count;

	for (uint32_t i = ARRAY_AFTER(run->late_records, to_ps, first, end, from_ps); i < end; i++) {
		const struct rec_lateness *rec = &run->late_records[i];
		uint64_t begin_ps = rec->from_ps - (back ? min_u64(rec->late_ps, rec->from_ps) : 0);

		if (rec->from_ps >= last_ps)
			break;
		if (!rec->measured)
			continue;
		sum.most_ps = sum_u64(sum.most_ps, min_u64(rec->late_ps, overlap_ps(from_ps, to_ps, begin_ps, rec->to_ps)));
		measured_ps = sum_u64(measured_ps, overlap_ps(from_ps, to_ps, rec->from_ps, rec->to_ps));
	}
	sum.most_ps = min_u64(sum.most_ps, to_ps - from_ps);
	sum.unmeasured_ps = to_ps - from_ps - min_u64(measured_ps, to_ps - from_ps);
	return sum;
}

struct run_machine
run_waited(const struct run *run, uint32_t host, uint64_t from_ps, uint64_t to_ps)
{
	const struct run_lateness *source = source_of(run, host);

	if (source == NULL || to_ps <= from_ps)
		return (struct run_machine){ 0, 0 };
	return sum_up(run, source, true, from_ps, to_ps);
}

struct run_machine
run_behind(const struct run *run, uint64_t from_ps, uint64_t to_ps)
{
	struct run_machine all = { 0, 0 };

	for (uint32_t i = 0; i < run->nlateness && to_ps > from_ps; i++) {
		struct run_machine one;

		if (run->lateness[i].kind != REC_LATENESS_WINDOWS)
			continue;
		one = sum_up(run, &run->lateness[i], false, from_ps, to_ps);
		all.most_ps = min_u64(all.most_ps + one.most_ps, to_ps - from_ps);
		all.unmeasured_ps = max_u64(all.unmeasured_ps, one.unmeasured_ps);
	}
	return all;
}

bool
run_is_kernel_timed(const struct run *run, uint32_t host)
{
	return source_of(run, host) != NULL;
}

double
run_machine_share(double claim_ps, double most_ps, double unmeasured)
{
	double explained = claim_ps > 0 ? fmin(1, most_ps / claim_ps) : 0;

	return 1 - (1 - explained) * (1 - unmeasured / 2);
}

static double
share_of(uint64_t part_ps, uint64_t of_ps)
{
	return of_ps != 0 ? (double)part_ps / (double)of_ps : 0;
}

/* Of its host's work: from the end of all dependencies until its start; a computation, to its end. */
static void
fill_host(const struct run *run, struct run_step *step, struct run_starved *out)
{
	uint64_t from_ps = step->start_ps - min_u64(step->late_ps, step->start_ps);
	uint64_t to_ps = step->long_ps != 0 ? step->end_ps : step->start_ps;
	uint64_t tolerance_ps =
		step->expect_ps / 100 * RUN_SLOW_PERCENT + step->base_rtt_ps + run_spread_ps(step) + run->config.jitter_ps;
	struct run_machine waited = run_waited(run, step->host, from_ps, to_ps);

	out->starved_ps = min_u64(waited.most_ps, step->late_ps + step->long_ps);
	out->starved_unmeasured = share_of(waited.unmeasured_ps, to_ps - from_ps);
	step->starved = out->starved_ps != 0 &&
			run_host_own_ps(run, step) <= (step->late_little ? run->config.jitter_ps : tolerance_ps);
}

/* The machine's part of its duration: its ends waited for processors, and the emulation between them ran behind. */
static void
fill_path(const struct run *run, const struct run_step *step, struct run_starved *out)
{
	uint32_t to = run->flows[step->flow].dst;
	struct run_machine src = run_waited(run, step->host, step->start_ps, step->end_ps), dst = { 0, 0 }, behind;

	if (to != RUN_NONE)
		dst = run_waited(run, to, step->start_ps, step->end_ps);
	if (!run_is_kernel_timed(run, step->host) && (to == RUN_NONE || !run_is_kernel_timed(run, to)))
		return;
	behind = run_behind(run, step->start_ps, step->end_ps);
	out->machine_ps = min_u64(src.most_ps + dst.most_ps + behind.most_ps, step->end_ps - step->start_ps);
	out->machine_unmeasured = share_of(max_u64(src.unmeasured_ps, dst.unmeasured_ps), step->end_ps - step->start_ps);
}

int
run_fill_lateness(struct run *run, const struct evidence *ev, struct err *err)
{
	uint32_t count = ev->lateness.count;

	run->late_records = run_alloc(count, sizeof(*run->late_records), err);
	run->lateness = run_alloc(count, sizeof(*run->lateness), err);
	if (run->late_records == NULL || run->lateness == NULL)
		return -ENOMEM;
	if (count == 0)
		return 0;
	run->starved = run_alloc(run->nsteps, sizeof(*run->starved), err);
	if (run->starved == NULL)
		return -ENOMEM;
	memcpy(run->late_records, ev->lateness.data, count * sizeof(*run->late_records));
	qsort(run->late_records, count, sizeof(*run->late_records), cmp_record);
	for (uint32_t i = 0; i < count; i++)
		add(run, i);
	for (uint32_t i = 0; i < run->nsteps; i++) {
		struct run_step *step = &run->steps[i];

		if (!step->started)
			continue;
		if (step->late_ps != 0 || step->long_ps != 0)
			fill_host(run, step, &run->starved[i]);
		if (!run_is_local(step) && step->slow)
			fill_path(run, step, &run->starved[i]);
	}
	return 0;
}

uint64_t
run_host_own_ps(const struct run *run, const struct run_step *step)
{
	return step->late_ps + step->long_ps - run_starved_of(run, step).starved_ps;
}

bool
run_is_machines(const struct run *run, const struct run_step *step)
{
	uint64_t machine_ps = run_starved_of(run, step).machine_ps;

	return step->slow && machine_ps != 0 && (double)machine_ps >= run_excess_ps(step);
}
