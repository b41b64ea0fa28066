/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A switch that spreads flows unevenly over paths of equal cost (R-Pingmesh, Table 2, #10): a poor hash, or a wrong
 * weight.
 */
#include <errno.h>

#include "common/array.h"
#include "dpswitch/faults/fault.h"
#include "dpswitch/pipeline/switch.h"

struct ecmp_imbalance {
	struct fault_at_port at;
	double share;
};

#define S struct ecmp_imbalance
static const struct cfg_field fields[] = {
	FAULT_COMMON_FIELDS,
	FAULT_AT_PORT_FIELD("Overloaded port of a switch, \"switch:port\""),
	CFG_FIELD("share", CFG_FLOAT, offsetof(S, share), .def = "1.0", .max = 1,
		  .doc = "Share of the flows with several ports of equal cost, this one among them, that use it; the hash "
			 "chooses for the rest"),
};

static const struct cfg_table table = {
	.path = "faults",
	.doc = "kind = \"ecmp-imbalance\": one of several ports of equal cost gets most flows. Pinned flows (paths) keep "
	       "their path; sprayed packets are not affected.",
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
	return cfg_fail(&fault->common.where, "port", err, "\"%s\" is a host's: only switches choose among paths",
			fault->port);
}

static void
set(const void *params, struct fault_env *env, bool on, uint64_t now_ps)
{
	const struct ecmp_imbalance *fault = params;
	const struct topo_port *port = &env->topo->ports[fault->at.port_id];
	struct sw *sw = fault_switch_reroutes(env, port->node);

	(void)now_ps;
	if (sw != NULL)
		switch_pull(sw, port->index, on ? fault->share : 0);
}

static uint64_t
affected(const void *params, const struct fault_env *env)
{
	const struct topo_port *port = &env->topo->ports[((const struct fault_at_port *)params)->port_id];
	const struct sw *sw = fault_switch(env, port->node);

	return sw != NULL ? switch_pulled(sw, port->index) : 0;
}

static const char *const truth_keys[] = { "share", NULL };

const struct fault_ops fault_ecmp_imbalance = {
	.kind = "ecmp-imbalance",
	.symptoms = (const char *const[]){ "load-imbalance", "path-imbalance", NULL },
	.example = "kind = \"ecmp-imbalance\"; port = \"l0:3\";",
	.table = &table,
	.resolve = resolve,
	.set = set,
	.target = fault_at_port_target,
	.affected = affected,
	.idle = "no flow took another port than the hash had chosen",
	.truth_keys = truth_keys,
};
