/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * An RNIC whose DMA takes a detour because of a wrong configuration: ACS sends traffic between devices up to the root
 * complex; without ATS the IOMMU translates every address (R-Pingmesh, Table 2, #14).
 */
#include "common/array.h"
#include "rxe-hosts/faults/host_faults.h"

struct dma_detour {
	struct fault_at_port at;
	uint64_t delay_ps, rate_bps, buffer_bytes;
};

#define S struct dma_detour
static const struct cfg_field fields[] = {
	FAULT_COMMON_FIELDS,
	FAULT_AT_NIC_FIELD,
	CFG_FIELD("delay", CFG_TIME, offsetof(S, delay_ps), .def = "0s", .max = 1e12,
		  .doc = "Time until received data is in memory and the host is notified; other DMA continues meanwhile"),
	CFG_FIELD("rate", CFG_RATE, offsetof(S, rate_bps), .def = "", .min = 1e6, .max = 1e13,
		  .doc = "Limit of the rate in each direction; absent: the line rate"),
	CFG_FIELD("buffer", CFG_BYTES, offsetof(S, buffer_bytes), .def = "128KB", .min = 16384, .max = 1e9,
		  .doc = "Bytes waiting for DMA at which the RNIC pauses its switch; at half of that it resumes it"),
};

static const struct cfg_table table = {
	.path = "faults",
	.doc = "kind = \"dma-detour\": DMA of a host's RNIC takes a detour, as with a wrong configuration of ACS, ATS or "
	       "the IOMMU: it has more delay, or is slower than the line (see pcie-downgrade).",
	.list = true,
	.size = sizeof(S),
	.fields = fields,
	.nfields = ARRAY_LEN(fields),
};
#undef S

static void
set(const void *params, struct fault_env *env, bool on, uint64_t now_ps)
{
	const struct dma_detour *fault = params;
	const struct nic_dma dma = { fault->rate_bps, fault->delay_ps, fault->buffer_bytes }, none = { 0 };

	(void)now_ps;
	fault_at_nic_slow(params, env, NIC_DMA_PATH, on ? &dma : &none);
}

static const char *
powerless(const void *params)
{
	const struct dma_detour *fault = params;

	return fault->delay_ps == 0 && fault->rate_bps == 0 ? "it has neither delay nor rate" : NULL;
}

const struct fault_ops fault_dma_detour = {
	.kind = "dma-detour",
	.symptoms = (const char *const[]){ "path-delay", "host-limited", "pfc-storm", "high-rtt", NULL },
	.example = "kind = \"dma-detour\"; port = \"h0:1\"; delay = \"10us\";",
	.table = &table,
	.resolve = fault_at_nic_resolve,
	.check = fault_at_nic_check,
	.set = set,
	.target = fault_at_port_target,
	.affected = fault_at_nic_affected,
	.idle = "no packet reached the RNIC",
	.powerless = powerless,
};
