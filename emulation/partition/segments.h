/* SPDX-License-Identifier: BSD-3-Clause */
/* Contents of data segments that came from other parts, while their descriptors travel (dpswitch/fabric/body.h). */
#pragma once

#include <stdatomic.h>

#include "common/flow.h"
#include "dpswitch/fabric/body.h"

struct segment {
	struct body body;
	uint8_t *bytes; /* [cap_bytes] */
	size_t cap_bytes;
	/* Set by the first lcore between windows, cleared by the one where the packet ends (release); who reads it to use the slot
	 * again acquires. */
	_Atomic bool used;
};

struct segments {
	struct bodies base; /* first */
	struct segment *slots;
	uint32_t *free; /* [cap] a stack of nfree that are known to be, the first lcore's own */
	size_t cap, free_cap;
	uint32_t nfree;
};

void segments_init(struct segments *segments);
void segments_fini(struct segments *segments);

/* A descriptor gets contents of its own: PKT_BYTES. @param flow  that it belongs to */
void segments_put(struct segments *segments, struct pkt *p, const struct pkt_message *message, const struct flow *flow);
/* @return whether the handle is in use; *body until it is released */
bool segments_read(const struct segments *segments, uint32_t handle, struct body *body);
/* What a descriptor's arg says, or would without contents. */
uint32_t segments_imm(const struct segments *segments, const struct pkt *p);
