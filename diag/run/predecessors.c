/* SPDX-License-Identifier: BSD-3-Clause */
#include "diag/run/predecessors.h"

struct predecessors
run_predecessors(const struct run *run, const struct run_collective *collective)
{
	const struct run_iteration *in = &run->iterations[collective->in], *before = in - 1;

	if (collective->nafter != 0)
		return (struct predecessors){ .list = &run->after[collective->first_after], .count = collective->nafter };
	if (collective->in == 0 || before->job != in->job || before->iteration + 1 != in->iteration)
		return (struct predecessors){ .count = 0 };
	return (struct predecessors){ .first = before->first_collective, .count = before->ncollectives };
}

bool
run_follows_own(const struct run *run, const struct run_step *step)
{
	for (uint32_t d = step->first_dep; d < step->first_dep + step->ndeps; d++) {
		const struct run_step *on = &run->steps[run->depends[d]];

		if (on->collective == step->collective && on->rank == step->rank)
			return true;
	}
	return false;
}
