/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Messages of the management channel (common/wire/manage.h) over a non-blocking byte stream: a serial line, a pipe or
 * a socket. Both ends use it. Received bytes are parsed as they arrive, in any portions; sent bytes wait in a bounded
 * queue until the other end takes them, so that a slow reader never holds up its writer.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/err.h"
#include "common/wire/manage.h"

struct manage_stream {
	int fd;
	uint8_t *in; /* [one message of MANAGE_MAX_BODY and its header] */
	size_t in_used, in_taken;
	uint8_t *out; /* [out_cap] bytes that wait, from out_head on; moved to the front when room is short */
	size_t out_head, out_used, out_cap;
	bool closed;                         /* the other end is gone; its earlier messages can still be taken */
	uint64_t sent_bytes, received_bytes; /* went over the channel, headers included */
	uint64_t refused;                    /* messages that found the queue full */
};

/* A message as it was received; valid until the next manage_stream_receive(). */
struct manage_message {
	enum manage_type type;
	uint32_t size;    /* of the body, bytes */
	const void *body; /* aligned to 4 bytes only: copy it into its struct */
};

/*
 * Takes over an open descriptor (the caller still closes it), makes it non-blocking and, where it is a terminal, raw.
 * @param queue_bytes  what may wait to be sent; at least one message of the largest size
 * @return 0, -ENOMEM or what fcntl(2) or tcsetattr(3) gave
 */
int manage_stream_init(struct manage_stream *stream, int fd, size_t queue_bytes);
void manage_stream_fini(struct manage_stream *stream);

/*
 * Reads the available bytes, as far as they fit; call when the descriptor is readable, then take all messages.
 * @return bytes read; 0: nothing there, or closed (stream->closed); negative errno of read(2)
 */
int manage_stream_receive(struct manage_stream *stream);

/*
 * Takes the next whole message. Its size is checked: that of its struct, or whole records; PINGMESH has any.
 * @return 1, 0: none yet, or -EPROTO with err set: the stream is of no use any more
 */
int manage_stream_take(struct manage_stream *stream, struct manage_message *message, struct err *err);

/*
 * Queues a message and sends what the descriptor accepts at once.
 * @param size  of the body; MANAGE_MAX_BODY at most
 * @return 0; -ENOSPC: the queue is full, counted in refused; -EPIPE: the other end is gone; another errno of write(2)
 */
int manage_stream_send(struct manage_stream *stream, enum manage_type type, const void *body, size_t size);

/*
 * Sends more of what waits; call when the descriptor is writable.
 * @return bytes that still wait, or negative errno as of manage_stream_send()
 */
int manage_stream_flush(struct manage_stream *stream);

/* @return whether bytes wait to be sent: the owner then polls the descriptor for writing */
static inline bool
manage_stream_pending(const struct manage_stream *stream)
{
	return stream->out_used != 0;
}

/* Room for a message body of this size. */
static inline bool
manage_stream_has_room(const struct manage_stream *stream, size_t size)
{
	return stream->out_cap - stream->out_used >= sizeof(struct manage_hdr) + size;
}
