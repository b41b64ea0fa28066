/* SPDX-License-Identifier: BSD-3-Clause */
/* A host that takes in less than its line carries: as its memory, or the program there, admits. It sends as before. */
#include "common/array.h"
#include "common/units.h"
#include "rxe-hosts/faults/host_faults.h"

struct slow_receiver {
	struct fault_at_port at;
	uint64_t rate_bps, buffer_bytes;
};

#define S struct slow_receiver
static const struct cfg_field fields[] = {
	FAULT_COMMON_FIELDS,
	FAULT_AT_NIC_FIELD,
	CFG_FIELD("rate", CFG_RATE, offsetof(S, rate_bps), .min = 1e6, .max = 1e13,
		  .doc = "At which it drains what arrives"),
	CFG_FIELD("buffer", CFG_BYTES, offsetof(S, buffer_bytes), .def = "128KB", .min = 16384, .max = 1e9,
		  .doc = "Bytes waiting in the RNIC at which it pauses its switch; at half of that it resumes it"),
};

static const struct cfg_table table = {
	.path = "faults",
	.doc = "kind = \"slow-receiver\": a host drains what arrives at a rate below the line's. Received packets wait "
	       "in the RNIC, which pauses its switch (IEEE 802.1Qbb) when its buffer fills. It sends at its usual rate.",
	.list = true,
	.size = sizeof(S),
	.fields = fields,
	.nfields = ARRAY_LEN(fields),
};
#undef S

static int
resolve(void *params, const struct topo *topo, struct err *err)
{
	const struct slow_receiver *fault = params;
	char given[32], most[32];
	int rc = fault_at_nic_resolve(params, topo, err);

	if (rc != 0 || fault->rate_bps < topo->ports[fault->at.port_id].rate_bps)
		return rc;
	return cfg_fail(&fault->at.common.where, "rate", err, "%s is no less than the line's %s: nothing would wait",
			units_format_rate(fault->rate_bps, given, sizeof(given)),
			units_format_rate(topo->ports[fault->at.port_id].rate_bps, most, sizeof(most)));
}

static void
set(const void *params, struct fault_env *env, bool on, uint64_t now_ps)
{
	const struct slow_receiver *fault = params;
	const struct nic_dma dma = { .rate_bps = on ? fault->rate_bps : 0, .xoff_bytes = on ? fault->buffer_bytes : 0 };

	(void)now_ps;
	fault_at_nic_slow(params, env, NIC_DMA_DRAIN, &dma);
}

static const char *const truth_keys[] = { "rate", NULL };

const struct fault_ops fault_slow_receiver = {
	.kind = "slow-receiver",
	.symptoms = (const char *const[]){ "host-limited", "pfc-storm", "high-rtt", NULL },
	.example = "kind = \"slow-receiver\"; port = \"h0:1\"; rate = \"20Gbps\";",
	.table = &table,
	.replaces = FAULT_REPLACES_PORT,
	.resolve = resolve,
	.check = fault_at_nic_check,
	.set = set,
	.target = fault_at_port_target,
	.affected = fault_at_nic_affected,
	.idle = "nothing had to wait to be drained",
	.truth_keys = truth_keys,
};
