/* SPDX-License-Identifier: BSD-3-Clause */
/* A port that keeps sending PAUSE whatever its buffer holds: the hardware bug behind a PFC storm (paper II-B). */
#include "dpswitch/faults/fault.h"

struct pfc_storm {
	struct fault_at_port at;
	int64_t priority;
	uint64_t interval_ps;
};

#define S struct pfc_storm
static const struct cfg_field fields[] = {
	FAULT_COMMON_FIELDS,
	FAULT_AT_PORT_FIELD("Port that sends PAUSE, \"node:port\"; a host's too"),
	{ "priority", CFG_INT, offsetof(S, priority), "3", 1, 7, NULL, "Class that it pauses" },
	{ "interval", CFG_TIME, offsetof(S, interval_ps), "100us", 1e5, 1e12, NULL, "Between two PAUSE frames" },
};

static const struct cfg_table table = {
	.path = "faults",
	.doc = "kind = \"pfc-storm\": a port keeps sending PAUSE to its peer, whatever its buffer holds; its own RESUMEs are "
	       "suppressed until the end, when it sends one.",
	.list = true,
	.size = sizeof(S),
	.fields = fields,
	.nfields = sizeof(fields) / sizeof(fields[0]),
};
#undef S

static void
set(const void *params, struct fault_env *env, bool on, uint64_t now_ps)
{
	const struct pfc_storm *storm = params;
	const struct topo_port *port = &env->topo->ports[storm->at.port_id];
	uint8_t prio = (uint8_t)storm->priority;

	if (env->switches[port->node] != NULL)
		switch_set_storm(env->switches[port->node], port->index, prio, on, now_ps, storm->interval_ps);
	else
		env->host_storm(env->host_ctx, port->node, port->index, prio, on, now_ps, storm->interval_ps);
}

const struct fault_ops fault_pfc_storm = { "pfc-storm", &table, fault_at_port_resolve, set, fault_at_port_target };
