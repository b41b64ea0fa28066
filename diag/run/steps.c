/* SPDX-License-Identifier: BSD-3-Clause */
/* The run's steps. */
#include "diag/run/run.h"

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "common/err.h"
#include "common/minmax.h"
#include "common/wire/collective.h"
#include "common/wire/ending.h"
#include "common/wire/layout.h"
#include "common/wire/record_run.h"
#include "diag/run/fill.h"

struct predecessors
run_predecessors(const struct run *run, const struct run_collective *collective)
{
	const struct run_iteration *in = &run->iterations[collective->in], *before = in - 1;

	if (collective->nafter != 0)
		return (struct predecessors){ .list = &run->after[collective->first_after], .count = collective->nafter };
	if (collective->in == 0 || before->job != in->job || before->iteration + 1 != in->iteration)
		return (struct predecessors){ .count = 0 };
	return (struct predecessors){ .first = before->first_collective, .count = before->ncollectives };
}

bool
run_follows_own(const struct run *run, const struct run_step *step)
{
	for (uint32_t d = step->first_dep; d < step->first_dep + step->ndeps; d++) {
		const struct run_step *on = &run->steps[run->depends[d]];

		if (on->collective == step->collective && on->rank == step->rank)
			return true;
	}
	return false;
}

/* Which steps started later than they could have: the host's own delay. */

static void fill_collective(struct run *run, uint32_t index);

/*
 * Since when a step could start: as hosts report it, and at the latest. A message arrives before its sender knows; the
 * sender reports its end.
 */
struct ready {
	uint64_t reported_ps, latest_ps;
};

/* The same of a rank and a collective, its pause left aside; and the earliest, of which the pause is the longest. */
struct begin {
	uint64_t reported_ps, earliest_ps;
};

static const struct begin unknown_begin = { RUN_UNKNOWN, RUN_UNKNOWN };

/* A pause that all ranks make: as reported, and at most. */
struct gap {
	uint64_t reported_ps, most_ps;
};

/* Certain lateness counts, however little: over many steps it sums up. */
static void
note_late(struct run_step *step, uint64_t jitter_ps, struct ready ready)
{
	uint64_t tolerance_ps = step->expect_ps / 100 * RUN_SLOW_PERCENT + step->base_rtt_ps + jitter_ps;

	if (ready.reported_ps == RUN_UNKNOWN)
		return;
	/* A pause that all make may be as long as its longest estimate. */
	if (step->start_ps > max_u64(ready.reported_ps + tolerance_ps, ready.latest_ps + jitter_ps)) {
		step->late_ps = step->start_ps - ready.reported_ps;
	} else if (step->start_ps > ready.latest_ps + jitter_ps) {
		step->late_ps = step->start_ps - ready.latest_ps;
		step->late_little = true;
	}
}

/* When the last dependency of a step was done, as its host reports; RUN_UNKNOWN: it does not. */
static uint64_t
awaited_ps(const struct run *run, const struct run_step *step)
{
	const struct run_step *on = step->waited_for != RUN_NONE ? &run->steps[step->waited_for] : NULL;

	return on != NULL && on->reported && !on->open ? on->end_ps : RUN_UNKNOWN;
}

/* Since when all dependencies of a step are done. */
static uint64_t
dependencies_ps(const struct run *run, const struct run_step *step)
{
	uint64_t ready_ps = run->collectives[step->collective].start_ps;

	for (uint32_t d = step->first_dep; d < step->first_dep + step->ndeps; d++) {
		const struct run_step *on = &run->steps[run->depends[d]];

		if (!on->reported || on->open)
			return RUN_UNKNOWN;
		ready_ps = on->end_ps > ready_ps ? on->end_ps : ready_ps;
	}
	return ready_ps;
}

static const struct run_collective *
before_at(const struct run *run, const struct predecessors *predecessors, uint32_t i)
{
	return &run->collectives[run_before(predecessors, i)];
}

/*
 * Sets late_ps of all steps; all else of the run's collectives, ranks and steps is filled in. A step can start when all
 * its dependencies have ended. One without dependencies, a rank's first, can start when the rank has finished its sends
 * and receives in the collectives that this one follows (a rank without a part in one passes over it), plus a pause
 * that all ranks make (the shortest counts). If this one follows none, those of the job's iteration before count
 * instead; in the first iteration the start of the first of all ranks does.
 */
static void
late_fill(struct run *run)
{
	for (uint32_t c = 0; c < run->ncollectives; c++)
		if (!run_is_flows(&run->collectives[c])) /* they begin at their arrival */
			fill_collective(run, c);
}

