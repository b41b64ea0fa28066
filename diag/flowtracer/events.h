/* SPDX-License-Identifier: BSD-3-Clause */
/* When flows begin and end to be under way. */
#pragma once

#include "diag/flowtracer/load.h"

/* A flow is under way from here on, or no more. */
struct spell_event {
	uint64_t time_ps;
	uint32_t flow;
	uint32_t judged; /* its step, RUN_NONE: not judged */
	bool ends;
};

/*
 * Of flows with a path, by time. Flows that are of no step are under way all the time, if they sent anything.
 * @param judged   [count] in the order of steps
 * @param nevents  set
 * @return NULL: no memory, with err
 */
struct spell_event *flowtracer_events(const struct flowtracer *own, const struct run *run,
				      const struct flowtracer_judged *judged, uint32_t count, uint32_t *nevents,
				      struct err *err);
