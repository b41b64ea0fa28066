/* SPDX-License-Identifier: BSD-3-Clause */
#include "dpswitch/faults/at_route.h"

#include <errno.h>
#include <stdio.h>

#include "dpswitch/pipeline/switch.h"

#define S struct fault_at_route
const struct cfg_field fault_at_route_fields[FAULT_AT_ROUTE_FIELDS] = {
	FAULT_COMMON_FIELDS,
	{ "switch", CFG_STRING, offsetof(S, sw), NULL, 0, 0, NULL, "Switch that drops the packets" },
	{ "dst", CFG_STRING, offsetof(S, dst), NULL, 0, 0, NULL, "Host that they are for" },
};
#undef S

int
fault_at_route_resolve(void *params, const struct topo *topo, struct err *err)
{
	struct fault_at_route *fault = params;

	fault->sw_id = fault_find_node(topo, &fault->common.where, "switch", fault->sw, TOPO_SWITCH, err);
	fault->dst_id = fault_find_node(topo, &fault->common.where, "dst", fault->dst, TOPO_HOST, err);
	return fault->sw_id != TOPO_NONE && fault->dst_id != TOPO_NONE ? 0 : -EINVAL;
}

void
fault_at_route_target(const void *params, const struct topo *topo, char *buf)
{
	snprintf(buf, 64, "%s", topo->nodes[((const struct fault_at_route *)params)->sw_id].name);
}

uint64_t
fault_at_route_affected(const void *params, const struct fault_env *env)
{
	const struct fault_at_route *fault = params;

	return switch_fault_uses(switch_of(env->fabric->nodes[fault->sw_id]), fault->dst_id);
}

void
fault_at_route_deny(const struct fault_at_route *fault, const struct fault_env *env, enum rec_drop reason, bool on)
{
	switch_deny(switch_of(env->fabric->nodes[fault->sw_id]), fault->dst_id, on ? (uint8_t)reason : 0);
}
