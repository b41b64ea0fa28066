/* SPDX-License-Identifier: BSD-3-Clause */
/* Frames that come in about the order of time, with their bytes, and leave in that very order. */
#pragma once

#include <stddef.h>
#include <stdint.h>

struct reorder_frame {
	uint64_t time_ps;
	uint64_t seq; /* orders equals as they came; set by reorder_put() */
	size_t at;    /* of its bytes; set by reorder_put() */
	size_t captured_bytes, frame_bytes;
	uint32_t interface;
	uint8_t direction;
};

/* Zeroed: empty. */
struct reorder {
	struct reorder_frame *frames; /* [count] */
	size_t count, cap;
	uint8_t *bytes; /* [nbytes] of all */
	size_t nbytes, bytes_cap;
	uint64_t seq;
};

void reorder_fini(struct reorder *r);

/* Room for the bytes of the next frame; until the next call. Aborts without memory. */
uint8_t *reorder_slot(struct reorder *r, size_t max_bytes);
/* Takes a frame whose captured bytes are in the slot. */
void reorder_put(struct reorder *r, const struct reorder_frame *frame);

/* Hands over those of before end_ps, in order, and forgets them. */
void reorder_flush(struct reorder *r, uint64_t end_ps,
		   void (*take)(void *ctx, const struct reorder_frame *frame, const uint8_t *bytes), void *ctx);
