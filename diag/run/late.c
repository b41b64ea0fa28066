/* SPDX-License-Identifier: BSD-3-Clause */
#include "diag/run/late.h"

#include <errno.h>
#include <stdlib.h>

#define UNKNOWN UINT64_MAX

/* A rank of the iteration before: since when it has sent and received everything. */
struct rank_ready {
	uint32_t ip;
	uint64_t ready_ps; /* UNKNOWN: something of it is open or was not reported */
};

static int fill_first(struct run *run, uint32_t collective, struct err *err);

static void
note_late(const struct run *run, struct run_step *step, uint64_t ready_ps)
{
	uint64_t tolerance_ps = step->expect_ps / 100 * RUN_SLOW_PERCENT + step->base_rtt_ps + run->config.jitter_ps;

	if (ready_ps != UNKNOWN && step->start_ps > ready_ps + tolerance_ps)
		step->late_ps = step->start_ps - ready_ps;
}

static bool
is_first(const struct run_step *step)
{
	return step->previous == RUN_NONE && step->depends == RUN_NONE;
}

static uint64_t
later_of(uint64_t ready_ps, const struct run_step *input)
{
	if (!input->reported || input->open)
		return UNKNOWN;
	return input->end_ps > ready_ps ? input->end_ps : ready_ps;
}

int
late_fill(struct run *run, uint32_t collective, struct err *err)
{
	const struct run_collective *c = &run->collectives[collective];

	for (uint32_t i = c->first_step; i < c->first_step + c->nsteps; i++) {
		struct run_step *step = &run->steps[i];
		uint64_t ready_ps = c->start_ps;

		if (!step->started || is_first(step))
			continue;
		if (step->previous != RUN_NONE)
			ready_ps = later_of(ready_ps, &run->steps[step->previous]);
		if (step->depends != RUN_NONE)
			ready_ps = later_of(ready_ps, &run->steps[step->depends]);
		note_late(run, step, ready_ps);
	}
	return fill_first(run, collective, err);
}

static int
cmp_rank(const void *pa, const void *pb)
{
	const struct rank_ready *a = pa, *b = pb;

	return a->ip < b->ip ? -1 : a->ip > b->ip;
}

/* @return the rank with this address, NULL if there is none */
static struct rank_ready *
find_rank(struct rank_ready *ranks, uint32_t count, uint32_t ip)
{
	const struct rank_ready want = { .ip = ip };

	return bsearch(&want, ranks, count, sizeof(*ranks), cmp_rank);
}

static void
note_step(const struct run *run, struct rank_ready *ranks, uint32_t count, const struct run_step *step)
{
	const struct rec_tuple *tuple = &run->flows[step->flow].tuple;
	struct rank_ready *ends[] = { find_rank(ranks, count, tuple->src_ip), find_rank(ranks, count, tuple->dst_ip) };

	for (int i = 0; i < 2; i++) {
		if (ends[i] != NULL && ends[i]->ready_ps != UNKNOWN)
			ends[i]->ready_ps = later_of(ends[i]->ready_ps, step);
	}
}

/* Fills ranks, by address, from an iteration's steps. @return how many there are */
static uint32_t
gather_ranks(const struct run *run, const struct run_collective *c, struct rank_ready *ranks)
{
	uint32_t count = 0;

	for (uint32_t i = c->first_step; i < c->first_step + c->nsteps; i++) {
		if (run->steps[i].previous == RUN_NONE)
			ranks[count++] = (struct rank_ready){ .ip = run->flows[run->steps[i].flow].tuple.src_ip };
	}
	if (count > 1)
		qsort(ranks, count, sizeof(*ranks), cmp_rank);
	for (uint32_t i = c->first_step; i < c->first_step + c->nsteps; i++)
		note_step(run, ranks, count, &run->steps[i]);
	return count;
}

/* When this rank's first step could start; the gap between iterations left aside. */
static uint64_t
first_ready(const struct run *run, const struct run_step *step, struct rank_ready *ranks, uint32_t count)
{
	const struct rank_ready *rank = find_rank(ranks, count, run->flows[step->flow].tuple.src_ip);

	return rank != NULL ? rank->ready_ps : UNKNOWN;
}

static void
fill_against(struct run *run, const struct run_collective *c, struct rank_ready *ranks, uint32_t count)
{
	uint64_t gap_ps = UINT64_MAX;

	for (uint32_t i = c->first_step; i < c->first_step + c->nsteps; i++) {
		const struct run_step *step = &run->steps[i];
		uint64_t ready_ps;

		if (!step->started || !is_first(step))
			continue;
		ready_ps = first_ready(run, step, ranks, count);
		if (ready_ps == UNKNOWN)
			continue;
		ready_ps = step->start_ps > ready_ps ? step->start_ps - ready_ps : 0;
		gap_ps = ready_ps < gap_ps ? ready_ps : gap_ps;
	}
	for (uint32_t i = c->first_step; i < c->first_step + c->nsteps; i++) {
		struct run_step *step = &run->steps[i];
		uint64_t ready_ps;

		if (!step->started || !is_first(step))
			continue;
		ready_ps = first_ready(run, step, ranks, count);
		if (ready_ps != UNKNOWN)
			note_late(run, step, ready_ps + gap_ps);
	}
}

static int
fill_first(struct run *run, uint32_t collective, struct err *err)
{
	const struct run_collective *c = &run->collectives[collective], *before = c - 1;
	struct rank_ready *ranks;

	/* Collectives are sorted by (id, iteration). */
	if (collective == 0 || before->id != c->id || before->iteration + 1 != c->iteration) {
		for (uint32_t i = c->first_step; i < c->first_step + c->nsteps; i++) {
			if (run->steps[i].started && is_first(&run->steps[i]))
				note_late(run, &run->steps[i], c->start_ps);
		}
		return 0;
	}
	ranks = calloc((size_t)before->nsteps + 1, sizeof(*ranks));
	if (ranks == NULL)
		return err_set(err, -ENOMEM, "out of memory for the ranks of an iteration");
	fill_against(run, c, ranks, gather_ranks(run, before, ranks));
	free(ranks);
	return 0;
}
