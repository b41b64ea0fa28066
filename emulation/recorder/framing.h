/* SPDX-License-Identifier: BSD-3-Clause */
/* Reports on their way to the outputs: packed into frames (common/record/frame.h), as many as they take. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "common/record/frame.h"

/* Zero-initialise. */
struct framing {
	struct recframe open;
	uint8_t *data; /* frames that are closed, each where 8 bytes begin */
	size_t end_bytes, cap_bytes;
	uint64_t sent_ps;
	/* of those that are closed */
	uint64_t frames, bytes;
	uint64_t telemetry_frames, telemetry_bytes; /* those of REC_TELEMETRY */
};

void framing_fini(struct framing *framing);

/* Forgets what there is, and begins anew. @param sent_ps  when the frames are sent */
void framing_begin(struct framing *framing, uint64_t sent_ps);
/* @param rec  a report that stays where it is until framing_end() */
void framing_add(struct framing *framing, const struct rec_hdr *rec);
void framing_end(struct framing *framing);

/* @param at  0, changed to where the next one is. @return a frame; NULL: there is no more */
const struct rec_hdr *framing_next(const struct framing *framing, size_t *at);
