/* SPDX-License-Identifier: BSD-3-Clause */
#include "emulation/outputs/results.h"

#include "collectives/bandwidth.h"
#include "rxe-hosts/steps/engine.h"

static struct coll_result
result_of(const struct emulation *emulation, uint32_t collective, uint32_t iteration, struct rec_collective *names,
	  bool *complete)
{
	const struct plan_collective *plan = &emulation->scenario->plan->collectives[collective];
	const struct coll_size size = coll_size_of(plan->schedule, coll_elem_bytes(plan->type));
	struct collective_result seen =
		step_engines_result(emulation->engines, emulation->scenario->topo->nnodes, collective, iteration);

	*complete = seen.complete;
	plan_collective_record(emulation->scenario->plan, collective, iteration, names);
	return (struct coll_result){
		.job = names->job_name,
		.collective = names->name,
		.iteration = iteration,
		.op = size.op,
		.type = plan->type,
		.ranks = size.ranks,
		.root = size.root,
		.count_elems = size.bytes / coll_elem_bytes(plan->type),
		.time_ps = seen.complete ? seen.end_ps - seen.start_ps : 0,
		.wrong = plan->real && plan->verify ? seen.wrong : COLL_WRONG_UNCHECKED,
	};
}

void
results_print(const struct emulation *emulation, FILE *to)
{
	const struct plan *plan = emulation->scenario->plan;
	char text[1024];

	if (plan->ncollectives == 0)
		return;
	fputs(coll_bandwidth_header(text, sizeof(text)), to);
	for (uint32_t c = 0; c < plan->ncollectives; c++) {
		for (uint32_t it = 0; plan->collectives[c].enabled && it < plan->collectives[c].iterations; it++) {
			struct rec_collective names;
			bool complete;
			struct coll_result result = result_of(emulation, c, it, &names, &complete);

			if (complete)
				fputs(coll_bandwidth_row(&result, text, sizeof(text)), to);
			else
				fprintf(to, "# %s, iteration %u did not complete\n", result.collective, it);
		}
	}
	fputc('\n', to);
	fflush(to);
}

uint64_t
results_wrong(const struct emulation *emulation)
{
	const struct plan *plan = emulation->scenario->plan;
	uint64_t wrong = 0;

	for (uint32_t c = 0; c < plan->ncollectives; c++) {
		for (uint32_t it = 0; plan->collectives[c].enabled && it < plan->collectives[c].iterations; it++) {
			struct rec_collective names;
			bool complete;
			struct coll_result result = result_of(emulation, c, it, &names, &complete);

			wrong += complete && result.wrong != COLL_WRONG_UNCHECKED ? result.wrong : 0;
		}
	}
	return wrong;
}
