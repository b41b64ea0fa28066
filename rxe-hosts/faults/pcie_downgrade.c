/* SPDX-License-Identifier: BSD-3-Clause */
/* A PCIe link of an RNIC that was trained to a lower speed or width (R-Pingmesh, Table 2, #13). */
#include "common/array.h"
#include "rxe-hosts/faults/host_faults.h"

struct pcie_downgrade {
	struct fault_at_port at;
	int64_t generation, lanes;
	uint64_t buffer_bytes;
};

#define S struct pcie_downgrade
static const struct cfg_field fields[] = {
	FAULT_COMMON_FIELDS,
	FAULT_AT_NIC_FIELD,
	CFG_FIELD("generation", CFG_INT, offsetof(S, generation), .def = "1", .min = 1, .max = 6,
		  .doc = "Speed that is left: 2.5, 5, 8, 16, 32 or 64 GT/s a lane, less what its line code takes (8b/10b, "
			 "from 8 GT/s 128b/130b)"),
	CFG_FIELD("lanes", CFG_INT, offsetof(S, lanes), .def = "1", .min = 1, .max = 16,
		  .doc = "Width that is left: 1, 2, 4, 8 or 16 lanes"),
	CFG_FIELD("buffer", CFG_BYTES, offsetof(S, buffer_bytes), .def = "128KB", .min = 16384, .max = 1e9,
		  .doc = "Bytes waiting for DMA at which the RNIC pauses its switch; at half of that it resumes it"),
};

static const struct cfg_table table = {
	.path = "faults",
	.doc = "kind = \"pcie-downgrade\": the PCIe link of a host's RNIC is slower than the line. It sends no faster than "
	       "that; received packets wait in the RNIC, which pauses its switch (IEEE 802.1Qbb) when its buffer fills: a "
	       "PFC storm by a host.",
	.list = true,
	.size = sizeof(S),
	.fields = fields,
	.nfields = ARRAY_LEN(fields),
};
#undef S

static int
resolve(void *params, const struct topo *topo, struct err *err)
{
	const struct pcie_downgrade *fault = params;

	if ((fault->lanes & (fault->lanes - 1)) != 0)
		return cfg_fail(&fault->at.common.where, "lanes", err, "%lld: PCIe links have 1, 2, 4, 8 or 16 lanes",
				(long long)fault->lanes);
	return fault_at_nic_resolve(params, topo, err);
}

/* @return the rate of one direction, PCIe's headers included (PCI Express Base Specification 6.0, 4.2) */
static uint64_t
rate_bps(const struct pcie_downgrade *fault)
{
	static const double code[] = { 0.8, 0.8, 128.0 / 130, 128.0 / 130, 128.0 / 130, 1 };
	static const double transfers[] = { 2.5e9, 5e9, 8e9, 16e9, 32e9, 64e9 };

	return (uint64_t)(transfers[fault->generation - 1] * code[fault->generation - 1] * (double)fault->lanes);
}

static void
set(const void *params, struct fault_env *env, bool on, uint64_t now_ps)
{
	const struct pcie_downgrade *fault = params;
	const struct nic_dma dma = { .rate_bps = on ? rate_bps(fault) : 0, .xoff_bytes = on ? fault->buffer_bytes : 0 };

	(void)now_ps;
	fault_at_nic_slow(params, env, NIC_DMA_LINK, &dma);
}

static const char *const truth_keys[] = { "generation", "lanes", NULL };

const struct fault_ops fault_pcie_downgrade = {
	.kind = "pcie-downgrade",
	.symptoms = (const char *const[]){ "host-limited", "pfc-storm", "high-rtt", NULL },
	.example = "kind = \"pcie-downgrade\"; port = \"h0:1\"; generation = 3; lanes = 4;",
	.table = &table,
	.replaces = FAULT_REPLACES_PORT,
	.resolve = resolve,
	.check = fault_at_nic_check,
	.set = set,
	.target = fault_at_port_target,
	.affected = fault_at_nic_affected,
	.idle = "nothing had to wait for DMA",
	.truth_keys = truth_keys,
};
