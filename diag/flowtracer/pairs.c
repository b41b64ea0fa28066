/* SPDX-License-Identifier: BSD-3-Clause */
#include "diag/flowtracer/pairs.h"

#include <errno.h>
#include <stdlib.h>

#include "diag/flowtracer/paths.h"
#include "diag/run/fill.h"

/* Steps of flows that were traced. @return how many */
static uint32_t
list(const struct flowtracer *own, const struct run *run, struct pair_message *messages)
{
	uint32_t count = 0;

	for (uint32_t i = 0; i < run->nsteps; i++) {
		const struct run_step *step = &run->steps[i];
		const struct run_flow *flow = step->flow != RUN_NONE ? &run->flows[step->flow] : NULL;

		if (flow == NULL || !step->started || flow->src == RUN_NONE || flow->dst == RUN_NONE ||
		    flowtracer_path_of(own, step->flow, 0) == NULL)
			continue;
		messages[count++] =
			(struct pair_message){ flow->src,      flow->dst,    step->flow,
					       step->start_ps, step->end_ps, step->open ? step->acked_bytes : step->bytes };
	}
	return count;
}

int
flowtracer_pairs(struct flowtracer *own, const struct run *run, struct err *err)
{
	struct pair_message *messages = run_alloc(run->nsteps, sizeof(*messages), err);
	uint32_t count = messages != NULL ? list(own, run, messages) : 0;

	own->pairs = run_alloc(count, sizeof(*own->pairs), err);
	if (messages != NULL && own->pairs != NULL)
		own->npairs = pair_rates(messages, count, own->pairs);
	free(messages);
	return messages != NULL && own->pairs != NULL ? 0 : -ENOMEM;
}
