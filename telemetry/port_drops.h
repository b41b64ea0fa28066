/* SPDX-License-Identifier: BSD-3-Clause */
/* What a port dropped: counted by reason where it happens, told to who polls (struct rec_drop_row). */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "common/flow.h"
#include "common/pkt.h"
#include "common/record/buffer.h"
#include "common/wire/drop.h"

struct drop_count {
	uint64_t packets, bytes, first_ps, last_ps;
	uint32_t last_flow; /* id, where packets is not 0 */
};

struct port_drops {
	struct drop_count of[REC_DROP_REASONS];
	bool was_cut; /* the port's link was down; of[REC_DROP_LINK_DOWN] says when */
};

void port_drops_add(struct port_drops *drops, enum rec_drop reason, const struct pkt *p, uint64_t now_ps);

/* The link was cut, or mended: told also where nothing was dropped. */
void port_drops_cut(struct port_drops *drops, uint64_t now_ps);

bool port_drops_any(const struct port_drops *drops);

/*
 * Puts a row for each reason, but for a blackhole: it is silent, a node that knew of it would not be one.
 * @param port   index at its node
 * @param event  the polling packet's
 */
void port_drops_report(const struct port_drops *drops, const struct flow_table *flows, uint16_t port, uint32_t event,
		       struct recbuf *records, uint64_t now_ps);
