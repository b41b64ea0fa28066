/* SPDX-License-Identifier: BSD-3-Clause */
#include "diag/run/late.h"

#include "common/minmax.h"
#include "diag/run/predecessors.h"

static void fill_collective(struct run *run, uint32_t index);

/*
 * Since when a step could start: as hosts tell it, and at the latest. A message is there before its sender knows, who tells
 * when it ended.
 */
struct ready {
	uint64_t reported_ps, latest_ps;
};

/* The same of a rank and a collective, its pause left aside; and the earliest, of which the pause is the longest. */
struct begin {
	uint64_t reported_ps, earliest_ps;
};

static const struct begin unknown_begin = { RUN_UNKNOWN, RUN_UNKNOWN };

/* A pause that all ranks make: as it is told, and at most. */
struct gap {
	uint64_t reported_ps, most_ps;
};

/* What is beyond doubt counts, however little: over many steps it sums up. */
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

/* When the last of what a step depends on was met, as its host says; RUN_UNKNOWN: it does not. */
static uint64_t
awaited_ps(const struct run *run, const struct run_step *step)
{
	const struct run_step *on = step->waited_for != RUN_NONE ? &run->steps[step->waited_for] : NULL;

	return on != NULL && on->reported && !on->open ? on->end_ps : RUN_UNKNOWN;
}

/* Since when all that a step depends on is met. */
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

void
late_fill(struct run *run)
{
	for (uint32_t c = 0; c < run->ncollectives; c++)
		if (!run_is_flows(&run->collectives[c])) /* they begin when they come */
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

/* The shortest pause that a rank made before its first step: as it is told, and at most; 0: it is not known of any. */
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
