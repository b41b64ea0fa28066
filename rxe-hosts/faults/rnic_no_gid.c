/* SPDX-License-Identifier: BSD-3-Clause */
/* An RNIC that lost the GID index that RDMA uses (R-Pingmesh, Table 2, #7). */
#include "rxe-hosts/faults/at_nic.h"

static const struct cfg_table table = FAULT_AT_NIC_TABLE(
	"kind = \"rnic-no-gid\": a host's RNIC has lost its GID: no packet is for it, and it has no address to send "
	"by. No counter tells.");

static void
set(const void *params, struct fault_env *env, bool on, uint64_t now_ps)
{
	(void)now_ps;
	fault_at_nic_fail(params, env, NIC_NO_GID, on);
}

const struct fault_ops fault_rnic_no_gid = {
	.kind = "rnic-no-gid",
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
