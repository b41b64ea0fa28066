/* SPDX-License-Identifier: BSD-3-Clause */
/* An RNIC without the routing configuration that RDMA needs (R-Pingmesh, Table 2, #6). */
#include "common/array.h"
#include "rxe-hosts/faults/at_nic.h"

#define S struct fault_at_port
static const struct cfg_field fields[] = {
	FAULT_COMMON_FIELDS,
	FAULT_AT_NIC_FIELD,
};

static const struct cfg_table table = {
	.path = "faults",
	.doc = "kind = \"rnic-no-routes\": a host's RNIC knows no way to anybody: it receives, and drops all that it is to "
	       "send, ACKs too, as no_route.",
	.list = true,
	.size = sizeof(S),
	.fields = fields,
	.nfields = ARRAY_LEN(fields),
};
#undef S

static void
set(const void *params, struct fault_env *env, bool on, uint64_t now_ps)
{
	(void)now_ps;
	fault_at_nic_fail(params, env, NIC_NO_ROUTES, on);
}

static double
rate(const void *params)
{
	(void)params;
	return 1;
}

const struct fault_ops fault_rnic_no_routes = {
	.kind = "rnic-no-routes",
	.loses_packets = true,
	.table = &table,
	.resolve = fault_at_nic_resolve,
	.check = fault_at_nic_check,
	.set = set,
	.target = fault_at_port_target,
	.met = fault_at_nic_met,
	.rate = rate,
	.idle = "nothing was to leave the RNIC",
};
