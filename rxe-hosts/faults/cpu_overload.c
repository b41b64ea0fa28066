/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A host whose CPU has no time for the agent of R-Pingmesh: it handles completions of its RNICs later. Probes of others
 * time out at all of its RNICs though the RNICs are healthy (R-Pingmesh 6, Fig. 6 right; problem 12 of Table 2).
 */
#include "common/array.h"
#include "rxe-hosts/faults/host_faults.h"

#define MOST_PS 1e13 /* 10 s */

struct cpu_overload {
	struct fault_at_host at;
	uint64_t delay_ps;
	bool steps;
};

#define S struct cpu_overload
static const struct cfg_field fields[] = {
	FAULT_COMMON_FIELDS,
	FAULT_AT_HOST_FIELD("The overloaded host."),
	CFG_FIELD(
		"delay", CFG_TIME, offsetof(S, delay_ps), .max = MOST_PS,
		.doc = "Median additional time until a completion is handled; half of it constant, the rest exponential."),
	CFG_FIELD("steps", CFG_BOOL, offsetof(S, steps), .def = "false",
		  .doc = "Each step of its ranks' collectives starts later by this median, too: the CPU posts them"),
};

static const struct cfg_table table = {
	.path = "faults",
	.doc = "A host's CPU has no time for its agent of R-Pingmesh (pingmesh.enabled).",
	.list = true,
	.size = sizeof(S),
	.fields = fields,
	.nfields = ARRAY_LEN(fields),
};
#undef S

static int
check(const void *params, const struct fault_work *work, struct err *err)
{
	const struct cpu_overload *fault = params;

	if (work->has_agents || !fault->at.common.enabled)
		return fault_of_embedded(&fault->at.common, work, fault->at.node, "host", fault->at.host, err);
	return cfg_fail(&fault->at.common.where, "host", err,
			"\"%s\" has no agent that could be late: set pingmesh.enabled = true", fault->at.host);
}

static void
set(const void *params, struct fault_env *env, bool on, uint64_t now_ps)
{
	const struct cpu_overload *fault = params;

	(void)now_ps;
	env->load_cpu(env->run, fault->at.node, on ? fault->delay_ps : 0);
}

static uint64_t
start_delay_ps(const void *params, uint32_t node, uint32_t collective, uint32_t step)
{
	const struct cpu_overload *fault = params;

	(void)collective;
	(void)step;
	return fault->steps && fault->at.node == node ? fault->delay_ps : 0;
}

static uint64_t
affected(const void *params, const struct fault_env *env)
{
	return env->cpu_overloaded(env->run, ((const struct cpu_overload *)params)->at.node);
}

static const char *
powerless(const void *params)
{
	return ((const struct cpu_overload *)params)->delay_ps == 0 ? "its delay is 0" : NULL;
}

const struct fault_ops fault_cpu_overload = {
	.kind = "cpu-overload",
	.symptoms = (const char *const[]){ "cpu-overload", "slow-host", NULL },
	.example = "kind = \"cpu-overload\"; host = \"h0\"; delay = \"10us\"; steps = true;",
	.table = &table,
	.resolve = fault_at_host_resolve,
	.check = check,
	.set = set,
	.start_delay_ps = start_delay_ps,
	.target = fault_at_host_target,
	.affected = affected,
	.idle = "the host's agent had nothing to handle",
	.powerless = powerless,
};
