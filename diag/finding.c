/* SPDX-License-Identifier: BSD-3-Clause */
#include "diag/finding.h"

#include <stdlib.h>

void
finding_fini(struct finding *finding)
{
	free(finding->ports);
	free(finding->flows);
	free(finding->victims);
	free(finding->steps);
}

const char *
finding_type_name(enum finding_type type)
{
	static const char *const names[FINDING_TYPES] = {
		[FINDING_FLOW_CONTENTION] = "flow_contention",
		[FINDING_INCAST] = "incast",
		[FINDING_PFC_BACKPRESSURE] = "pfc_backpressure",
		[FINDING_PFC_STORM] = "pfc_storm",
		[FINDING_PFC_DEADLOCK] = "pfc_deadlock",
		[FINDING_FORWARDING_LOOP] = "forwarding_loop",
		[FINDING_LOAD_IMBALANCE] = "load_imbalance",
		[FINDING_PACKET_LOSS] = "packet_loss",
		[FINDING_LINK_DOWN] = "link_down",
		[FINDING_BLACKHOLE] = "blackhole",
		[FINDING_SLOW_HOST] = "slow_host",
	};

	return (unsigned)type < FINDING_TYPES ? names[type] : "unknown";
}
