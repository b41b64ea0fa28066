/* SPDX-License-Identifier: BSD-3-Clause */
/* A cable that flips bits: the next node finds the FCS wrong, or the ICRC, and drops the frame. */
#include "dpswitch/faults/fault.h"

#include "common/array.h"

struct corruption {
	struct fault_at_port at;
	double rate;
	uint64_t burst_ps;
};

#define S struct corruption
static const struct cfg_field fields[] = {
	FAULT_COMMON_FIELDS,
	FAULT_AT_PORT_FIELD("Port whose outgoing direction is faulty, \"node:port\""),
	CFG_FIELD("rate", CFG_FLOAT, offsetof(S, rate), .max = 1, .doc = "Probability that a frame is damaged"),
	CFG_FIELD("burst", CFG_TIME, offsetof(S, burst_ps), .def = "0ns", .max = 1e12,
		  .doc = "Errors in bursts, as FEC leaves them: time is divided into intervals of this length, and all "
			 "frames that arrive in a damaged one are. 0: each frame by itself"),
};

static const struct cfg_table table = {
	.path = "faults",
	.doc = "kind = \"corruption\": frames that leave a port, but PAUSE and RESUME, are damaged at random; the node at "
	       "the other end drops "
	       "them: a switch for a wrong FCS, a host for a wrong ICRC.",
	.list = true,
	.size = sizeof(S),
	.fields = fields,
	.nfields = ARRAY_LEN(fields),
};
#undef S

static void
set(const void *params, struct fault_env *env, bool on, uint64_t now_ps)
{
	const struct corruption *fault = params;

	(void)now_ps;
	link_set_corruption(&env->fabric->links[fault->at.port_id], on ? fault->rate : 0, fault->burst_ps);
}

static uint64_t
affected(const void *params, const struct fault_env *env)
{
	return env->fabric->links[((const struct fault_at_port *)params)->port_id].corrupted_packets;
}

static double
rate(const void *params)
{
	return ((const struct corruption *)params)->rate;
}

static const char *const truth_keys[] = { "rate", "burst", NULL };

const struct fault_ops fault_corruption = {
	.kind = "corruption",
	.symptoms = (const char *const[]){ "packet-loss", "silent-fault", "switch-problem", "rnic-problem", NULL },
	.example = "kind = \"corruption\"; port = \"l0:3\"; rate = 0.1;",
	.loses_packets = true,
	.table = &table,
	.replaces = FAULT_REPLACES_PORT,
	.resolve = fault_at_port_resolve,
	.set = set,
	.target = fault_at_port_target,
	.affected = affected,
	.rate = rate,
	.truth_keys = truth_keys,
	.idle = "no frame was damaged",
};