/* When a rank could begin the collective; a pause that all ranks make left aside. */
static struct begin
begin_of(const struct run *run, const struct predecessors *predecessors, uint32_t index, uint32_t rank)
{
	struct begin begin = { 0, 0 };

	for (uint32_t i = 0; i < predecessors->count; i++) {
		const struct run_collective *before = before_at(run, predecessors, i);
		const struct run_rank *at;

		/* of a job with as many ranks, and looked at before */
		if (before - run->collectives >= index || rank >= before->nranks)
			return unknown_begin;
		at = &run->ranks[before->first_rank + rank];
		if (at->done_ps == RUN_UNKNOWN)
			return unknown_begin;
		begin.reported_ps = at->done_ps > begin.reported_ps ? at->done_ps : begin.reported_ps;
		begin.earliest_ps = at->earliest_ps > begin.earliest_ps ? at->earliest_ps : begin.earliest_ps;
	}
	return begin;
}

static bool
is_first(const struct run_step *step)
{
	return step->started && step->ndeps == 0;
}

static uint64_t
since_ps(uint64_t from_ps, uint64_t to_ps)
{
	return to_ps > from_ps ? to_ps - from_ps : 0;
}

/* The shortest pause that a rank made before its first step: as reported, and at most; 0: it is not known of any. */
static struct gap
gap_of(const struct run *run, const struct predecessors *predecessors, uint32_t index)
{
	const struct run_collective *c = &run->collectives[index];
	struct gap gap = { UINT64_MAX, UINT64_MAX };

	for (uint32_t i = c->first_step; i < c->first_step + c->nsteps && predecessors->count != 0; i++) {
		const struct run_step *step = &run->steps[i];
		struct begin begin = is_first(step) ? begin_of(run, predecessors, index, step->rank) : unknown_begin;

		if (begin.reported_ps == RUN_UNKNOWN)
			continue;
		gap.reported_ps = min_u64(gap.reported_ps, since_ps(begin.reported_ps, step->start_ps));
		gap.most_ps = min_u64(gap.most_ps, since_ps(begin.earliest_ps, step->start_ps));
	}
	return gap.reported_ps != UINT64_MAX ? gap : (struct gap){ 0, 0 };
}

/* A rank without a part in the collective is done with it where it could begin. */
static void
pass_over(struct run *run, const struct predecessors *predecessors, uint32_t index, const struct gap *gap)
{
	const struct run_collective *c = &run->collectives[index];

	for (uint32_t r = 0; r < c->nranks; r++) {
		struct run_rank *rank = &run->ranks[c->first_rank + r];
		struct begin begin = rank->part ? unknown_begin : begin_of(run, predecessors, index, r);

		if (rank->part)
			continue;
		rank->done_ps = begin.reported_ps != RUN_UNKNOWN ? begin.reported_ps + gap->reported_ps : RUN_UNKNOWN;
		rank->earliest_ps = begin.earliest_ps != RUN_UNKNOWN ? begin.earliest_ps + gap->reported_ps : RUN_UNKNOWN;
	}
}

/* Since when a step could start that its rank's part in the collectives before holds up, too. */
static struct ready
begins(const struct run *run, const struct predecessors *predecessors, uint32_t index, const struct run_step *step,
       const struct gap *gap, struct ready dependencies)
{
	struct begin begin = begin_of(run, predecessors, index, step->rank);
	struct ready ready = { begin.reported_ps + gap->reported_ps, begin.reported_ps + gap->most_ps };

	if (begin.reported_ps == RUN_UNKNOWN)
		return (struct ready){ RUN_UNKNOWN, RUN_UNKNOWN };
	if (is_first(step))
		return ready;
	return (struct ready){ max_u64(ready.reported_ps, dependencies.reported_ps),
			       max_u64(ready.latest_ps, dependencies.reported_ps) };
}

static void
fill_collective(struct run *run, uint32_t index)
{
	const struct run_collective *c = &run->collectives[index];
	struct predecessors predecessors = run_predecessors(run, c);
	struct gap gap = gap_of(run, &predecessors, index);

	for (uint32_t i = c->first_step; i < c->first_step + c->nsteps; i++) {
		struct run_step *step = &run->steps[i];
		struct ready ready;

		if (!step->started)
			continue;
		ready.reported_ps = dependencies_ps(run, step);
		ready.latest_ps = min_u64(ready.reported_ps, awaited_ps(run, step));
		if (predecessors.count != 0 && !run_follows_own(run, step) && ready.reported_ps != RUN_UNKNOWN)
			ready = begins(run, &predecessors, index, step, &gap, ready);
		note_late(step, run->config.jitter_ps, ready);
	}
	pass_over(run, &predecessors, index, &gap);
}

bool
run_failed(const struct run *run)
{
	return !run->truncated && (run->end_reason == REC_END_STALL || run->end_reason == REC_END_QP_ERROR ||
				   run->end_reason == REC_END_HOST_LOST || run->end_reason == REC_END_PART_LOST);
}

