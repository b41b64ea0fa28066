/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The agent of R-Pingmesh at a host dies, and starts again with other QPs: probes to the old ones are lost though
 * nothing is wrong with the network (4.3.1: QPN reset).
 */
#include "common/array.h"
#include "rxe-hosts/faults/host_faults.h"

#define S struct fault_at_host
static const struct cfg_field fields[] = {
	FAULT_COMMON_FIELDS,
	FAULT_AT_HOST_FIELD("The host whose agent it is."),
};

static const struct cfg_table table = {
	.path = "faults",
	.doc = "kind = \"agent-restart\": a host's agent of R-Pingmesh dies, and starts again when the fault ends, with "
	       "other QPs (pingmesh.enabled). Results not yet uploaded are lost; the host's other traffic continues. "
	       "Together with a slightly shorter host-down it models a reboot.",
	.list = true,
	.size = sizeof(S),
	.fields = fields,
	.nfields = ARRAY_LEN(fields),
};
#undef S

static int
check(const void *params, const struct fault_work *work, struct err *err)
{
	const struct fault_at_host *fault = params;

	if (work->has_agents)
		return fault_of_embedded(&fault->common, work, fault->node, "host", fault->host, err);
	return cfg_fail(&fault->common.where, "host", err,
			"\"%s\" has no agent that could restart: set pingmesh.enabled = true", fault->host);
}

static void
set(const void *params, struct fault_env *env, bool on, uint64_t now_ps)
{
	env->stop_agent(env->run, ((const struct fault_at_host *)params)->node, on, now_ps);
}

static uint64_t
affected(const void *params, const struct fault_env *env)
{
	return env->agent_deaths(env->run, ((const struct fault_at_host *)params)->node);
}

const struct fault_ops fault_agent_restart = {
	.kind = "agent-restart",
	.symptoms = (const char *const[]){ "host-down", NULL },
	.example = "kind = \"agent-restart\"; host = \"h0\"; start = \"50us\"; duration = \"100us\";",
	.table = &table,
	.resolve = fault_at_host_resolve,
	.check = check,
	.set = set,
	.target = fault_at_host_target,
	.affected = affected,
	.idle = "the agent did not die",
};
