/* SPDX-License-Identifier: BSD-3-Clause */
/* A host that is down (R-Pingmesh, Table 2, #4): its programs, its agent and its RNICs send nothing. */
#include "common/array.h"
#include "rxe-hosts/faults/host_faults.h"

#define S struct fault_at_host
static const struct cfg_field fields[] = {
	FAULT_COMMON_FIELDS,
	FAULT_AT_HOST_FIELD("The host, an embedded one"),
};

static const struct cfg_table table = {
	.path = "faults",
	.doc = "kind = \"host-down\": a host hangs: programs, timers, the agent of R-Pingmesh, and all its RNICs, whose "
	       "links stay up. At the end it continues where it stopped: it hung, it did not reboot.",
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

	return fault_of_embedded(&fault->common, work, fault->node, "host", fault->host, err);
}

static void
set(const void *params, struct fault_env *env, bool on, uint64_t now_ps)
{
	struct node *node = env->fabric->nodes[((const struct fault_at_host *)params)->node];

	node->ops->freeze(node, on, now_ps);
}

static uint64_t
affected(const void *params, const struct fault_env *env)
{
	const struct node *node = env->fabric->nodes[((const struct fault_at_host *)params)->node];
	uint64_t packets = 0;

	for (uint16_t i = 0; i < node->nports; i++)
		packets += node->ops->nic_faulty(node, i);
	return packets;
}

const struct fault_ops fault_host_down = {
	.kind = "host-down",
	.symptoms = (const char *const[]){ "host-down", "blackhole", "slow-host", NULL },
	.example = "kind = \"host-down\"; host = \"h0\"; start = \"50us\"; duration = \"100us\";",
	.loses_packets = true,
	.table = &table,
	.resolve = fault_at_host_resolve,
	.check = check,
	.set = set,
	.target = fault_at_host_target,
	.affected = affected,
	.rate = fault_loses_all,
	.idle = "no packet reached the host",
};