uint64_t
run_slow_after_ps(const struct run *run, const struct run_step *step)
{
	uint64_t trip_ps = run_is_flows(&run->collectives[step->collective]) ? step->base_rtt_ps : 0;

	return step->expect_ps + step->expect_ps / 100 * RUN_SLOW_PERCENT + trip_ps + run->config.jitter_ps +
	       run_spread_ps(step);
}

static void
take_report(struct run *run, struct run_step *step, const struct rec_step *rec)
{
	uint64_t limit_ps = run_slow_after_ps(run, step), exec_ps;

	step->reported = true;
	step->open = rec->open != REC_STEP_OVER;
	step->started = rec->open != REC_STEP_WAITS;
	step->acked_bytes = rec->acked_bytes;
	step->retransmits = rec->retransmits;
	step->naks = rec->naks;
	step->rtt_min_ps = rec->rtt_min_ps;
	step->rtt_mean_ps = rec->rtt_mean_ps;
	step->rtt_samples = rec->rtt_samples;
	step->waited_ns = rec->waited_ns;
	step->start_ps = rec->start_ps;
	step->end_ps = step->open ? run->end_ps : rec->end_ps;
	if (!step->started)
		step->end_ps = 0;
	else if (step->end_ps < step->start_ps)
		step->end_ps = step->start_ps;
	if (!step->started)
		return;
	exec_ps = step->end_ps - step->start_ps;
	if (!run_is_local(step))
		step->slow = step->expect_ps != 0 && (exec_ps > limit_ps || (step->open && run_failed(run)));
	else if (exec_ps > limit_ps)
		step->long_ps = exec_ps - step->expect_ps;
}

#define REPORTS_AHEAD 16 /* they are in the order of completion: each is far from the one before */

static void
fill_step(struct run *run, const struct evidence *ev, uint32_t i)
{
	const struct ev_step *from = &ev->steps[i];
	struct run_step *step = &run->steps[i];
	struct rec_step report;

	*step = (struct run_step){
		.collective = from->collective,
		.flow = from->flow,
		.rank = from->rank,
		.step = from->step,
		.peer = from->peer,
		.channel = from->channel,
		.host = from->host,
		.prio = from->prio,
		.bytes = from->bytes,
		.ideal_ps = from->ideal_ps,
		.expect_ps = from->expect_ps != 0 ? from->expect_ps : from->ideal_ps,
		.base_rtt_ps = from->base_rtt_ps,
		.spread_ns = from->spread_ns,
		.first_dep = from->first_dep,
		.ndeps = from->ndeps,
		.waited_for = from->waited_for,
		.completeness = 1,
	};
	if (evidence_report(ev, i, &report))
		take_report(run, step, &report);
}

/* The steps of a collective, and its result from them. */
static void
take_steps(struct run *run, const struct evidence *ev, uint32_t index)
{
	struct run_collective *out = &run->collectives[index];
	bool complete = true;

	out->start_ps = run->end_ps;
	out->nsteps = ev->first_steps[index + 1] - ev->first_steps[index];
	out->first_step = out->nsteps != 0 ? ev->first_steps[index] : 0;
	for (uint32_t i = out->first_step; i < out->first_step + out->nsteps; i++) {
		const struct run_step *step = &run->steps[i];

		evidence_prefetch_report(ev, i + REPORTS_AHEAD);
		fill_step(run, ev, i);
		run->nlocal += run_is_local(step);
		complete &= step->reported && !step->open;
		if (step->bytes > out->step_bytes)
			out->step_bytes = step->bytes;
		if (!step->started)
			continue;
		out->start_ps = min_u64(out->start_ps, step->start_ps);
		if (step->end_ps > out->end_ps)
			out->end_ps = step->end_ps;
		out->begun = true;
	}
	out->complete = complete && out->nsteps != 0 && out->nsteps == out->steps;
	if (!out->complete)
		out->end_ps = 0;
}

/* ---- steps that wait for open ones ---- */

struct waits {
	uint32_t *first, *list;  /* [nsteps + 1] into list: the steps that depend on each */
	uint32_t *queue, nqueue; /* [nsteps] open steps, and those that wait */
	uint32_t next;           /* in the queue: its dependents are not looked at yet */
	bool *blocked;           /* [nranks] a rank's part in a collective is not done */
};

