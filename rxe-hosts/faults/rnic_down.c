/* SPDX-License-Identifier: BSD-3-Clause */
/* An RNIC that hangs: its link is up, and nothing comes of it (R-Pingmesh, Table 2, #3). */
#include "rxe-hosts/faults/at_nic.h"

static const struct cfg_table table = FAULT_AT_NIC_TABLE(
	"kind = \"rnic-down\": a host's RNIC hangs. Its link stays up; what comes in vanishes, nothing leaves, and "
	"no counter tells. One whose link goes down too is link-down.");

static void
set(const void *params, struct fault_env *env, bool on, uint64_t now_ps)
{
	(void)now_ps;
	fault_at_nic_fail(params, env, NIC_HANGS, on);
}

const struct fault_ops fault_rnic_down = {
	.kind = "rnic-down",
	.loses_packets = true,
	.table = &table,
	.resolve = fault_at_nic_resolve,
	.check = fault_at_nic_check,
	.set = set,
	.target = fault_at_port_target,
	.affected = fault_at_nic_affected,
	.rate = fault_loses_all,
	.idle = "nothing came to the RNIC, and nothing was to leave it",
};
