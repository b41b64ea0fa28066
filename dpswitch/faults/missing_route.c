/* SPDX-License-Identifier: BSD-3-Clause */
/* A switch that has no route to one host. */
#include <errno.h>
#include <stdio.h>

#include "common/array.h"
#include "dpswitch/faults/fault.h"
#include "dpswitch/pipeline/switch.h"

struct missing_route {
	struct fault_common common;
	const char *sw, *dst;
	uint32_t sw_id, dst_id;
};

#define S struct missing_route
static const struct cfg_field fields[] = {
	FAULT_COMMON_FIELDS,
	{ "switch", CFG_STRING, offsetof(S, sw), NULL, 0, 0, NULL, "Switch without the route" },
	{ "dst", CFG_STRING, offsetof(S, dst), NULL, 0, 0, NULL, "Host to which there is none" },
};

static const struct cfg_table table = {
	.path = "faults",
	.doc = "kind = \"missing-route\": a switch has no route to one host: it drops what it gets for it, and counts that "
	       "as no_route.",
	.list = true,
	.size = sizeof(S),
	.fields = fields,
	.nfields = ARRAY_LEN(fields),
};
#undef S

static int
resolve(void *params, const struct topo *topo, struct err *err)
{
	struct missing_route *fault = params;

	fault->sw_id = fault_find_node(topo, &fault->common.where, "switch", fault->sw, TOPO_SWITCH, err);
	fault->dst_id = fault_find_node(topo, &fault->common.where, "dst", fault->dst, TOPO_HOST, err);
	return fault->sw_id != TOPO_NONE && fault->dst_id != TOPO_NONE ? 0 : -EINVAL;
}

static void
set(const void *params, struct fault_env *env, bool on, uint64_t now_ps)
{
	const struct missing_route *fault = params;

	(void)now_ps;
	switch_deny(switch_of(env->fabric->nodes[fault->sw_id]), fault->dst_id, on ? REC_DROP_NO_ROUTE : 0);
}

static void
target(const void *params, const struct topo *topo, char *buf)
{
	snprintf(buf, 64, "%s", topo->nodes[((const struct missing_route *)params)->sw_id].name);
}

static uint64_t
met(const void *params, const struct fault_env *env)
{
	const struct missing_route *fault = params;

	return switch_fault_uses(switch_of(env->fabric->nodes[fault->sw_id]), fault->dst_id);
}

const struct fault_ops fault_missing_route = {
	.kind = "missing-route",
	.loses_packets = true,
	.table = &table,
	.resolve = resolve,
	.set = set,
	.target = target,
	.met = met,
	.idle = "no packet for its host came to the switch",
};
