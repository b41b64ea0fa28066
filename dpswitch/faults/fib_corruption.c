/* SPDX-License-Identifier: BSD-3-Clause */
/* A corrupt FIB: a switch swallows what some hosts send to some others, by some of its ports, and counts nothing. */
#include <errno.h>
#include <stdio.h>

#include "common/array.h"
#include "dpswitch/faults/fault.h"
#include "dpswitch/pipeline/switch.h"

struct fib_corruption {
	struct fault_common common;
	const char *sw, *in, *out, *src, *dst;
	struct fib_fault fib;
	uint32_t sw_id, port_id; /* port_id: TOPO_NONE: the fault names none */
};

#define S struct fib_corruption
static const struct cfg_field fields[] = {
	FAULT_COMMON_FIELDS,
	CFG_FIELD("switch", CFG_STRING, offsetof(S, sw), .doc = "Switch that drops the packets"),
	CFG_FIELD("in", CFG_STRING, offsetof(S, in), .def = "",
		  .doc = "Only packets that arrive by this port of the switch, \"switch:port\"; absent: by any"),
	CFG_FIELD(
		"out", CFG_STRING, offsetof(S, out), .def = "",
		.doc = "Only packets that would leave by this port. Sprayed packets of one flow leave by different ports"),
	CFG_FIELD("src", CFG_STRING, offsetof(S, src), .def = "", .doc = "Source host of the dropped packets; absent: any"),
	CFG_FIELD("dst", CFG_STRING, offsetof(S, dst), .def = "",
		  .doc = "Destination host of the dropped packets; absent: any"),
	CFG_FIELD("share", CFG_FLOAT, offsetof(S, fib.share), .def = "1.0", .max = 1,
		  .doc = "Share of the matching pairs of sender and receiver that are affected, chosen at random, with all "
			 "their packets"),
};

static const struct cfg_table table = {
	.path = "faults",
	.doc = "kind = \"fib-corruption\": a switch drops all packets between some hosts, and no port counts them: the MAC "
	       "has received them, and no counter shows that they did not leave. ACKs are packets of the reverse "
	       "direction.",
	.list = true,
	.size = sizeof(S),
	.fields = fields,
	.nfields = ARRAY_LEN(fields),
};
#undef S

/* @return 0, or -EINVAL: no port of the switch */
static int
find_port(struct fib_corruption *fault, const struct topo *topo, const char *key, const char *text, uint16_t *index,
	  struct err *err)
{
	uint32_t port;

	*index = FIB_ANY_PORT;
	if (text == NULL)
		return 0;
	port = fault_find_port(topo, &fault->common.where, key, text, err);
	if (port == TOPO_NONE)
		return -EINVAL;
	if (topo->ports[port].node != fault->sw_id)
		return cfg_fail(&fault->common.where, key, err, "\"%s\" is no port of switch \"%s\"", text, fault->sw);
	*index = topo->ports[port].index;
	fault->port_id = port;
	return 0;
}

static int
find_host(const struct fib_corruption *fault, const struct topo *topo, const char *key, const char *text, uint32_t *id,
	  struct err *err)
{
	*id = TOPO_NONE;
	if (text == NULL)
		return 0;
	*id = fault_find_node(topo, &fault->common.where, key, text, TOPO_HOST, err);
	return *id != TOPO_NONE ? 0 : -EINVAL;
}

static int
resolve(void *params, const struct topo *topo, struct err *err)
{
	struct fib_corruption *fault = params;
	int rc;

	fault->port_id = TOPO_NONE;
	fault->sw_id = fault_find_node(topo, &fault->common.where, "switch", fault->sw, TOPO_SWITCH, err);
	if (fault->sw_id == TOPO_NONE)
		return -EINVAL;
	rc = find_port(fault, topo, "out", fault->out, &fault->fib.out_port, err);
	if (rc == 0)
		rc = find_port(fault, topo, "in", fault->in, &fault->fib.in_port, err);
	if (rc == 0)
		rc = find_host(fault, topo, "src", fault->src, &fault->fib.src, err);
	return rc == 0 ? find_host(fault, topo, "dst", fault->dst, &fault->fib.dst, err) : rc;
}

static void
set(const void *params, struct fault_env *env, bool on, uint64_t now_ps)
{
	const struct fib_corruption *fault = params;
	struct sw *sw = fault_switch(env, fault->sw_id);

	(void)now_ps;
	if (sw != NULL)
		switch_set_fib_fault(sw, &fault->fib, on);
}

static void
target(const void *params, const struct topo *topo, char *buf)
{
	const struct fib_corruption *fault = params;

	if (fault->port_id != TOPO_NONE)
		topo_port_name(topo, fault->port_id, buf);
	else
		snprintf(buf, 64, "%s", topo->nodes[fault->sw_id].name);
}

static uint64_t
affected(const void *params, const struct fault_env *env)
{
	const struct fib_corruption *fault = params;
	const struct sw *sw = fault_switch(env, fault->sw_id);

	return sw != NULL ? switch_fib_losses(sw, &fault->fib) : 0;
}

static const char *const truth_keys[] = { "in", "out", "src", "dst", "share", NULL };

const struct fault_ops fault_fib_corruption = {
	.kind = "fib-corruption",
	.symptoms = (const char *const[]){ "blackhole", "packet-loss", "silent-fault", "switch-problem", NULL },
	.example = "kind = \"fib-corruption\"; switch = \"l1\"; dst = \"h2\"; share = 0.5;",
	.loses_packets = true,
	.table = &table,
	.resolve = resolve,
	.set = set,
	.target = target,
	.affected = affected,
	.idle = "no packet that it drops reached the switch",
	.truth_keys = truth_keys,
};
