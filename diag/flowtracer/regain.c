/* SPDX-License-Identifier: BSD-3-Clause */
#include "diag/flowtracer/regain.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "diag/run/fill.h"

static int
cmp_start(const void *pa, const void *pb, void *of)
{
	const struct run_step *steps = of;
	uint32_t i = *(const uint32_t *)pa, j = *(const uint32_t *)pb;
	const struct run_step *a = &steps[i], *b = &steps[j];

	if (a->start_ps != b->start_ps)
		return a->start_ps < b->start_ps ? -1 : 1;
	if (a->end_ps != b->end_ps)
		return a->end_ps < b->end_ps ? -1 : 1;
	return i < j ? -1 : i > j;
}

int
regain_init(struct regain *regain, const struct run *run, struct err *err)
{
	*regain = (struct regain){ .run = run,
				   .order = run_alloc(run->nsteps, sizeof(*regain->order), err),
				   .end_ps = run_alloc(run->nsteps, sizeof(*regain->end_ps), err),
				   .saved_ps = run_alloc(run->nsteps, sizeof(*regain->saved_ps), err) };
	if (regain->order == NULL || regain->end_ps == NULL || regain->saved_ps == NULL)
		return -ENOMEM;
	for (uint32_t i = 0; i < run->nsteps; i++)
		regain->order[i] = i;
	for (uint32_t i = 0; i < run->niterations; i++)
		qsort_r(&regain->order[run->iterations[i].first_step], run->iterations[i].nsteps, sizeof(*regain->order),
			cmp_start, run->steps);
	return 0;
}

void
regain_fini(struct regain *regain)
{
	free(regain->order);
	free(regain->end_ps);
	free(regain->saved_ps);
}

/* A step's new end, when those of all that started before are known. */
static double
end_of(const struct regain *regain, uint32_t index)
{
	const struct run_step *step = &regain->run->steps[index];
	double took_ps = (double)(step->end_ps - step->start_ps) - regain->saved_ps[index];
	double was_ps = -1, is_ps = -1;

	for (uint32_t d = step->first_dep; d < step->first_dep + step->ndeps; d++) {
		uint32_t on = regain->run->depends[d];

		if (!regain->run->steps[on].started || regain->run->steps[on].end_ps > step->start_ps)
			continue;
		was_ps = fmax(was_ps, (double)regain->run->steps[on].end_ps);
		is_ps = fmax(is_ps, regain->end_ps[on]);
	}
	return (was_ps >= 0 ? is_ps + (double)step->start_ps - was_ps : (double)step->start_ps) + took_ps;
}

double
regain_iteration_ps(struct regain *regain, const struct run_iteration *iteration)
{
	const struct run *run = regain->run;
	bool flows = run_is_flows(&run->collectives[iteration->first_collective]);
	double was_ps = 0, is_ps = 0, sum_ps = 0;

	for (uint32_t i = iteration->first_step; i < iteration->first_step + iteration->nsteps; i++) {
		uint32_t index = regain->order[i];

		if (!run->steps[index].started)
			continue;
		regain->end_ps[index] = end_of(regain, index);
		was_ps = fmax(was_ps, (double)run->steps[index].end_ps);
		is_ps = fmax(is_ps, regain->end_ps[index]);
		sum_ps += regain->saved_ps[index];
	}
	return flows ? sum_ps : fmax(0, was_ps - is_ps);
}
