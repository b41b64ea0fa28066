/* SPDX-License-Identifier: BSD-3-Clause */
/* Frames of the command channel (common/wire/guest.h) in and out of byte streams that may block at any byte. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "common/wire/guest.h"

/* Bytes read but not processed yet. Starts as all zeros. */
struct frame_in {
	size_t begin, end;
	uint8_t bytes[2 * (sizeof(struct guest_frame) + GUEST_MAX_PAYLOAD)];
};

/* A buffer of bytes to write. Starts as all zeros, ends by frame_out_fini(). */
struct frame_out {
	size_t begin, end, cap;
	uint8_t *bytes;
};

#define FRAME_OUT_MAX (1 << 20) /* every sender is bound by its window: this is the sum and some more */

/*
 * Reads what the descriptor has; one read().
 * @return 1 if the stream is open, even with nothing to read now, 0 at its end, negative errno
 */
int frame_fill(struct frame_in *in, int fd);

/*
 * Takes the next frame.
 * @param payload  frame->size bytes, valid until the next frame_fill()
 * @return 1, 0 if no whole frame is there yet, -EPROTO if it is larger than GUEST_MAX_PAYLOAD
 */
int frame_next(struct frame_in *in, struct guest_frame *frame, const uint8_t **payload);

/* Queues a frame. @return 0, -ENOBUFS beyond FRAME_OUT_MAX, -ENOMEM */
int frame_put(struct frame_out *out, enum guest_frame_type type, uint8_t session, const void *payload, size_t size);

/* @return bytes that wait to be written */
size_t frame_pending(const struct frame_out *out);

/* Writes up to the descriptor's free space; one write(). @return 0, or negative errno when the stream is broken */
int frame_flush(struct frame_out *out, int fd);

void frame_out_fini(struct frame_out *out);
