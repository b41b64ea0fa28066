/* SPDX-License-Identifier: BSD-3-Clause */
/* Rank r contributes block r, and every rank ends with all blocks. */
#include "collectives/op/op.h"

static uint32_t
pieces(const struct coll_params *params, uint32_t rank, enum coll_side side)
{
	return side == COLL_IN ? 1 : params->ranks;
}

static struct coll_piece
piece(const struct coll_params *params, uint32_t rank, enum coll_side side, bool apart, uint32_t index)
{
	uint32_t block = side == COLL_IN ? rank : index;
	struct coll_piece piece = coll_piece_block(params, block, block);

	if (side == COLL_IN && apart)
		piece.at_elems = 0;
	return piece;
}

const struct coll_op_ops coll_allgather = {
	.by_block = true,
	.grid = COLL_OUT,
	.busbw_factor = coll_factor_moved,
	.length = coll_length_vector,
	.pieces = pieces,
	.piece = piece,
};
