/* SPDX-License-Identifier: BSD-3-Clause */
/* A cable that became longer: a detour, a tired repeater, jitter. It keeps the order of its frames. */
#include "dpswitch/faults/fault.h"

#include "common/array.h"

struct delay {
	struct fault_at_port at;
	uint64_t extra_ps, jitter_ps;
};

#define S struct delay
static const struct cfg_field fields[] = {
	FAULT_COMMON_FIELDS,
	FAULT_AT_PORT_FIELD("Port whose outgoing direction is slow, \"node:port\""),
	CFG_FIELD("extra", CFG_TIME, offsetof(S, extra_ps), .max = 1e12,
		  .doc = "Added to the cable's delay; headroom that is not configured grows with it"),
	CFG_FIELD("jitter", CFG_TIME, offsetof(S, jitter_ps), .def = "0s", .max = 1e12,
		  .doc = "Additional random delay, up to this"),
};

static const struct cfg_table table = {
	.path = "faults",
	.doc = "kind = \"delay\": frames that leave a port take longer, PAUSE frames too. When it ends, delayed frames "
	       "catch up in gaps: no link delivers frames faster than its rate.",
	.list = true,
	.size = sizeof(S),
	.fields = fields,
	.nfields = ARRAY_LEN(fields),
};
#undef S

static void
set(const void *params, struct fault_env *env, bool on, uint64_t now_ps)
{
	const struct delay *fault = params;
	struct link *link = &env->fabric->links[fault->at.port_id];

	(void)now_ps;
	link->extra_ps = on ? fault->extra_ps : 0;
	link->jitter_ps = on ? fault->jitter_ps : 0;
	link->stretched = true;
}

static uint64_t
affected(const void *params, const struct fault_env *env)
{
	return env->fabric->links[((const struct fault_at_port *)params)->port_id].faulty_packets;
}

static uint64_t
extra_delay_ps(const void *params)
{
	const struct delay *fault = params;

	return fault->extra_ps + fault->jitter_ps;
}

const struct fault_ops fault_delay = {
	.kind = "delay",
	.symptoms = (const char *const[]){ "path-delay", "high-rtt", NULL },
	.example = "kind = \"delay\"; port = \"l0:3\"; extra = \"20us\";",
	.table = &table,
	.replaces = FAULT_REPLACES_PORT,
	.resolve = fault_at_port_resolve,
	.set = set,
	.target = fault_at_port_target,
	.affected = affected,
	.extra_delay_ps = extra_delay_ps,
	.idle = "no frame crossed the cable",
};
