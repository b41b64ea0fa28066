/* SPDX-License-Identifier: BSD-3-Clause */
/* A switch that forwards packets for a host to the wrong port: two of them make a forwarding loop (paper II-B). */
#include <errno.h>
#include <stdio.h>

#include "common/array.h"
#include "dpswitch/faults/fault.h"
#include "dpswitch/pipeline/switch.h"

struct misroute {
	struct fault_common common;
	const char *dst, *port;
	uint32_t dst_id, port_id;
};

#define S struct misroute
static const struct cfg_field fields[] = {
	FAULT_COMMON_FIELDS,
	CFG_FIELD("dst", CFG_STRING, offsetof(S, dst), .doc = "Host whose packets are misrouted"),
	CFG_FIELD("port", CFG_STRING, offsetof(S, port), .doc = "Egress port that they leave by, \"switch:port\""),
};

static const struct cfg_table table = {
	.path = "faults",
	.doc = "kind = \"misroute\": a switch sends everything for one host out of a given port. Two such faults make a "
	       "forwarding loop; every hop decrements TTL.",
	.list = true,
	.size = sizeof(S),
	.fields = fields,
	.nfields = ARRAY_LEN(fields),
};
#undef S

static int
resolve(void *params, const struct topo *topo, struct err *err)
{
	struct misroute *fault = params;

	fault->dst_id = fault_find_node(topo, &fault->common.where, "dst", fault->dst, TOPO_HOST, err);
	fault->port_id = fault_find_port(topo, &fault->common.where, "port", fault->port, err);
	if (fault->dst_id == TOPO_NONE || fault->port_id == TOPO_NONE)
		return -EINVAL;
	if (topo->nodes[topo->ports[fault->port_id].node].kind != TOPO_SWITCH)
		return cfg_fail(&fault->common.where, "port", err, "\"%s\" belongs to a host; only switches route",
				fault->port);
	return 0;
}

static void
set(const void *params, struct fault_env *env, bool on, uint64_t now_ps)
{
	const struct misroute *fault = params;
	const struct topo_port *port = &env->topo->ports[fault->port_id];
	struct sw *sw = fault_switch_reroutes(env, port->node);

	(void)now_ps;
	if (sw != NULL)
		switch_set_override(sw, fault->dst_id, on ? (uint8_t)port->index : SWITCH_EGRESS_NONE);
}

static void
target(const void *params, const struct topo *topo, char *buf)
{
	topo_port_name(topo, ((const struct misroute *)params)->port_id, buf);
}

static uint64_t
affected(const void *params, const struct fault_env *env)
{
	const struct misroute *fault = params;
	const struct sw *sw = fault_switch(env, env->topo->ports[fault->port_id].node);

	return sw != NULL ? switch_fault_uses(sw, fault->dst_id) : 0;
}

const struct fault_ops fault_misroute = {
	.kind = "misroute",
	.symptoms = (const char *const[]){ "forwarding-loop", NULL },
	.example = "kind = \"misroute\"; dst = \"h2\"; port = \"l1:3\"; start = \"50us\"; duration = \"100us\";",
	.table = &table,
	.resolve = resolve,
	.set = set,
	.target = target,
	.affected = affected,
	.idle = "no packet to its host reached the switch",
};
