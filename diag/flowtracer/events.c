/* SPDX-License-Identifier: BSD-3-Clause */
#include "diag/flowtracer/events.h"

#include <stdlib.h>

#include "diag/flowtracer/paths.h"
#include "diag/run/fill.h"

static int
cmp_event(const void *pa, const void *pb)
{
	const struct spell_event *a = pa, *b = pb;

	if (a->time_ps != b->time_ps)
		return a->time_ps < b->time_ps ? -1 : 1;
	if (a->ends != b->ends)
		return a->ends ? -1 : 1;
	if (a->flow != b->flow)
		return a->flow < b->flow ? -1 : 1;
	return a->judged < b->judged ? -1 : a->judged > b->judged;
}

/* @return number of events, 0 or 2 */
static uint32_t
put(struct spell_event *events, uint32_t flow, uint64_t from_ps, uint64_t to_ps, uint32_t judged)
{
	if (to_ps <= from_ps)
		return 0;
	events[0] = (struct spell_event){ from_ps, flow, judged, false };
	events[1] = (struct spell_event){ to_ps, flow, judged, true };
	return 2;
}

struct spell_event *
flowtracer_events(const struct flowtracer *own, const struct run *run, const struct flowtracer_judged *judged,
		  uint32_t count, uint32_t *nevents, struct err *err)
{
	struct spell_event *events = run_alloc(2 * ((size_t)run->nsteps + own->npaths), sizeof(*events), err);
	bool *stepped = run_alloc(run->nflows, sizeof(*stepped), err);
	uint32_t next = 0, n = 0;

	for (uint32_t i = 0; events != NULL && stepped != NULL && i < run->nsteps; i++) {
		const struct run_step *step = &run->steps[i];
		bool is_judged;

		while (next < count && judged[next].step < i)
			next++;
		is_judged = next < count && judged[next].step == i;
		if (step->flow == RUN_NONE || !step->started || flowtracer_path_of(own, step->flow, 0) == NULL)
			continue;
		stepped[step->flow] = true;
		n += put(&events[n], step->flow, step->start_ps, step->end_ps, is_judged ? next : RUN_NONE);
	}
	for (uint32_t i = 0; events != NULL && stepped != NULL && i < own->npaths; i++) {
		const struct flowtracer_path *path = &own->paths[i];
		bool last = i + 1 == own->npaths || own->paths[i + 1].flow != path->flow;

		if (last && !stepped[path->flow] && path->messages != 0)
			n += put(&events[n], path->flow, 0, run->end_ps, RUN_NONE);
	}
	if (stepped == NULL) {
		free(events);
		return NULL;
	}
	if (n != 0)
		qsort(events, n, sizeof(*events), cmp_event);
	free(stepped);
	*nevents = n;
	return events;
}
