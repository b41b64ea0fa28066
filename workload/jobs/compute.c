/* SPDX-License-Identifier: BSD-3-Clause */
#include "workload/jobs/compute.h"

#include <string.h>

#include "common/array.h"
#include "common/prng.h"
#include "workload/jobs/chance.h"

#define IRWIN_HALL 12 /* uniform draws whose sum has variance 1 */

static const struct cfg_choice kinds[] = {
	{ "none", JITTER_NONE, "as planned" },
	{ "uniform", JITTER_UNIFORM, "0 to spread more" },
	{ "normal", JITTER_NORMAL, "more or less, with standard deviation spread, never below 0" },
	{ 0 },
};

#define AT(field) offsetof(struct jitter, field)
static const struct cfg_field jitter_fields[] = {
	{ "kind", CFG_ENUM, AT(kind), "none", 0, 0, kinds, "How computation differs from the planned time." },
	{ "spread", CFG_TIME, AT(spread_ps), "0ns", 0, 0, NULL, "By how much." },
};
#undef AT

const struct cfg_table jitter_table = {
	.path = "jobs.jitter",
	.doc = "How the time that ranks compute varies. Each rank, collective and iteration has a draw of its own from the "
	       "run's seed.",
	.size = sizeof(struct jitter),
	.fields = jitter_fields,
	.nfields = ARRAY_LEN(jitter_fields),
};

#define AT(field) offsetof(struct straggler, field)
static const struct cfg_field straggler_fields[] = {
	{ "rank", CFG_INT, AT(rank), NULL, 0, 1023, NULL, "The slow rank." },
	{ "delay", CFG_TIME, AT(delay_ps), NULL, 0, 0, NULL, "How much longer it computes before each collective." },
	{ "collective", CFG_STRING, AT(collective), "", 0, 0, NULL, "Before this one of the job's alone." },
	{ "iteration", CFG_INT, AT(iteration), "-1", -1, 999999, NULL, "In this iteration alone, from 0; -1: in all." },
};
#undef AT

const struct cfg_table straggler_table = {
	.path = "jobs.delays",
	.doc = "Stragglers: ranks that compute longer than planned.",
	.list = true,
	.size = sizeof(struct straggler),
	.fields = straggler_fields,
	.nfields = ARRAY_LEN(straggler_fields),
	.words = "rank delay collective iteration",
};

/* Of a planned computation. @return ps, of either sign */
static int64_t
jitter_ps(const struct compute *compute, uint32_t rank, uint32_t iteration)
{
	struct prng prng;
	double sum = 0;

	if (compute->jitter.kind == JITTER_NONE || compute->jitter.spread_ps == 0)
		return 0;
	prng_init(&prng, chance(compute->seed, CHANCE_COMPUTE, compute->job, compute->collective, rank, iteration), 0);
	if (compute->jitter.kind == JITTER_UNIFORM)
		return (int64_t)prng_below(&prng, compute->jitter.spread_ps);
	for (int i = 0; i < IRWIN_HALL; i++)
		sum += prng_unit(&prng);
	return (int64_t)((sum - IRWIN_HALL / 2.0) * (double)compute->jitter.spread_ps);
}

static bool
concerns(const struct straggler *straggler, const struct compute *compute, uint32_t rank)
{
	return straggler->rank == (int64_t)rank &&
	       (straggler->collective == NULL || strcmp(straggler->collective, compute->collective) == 0);
}

uint64_t
compute_actual_ps(const struct compute *compute, uint32_t rank, uint32_t iteration, uint64_t planned_ps)
{
	int64_t actual_ps = planned_ps != 0 ? (int64_t)planned_ps + jitter_ps(compute, rank, iteration) : 0;
	uint64_t late_ps = 0;

	for (size_t i = 0; i < compute->nstragglers; i++) {
		const struct straggler *straggler = &compute->stragglers[i];

		if (concerns(straggler, compute, rank) &&
		    (straggler->iteration < 0 || straggler->iteration == (int64_t)iteration))
			late_ps += straggler->delay_ps;
	}
	return (actual_ps > 0 ? (uint64_t)actual_ps : 0) + late_ps;
}

bool
compute_any(const struct compute *compute, uint32_t rank, uint64_t planned_ps)
{
	bool any = planned_ps != 0;

	for (size_t i = 0; i < compute->nstragglers && !any; i++)
		any = concerns(&compute->stragglers[i], compute, rank) && compute->stragglers[i].delay_ps != 0;
	return any;
}
