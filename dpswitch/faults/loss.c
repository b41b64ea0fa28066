/* SPDX-License-Identifier: BSD-3-Clause */
/* A cable that loses frames: what netem cannot do to a lossless class. */
#include "dpswitch/faults/fault.h"

#include "common/array.h"

struct loss {
	struct fault_at_port at;
	double rate;
	bool silent;
	int packets; /* enum loss_of */
};

enum loss_of { LOSS_OF_ALL, LOSS_OF_DATA, LOSS_OF_ACKS, LOSS_OF_CNPS };

static const struct cfg_choice packets[] = {
	{ .name = "all", .value = LOSS_OF_ALL, .doc = "every frame" },
	{ .name = "data", .value = LOSS_OF_DATA, .doc = "data of messages" },
	{ .name = "acks", .value = LOSS_OF_ACKS, .doc = "ACKs and NAKs" },
	{ .name = "cnps", .value = LOSS_OF_CNPS, .doc = "congestion notification packets (host.dcqcn.echo = \"cnp\")" },
	{ 0 },
};

static const uint32_t types[] = {
	[LOSS_OF_ALL] = 0,
	[LOSS_OF_DATA] = 1u << PKT_DATA,
	[LOSS_OF_ACKS] = 1u << PKT_ACK | 1u << PKT_NAK,
	[LOSS_OF_CNPS] = 1u << PKT_CNP,
};

#define S struct loss
static const struct cfg_field fields[] = {
	FAULT_COMMON_FIELDS,
	FAULT_AT_PORT_FIELD("Port whose outgoing direction is faulty, \"node:port\""),
	CFG_FIELD("rate", CFG_FLOAT, offsetof(S, rate), .max = 1, .doc = "Probability that a frame is lost"),
	CFG_FIELD("packets", CFG_ENUM, offsetof(S, packets), .def = "all", .choices = packets,
		  .doc = "Frames that it affects:"),
	CFG_FIELD("silent", CFG_BOOL, offsetof(S, silent), .def = "false",
		  .doc = "true: lost behind the receiving MAC, in a memory of the pipeline: counters of both ends agree. "
			 "false: lost on the cable: the receiver counts fewer frames than the sender"),
};

static const struct cfg_table table = {
	.path = "faults",
	.doc = "kind = \"loss\": frames that leave a port, but PAUSE and RESUME, are lost at random. No port counts a "
	       "drop.",
	.list = true,
	.size = sizeof(S),
	.fields = fields,
	.nfields = ARRAY_LEN(fields),
};
#undef S

static void
set(const void *params, struct fault_env *env, bool on, uint64_t now_ps)
{
	const struct loss *fault = params;

	(void)now_ps;
	link_set_loss(&env->fabric->links[fault->at.port_id], on ? fault->rate : 0);
	env->fabric->links[fault->at.port_id].silent = on && fault->silent;
	env->fabric->links[fault->at.port_id].loss_types = on ? types[fault->packets] : 0;
}

static uint64_t
affected(const void *params, const struct fault_env *env)
{
	return env->fabric->links[((const struct fault_at_port *)params)->port_id].injected_packets;
}

static double
rate(const void *params)
{
	return ((const struct loss *)params)->rate;
}

static bool
of_cnps(const void *params)
{
	return ((const struct loss *)params)->packets == LOSS_OF_CNPS;
}

static const char *const truth_keys[] = { "rate", "silent", "packets", NULL };

const struct fault_ops fault_loss = {
	.kind = "loss",
	.symptoms =
		(const char *const[]){ "packet-loss", "blackhole", "silent-fault", "switch-problem", "rnic-problem", NULL },
	.example = "kind = \"loss\"; port = \"l0:3\"; rate = 0.1;",
	.loses_packets = true,
	.table = &table,
	.replaces = FAULT_REPLACES_PORT,
	.resolve = fault_at_port_resolve,
	.set = set,
	.target = fault_at_port_target,
	.affected = affected,
	.rate = rate,
	.of_cnps = of_cnps,
	.truth_keys = truth_keys,
	.idle = "no frame was lost",
};
