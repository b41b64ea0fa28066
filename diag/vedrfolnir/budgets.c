/* SPDX-License-Identifier: BSD-3-Clause */
#include "diag/vedrfolnir/budgets.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "diag/run/fill.h"

/* @param base_rtt_ps  the longest of the collective's steps */
static double
least_ps(const struct run *run, const struct run_collective *collective, double base_rtt_ps)
{
	uint64_t end_ps = collective->complete ? collective->end_ps : run->end_ps;
	double took_ps = end_ps > collective->start_ps ? (double)(end_ps - collective->start_ps) : 0;

	return fmin(BUDGETS_LEAST_SHARE * took_ps, base_rtt_ps);
}

/*
 * Hosts that are late wait for each other: one step after the other its chain may wait for any of them, and none would be
 * missed. What they cost together decides.
 */
static bool
is_host(const struct finding *finding)
{
	return (finding->type->traits & FINDING_OF_HOST) != 0;
}

/* Those without effect go behind the others; each keep their order. @return 0 or -ENOMEM */
static int
put_costless_last(struct section *section, struct err *err)
{
	struct finding *costless = run_alloc(section->nfindings, sizeof(*costless), err);
	uint32_t kept = 0, last = 0;

	if (costless == NULL)
		return -ENOMEM;
	for (uint32_t i = 0; i < section->nfindings; i++) {
		if (section->findings[i].costless)
			costless[last++] = section->findings[i];
		else
			section->findings[kept++] = section->findings[i];
	}
	memcpy(section->findings + kept, costless, last * sizeof(*costless));
	free(costless);
	return 0;
}

int
budgets_sum_up(const struct run *run, struct section *section, struct err *err)
{
	struct vedrfolnir *own = section->own;

	own->budgets = run_alloc(run->ncollectives, sizeof(*own->budgets), err);
	if (own->budgets == NULL)
		return -ENOMEM;
	for (uint32_t i = 0; i < run->nsteps; i++) {
		struct time_budget *budget = &own->budgets[run->steps[i].collective];

		budget->least_ps = fmax(budget->least_ps, (double)run->steps[i].base_rtt_ps);
		if (own->steps[i].critical)
			budget->lost_ps += run_lost_ps(&run->steps[i]);
	}
	for (uint32_t i = 0; i < run->ncollectives; i++)
		own->budgets[i].least_ps = least_ps(run, &run->collectives[i], own->budgets[i].least_ps);
	for (uint32_t i = 0; i < section->nfindings; i++) {
		const struct finding *finding = &section->findings[i];
		struct time_budget *budget = &own->budgets[finding->collective];

		budget->explained_ps += finding->critical_ps;
		if (is_host(finding))
			budget->hosts_ps += finding->critical_ps;
	}
	for (uint32_t i = 0; i < section->nfindings; i++) {
		struct finding *finding = &section->findings[i];
		const struct time_budget *budget = &own->budgets[finding->collective];
		double ps = is_host(finding) ? budget->hosts_ps : finding->critical_ps;

		finding->costless = finding->critical_ps <= 0 || ps < budget->least_ps;
	}
	return section->nfindings != 0 ? put_costless_last(section, err) : 0;
}
