/* SPDX-License-Identifier: BSD-3-Clause */
/* A link that is down, once or again and again (a flap). */
#include "dpswitch/faults/fault.h"

#include <errno.h>

#include "common/array.h"

#define S struct fault_at_port
static const struct cfg_field fields[] = {
	FAULT_COMMON_FIELDS,
	FAULT_AT_PORT_FIELD("Either end of the cable, \"node:port\""),
};

static const struct cfg_table table = {
	.path = "faults",
	.doc = "kind = \"link-down\": both directions of a link fail; frames in flight are lost. Equal-cost routes of the "
	       "link's switches avoid it at once, routes of others after routing.convergence. With a period the link "
	       "flaps. A known one is down from the start, and no route uses it.",
	.list = true,
	.size = sizeof(S),
	.fields = fields,
	.nfields = ARRAY_LEN(fields),
};
#undef S

/* Routes know of a cable before the first packet, or they learn of it. */
static int
resolve(void *params, const struct topo *topo, struct err *err)
{
	struct fault_at_port *fault = params;
	const struct topo_port *port;
	int rc = fault_at_port_resolve(params, topo, err);

	if (rc != 0 || !fault->common.known)
		return rc;
	port = &topo->ports[fault->port_id];
	if (fault->common.start_ps != 0 || fault->common.period_ps != 0)
		return cfg_fail(&fault->common.where, fault->common.start_ps != 0 ? "start" : "period", err,
				"a cable that is known to be cut is so from the start, once: leave it out, or known");
	if (topo->nodes[port->node].bonded || topo->nodes[port->peer].bonded)
		return cfg_fail(&fault->common.where, "port", err,
				"\"%s\" is a member of a bond: leave its link out of the topology, or known", fault->port);
	if (topo->nodes[port->node].kind != TOPO_SWITCH || topo->nodes[port->peer].kind != TOPO_SWITCH)
		return cfg_fail(
			&fault->common.where, "port", err,
			"\"%s\" leads to a host, to which there is no other path: remove the host from the topology",
			fault->port);
	return 0;
}

static void
set(const void *params, struct fault_env *env, bool on, uint64_t now_ps)
{
	const struct fault_at_port *fault = params;
	const struct topo_port *ends[2] = { &env->topo->ports[fault->port_id], NULL };

	ends[1] = &env->topo->ports[ends[0]->peer_port];
	if (env->fabric->links[fault->port_id].down == on)
		return;
	for (uint32_t i = 0; i < 2; i++)
		link_set_down(&env->fabric->links[ends[i] - env->topo->ports], on);
	for (uint32_t i = 0; i < 2; i++) {
		struct node *node = env->fabric->nodes[ends[i]->node];
		uint8_t held = on ? 0 : fabric_pausing(env->fabric, (uint32_t)(ends[1 - i] - env->topo->ports));

		node->ops->link_changed(node, ends[i]->index, held, now_ps);
	}
}

static uint64_t
affected(const void *params, const struct fault_env *env)
{
	const struct topo_port *port = &env->topo->ports[((const struct fault_at_port *)params)->port_id];
	const struct link *links[2] = { &env->fabric->links[port - env->topo->ports],
					&env->fabric->links[port->peer_port] };

	if (links[0]->down &&
	    (env->crosses(env->run, (uint32_t)(port - env->topo->ports)) || env->crosses(env->run, port->peer_port)))
		return UINT64_MAX;
	return links[0]->down_packets + links[1]->down_packets;
}

const struct fault_ops fault_link_down = {
	.kind = "link-down",
	.symptoms = (const char *const[]){ "link-down", "silent-fault", "switch-problem", "rnic-problem", NULL },
	.example = "kind = \"link-down\"; port = \"l0:3\"; start = \"50us\"; duration = \"100us\";",
	.loses_packets = true,
	.table = &table,
	.resolve = resolve,
	.set = set,
	.target = fault_at_port_target,
	.affected = affected,
	.rate = fault_loses_all,
	.takes_cables_down = true,
	.idle = "no flow's path has the link",
};
