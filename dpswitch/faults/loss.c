/* SPDX-License-Identifier: BSD-3-Clause */
/* A cable that loses frames: what netem cannot do to a lossless class. */
#include <errno.h>

#include "dpswitch/faults/fault.h"

struct loss {
	struct fault_common common;
	const char *port;
	double rate;
	uint32_t port_id;
};

#define S struct loss
static const struct cfg_field fields[] = {
	FAULT_COMMON_FIELDS,
	{ "port", CFG_STRING, offsetof(S, port), NULL, 0, 0, NULL,
	  "Port whose outgoing direction is faulty, \"node:port\"" },
	{ "rate", CFG_FLOAT, offsetof(S, rate), NULL, 0, 1, NULL, "Probability that a frame is lost" },
};

static const struct cfg_table table = {
	.path = "faults",
	.doc = "kind = \"loss\": frames that leave a port are lost at random.",
	.list = true,
	.size = sizeof(S),
	.fields = fields,
	.nfields = sizeof(fields) / sizeof(fields[0]),
};
#undef S

static int
resolve(void *params, const struct topo *topo, struct err *err)
{
	struct loss *fault = params;

	fault->port_id = fault_find_port(topo, &fault->common.where, "loss", "port", fault->port, err);
	return fault->port_id != TOPO_NONE ? 0 : -EINVAL;
}

static void
set(const void *params, struct fault_env *env, bool on, uint64_t now_ps)
{
	const struct loss *fault = params;

	(void)now_ps;
	env->fabric->links[fault->port_id].loss = on ? fault->rate : 0;
}

static void
target(const void *params, const struct topo *topo, char *buf)
{
	topo_port_name(topo, ((const struct loss *)params)->port_id, buf);
}

const struct fault_ops fault_loss = { "loss", &table, resolve, set, target };
