/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The agent of R-Pingmesh at a host dies, and starts again with other QPs: probes to the old ones are lost though nothing is wrong
 * with the network (4.3.1: QPN reset).
 */
#include <errno.h>
#include <stdio.h>

#include "common/array.h"
#include "rxe-hosts/faults/at_nic.h"

struct agent_restart {
	struct fault_common common;
	const char *host;
	uint32_t node;
};

#define S struct agent_restart
static const struct cfg_field fields[] = {
	FAULT_COMMON_FIELDS,
	{ "host", CFG_STRING, offsetof(S, host), NULL, 0, 0, NULL, "The host whose agent it is." },
};

static const struct cfg_table table = {
	.path = "faults",
	.doc = "kind = \"agent-restart\": a host's agent of R-Pingmesh dies, and starts again when the fault ends, with "
	       "other QPs "
	       "(pingmesh.enabled). What it had not uploaded is lost; the host's own traffic goes on. With host-down for a "
	       "little less "
	       "it is a host that boots.",
	.list = true,
	.size = sizeof(S),
	.fields = fields,
	.nfields = ARRAY_LEN(fields),
};
#undef S

static int
resolve(void *params, const struct topo *topo, struct err *err)
{
	struct agent_restart *fault = params;

	fault->node = fault_find_node(topo, &fault->common.where, "host", fault->host, TOPO_HOST, err);
	return fault->node != TOPO_NONE ? 0 : -EINVAL;
}

static int
check(const void *params, const struct fault_work *work, struct err *err)
{
	const struct agent_restart *fault = params;

	if (work->has_agents)
		return fault_of_embedded(&fault->common, work, fault->node, "host", fault->host, err);
	return cfg_fail(&fault->common.where, "host", err,
			"\"%s\" has no agent that could start again: say pingmesh = { enabled = true; }", fault->host);
}

static void
set(const void *params, struct fault_env *env, bool on, uint64_t now_ps)
{
	env->stop_agent(env->run, ((const struct agent_restart *)params)->node, on, now_ps);
}

static void
target(const void *params, const struct topo *topo, char *buf)
{
	snprintf(buf, 64, "%s", topo->nodes[((const struct agent_restart *)params)->node].name);
}

static uint64_t
met(const void *params, const struct fault_env *env)
{
	return env->agent_deaths(env->run, ((const struct agent_restart *)params)->node);
}

const struct fault_ops fault_agent_restart = {
	.kind = "agent-restart",
	.table = &table,
	.resolve = resolve,
	.check = check,
	.set = set,
	.target = target,
	.met = met,
	.idle = "the agent did not die",
};
