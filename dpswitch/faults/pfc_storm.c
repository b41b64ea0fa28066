/* SPDX-License-Identifier: BSD-3-Clause */
/* A port that keeps sending PAUSE whatever its buffer holds: the hardware bug behind a PFC storm (paper II-B). */
#include "dpswitch/faults/fault.h"

#include <stdio.h>

#include "common/array.h"
#include "dpswitch/pipeline/switch.h"

struct pfc_storm {
	struct fault_at_port at;
	int64_t priority;
	uint64_t interval_ps;
};

#define S struct pfc_storm
static const struct cfg_field fields[] = {
	FAULT_COMMON_FIELDS,
	FAULT_AT_PORT_FIELD("Port that sends PAUSE, \"node:port\"; a host's too"),
	CFG_FIELD("priority", CFG_INT, offsetof(S, priority), .def = "3", .min = 1, .max = 7,
		  .doc = "Class that it pauses"),
	CFG_FIELD("interval", CFG_TIME, offsetof(S, interval_ps), .def = "100us", .min = 1e5, .max = 1e12,
		  .doc = "Between two PAUSE frames"),
};

static const struct cfg_table table = {
	.path = "faults",
	.doc = "kind = \"pfc-storm\": a port keeps sending PAUSE to its peer, whatever its buffer holds; its own RESUMEs "
	       "are "
	       "suppressed until the end, when it sends one.",
	.list = true,
	.size = sizeof(S),
	.fields = fields,
	.nfields = ARRAY_LEN(fields),
};
#undef S

static void
set(const void *params, struct fault_env *env, bool on, uint64_t now_ps)
{
	const struct pfc_storm *storm = params;
	const struct topo_port *port = &env->topo->ports[storm->at.port_id];
	struct node *node = env->fabric->nodes[port->node];

	node->ops->storm(node, port->index, (uint8_t)storm->priority, on, now_ps, storm->interval_ps);
}

static uint64_t
affected(const void *params, const struct fault_env *env)
{
	return env->held_ps(env->run, env->topo->ports[((const struct fault_at_port *)params)->port_id].peer_port);
}

/* Refuses a storm of a class that no flow is in. */
static int
check(const void *params, const struct fault_work *work, struct err *err)
{
	const struct pfc_storm *storm = params;
	uint32_t used = 0; /* bit c: some flow is in class c */
	char list[32] = "";
	size_t size = 0;

	for (uint32_t i = 0; i < work->flows->count; i++)
		used |= 1u << work->flows->flows[i].prio;
	if (used >> storm->priority & 1)
		return 0;
	for (uint32_t c = 1; c < SWITCH_CLASSES; c++)
		if (used >> c & 1)
			size += (size_t)snprintf(list + size, sizeof(list) - size, "%s%u", size != 0 ? ", " : "", c);
	return cfg_fail(&storm->at.common.where, "priority", err,
			"no flow is in class %lld, so this storm would pause nothing; flows are in class %s",
			(long long)storm->priority, list);
}

const struct fault_ops fault_pfc_storm = {
	.kind = "pfc-storm",
	.symptoms = (const char *const[]){ "pfc-storm", "pfc-watchdog", "pfc-deadlock", NULL },
	.example = "kind = \"pfc-storm\"; port = \"l0:1\"; start = \"50us\"; duration = \"1ms\";",
	.table = &table,
	.resolve = fault_at_port_resolve,
	.check = check,
	.set = set,
	.target = fault_at_port_target,
	.affected = affected,
	.idle = "no flow waited at the port that it paused",
};
