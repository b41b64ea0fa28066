/* SPDX-License-Identifier: BSD-3-Clause */
#include "diag/waiting/late.h"

#include <errno.h>
#include <stdlib.h>

#define UNKNOWN UINT64_MAX

/* A rank of the iteration before: since when it has sent and received everything. */
struct rank_ready {
	uint32_t ip;
	uint64_t ready_ps; /* UNKNOWN: something of it is open or was not reported */
};

static int fill_first(struct verdict *v, uint32_t collective, struct err *err);

static void
note_late(const struct verdict *v, struct verdict_step *step, uint64_t ready_ps)
{
	uint64_t tolerance_ps = step->expect_ps / 100 * VERDICT_SLOW_PERCENT + step->base_rtt_ps + v->run.jitter_ps;

	if (ready_ps != UNKNOWN && step->start_ps > ready_ps + tolerance_ps)
		step->late_ps = step->start_ps - ready_ps;
}

static bool
is_first(const struct verdict_step *step)
{
	return step->previous == VERDICT_NONE && step->depends == VERDICT_NONE;
}

static uint64_t
later_of(uint64_t ready_ps, const struct verdict_step *input)
{
	if (!input->reported || input->open)
		return UNKNOWN;
	return input->end_ps > ready_ps ? input->end_ps : ready_ps;
}

int
late_fill(struct verdict *v, uint32_t collective, struct err *err)
{
	const struct verdict_collective *c = &v->collectives[collective];

	for (uint32_t i = c->first_step; i < c->first_step + c->nsteps; i++) {
		struct verdict_step *step = &v->steps[i];
		uint64_t ready_ps = c->start_ps;

		if (!step->started || is_first(step))
			continue;
		if (step->previous != VERDICT_NONE)
			ready_ps = later_of(ready_ps, &v->steps[step->previous]);
		if (step->depends != VERDICT_NONE)
			ready_ps = later_of(ready_ps, &v->steps[step->depends]);
		note_late(v, step, ready_ps);
	}
	return fill_first(v, collective, err);
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
note_step(const struct verdict *v, struct rank_ready *ranks, uint32_t count, const struct verdict_step *step)
{
	const struct rec_tuple *tuple = &v->flows[step->flow].tuple;
	struct rank_ready *ends[] = { find_rank(ranks, count, tuple->src_ip), find_rank(ranks, count, tuple->dst_ip) };

	for (int i = 0; i < 2; i++) {
		if (ends[i] != NULL && ends[i]->ready_ps != UNKNOWN)
			ends[i]->ready_ps = later_of(ends[i]->ready_ps, step);
	}
}

/* Fills ranks, by address, from an iteration's steps. @return how many there are */
static uint32_t
gather_ranks(const struct verdict *v, const struct verdict_collective *c, struct rank_ready *ranks)
{
	uint32_t count = 0;

	for (uint32_t i = c->first_step; i < c->first_step + c->nsteps; i++) {
		if (v->steps[i].previous == VERDICT_NONE)
			ranks[count++] = (struct rank_ready){ .ip = v->flows[v->steps[i].flow].tuple.src_ip };
	}
	if (count > 1)
		qsort(ranks, count, sizeof(*ranks), cmp_rank);
	for (uint32_t i = c->first_step; i < c->first_step + c->nsteps; i++)
		note_step(v, ranks, count, &v->steps[i]);
	return count;
}

/* When this rank's first step could start; the gap between iterations left aside. */
static uint64_t
first_ready(const struct verdict *v, const struct verdict_step *step, struct rank_ready *ranks, uint32_t count)
{
	const struct rank_ready *rank = find_rank(ranks, count, v->flows[step->flow].tuple.src_ip);

	return rank != NULL ? rank->ready_ps : UNKNOWN;
}

static void
fill_against(struct verdict *v, const struct verdict_collective *c, struct rank_ready *ranks, uint32_t count)
{
	uint64_t gap_ps = UINT64_MAX;

	for (uint32_t i = c->first_step; i < c->first_step + c->nsteps; i++) {
		const struct verdict_step *step = &v->steps[i];
		uint64_t ready_ps;

		if (!step->started || !is_first(step))
			continue;
		ready_ps = first_ready(v, step, ranks, count);
		if (ready_ps == UNKNOWN)
			continue;
		ready_ps = step->start_ps > ready_ps ? step->start_ps - ready_ps : 0;
		gap_ps = ready_ps < gap_ps ? ready_ps : gap_ps;
	}
	for (uint32_t i = c->first_step; i < c->first_step + c->nsteps; i++) {
		struct verdict_step *step = &v->steps[i];
		uint64_t ready_ps;

		if (!step->started || !is_first(step))
			continue;
		ready_ps = first_ready(v, step, ranks, count);
		if (ready_ps != UNKNOWN)
			note_late(v, step, ready_ps + gap_ps);
	}
}

static int
fill_first(struct verdict *v, uint32_t collective, struct err *err)
{
	const struct verdict_collective *c = &v->collectives[collective], *before = c - 1;
	struct rank_ready *ranks;

	/* Collectives are sorted by (id, iteration). */
	if (collective == 0 || before->id != c->id || before->iteration + 1 != c->iteration) {
		for (uint32_t i = c->first_step; i < c->first_step + c->nsteps; i++) {
			if (v->steps[i].started && is_first(&v->steps[i]))
				note_late(v, &v->steps[i], c->start_ps);
		}
		return 0;
	}
	ranks = calloc((size_t)before->nsteps + 1, sizeof(*ranks));
	if (ranks == NULL)
		return err_set(err, -ENOMEM, "out of memory for the ranks of an iteration");
	fill_against(v, c, ranks, gather_ranks(v, before, ranks));
	free(ranks);
	return 0;
}
