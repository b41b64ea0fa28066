/* SPDX-License-Identifier: BSD-3-Clause */
/* Collectives in order of jobs and iterations, and their steps: what was scheduled with what hosts reported. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "diag/collect/evidence_internal.h"

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

uint32_t
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

		/* A host speaks for its own ranks alone. */
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
