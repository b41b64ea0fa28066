/* SPDX-License-Identifier: BSD-3-Clause */
/* A switch that has no route to one host. */
#include "dpswitch/faults/at_route.h"

static const struct cfg_table table = FAULT_AT_ROUTE_TABLE("kind = \"missing-route\": a switch has no route to one host: "
							   "it drops what it gets for it, and counts that as no_route.");

static void
set(const void *params, struct fault_env *env, bool on, uint64_t now_ps)
{
	(void)now_ps;
	fault_at_route_deny(params, env, REC_DROP_NO_ROUTE, on);
}

const struct fault_ops fault_missing_route = {
	.kind = "missing-route",
	.loses_packets = true,
	.table = &table,
	.resolve = fault_at_route_resolve,
	.set = set,
	.target = fault_at_route_target,
	.affected = fault_at_route_affected,
	.idle = "no packet for its host came to the switch",
};
