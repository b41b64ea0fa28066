/* SPDX-License-Identifier: BSD-3-Clause */
/* What a port dropped: counted by reason where it happens, told to who polls (struct rec_drop_row). */
#pragma once

#include "telemetry/collector.h"

struct drop_count {
	uint64_t packets, bytes, first_ps, last_ps;
	uint32_t last_flow; /* id, where packets is not 0 */
};

struct port_drops {
	struct drop_count of[REC_DROP_REASONS];
	const struct flow_table *flows;
	uint16_t port;
	bool was_down; /* the port's link was down; of[REC_DROP_LINK_DOWN] says when */
};

/* The link was cut, or mended: told also where nothing was dropped. */
void port_drops_down(struct port_drops *drops, uint64_t now_ps);

bool port_drops_any(const struct port_drops *drops);

extern const struct collector collector_drops;
