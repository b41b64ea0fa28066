/* SPDX-License-Identifier: BSD-3-Clause */
#include "diag/vedrfolnir/waiting/slow_flows.h"

#include <stdlib.h>

static uint64_t
lost_ps(const struct run_step *step)
{
	uint64_t exec_ps = step->end_ps - step->start_ps;

	return exec_ps > step->expect_ps ? exec_ps - step->expect_ps : 0;
}

static int
cmp_lost(const void *pa, const void *pb, void *arg)
{
	const struct run_step *steps = arg;
	uint32_t a = *(const uint32_t *)pa, b = *(const uint32_t *)pb;
	uint64_t x = lost_ps(&steps[a]), y = lost_ps(&steps[b]);

	if (x != y)
		return x > y ? -1 : 1;
	return a < b ? -1 : a > b;
}

void
slow_flows_list(const struct run_step *steps, uint32_t first, uint32_t count, struct waiting_graph *waiting)
{
	waiting->npath = 0;
	waiting->exec_ps = 0;
	for (uint32_t i = first; i < first + count; i++)
		if (steps[i].slow)
			waiting->path[waiting->npath++] = i;
	qsort_r(waiting->path, waiting->npath, sizeof(*waiting->path), cmp_lost, (void *)(uintptr_t)steps);
	if (waiting->npath > SLOW_FLOWS_LISTED)
		waiting->npath = SLOW_FLOWS_LISTED;
	for (uint32_t p = 0; p < waiting->npath; p++)
		waiting->exec_ps += steps[waiting->path[p]].end_ps - steps[waiting->path[p]].start_ps;
}
