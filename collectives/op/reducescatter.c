/* SPDX-License-Identifier: BSD-3-Clause */
/* Every rank contributes a vector, and rank r ends with block r of the sum. */
#include "collectives/op/op.h"

static uint32_t
pieces(const struct coll_params *params, uint32_t rank, enum coll_side side)
{
	return side == COLL_IN ? params->ranks : 1;
}

static struct coll_piece
piece(const struct coll_params *params, uint32_t rank, enum coll_side side, bool apart, uint32_t index)
{
	struct coll_piece piece =
		coll_piece_block(params, side == COLL_IN ? index : rank, side == COLL_IN ? rank : COLL_ALL);

	if (side == COLL_OUT && apart)
		piece.at_elems = 0;
	return piece;
}

const struct coll_op_ops coll_reducescatter = {
	.sums = true,
	.by_block = true,
	.grid = COLL_IN,
	.busbw_factor = coll_factor_moved,
	.length = coll_length_vector,
	.pieces = pieces,
	.piece = piece,
};
