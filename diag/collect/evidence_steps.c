/* SPDX-License-Identifier: BSD-3-Clause */
/* Collectives in order of jobs and iterations, and their steps: the schedule with the hosts' reports. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "diag/collect/evidence_internal.h"

static int evidence_join_deps(struct evidence *ev, struct err *err);

static int
cmp_collective(const void *pa, const void *pb)
{
	const struct rec_collective *a = pa, *b = pb;

	if (a->job != b->job)
		return a->job < b->job ? -1 : 1;
	if (a->iteration != b->iteration)
		return a->iteration < b->iteration ? -1 : 1;
	return a->id < b->id ? -1 : a->id > b->id;
}

static int
cmp_place(const void *pa, const void *pb)
{
	const struct ev_place *a = pa, *b = pb;

	if (a->id != b->id)
		return a->id < b->id ? -1 : 1;
	return a->iteration < b->iteration ? -1 : a->iteration > b->iteration;
}

static int
order_collectives(struct evidence *ev, struct err *err)
{
	uint32_t count = ev->collectives.count;

	ev->places = evidence_alloc(count, sizeof(*ev->places), err);
	if (ev->places == NULL)
		return -ENOMEM;
	if (count > 1)
		qsort(ev->collectives.data, count, sizeof(struct rec_collective), cmp_collective);
	for (uint32_t i = 0; i < count; i++) {
		const struct rec_collective *rec = EV_AT(ev->collectives, struct rec_collective, i);

		ev->places[i] = (struct ev_place){ rec->id, rec->iteration, i };
	}
	if (count > 1)
		qsort(ev->places, count, sizeof(*ev->places), cmp_place);
	return 0;
}

uint32_t
evidence_collective(const struct evidence *ev, uint32_t id, uint32_t iteration)
{
	const struct ev_place want = { .id = id, .iteration = iteration };
	const struct ev_place *place = ev->collectives.count != 0
					       ? bsearch(&want, ev->places, ev->collectives.count, sizeof(want), cmp_place)
					       : NULL;

	return place != NULL ? place->index : EV_NONE;
}

static int
cmp_step(const struct ev_step *step, uint32_t collective, uint32_t rank, uint32_t number)
{
	if (step->collective != collective)
		return step->collective < collective ? -1 : 1;
	if (step->sched->rank != rank)
		return step->sched->rank < rank ? -1 : 1;
	return step->sched->step < number ? -1 : step->sched->step > number;
}

/* @return index into steps, EV_NONE: there is none. @param collective  index, or EV_NONE */
static uint32_t
evidence_step(const struct evidence *ev, uint32_t collective, uint32_t rank, uint32_t number)
{
	uint32_t lo = 0, hi = ev->nsteps;

	while (lo < hi) {
		uint32_t mid = lo + (hi - lo) / 2;
		int order = cmp_step(&ev->steps[mid], collective, rank, number);

		if (order == 0)
			return mid;
		if (order < 0)
			lo = mid + 1;
		else
			hi = mid;
	}
	return EV_NONE;
}

static uint32_t
collective_of(const struct evidence *ev, const struct rec_schedule *rec)
{
	return evidence_collective(ev, rec->collective, rec->iteration);
}

/* The schedule is sorted by (collective's id, iteration, rank, step): a collective's part of it moves as a whole. */
static void
take_schedule(struct evidence *ev, uint32_t *next)
{
	const struct rec_schedule *rec = ev->schedule.data;

	for (uint32_t i = 0; i < ev->nsteps; i++)
		next[collective_of(ev, &rec[i]) + 1]++;
	for (uint32_t c = 0; c < ev->collectives.count; c++)
		next[c + 1] += next[c];
	for (uint32_t i = 0; i < ev->nsteps; i++) {
		uint32_t collective = collective_of(ev, &rec[i]);

		ev->steps[next[collective]++] = (struct ev_step){
			.collective = collective,
			.flow = rec[i].peer != rec[i].rank ? evidence_flow(ev, &rec[i].flow) : EV_NONE,
			.host = rec[i].hdr.node,
			.sched = &rec[i],
			.waited_for = EV_NONE,
		};
	}
}

static void
take_reports(struct evidence *ev)
{
	for (uint32_t i = 0; i < ev->step_recs.count; i++) {
		const struct rec_step *rec = EV_AT(ev->step_recs, struct rec_step, i);
		uint32_t step =
			evidence_step(ev, evidence_collective(ev, rec->collective, rec->iteration), rec->rank, rec->step);

		/* A host reports its own ranks alone. */
		if (step == EV_NONE || ev->steps[step].host != rec->hdr.node)
			ev->unscheduled_steps++;
		else
			ev->steps[step].report = rec;
	}
}

static void
take_waits(struct evidence *ev)
{
	for (uint32_t i = 0; i < ev->nsteps; i++) {
		const struct rec_step *report = ev->steps[i].report;

		if (report != NULL && report->waited_step != 0)
			ev->steps[i].waited_for =
				evidence_step(ev, evidence_collective(ev, report->waited_collective, report->iteration),
					      report->waited_rank, report->waited_step);
	}
}

int
evidence_join_steps(struct evidence *ev, struct err *err)
{
	uint32_t *next;
	int rc = order_collectives(ev, err);

	if (rc != 0)
		return rc;
	ev->nsteps = ev->schedule.count;
	ev->steps = evidence_alloc(ev->nsteps, sizeof(*ev->steps), err);
	next = evidence_alloc((size_t)ev->collectives.count + 1, sizeof(*next), err);
	if (ev->steps != NULL && next != NULL) {
		take_schedule(ev, next);
		take_reports(ev);
		take_waits(ev);
	}
	free(next);
	return ev->steps != NULL && next != NULL ? evidence_join_deps(ev, err) : -ENOMEM;
}

/*
 * The dependencies of each step: of its own schedule record, of DEPEND records, and the step before it on its channel.
 */

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

/* To the step whose dependencies are being listed. @param among  the number of first ones that may be the same one */
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

/* The last part of evidence_join_steps(). */
static int
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
