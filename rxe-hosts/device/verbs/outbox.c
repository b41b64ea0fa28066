/* SPDX-License-Identifier: BSD-3-Clause */
#include "rxe-hosts/device/verbs/outbox.h"

#include <assert.h>
#include <errno.h>

void
verbs_outbox_init(struct verbs_outbox *outbox, uint64_t window_bytes, uint32_t mtu_bytes)
{
	uint64_t piece = window_bytes / 4; /* some of them cross while others are made */

	if (piece == 0 || piece > VERBS_MAX_PIECE_BYTES)
		piece = VERBS_MAX_PIECE_BYTES;
	piece = piece > mtu_bytes ? piece - piece % mtu_bytes : mtu_bytes;
	*outbox = (struct verbs_outbox){ .piece_bytes = (uint32_t)piece, .max_pieces = VERBS_MAX_PIECES };
	if (window_bytes != 0 && window_bytes / piece < VERBS_MAX_PIECES)
		outbox->max_pieces = window_bytes / piece > 1 ? (uint32_t)(window_bytes / piece) : 1;
}

void
verbs_outbox_init_whole(struct verbs_outbox *outbox)
{
	*outbox = (struct verbs_outbox){ .piece_bytes = UINT32_MAX, .max_pieces = VERBS_MAX_PIECES, .whole = true };
}

int
verbs_outbox_post(struct verbs_outbox *outbox, const struct send_wr *wr, uint64_t now_ps)
{
	if (outbox->tail - outbox->head == DEVICE_MAX_POSTED)
		return -ENOSPC;
	outbox->started_ps[outbox->tail % DEVICE_MAX_POSTED] = now_ps;
	outbox->posts[outbox->tail++ % DEVICE_MAX_POSTED] = *wr;
	return 0;
}

bool
verbs_outbox_next(struct verbs_outbox *outbox, struct verbs_piece *piece)
{
	const struct send_wr *wr = &outbox->posts[outbox->cut % DEVICE_MAX_POSTED];

	if (outbox->cut == outbox->tail || outbox->in_flight == outbox->max_pieces)
		return false;
	*piece = (struct verbs_piece){ .wr = wr, .offset = outbox->cut_bytes };
	if (outbox->whole) {
		piece->whole = true;
		piece->bytes = (uint32_t)wr->bytes;
		outbox->cut++;
	} else if (outbox->cut_bytes == wr->bytes) {
		piece->header = true;
		piece->slot = outbox->cut++ % DEVICE_MAX_POSTED;
		outbox->cut_bytes = 0;
	} else {
		uint64_t rest = wr->bytes - outbox->cut_bytes;

		piece->bytes = rest < outbox->piece_bytes ? (uint32_t)rest : outbox->piece_bytes;
		outbox->cut_bytes += piece->bytes;
	}
	outbox->in_flight++;
	return true;
}

struct verbs_acked
verbs_outbox_acked(struct verbs_outbox *outbox)
{
	const struct send_wr *wr = &outbox->posts[outbox->head % DEVICE_MAX_POSTED];
	uint64_t rest = wr->bytes - outbox->acked_bytes;
	struct verbs_acked acked = { .bytes = rest < outbox->piece_bytes ? rest : outbox->piece_bytes };

	assert(outbox->in_flight != 0 && verbs_outbox_open(outbox));
	outbox->in_flight--;
	outbox->acked_bytes += acked.bytes;
	if (acked.bytes != 0 && !outbox->whole)
		return acked;
	acked.message = true;
	acked.wr_id = wr->wr_id;
	acked.message_bytes = wr->bytes;
	acked.started_ps = outbox->started_ps[outbox->head % DEVICE_MAX_POSTED];
	outbox->acked_bytes = 0;
	outbox->head++;
	return acked;
}
