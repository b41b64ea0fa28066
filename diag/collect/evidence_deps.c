/* SPDX-License-Identifier: BSD-3-Clause */
/* What each step waits for: of its own schedule record, of DEPEND records, and the step before it on its channel. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "diag/collect/evidence_internal.h"

#define OF_SCHEDULE 2                 /* dependencies that a SCHEDULE record has */
#define DEPS_A_STEP (OF_SCHEDULE + 1) /* and the step before on the channel */

/* Local steps by (collective, rank, channel, step). */
static int
cmp_local(const void *pa, const void *pb, void *arg)
{
	const struct evidence *ev = arg;
	const struct ev_step *a = &ev->steps[*(const uint32_t *)pa], *b = &ev->steps[*(const uint32_t *)pb];

	if (a->collective != b->collective)
		return a->collective < b->collective ? -1 : 1;
	if (a->sched->rank != b->sched->rank)
		return a->sched->rank < b->sched->rank ? -1 : 1;
	if (a->sched->channel != b->sched->channel)
		return a->sched->channel < b->sched->channel ? -1 : 1;
	return a->sched->step < b->sched->step ? -1 : a->sched->step > b->sched->step;
}

/* @param before  [nsteps] set of local steps  @param local  [nsteps] to work in */
static void
find_local(const struct evidence *ev, uint32_t *before, uint32_t *local)
{
	uint32_t count = 0;

	for (uint32_t i = 0; i < ev->nsteps; i++) {
		if (ev->steps[i].flow == EV_NONE)
			local[count++] = i;
	}
	if (count > 1)
		qsort_r(local, count, sizeof(*local), cmp_local, (void *)(uintptr_t)ev);
	for (uint32_t i = 1; i < count; i++) {
		const struct ev_step *a = &ev->steps[local[i - 1]], *b = &ev->steps[local[i]];

		if (a->collective == b->collective && a->sched->rank == b->sched->rank &&
		    a->sched->channel == b->sched->channel)
			before[local[i]] = local[i - 1];
	}
}

/* The step before each on its channel, EV_NONE: the first. Of a collective, each channel of a pair has its own flow. */
static int
find_before(const struct evidence *ev, uint32_t *before, struct err *err)
{
	uint32_t size = ev->nflows > ev->nsteps ? ev->nflows : ev->nsteps;
	uint32_t *last = evidence_alloc(size, sizeof(*last), err);

	if (last == NULL)
		return -ENOMEM;
	memset(last, 0xff, size * sizeof(*last));
	memset(before, 0xff, ev->nsteps * sizeof(*before));
	for (uint32_t i = 0; i < ev->nsteps; i++) {
		uint32_t flow = ev->steps[i].flow;

		if (flow == EV_NONE)
			continue;
		if (last[flow] != EV_NONE && ev->steps[last[flow]].collective == ev->steps[i].collective &&
		    ev->steps[last[flow]].sched->rank == ev->steps[i].sched->rank)
			before[i] = last[flow];
		last[flow] = i;
	}
	find_local(ev, before, last);
	free(last);
	return 0;
}

/* To the step whose dependencies are being listed. @param among  so many of the first may be the same one */
static void
add_dep(struct evidence *ev, struct ev_step *step, uint32_t on, uint32_t among)
{
	if (on == EV_NONE || on == (uint32_t)(step - ev->steps))
		return;
	for (uint32_t i = 0; i < step->ndeps && i < among; i++) {
		if (ev->deps[step->first_dep + i] == on)
			return;
	}
	ev->deps[ev->ndeps++] = on;
	step->ndeps++;
}

static int
cmp_depend(const struct rec_depend *depend, const struct rec_schedule *sched)
{
	if (depend->collective != sched->collective)
		return depend->collective < sched->collective ? -1 : 1;
	if (depend->iteration != sched->iteration)
		return depend->iteration < sched->iteration ? -1 : 1;
	if (depend->rank != sched->rank)
		return depend->rank < sched->rank ? -1 : 1;
	return depend->step < sched->step ? -1 : depend->step > sched->step;
}

/* The first of the step's records; they are sorted like the schedule. */
static uint32_t
first_depend(const struct evidence *ev, const struct rec_schedule *sched)
{
	uint32_t lo = 0, hi = ev->depends.count;

	while (lo < hi) {
		uint32_t mid = lo + (hi - lo) / 2;

		if (cmp_depend(EV_AT(ev->depends, struct rec_depend, mid), sched) < 0)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}

static void
list_deps(struct evidence *ev, struct ev_step *step, uint32_t before)
{
	const struct rec_schedule *sched = step->sched;

	step->first_dep = ev->ndeps;
	if (sched->own_step != 0)
		add_dep(ev, step, evidence_step(ev, step->collective, sched->rank, sched->own_step), OF_SCHEDULE);
	if (sched->depends_rank != REC_NONE)
		add_dep(ev, step, evidence_step(ev, step->collective, sched->depends_rank, sched->depends_step),
			OF_SCHEDULE);
	for (uint32_t d = sched->depends != 0 ? first_depend(ev, sched) : ev->depends.count; d < ev->depends.count; d++) {
		const struct rec_depend *rec = EV_AT(ev->depends, struct rec_depend, d);

		if (cmp_depend(rec, sched) != 0)
			break;
		add_dep(ev, step,
			evidence_step(ev, evidence_collective(ev, rec->on_collective, rec->iteration), rec->on_rank,
				      rec->on_step),
			OF_SCHEDULE); /* of themselves no two are alike */
	}
	add_dep(ev, step, before, step->ndeps);
}

int
evidence_join_deps(struct evidence *ev, struct err *err)
{
	uint32_t *before = evidence_alloc(ev->nsteps, sizeof(*before), err);
	int rc = -ENOMEM;

	ev->deps = evidence_alloc((size_t)DEPS_A_STEP * ev->nsteps + ev->depends.count, sizeof(*ev->deps), err);
	if (before != NULL && ev->deps != NULL)
		rc = find_before(ev, before, err);
	for (uint32_t i = 0; rc == 0 && i < ev->nsteps; i++)
		list_deps(ev, &ev->steps[i], before[i]);
	free(before);
	return rc;
}
