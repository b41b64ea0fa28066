/* SPDX-License-Identifier: BSD-3-Clause */
/* A cable whose ends have agreed on a lower rate: a lane or an optic failed, and the link was trained anew. */
#include "dpswitch/faults/fault.h"

#include <errno.h>

#include "common/array.h"
#include "common/sertable.h"
#include "common/units.h"

struct link_rate {
	struct fault_at_port at;
	uint64_t rate_bps;
};

#define S struct link_rate
static const struct cfg_field fields[] = {
	FAULT_COMMON_FIELDS,
	FAULT_AT_PORT_FIELD("Either end of the cable, \"node:port\""),
	CFG_FIELD("rate", CFG_RATE, offsetof(S, rate_bps), .min = SERTABLE_MIN_RATE_BPS, .max = 1e13,
		  .doc = "Rate of both directions; below that of the topology"),
};

static const struct cfg_table table = {
	.path = "faults",
	.doc = "kind = \"link-rate\": both directions of a cable have a lower rate than the topology gives them. Frames "
	       "that "
	       "are on the wire when it begins keep their times. Buffers, thresholds and expected times stay those of the "
	       "topology's rate.",
	.list = true,
	.size = sizeof(S),
	.fields = fields,
	.nfields = ARRAY_LEN(fields),
};
#undef S

static int
resolve(void *params, const struct topo *topo, struct err *err)
{
	struct link_rate *fault = params;
	char given[32], most[32];
	int rc = fault_at_port_resolve(params, topo, err);

	if (rc != 0 || fault->rate_bps < topo->ports[fault->at.port_id].rate_bps)
		return rc;
	return cfg_fail(&fault->at.common.where, "rate", err, "%s is no less than the cable's %s, which would be right",
			units_format_rate(fault->rate_bps, given, sizeof(given)),
			units_format_rate(topo->ports[fault->at.port_id].rate_bps, most, sizeof(most)));
}

static void
set(const void *params, struct fault_env *env, bool on, uint64_t now_ps)
{
	const struct link_rate *fault = params;
	const struct topo_port *port = &env->topo->ports[fault->at.port_id];
	const struct topo_port *ends[2] = { port, &env->topo->ports[port->peer_port] };

	for (uint32_t i = 0; i < ARRAY_LEN(ends); i++) {
		struct node *node = env->fabric->nodes[ends[i]->node];
		uint64_t rate_bps = on ? fault->rate_bps : ends[i]->rate_bps;

		link_set_rate(&env->fabric->links[ends[i] - env->topo->ports], rate_bps);
		/* The node reports its rate; one of another partition does so there. */
		if (node->ops->set_rate != NULL && !fabric_is_remote(env->fabric, node->id))
			node->ops->set_rate(node, ends[i]->index, rate_bps, now_ps);
	}
}

static uint64_t
affected(const void *params, const struct fault_env *env)
{
	const struct topo_port *port = &env->topo->ports[((const struct fault_at_port *)params)->port_id];

	return env->fabric->links[port - env->topo->ports].sent_frames + env->fabric->links[port->peer_port].sent_frames;
}

const struct fault_ops fault_link_rate = {
	.kind = "link-rate",
	.symptoms = (const char *const[]){ "link-rate", "path-delay", "high-rtt", NULL },
	.example = "kind = \"link-rate\"; port = \"l0:3\"; rate = \"25Gbps\";",
	.table = &table,
	.replaces = FAULT_REPLACES_CABLE,
	.resolve = resolve,
	.set = set,
	.target = fault_at_port_target,
	.affected = affected,
	.idle = "no frame crossed the cable",
};
