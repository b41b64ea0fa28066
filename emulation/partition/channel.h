/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Messages of common/wire/partition.h over a non-blocking stream socket: what does not leave at once is kept, up to a
 * bound.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/err.h"
#include "common/wire/partition.h"

/* The bytes that a peer may leave unread before it is given up. */
#define CHANNEL_OUT_BYTES (64u * 1024 * 1024)

struct channel {
	int fd; /* -1: closed */
	uint8_t *in;
	size_t in_head, in_used, in_cap; /* [in_head, in_used) waits to be taken */
	uint8_t *out;
	size_t out_head, out_used, out_cap;
	bool ended; /* the other end has closed; messages that it had sent can still be taken */
	bool shut;  /* this end sends no more */
	int error;  /* errno of a read or write; ENOBUFS: it left too much unread */
};

struct channel_message {
	enum partition_type type;
	uint32_t size;
	const uint8_t *body; /* until the next channel_take() or channel_read() */
};

/* Takes a connected descriptor over. @return 0 or negative errno, with the descriptor closed */
int channel_init(struct channel *channel, int fd);
void channel_fini(struct channel *channel);

/* Appends a message of up to two buffers. Nothing is written until channel_flush(). */
void channel_put(struct channel *channel, enum partition_type type, const void *body, size_t size, const void *more,
		 size_t more_size);
/* Writes the bytes that the socket takes. */
void channel_flush(struct channel *channel);
/*
 * Ends sending, once all has been written. A program that closes a TCP connection with unread bytes resets it (RFC
 * 1122, 4.2.2.13), and what the other end has not received is lost: shut it down first, and read until the other end
 * has done so, too.
 */
void channel_shut(struct channel *channel);
/* Reads what is there. @return whether anything arrived */
bool channel_read(struct channel *channel);
/* @return 1 with the next whole message; 0: none yet; -EPROTO with err set: it is no message */
int channel_take(struct channel *channel, struct channel_message *message, struct err *err);

/* @return the meaning of channel->error, for people */
const char *channel_flaw(const struct channel *channel);

/*
 * @return the type of the message that is arriving, from its header; PARTITION_NONE: there is none, or its header is
 *         incomplete
 */
enum partition_type channel_incoming(const struct channel *channel);

static inline bool
channel_waits(const struct channel *channel)
{
	return channel->out_head != channel->out_used;
}
