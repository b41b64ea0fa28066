/* SPDX-License-Identifier: BSD-3-Clause */
/* An RNIC without the routing configuration that RDMA needs (R-Pingmesh, Table 2, #6). */
#include "rxe-hosts/faults/at_nic.h"

static const struct cfg_table table = FAULT_AT_NIC_TABLE(
	"kind = \"rnic-no-routes\": a host's RNIC knows no way to anybody: it receives, and drops all that it is to "
	"send, ACKs too, as no_route.");

static void
set(const void *params, struct fault_env *env, bool on, uint64_t now_ps)
{
	(void)now_ps;
	fault_at_nic_fail(params, env, NIC_NO_ROUTES, on);
}

const struct fault_ops fault_rnic_no_routes = {
	.kind = "rnic-no-routes",
	.loses_packets = true,
	.table = &table,
	.resolve = fault_at_nic_resolve,
	.check = fault_at_nic_check,
	.set = set,
	.target = fault_at_port_target,
	.affected = fault_at_nic_affected,
	.rate = fault_loses_all,
	.idle = "nothing was to leave the RNIC",
};
