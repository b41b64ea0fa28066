/* SPDX-License-Identifier: BSD-3-Clause */
/* A host that is down (R-Pingmesh, Table 2, #4): its programs, its agent and its RNICs say nothing. */
#include <errno.h>
#include <stdio.h>

#include "common/array.h"
#include "rxe-hosts/faults/at_nic.h"

struct host_down {
	struct fault_common common;
	const char *host;
	uint32_t node;
};

#define S struct host_down
static const struct cfg_field fields[] = {
	FAULT_COMMON_FIELDS,
	{ "host", CFG_STRING, offsetof(S, host), NULL, 0, 0, NULL, "The host, without a kernel of its own" },
};

static const struct cfg_table table = {
	.path = "faults",
	.doc = "kind = \"host-down\": a host stands still: programs, timers, the agent of R-Pingmesh, and all of its "
	       "RNICs, "
	       "whose links stay up. At the end it goes on as it was, which is a host that hung, not one that booted.",
	.list = true,
	.size = sizeof(S),
	.fields = fields,
	.nfields = ARRAY_LEN(fields),
};
#undef S

static int
resolve(void *params, const struct topo *topo, struct err *err)
{
	struct host_down *fault = params;

	fault->node = fault_find_node(topo, &fault->common.where, "host", fault->host, TOPO_HOST, err);
	return fault->node != TOPO_NONE ? 0 : -EINVAL;
}

static int
check(const void *params, const struct fault_work *work, struct err *err)
{
	const struct host_down *fault = params;

	return fault_of_embedded(&fault->common, work, fault->node, "host", fault->host, err);
}

static void
set(const void *params, struct fault_env *env, bool on, uint64_t now_ps)
{
	struct node *node = env->fabric->nodes[((const struct host_down *)params)->node];

	node->ops->freeze(node, on, now_ps);
}

static void
target(const void *params, const struct topo *topo, char *buf)
{
	snprintf(buf, 64, "%s", topo->nodes[((const struct host_down *)params)->node].name);
}

static uint64_t
met(const void *params, const struct fault_env *env)
{
	const struct node *node = env->fabric->nodes[((const struct host_down *)params)->node];
	uint64_t packets = 0;

	for (uint16_t i = 0; i < node->nports; i++)
		packets += node->ops->nic_faulty(node, i);
	return packets;
}

static double
rate(const void *params)
{
	(void)params;
	return 1;
}

const struct fault_ops fault_host_down = {
	.kind = "host-down",
	.loses_packets = true,
	.table = &table,
	.resolve = resolve,
	.check = check,
	.set = set,
	.target = target,
	.met = met,
	.rate = rate,
	.idle = "nothing came to the host",
};
