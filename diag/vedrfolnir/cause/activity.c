/* SPDX-License-Identifier: BSD-3-Clause */
#include "diag/vedrfolnir/cause/activity.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "diag/collect/evidence.h"
#include "diag/vedrfolnir/provenance/window.h"

static int
by_flow_and_start(const void *a, const void *b)
{
	const struct activity_run *x = a, *y = b;

	if (x->flow != y->flow)
		return x->flow < y->flow ? -1 : 1;
	return (x->start_ps > y->start_ps) - (x->start_ps < y->start_ps);
}

static uint32_t
collect(struct activity *activity, const struct evidence *ev, const struct run_step *steps, uint32_t nsteps)
{
	uint32_t count = 0;

	for (uint32_t f = 0; f < ev->nflows; f++)
		activity->unknown[f] = !ev->flows[f].collective;
	for (uint32_t s = 0; s < nsteps; s++) {
		if (run_is_local(&steps[s]))
			continue;
		activity->unknown[steps[s].flow] |= !steps[s].reported;
		if (steps[s].reported && steps[s].started)
			activity->runs[count++] = (struct activity_run){ .flow = steps[s].flow,
									 .start_ps = steps[s].start_ps,
									 .end_ps = steps[s].end_ps };
	}
	return count;
}

int
activity_init(struct activity *activity, const struct evidence *ev, const struct run_step *steps, uint32_t nsteps)
{
	uint32_t count, flow = 0;

	activity->first = calloc((size_t)ev->nflows + 1, sizeof(*activity->first));
	activity->runs = calloc((size_t)nsteps + 1, sizeof(*activity->runs));
	activity->unknown = calloc((size_t)ev->nflows + 1, sizeof(*activity->unknown));
	if (activity->first == NULL || activity->runs == NULL || activity->unknown == NULL)
		return -ENOMEM;
	count = collect(activity, ev, steps, nsteps);
	qsort(activity->runs, count, sizeof(*activity->runs), by_flow_and_start);
	for (uint32_t i = 0; i < count; i++) {
		struct activity_run *run = &activity->runs[i];

		while (flow < run->flow)
			activity->first[++flow] = i;
		run->reach_ps =
			i > activity->first[flow] && run[-1].reach_ps > run->end_ps ? run[-1].reach_ps : run->end_ps;
	}
	while (flow < ev->nflows)
		activity->first[++flow] = count;
	return 0;
}

void
activity_fini(struct activity *activity)
{
	free(activity->first);
	free(activity->runs);
	free(activity->unknown);
}

/* The first run of a flow that may not have ended at a time: none before it lasted until then. */
static uint32_t
first_until(const struct activity *activity, uint32_t flow, uint64_t time_ps)
{
	uint32_t first = activity->first[flow], end = activity->first[flow + 1];

	while (first < end) {
		uint32_t mid = first + (end - first) / 2;

		if (activity->runs[mid].reach_ps < time_ps)
			first = mid + 1;
		else
			end = mid;
	}
	return first;
}

/* The part of a run that lies in a time. */
static struct window
clip(const struct activity_run *run, uint64_t from_ps, uint64_t to_ps)
{
	struct window part = { run->start_ps > from_ps ? run->start_ps : from_ps,
			       run->end_ps < to_ps ? run->end_ps : to_ps };

	part.to_ps = part.to_ps > part.from_ps ? part.to_ps : part.from_ps;
	return part;
}

double
activity_ran_ps(const struct activity *activity, uint32_t flow, uint64_t from_ps, uint64_t to_ps)
{
	double sum_ps = 0;

	if (activity->unknown[flow])
		return INFINITY;
	for (uint32_t i = first_until(activity, flow, from_ps);
	     i < activity->first[flow + 1] && activity->runs[i].start_ps < to_ps; i++) {
		struct window part = clip(&activity->runs[i], from_ps, to_ps);

		sum_ps += (double)(part.to_ps - part.from_ps);
	}
	return sum_ps;
}

double
activity_both_ran_ps(const struct activity *activity, uint32_t one, uint32_t other, uint64_t from_ps, uint64_t to_ps)
{
	double sum_ps = 0;

	if (activity->unknown[one])
		return activity_ran_ps(activity, other, from_ps, to_ps);
	if (activity->unknown[other])
		return activity_ran_ps(activity, one, from_ps, to_ps);
	for (uint32_t i = first_until(activity, one, from_ps);
	     i < activity->first[one + 1] && activity->runs[i].start_ps < to_ps; i++) {
		struct window part = clip(&activity->runs[i], from_ps, to_ps);

		sum_ps += activity_ran_ps(activity, other, part.from_ps, part.to_ps);
	}
	return sum_ps;
}
