/* SPDX-License-Identifier: BSD-3-Clause */
#include "diag/run/late.h"

static void fill_collective(struct run *run, uint32_t index);

static void
note_late(const struct run *run, struct run_step *step, uint64_t ready_ps)
{
	uint64_t tolerance_ps = step->expect_ps / 100 * RUN_SLOW_PERCENT + step->base_rtt_ps + run->config.jitter_ps;

	if (ready_ps != RUN_UNKNOWN && step->start_ps > ready_ps + tolerance_ps)
		step->late_ps = step->start_ps - ready_ps;
}

/* Since when all that a step depends on is met. */
static uint64_t
met_ps(const struct run *run, const struct run_step *step)
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

/* The collectives that the ranks of this one do before: those that it follows, else the job's iteration before. */
struct befores {
	const uint32_t *list; /* NULL: consecutive, from first */
	uint32_t first, count;
};

static struct befores
befores_of(const struct run *run, const struct run_collective *c)
{
	const struct run_iteration *in = &run->iterations[c->in], *before = in - 1;

	if (c->nafter != 0)
		return (struct befores){ .list = &run->after[c->first_after], .count = c->nafter };
	if (c->in == 0 || before->job != in->job || before->iteration + 1 != in->iteration)
		return (struct befores){ .count = 0 };
	return (struct befores){ .first = before->first_collective, .count = before->ncollectives };
}

static const struct run_collective *
before_at(const struct run *run, const struct befores *befores, uint32_t i)
{
	return &run->collectives[befores->list != NULL ? befores->list[i] : befores->first + i];
}

void
late_fill(struct run *run)
{
	for (uint32_t c = 0; c < run->ncollectives; c++)
		if (!run_is_flows(&run->collectives[c])) /* they begin when they come */
			fill_collective(run, c);
}

/* When a rank could begin the collective; a pause that all ranks make left aside. */
static uint64_t
begin_ps(const struct run *run, const struct befores *befores, uint32_t index, uint32_t rank)
{
	uint64_t ready_ps = 0;

	for (uint32_t i = 0; i < befores->count; i++) {
		const struct run_collective *before = before_at(run, befores, i);
		uint64_t done_ps;

		/* of a job with as many ranks, and looked at before */
		if (before - run->collectives >= index || rank >= before->nranks)
			return RUN_UNKNOWN;
		done_ps = run->ranks[before->first_rank + rank].done_ps;
		if (done_ps == RUN_UNKNOWN)
			return RUN_UNKNOWN;
		ready_ps = done_ps > ready_ps ? done_ps : ready_ps;
	}
	return ready_ps;
}

static bool
is_first(const struct run_step *step)
{
	return step->started && step->ndeps == 0;
}

/* Does a step wait for one of its own rank in the collective, which has begun then? */
static bool
follows_own(const struct run *run, const struct run_step *step)
{
	for (uint32_t d = step->first_dep; d < step->first_dep + step->ndeps; d++) {
		const struct run_step *on = &run->steps[run->depends[d]];

		if (on->collective == step->collective && on->rank == step->rank)
			return true;
	}
	return false;
}

/* The shortest pause that a rank made before its first step; 0: it is not known of any. */
static uint64_t
gap_of(const struct run *run, const struct befores *befores, uint32_t index)
{
	const struct run_collective *c = &run->collectives[index];
	uint64_t gap_ps = UINT64_MAX;

	for (uint32_t i = c->first_step; i < c->first_step + c->nsteps && befores->count != 0; i++) {
		const struct run_step *step = &run->steps[i];
		uint64_t ready_ps = is_first(step) ? begin_ps(run, befores, index, step->rank) : RUN_UNKNOWN;

		if (ready_ps == RUN_UNKNOWN)
			continue;
		ready_ps = step->start_ps > ready_ps ? step->start_ps - ready_ps : 0;
		gap_ps = ready_ps < gap_ps ? ready_ps : gap_ps;
	}
	return gap_ps != UINT64_MAX ? gap_ps : 0;
}

/* A rank without a part in the collective is done with it where it could begin. */
static void
pass_over(struct run *run, const struct befores *befores, uint32_t index, uint64_t gap_ps)
{
	const struct run_collective *c = &run->collectives[index];

	for (uint32_t r = 0; r < c->nranks; r++) {
		struct run_rank *rank = &run->ranks[c->first_rank + r];
		uint64_t ready_ps = rank->part ? 0 : begin_ps(run, befores, index, r);

		if (!rank->part)
			rank->done_ps = ready_ps != RUN_UNKNOWN ? ready_ps + gap_ps : RUN_UNKNOWN;
	}
}

static void
fill_collective(struct run *run, uint32_t index)
{
	const struct run_collective *c = &run->collectives[index];
	struct befores befores = befores_of(run, c);
	uint64_t gap_ps = gap_of(run, &befores, index);

	for (uint32_t i = c->first_step; i < c->first_step + c->nsteps; i++) {
		struct run_step *step = &run->steps[i];
		uint64_t ready_ps, rank_ps;

		if (!step->started)
			continue;
		ready_ps = met_ps(run, step);
		if (befores.count != 0 && !follows_own(run, step) && ready_ps != RUN_UNKNOWN) {
			rank_ps = begin_ps(run, &befores, index, step->rank);
			if (rank_ps != RUN_UNKNOWN)
				rank_ps += gap_ps;
			ready_ps = is_first(step) || rank_ps > ready_ps ? rank_ps : ready_ps;
		}
		note_late(run, step, ready_ps);
	}
	pass_over(run, &befores, index, gap_ps);
}
