/* SPDX-License-Identifier: BSD-3-Clause */
/* An RNIC that hangs: its link is up, and nothing comes of it (R-Pingmesh, Table 2, #3). */
#include "common/array.h"
#include "rxe-hosts/faults/at_nic.h"

#define S struct fault_at_port
static const struct cfg_field fields[] = {
	FAULT_COMMON_FIELDS,
	FAULT_AT_NIC_FIELD,
};

static const struct cfg_table table = {
	.path = "faults",
	.doc = "kind = \"rnic-down\": a host's RNIC hangs. Its link stays up; what comes in vanishes, nothing leaves, and "
	       "no counter tells. One whose link goes down too is link-down.",
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
	fault_at_nic_fail(params, env, NIC_HANGS, on);
}

static double
rate(const void *params)
{
	(void)params;
	return 1;
}

const struct fault_ops fault_rnic_down = {
	.kind = "rnic-down",
	.loses_packets = true,
	.table = &table,
	.resolve = fault_at_nic_resolve,
	.check = fault_at_nic_check,
	.set = set,
	.target = fault_at_port_target,
	.met = fault_at_nic_met,
	.rate = rate,
	.idle = "nothing came to the RNIC, and nothing was to leave it",
};
