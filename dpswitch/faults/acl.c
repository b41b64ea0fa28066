/* SPDX-License-Identifier: BSD-3-Clause */
/* An ACL of a switch that denies what it should permit (R-Pingmesh, Table 2, #8). */
#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/array.h"
#include "dpswitch/faults/fault.h"
#include "dpswitch/pipeline/switch.h"

struct acl {
	struct fault_common common;
	const char *sw, *src, *dst;
	struct fib_fault rule;
	uint32_t sw_id;
};

#define S struct acl
static const struct cfg_field fields[] = {
	FAULT_COMMON_FIELDS,
	CFG_FIELD("switch", CFG_STRING, offsetof(S, sw), .doc = "Switch that has the rule"),
	CFG_FIELD("src", CFG_STRING, offsetof(S, src), .def = "",
		  .doc = "Source: a host, one of its NICs (\"host:port\"), or addresses (\"10.0.0.0/24\"); absent: any"),
	CFG_FIELD("dst", CFG_STRING, offsetof(S, dst), .def = "", .doc = "Destination, in the same form; absent: any"),
};

static const struct cfg_table table = {
	.path = "faults",
	.doc = "kind = \"acl\": a rule of a switch's access control list denies packets from src to dst, in this direction "
	       "only. They are dropped, and no port counts them.",
	.list = true,
	.size = sizeof(S),
	.fields = fields,
	.nfields = ARRAY_LEN(fields),
};
#undef S

/* "10.0.0.0/24". @return false: it is none */
static bool
parse_prefix(const char *text, struct fib_net *net)
{
	const char *slash = strchr(text, '/');
	char address[INET_ADDRSTRLEN];
	struct in_addr in;
	char *end;
	long bits;

	if (slash == NULL || (size_t)(slash - text) >= sizeof(address))
		return false;
	memcpy(address, text, (size_t)(slash - text));
	address[slash - text] = '\0';
	bits = strtol(slash + 1, &end, 10);
	if (inet_pton(AF_INET, address, &in) != 1 || end == slash + 1 || *end != '\0' || bits < 0 || bits > 32)
		return false;
	*net = (struct fib_net){ ntohl(in.s_addr), bits != 0 ? UINT32_MAX << (32 - bits) : 0 };
	return true;
}

/* @param node  set to the host that is named; TOPO_NONE: net holds it. @return 0 or -EINVAL */
static int
find_end(const struct acl *fault, const struct topo *topo, const char *key, const char *text, uint32_t *node,
	 struct fib_net *net, struct err *err)
{
	uint32_t port;

	*node = TOPO_NONE;
	if (text == NULL || parse_prefix(text, net))
		return 0;
	port = topo_find_port(topo, text);
	*node = port != TOPO_NONE ? topo->ports[port].node : topo_find(topo, text);
	if (*node == TOPO_NONE || topo->nodes[*node].kind != TOPO_HOST)
		return cfg_fail(
			&fault->common.where, key, err,
			"\"%s\" is no host of this topology, no NIC of one (\"host:port\") and no addresses: write them as "
			"\"10.0.0.0/24\"",
			text);
	if (port != TOPO_NONE && topo->nodes[*node].bonded)
		return cfg_fail(&fault->common.where, key, err,
				"\"%s\" is a member of a bond, which has one address; \"%s\" would be right", text,
				topo->nodes[*node].name);
	if (port != TOPO_NONE)
		*net = (struct fib_net){ topo_nic_ip(*node, topo->ports[port].index), UINT32_MAX };
	return 0;
}

static int
resolve(void *params, const struct topo *topo, struct err *err)
{
	struct acl *fault = params;
	int rc;

	fault->rule = (struct fib_fault){ .in_port = FIB_ANY_PORT, .out_port = FIB_ANY_PORT, .share = 1 };
	fault->sw_id = fault_find_node(topo, &fault->common.where, "switch", fault->sw, TOPO_SWITCH, err);
	if (fault->sw_id == TOPO_NONE)
		return -EINVAL;
	rc = find_end(fault, topo, "src", fault->src, &fault->rule.src, &fault->rule.src_net, err);
	return rc == 0 ? find_end(fault, topo, "dst", fault->dst, &fault->rule.dst, &fault->rule.dst_net, err) : rc;
}

static void
set(const void *params, struct fault_env *env, bool on, uint64_t now_ps)
{
	const struct acl *fault = params;
	struct sw *sw = fault_switch(env, fault->sw_id);

	(void)now_ps;
	if (sw != NULL)
		switch_set_fib_fault(sw, &fault->rule, on);
}

static void
target(const void *params, const struct topo *topo, char *buf)
{
	snprintf(buf, 64, "%s", topo->nodes[((const struct acl *)params)->sw_id].name);
}

static uint64_t
affected(const void *params, const struct fault_env *env)
{
	const struct acl *fault = params;
	const struct sw *sw = fault_switch(env, fault->sw_id);

	return sw != NULL ? switch_fib_losses(sw, &fault->rule) : 0;
}

static const char *const truth_keys[] = { "src", "dst", NULL };

const struct fault_ops fault_acl = {
	.kind = "acl",
	.symptoms = (const char *const[]){ "blackhole", "switch-problem", NULL },
	.example = "kind = \"acl\"; switch = \"l0\"; src = \"h1\"; dst = \"h2\";",
	.loses_packets = true,
	.table = &table,
	.resolve = resolve,
	.set = set,
	.target = target,
	.affected = affected,
	.idle = "no packet that it denies reached the switch",
	.truth_keys = truth_keys,
};
