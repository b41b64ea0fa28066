/* SPDX-License-Identifier: BSD-3-Clause */
/* A cable that flips bits: the ICRC no longer matches and the receiving host drops the frame. */
#include <errno.h>

#include "dpswitch/faults/fault.h"

struct corruption {
	struct fault_common common;
	const char *port;
	double rate;
	uint32_t port_id;
};

#define S struct corruption
static const struct cfg_field fields[] = {
	FAULT_COMMON_FIELDS,
	{ "port", CFG_STRING, offsetof(S, port), NULL, 0, 0, NULL,
	  "Port whose outgoing direction is faulty, \"node:port\"" },
	{ "rate", CFG_FLOAT, offsetof(S, rate), NULL, 0, 1, NULL, "Probability that a frame is damaged" },
};

static const struct cfg_table table = {
	.path = "faults",
	.doc = "kind = \"corruption\": frames that leave a port are damaged at random; the receiving host finds the ICRC wrong and drops them.",
	.list = true,
	.size = sizeof(S),
	.fields = fields,
	.nfields = sizeof(fields) / sizeof(fields[0]),
};
#undef S

static int
resolve(void *params, const struct topo *topo, struct err *err)
{
	struct corruption *fault = params;

	fault->port_id = fault_find_port(topo, &fault->common.where, "corruption", "port", fault->port, err);
	return fault->port_id != TOPO_NONE ? 0 : -EINVAL;
}

static void
set(const void *params, struct fault_env *env, bool on, uint64_t now_ps)
{
	const struct corruption *fault = params;

	(void)now_ps;
	env->fabric->links[fault->port_id].corruption = on ? fault->rate : 0;
}

static void
target(const void *params, const struct topo *topo, char *buf)
{
	topo_port_name(topo, ((const struct corruption *)params)->port_id, buf);
}

const struct fault_ops fault_corruption = { "corruption", &table, resolve, set, target };
