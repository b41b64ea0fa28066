/* SPDX-License-Identifier: BSD-3-Clause */
/* Joins schedule and step records, and links every step to what it depends on. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "diag/collect/evidence_internal.h"

/* @return index into collectives or EV_NONE */
static uint32_t
find_collective(const struct evidence *ev, uint32_t id, uint32_t iteration)
{
	uint32_t lo = 0, hi = ev->collectives.count;

	while (lo < hi) {
		uint32_t mid = lo + (hi - lo) / 2;
		const struct rec_collective *rec = EV_AT(ev->collectives, struct rec_collective, mid);

		if (rec->id == id && rec->iteration == iteration)
			return mid;
		if (rec->id < id || (rec->id == id && rec->iteration < iteration))
			lo = mid + 1;
		else
			hi = mid;
	}
	return EV_NONE;
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

/* Steps are sorted. @return index into steps or EV_NONE */
static uint32_t
find_step(const struct evidence *ev, uint32_t collective, uint32_t rank, uint32_t number)
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

static void
take_schedule(struct evidence *ev)
{
	for (uint32_t i = 0; i < ev->schedule.count; i++) {
		const struct rec_schedule *rec = EV_AT(ev->schedule, struct rec_schedule, i);
		struct ev_step *step = &ev->steps[i];

		step->sched = rec;
		step->collective = find_collective(ev, rec->collective, rec->iteration);
		step->flow = rec->peer != rec->rank ? evidence_flow(ev, &rec->flow) : EV_NONE;
		step->host = rec->hdr.node;
		step->previous = step->depends = step->waited_for = EV_NONE;
	}
}

static void
take_reports(struct evidence *ev)
{
	for (uint32_t i = 0; i < ev->step_recs.count; i++) {
		const struct rec_step *rec = EV_AT(ev->step_recs, struct rec_step, i);
		uint32_t step = find_step(ev, find_collective(ev, rec->collective, rec->iteration), rec->rank, rec->step);

		/* A host speaks for its own ranks alone. */
		if (step == EV_NONE || ev->steps[step].host != rec->hdr.node)
			ev->unscheduled_steps++;
		else
			ev->steps[step].report = rec;
	}
}

static void
link_steps(struct evidence *ev)
{
	for (uint32_t i = 0; i < ev->nsteps; i++) {
		struct ev_step *step = &ev->steps[i];
		const struct rec_schedule *sched = step->sched;
		const struct rec_step *report = step->report;

		if (sched->own_step != 0)
			step->previous = find_step(ev, step->collective, sched->rank, sched->own_step);
		if (sched->depends_rank != REC_NONE)
			step->depends = find_step(ev, step->collective, sched->depends_rank, sched->depends_step);
		if (report != NULL && report->waited_step != 0)
			step->waited_for = find_step(ev, find_collective(ev, report->waited_collective, report->iteration),
						     report->waited_rank, report->waited_step);
	}
}

int
evidence_join_steps(struct evidence *ev, struct err *err)
{
	ev->nsteps = ev->schedule.count;
	ev->steps = evidence_alloc(ev->nsteps, sizeof(*ev->steps), err);
	if (ev->steps == NULL)
		return -ENOMEM;
	take_schedule(ev);
	take_reports(ev);
	link_steps(ev);
	return 0;
}
