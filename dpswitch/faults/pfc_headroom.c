/* SPDX-License-Identifier: BSD-3-Clause */
/* PFC that is unconfigured at a switch's port, or whose headroom is too small (R-Pingmesh, Table 2, #9). */
#include <errno.h>

#include "common/array.h"
#include "dpswitch/faults/fault.h"
#include "dpswitch/pipeline/switch.h"

struct pfc_headroom {
	struct fault_at_port at;
	bool pfc;
	uint64_t headroom_bytes;
};

#define S struct pfc_headroom
static const struct cfg_field fields[] = {
	FAULT_COMMON_FIELDS,
	FAULT_AT_PORT_FIELD("Ingress port of a switch, \"switch:port\""),
	CFG_FIELD("headroom", CFG_BYTES, offsetof(S, headroom_bytes), .def = "0", .max = 1e9,
		  .doc = "Headroom above XOFF, per lossless class"),
	CFG_FIELD("pfc", CFG_BOOL, offsetof(S, pfc), .def = "true",
		  .doc = "false: PFC is not configured, and the port never pauses its peer"),
};

static const struct cfg_table table = {
	.path = "faults",
	.doc = "kind = \"pfc-headroom\": the headroom of a switch's port differs from the plan. Packets that do not fit "
	       "are dropped, and counted there as no_buffer; the run continues. Elsewhere a lossless class loses nothing.",
	.list = true,
	.size = sizeof(S),
	.fields = fields,
	.nfields = ARRAY_LEN(fields),
};
#undef S

static int
resolve(void *params, const struct topo *topo, struct err *err)
{
	struct fault_at_port *fault = params;
	int rc = fault_at_port_resolve(params, topo, err);

	if (rc != 0 || topo->nodes[topo->ports[fault->port_id].node].kind == TOPO_SWITCH)
		return rc;
	return cfg_fail(&fault->common.where, "port", err,
			"\"%s\" is a host's, which has no headroom: name the switch's end", fault->port);
}

static void
set(const void *params, struct fault_env *env, bool on, uint64_t now_ps)
{
	const struct pfc_headroom *fault = params;
	const struct topo_port *port = &env->topo->ports[fault->at.port_id];
	const struct account_short how = { .classes = UINT8_MAX,
					   .silent = fault->pfc ? 0 : UINT8_MAX,
					   .headroom_bytes = fault->headroom_bytes };
	struct sw *sw = fault_switch(env, port->node);

	(void)now_ps;
	if (sw != NULL)
		switch_misconfigure(sw, port->index, on ? &how : NULL);
}

static uint64_t
affected(const void *params, const struct fault_env *env)
{
	const struct topo_port *port = &env->topo->ports[((const struct fault_at_port *)params)->port_id];
	const struct node *node = env->fabric->nodes[port->node];

	return node->ops->dropped(node, port->index, REC_DROP_NO_BUFFER);
}

static const char *const truth_keys[] = { "pfc", NULL };

const struct fault_ops fault_pfc_headroom = {
	.kind = "pfc-headroom",
	.symptoms = (const char *const[]){ "packet-loss", NULL },
	.example = "kind = \"pfc-headroom\"; port = \"l0:3\"; headroom = \"0B\";",
	.loses_packets = true,
	.table = &table,
	.replaces = FAULT_REPLACES_PORT,
	.resolve = resolve,
	.set = set,
	.target = fault_at_port_target,
	.affected = affected,
	.idle = "no frame found its buffer full",
	.truth_keys = truth_keys,
};
