/* SPDX-License-Identifier: BSD-3-Clause */
/* RNICs that work no longer though their link is up: a row each. */
#include "rxe-hosts/faults/host_faults.h"

/* An RNIC that hangs: its link is up, but it neither delivers nor sends (R-Pingmesh, Table 2, #3). */
static const struct cfg_table down_table =
	FAULT_AT_NIC_TABLE("kind = \"rnic-down\": a host's RNIC hangs. Its link stays up; received packets vanish, none is "
			   "sent, and no counter shows it. If its link fails too, use link-down.");

static void
set_down(const void *params, struct fault_env *env, bool on, uint64_t now_ps)
{
	(void)now_ps;
	fault_at_nic_fail(params, env, NIC_HANGS, on);
}

const struct fault_ops fault_rnic_down = {
	.kind = "rnic-down",
	.symptoms = (const char *const[]){ "rnic-problem", "blackhole", NULL },
	.example = "kind = \"rnic-down\"; port = \"h0:1\"; start = \"50us\"; duration = \"100us\";",
	.loses_packets = true,
	.table = &down_table,
	.resolve = fault_at_nic_resolve,
	.check = fault_at_nic_check,
	.set = set_down,
	.target = fault_at_port_target,
	.affected = fault_at_nic_affected,
	.rate = fault_loses_all,
	.idle = "no packet reached the RNIC, and none was to be sent",
};

/* An RNIC without the routing configuration that RDMA needs (R-Pingmesh, Table 2, #6). */
static const struct cfg_table no_routes_table =
	FAULT_AT_NIC_TABLE("kind = \"rnic-no-routes\": a host's RNIC has no routes: it receives, but drops all packets to "
			   "be sent, ACKs too, as no_route.");

static void
set_no_routes(const void *params, struct fault_env *env, bool on, uint64_t now_ps)
{
	(void)now_ps;
	fault_at_nic_fail(params, env, NIC_NO_ROUTES, on);
}

const struct fault_ops fault_rnic_no_routes = {
	.kind = "rnic-no-routes",
	.symptoms = (const char *const[]){ "rnic-problem", "blackhole", NULL },
	.example = "kind = \"rnic-no-routes\"; port = \"h0:1\"; start = \"50us\"; duration = \"100us\";",
	.loses_packets = true,
	.table = &no_routes_table,
	.resolve = fault_at_nic_resolve,
	.check = fault_at_nic_check,
	.set = set_no_routes,
	.target = fault_at_port_target,
	.affected = fault_at_nic_affected,
	.rate = fault_loses_all,
	.idle = "nothing was to leave the RNIC",
};

/* An RNIC that lost the GID index that RDMA uses (R-Pingmesh, Table 2, #7). */
static const struct cfg_table no_gid_table =
	FAULT_AT_NIC_TABLE("kind = \"rnic-no-gid\": a host's RNIC has lost its GID: it accepts no packet, and has no "
			   "address to send from. No counter shows it.");

static void
set_no_gid(const void *params, struct fault_env *env, bool on, uint64_t now_ps)
{
	(void)now_ps;
	fault_at_nic_fail(params, env, NIC_NO_GID, on);
}

const struct fault_ops fault_rnic_no_gid = {
	.kind = "rnic-no-gid",
	.symptoms = (const char *const[]){ "rnic-problem", "blackhole", NULL },
	.example = "kind = \"rnic-no-gid\"; port = \"h0:1\"; start = \"50us\"; duration = \"100us\";",
	.loses_packets = true,
	.table = &no_gid_table,
	.resolve = fault_at_nic_resolve,
	.check = fault_at_nic_check,
	.set = set_no_gid,
	.target = fault_at_port_target,
	.affected = fault_at_nic_affected,
	.rate = fault_loses_all,
	.idle = "no packet reached the RNIC, and none was to be sent",
};
