/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <stdio.h>

#include "dpswitch/faults/fault.h"
#include "dpswitch/pipeline/switch.h"

/* Functions shared by faults at a switch that concern all packets for one host: struct fault_at_route. */

struct fault_at_route {
	struct fault_common common;
	const char *sw, *dst;
	uint32_t sw_id, dst_id; /* set by fault_at_route_resolve() */
};

/* The keys of such a fault: [FAULT_AT_ROUTE_FIELDS] */
#define FAULT_AT_ROUTE_FIELDS 7
extern const struct cfg_field fault_at_route_fields[FAULT_AT_ROUTE_FIELDS];
#define FAULT_AT_ROUTE_TABLE(meaning)                                                                                      \
	{                                                                                                                  \
		.path = "faults", .doc = meaning, .list = true, .size = sizeof(struct fault_at_route),                     \
		.fields = fault_at_route_fields, .nfields = FAULT_AT_ROUTE_FIELDS                                          \
	}

#define S struct fault_at_route
const struct cfg_field fault_at_route_fields[FAULT_AT_ROUTE_FIELDS] = {
	FAULT_COMMON_FIELDS,
	CFG_FIELD("switch", CFG_STRING, offsetof(S, sw), .doc = "Switch that drops the packets"),
	CFG_FIELD("dst", CFG_STRING, offsetof(S, dst), .doc = "Destination host of these packets"),
};
#undef S

static int
fault_at_route_resolve(void *params, const struct topo *topo, struct err *err)
{
	struct fault_at_route *fault = params;

	fault->sw_id = fault_find_node(topo, &fault->common.where, "switch", fault->sw, TOPO_SWITCH, err);
	fault->dst_id = fault_find_node(topo, &fault->common.where, "dst", fault->dst, TOPO_HOST, err);
	return fault->sw_id != TOPO_NONE && fault->dst_id != TOPO_NONE ? 0 : -EINVAL;
}

static void
fault_at_route_target(const void *params, const struct topo *topo, char *buf)
{
	snprintf(buf, 64, "%s", topo->nodes[((const struct fault_at_route *)params)->sw_id].name);
}

static uint64_t
fault_at_route_affected(const void *params, const struct fault_env *env)
{
	const struct fault_at_route *fault = params;
	const struct sw *sw = fault_switch(env, fault->sw_id);

	return sw != NULL ? switch_fault_uses(sw, fault->dst_id) : 0;
}

/* The switch drops packets for the host, or does so no longer. */
static void
fault_at_route_deny(const struct fault_at_route *fault, const struct fault_env *env, enum rec_drop reason, bool on)
{
	struct sw *sw = fault_switch_reroutes(env, fault->sw_id);

	if (sw != NULL)
		switch_deny(sw, fault->dst_id, on ? (uint8_t)reason : 0);
}

/* A switch that silently loses everything for one host. */

static const struct cfg_table blackhole_table =
	FAULT_AT_ROUTE_TABLE("kind = \"blackhole\": a switch drops all packets to one host, and no counter shows it.");

static void
set_blackhole(const void *params, struct fault_env *env, bool on, uint64_t now_ps)
{
	(void)now_ps;
	fault_at_route_deny(params, env, REC_DROP_BLACKHOLE, on);
}

const struct fault_ops fault_blackhole = {
	.kind = "blackhole",
	.symptoms = (const char *const[]){ "blackhole", "silent-fault", "switch-problem", NULL },
	.example = "kind = \"blackhole\"; switch = \"l1\"; dst = \"h2\";",
	.loses_packets = true,
	.table = &blackhole_table,
	.resolve = fault_at_route_resolve,
	.set = set_blackhole,
	.target = fault_at_route_target,
	.affected = fault_at_route_affected,
	.idle = "no packet to its host reached the switch",
};

/* A switch that has no route to one host. */

static const struct cfg_table missing_route_table = FAULT_AT_ROUTE_TABLE(
	"kind = \"missing-route\": a switch has no route to one host: it drops its packets, and counts them as no_route.");

static void
set_missing_route(const void *params, struct fault_env *env, bool on, uint64_t now_ps)
{
	(void)now_ps;
	fault_at_route_deny(params, env, REC_DROP_NO_ROUTE, on);
}

const struct fault_ops fault_missing_route = {
	.kind = "missing-route",
	.symptoms = (const char *const[]){ "blackhole", "switch-problem", NULL },
	.example = "kind = \"missing-route\"; switch = \"l1\"; dst = \"h2\";",
	.loses_packets = true,
	.table = &missing_route_table,
	.resolve = fault_at_route_resolve,
	.set = set_missing_route,
	.target = fault_at_route_target,
	.affected = fault_at_route_affected,
	.idle = "no packet to its host reached the switch",
};
