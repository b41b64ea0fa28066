/* SPDX-License-Identifier: BSD-3-Clause */
#include "diag/run/late.h"

#include <errno.h>
#include <stdlib.h>

/* What a rank has done before it can begin a collective: since when it has sent and received everything there. */
struct place {
	uint64_t key; /* its NIC, or its host */
	uint64_t done_ps;
};

static void fill_collective(struct run *run, const struct run_collective *c, struct place *places);

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

int
late_fill(struct run *run, struct err *err)
{
	size_t most = 0;
	struct place *places;

	for (uint32_t c = 0; c < run->ncollectives; c++) {
		struct befores befores = befores_of(run, &run->collectives[c]);
		size_t count = 0;

		for (uint32_t i = 0; i < befores.count; i++)
			count += before_at(run, &befores, i)->nranks;
		most = count > most ? count : most;
	}
	places = calloc(most + 1, sizeof(*places));
	if (places == NULL)
		return err_set(err, -ENOMEM, "out of memory for the ranks of an iteration");
	for (uint32_t c = 0; c < run->ncollectives; c++) {
		fill_collective(run, &run->collectives[c], places);
	}
	free(places);
	return 0;
}

/* Over collectives, whose ranks are numbered each for itself. */
static uint64_t
key_of(const struct run_rank *rank)
{
	return rank->ip != 0 ? rank->ip : 1ULL << 32 | rank->host;
}

static int
cmp_place(const void *pa, const void *pb)
{
	const struct place *a = pa, *b = pb;

	if (a->key != b->key)
		return a->key < b->key ? -1 : 1;
	return a->done_ps < b->done_ps ? -1 : a->done_ps > b->done_ps;
}

/* Fills in the ranks of collectives, by place; of one place the last to be done counts. @return how many there are */
static uint32_t
gather_places(const struct run *run, const struct befores *befores, struct place *places)
{
	uint32_t count = 0, kept = 0;

	for (uint32_t i = 0; i < befores->count; i++) {
		const struct run_collective *c = before_at(run, befores, i);

		for (uint32_t r = c->first_rank; r < c->first_rank + c->nranks; r++) {
			if (run->ranks[r].host != RUN_NONE)
				places[count++] = (struct place){ key_of(&run->ranks[r]), run->ranks[r].done_ps };
		}
	}
	if (count > 1)
		qsort(places, count, sizeof(*places), cmp_place);
	for (uint32_t i = 0; i < count; i++) {
		if (i + 1 == count || places[i + 1].key != places[i].key)
			places[kept++] = places[i];
	}
	return kept;
}

/* When this step's rank could begin; a pause that all ranks make left aside. */
static uint64_t
begin_ps(const struct run *run, const struct run_step *step, const struct place *places, uint32_t count)
{
	const struct run_collective *c = &run->collectives[step->collective];
	struct place want;
	const struct place *place;

	if (step->rank >= c->nranks)
		return RUN_UNKNOWN;
	want.key = key_of(&run->ranks[c->first_rank + step->rank]);
	for (uint32_t lo = 0, hi = count; lo < hi;) {
		uint32_t mid = lo + (hi - lo) / 2;

		place = &places[mid];
		if (place->key == want.key)
			return place->done_ps;
		if (place->key < want.key)
			lo = mid + 1;
		else
			hi = mid;
	}
	return RUN_UNKNOWN;
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

/* The shortest pause that a rank made before its first step. */
static uint64_t
gap_of(const struct run *run, const struct run_collective *c, const struct place *places, uint32_t count)
{
	uint64_t gap_ps = UINT64_MAX;

	for (uint32_t i = c->first_step; i < c->first_step + c->nsteps; i++) {
		const struct run_step *step = &run->steps[i];
		uint64_t ready_ps = is_first(step) ? begin_ps(run, step, places, count) : RUN_UNKNOWN;

		if (ready_ps == RUN_UNKNOWN)
			continue;
		ready_ps = step->start_ps > ready_ps ? step->start_ps - ready_ps : 0;
		gap_ps = ready_ps < gap_ps ? ready_ps : gap_ps;
	}
	return gap_ps;
}

static void
fill_collective(struct run *run, const struct run_collective *c, struct place *places)
{
	struct befores befores = befores_of(run, c);
	uint32_t count = gather_places(run, &befores, places);
	uint64_t gap_ps = befores.count != 0 ? gap_of(run, c, places, count) : 0;

	for (uint32_t i = c->first_step; i < c->first_step + c->nsteps; i++) {
		struct run_step *step = &run->steps[i];
		uint64_t ready_ps, rank_ps;

		if (!step->started)
			continue;
		ready_ps = met_ps(run, step);
		if (befores.count != 0 && !follows_own(run, step) && ready_ps != RUN_UNKNOWN) {
			rank_ps = begin_ps(run, step, places, count);
			if (rank_ps != RUN_UNKNOWN)
				rank_ps += gap_ps;
			ready_ps = is_first(step) || rank_ps > ready_ps ? rank_ps : ready_ps;
		}
		note_late(run, step, ready_ps);
	}
}
