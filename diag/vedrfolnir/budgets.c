/* SPDX-License-Identifier: BSD-3-Clause */
#include "diag/vedrfolnir/budgets.h"

#include <errno.h>

#include "diag/run/fill.h"

int
budgets_sum_up(const struct run *run, const struct section *section, struct err *err)
{
	struct vedrfolnir *own = section->own;

	own->budgets = run_alloc(run->ncollectives, sizeof(*own->budgets), err);
	if (own->budgets == NULL)
		return -ENOMEM;
	for (uint32_t i = 0; i < run->nsteps; i++) {
		if (own->steps[i].critical)
			own->budgets[run->steps[i].collective].lost_ps += run_lost_ps(&run->steps[i]);
	}
	for (uint32_t i = 0; i < section->nfindings; i++)
		own->budgets[section->findings[i].collective].explained_ps += section->findings[i].critical_ps;
	return 0;
}
