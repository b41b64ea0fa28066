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
		[FINDING_FLOW_CONTENTION] = "flow-contention",
		[FINDING_INCAST] = "incast",
		[FINDING_PFC_BACKPRESSURE] = "pfc-backpressure",
		[FINDING_PFC_STORM] = "pfc-storm",
		[FINDING_PFC_DEADLOCK] = "pfc-deadlock",
		[FINDING_FORWARDING_LOOP] = "forwarding-loop",
		[FINDING_LOAD_IMBALANCE] = "load-imbalance",
		[FINDING_PACKET_LOSS] = "packet-loss",
		[FINDING_LINK_DOWN] = "link-down",
		[FINDING_BLACKHOLE] = "blackhole",
		[FINDING_SLOW_HOST] = "slow-host",
	};

	return (unsigned)type < FINDING_TYPES ? names[type] : "unknown";
}