static void
list_dependents(const struct run *run, struct waits *w)
{
	for (uint32_t d = 0; d < run->ndepends; d++)
		w->first[run->depends[d] + 1]++;
	for (uint32_t i = 0; i < run->nsteps; i++)
		w->first[i + 1] += w->first[i];
	for (uint32_t i = 0; i < run->nsteps; i++)
		for (uint32_t d = run->steps[i].first_dep; d < run->steps[i].first_dep + run->steps[i].ndeps; d++)
			w->list[w->first[run->depends[d]]++] = i;
	for (uint32_t i = run->nsteps; i > 0; i--) /* each is where the next one's began */
		w->first[i] = w->first[i - 1];
	w->first[0] = 0;
}

static void
note_waits(struct run *run, struct waits *w, uint32_t i)
{
	struct run_step *step = &run->steps[i];

	if (step->reported || step->waits)
		return;
	step->waits = true;
	w->queue[w->nqueue++] = i;
}

/* What depends on it, and its rank's part; when a run fails, its rank's next step has not begun either. */
static void
block(struct run *run, struct waits *w, uint32_t i)
{
	const struct run_step *step = &run->steps[i], *next = step + 1;
	const struct run_collective *c = &run->collectives[step->collective];

	for (uint32_t d = w->first[i]; d < w->first[i + 1]; d++)
		note_waits(run, w, w->list[d]);
	if (run_failed(run) && i + 1 < c->first_step + c->nsteps && next->rank == step->rank)
		note_waits(run, w, i + 1);
	if (c->nranks != 0)
		w->blocked[c->first_rank + step->rank] = w->blocked[c->first_rank + step->peer] = true;
}

static bool
is_blocked(const struct run *run, const struct waits *w, const struct predecessors *predecessors, uint32_t rank)
{
	for (uint32_t i = 0; i < predecessors->count; i++) {
		const struct run_collective *before = before_at(run, predecessors, i);

		if (rank < before->nranks && w->blocked[before->first_rank + rank])
			return true;
	}
	return false;
}

/* Those before it are done. */
static void
wait_in(struct run *run, struct waits *w, uint32_t index)
{
	const struct run_collective *c = &run->collectives[index];
	struct predecessors predecessors = run_predecessors(run, c);

	for (uint32_t i = c->first_step; i < c->first_step + c->nsteps; i++)
		if (!run_follows_own(run, &run->steps[i]) && is_blocked(run, w, &predecessors, run->steps[i].rank))
			note_waits(run, w, i);
	while (w->next < w->nqueue)
		block(run, w, w->queue[w->next++]);
	for (uint32_t r = 0; r < c->nranks; r++)
		if (!run->ranks[c->first_rank + r].part)
			w->blocked[c->first_rank + r] = is_blocked(run, w, &predecessors, r);
}

/*
 * Marks the steps without a record that wait, through others, for an open one: they had not begun when the run ended. In
 * a truncated stream a record may be missing all the same. @return 0 or -ENOMEM with err
 */
static int
fill_waits(struct run *run, struct err *err)
{
	size_t nsteps = (size_t)run->nsteps + 1;
	struct waits w = { .first = run_alloc(nsteps, sizeof(*w.first), err),
			   .list = run_alloc(run->ndepends, sizeof(*w.list), err),
			   .queue = run_alloc(nsteps, sizeof(*w.queue), err),
			   .blocked = run_alloc(run->nranks, sizeof(*w.blocked), err) };
	bool whole = w.first != NULL && w.list != NULL && w.queue != NULL && w.blocked != NULL;

	for (uint32_t i = 0; whole && !run->truncated && i < run->nsteps; i++)
		if (run->steps[i].reported && run->steps[i].open &&
		    !run_is_flows(&run->collectives[run->steps[i].collective]))
			w.queue[w.nqueue++] = i;
	if (w.nqueue != 0)
		list_dependents(run, &w);
	for (uint32_t c = 0; c < run->ncollectives && w.nqueue != 0; c++)
		wait_in(run, &w, c);
	free(w.first);
	free(w.list);
	free(w.queue);
	free(w.blocked);
	return whole ? 0 : -ENOMEM;
}

int
run_fill_steps(struct run *run, const struct evidence *ev, struct err *err)
{
	int rc = run_fill_jobs(run, ev, err);

	if (rc != 0)
		return rc;
	run->steps = run_alloc(ev->nsteps, sizeof(*run->steps), err);
	run->depends = run_alloc(ev->ndeps, sizeof(*run->depends), err);
	if (run->steps == NULL || run->depends == NULL)
		return -ENOMEM;
	run->nsteps = ev->nsteps;
	run->ndepends = ev->ndeps;
	memcpy(run->depends, ev->deps, ev->ndeps * sizeof(*run->depends));
	for (uint32_t c = 0; c < run->ncollectives; c++)
		take_steps(run, ev, c);
	run_sum_up_iterations(run);
	rc = run_fill_ranks(run, ev, err);
	if (rc == 0)
		rc = fill_waits(run, err);
	if (rc == 0)
		late_fill(run);
	return rc;
}
