/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * How a message crosses a reliable connection: pure bookkeeping, no verbs.
 * A message is divided into pieces, each one RDMA WRITE, so that its progress is visible and at most a window of it is
 * in flight. Behind its pieces follows its header, one WRITE WITH IMMEDIATE into a slot of the receiver's: the receiver
 * learns where the message lies and how long it is, and, as a connection keeps order, that it is in place.
 *
 *   receiver's memory of one flow:   header slots [DEVICE_MAX_POSTED]   landing [as long as what it sends]
 *
 * The receiver has one receive posted for each slot and posts it again once it has used the slot; without it the
 * connection holds the sender back (receiver not ready), so no slot is overwritten before it is read. The landing
 * mirrors the range of the receiver's region where the flow's messages belong. A place in it is written again only when
 * the client of the sender sends to that place again. The client may do so only once the first message is consumed: the
 * rule of every RDMA WRITE.
 * Messages without contents all go to one shared landing, piece over piece.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "rxe-hosts/device/device.h"

#define VERBS_MAX_PIECE_BYTES (256u << 10)
#define VERBS_MAX_PIECES 16 /* in flight on one connection, header included */

/* The header in the receiver's slot; little-endian. */
struct verbs_header {
	uint64_t remote_offset, bytes;
};

struct verbs_piece {
	const struct send_wr *wr;
	uint64_t offset; /* in the message */
	uint32_t bytes;
	uint32_t slot; /* header: where it goes */
	bool header;
	bool whole; /* carries the message's immediate itself */
};

/*
 * The sending side of one connection. Messages [head, tail) are posted; those before cut are completely divided into
 * pieces.
 */
struct verbs_outbox {
	struct send_wr posts[DEVICE_MAX_POSTED];
	uint64_t started_ps[DEVICE_MAX_POSTED]; /* when it was posted */
	uint32_t head, cut, tail;               /* counted from the connection's first message */
	uint64_t cut_bytes;                     /* of message "cut" that are handed out */
	uint64_t acked_bytes;                   /* of message "head" */
	uint32_t piece_bytes, max_pieces, in_flight;
	bool whole; /* messages are neither divided nor have headers */
};

/*
 * @param window_bytes  maximum in flight; 0: limited by the number of pieces alone
 * @param mtu_bytes     pieces are whole packets
 */
void verbs_outbox_init(struct verbs_outbox *outbox, uint64_t window_bytes, uint32_t mtu_bytes);
/* Messages go as they are, for a receiver that knows no headers. */
void verbs_outbox_init_whole(struct verbs_outbox *outbox);
/* @return 0, or -ENOSPC past DEVICE_MAX_POSTED messages */
int verbs_outbox_post(struct verbs_outbox *outbox, const struct send_wr *wr, uint64_t now_ps);
/* Takes the next piece to send. @return false: nothing to send, or enough in flight */
bool verbs_outbox_next(struct verbs_outbox *outbox, struct verbs_piece *piece);

struct verbs_acked {
	uint64_t bytes; /* of contents */
	bool message;   /* a message is complete; of it: */
	uint64_t wr_id, message_bytes, started_ps;
};

/* The oldest piece in flight is acknowledged. */
struct verbs_acked verbs_outbox_acked(struct verbs_outbox *outbox);

static inline bool
verbs_outbox_open(const struct verbs_outbox *outbox)
{
	return outbox->head != outbox->tail;
}

/* Bytes of contents that are in flight at most. */
static inline uint64_t
verbs_outbox_window(const struct verbs_outbox *outbox)
{
	return (uint64_t)outbox->piece_bytes * outbox->max_pieces;
}
