/* SPDX-License-Identifier: BSD-3-Clause */
/* Every rank contributes a vector, and the root ends with the whole sum. */
#include "collectives/op/op.h"

static uint32_t
pieces(const struct coll_params *params, uint32_t rank, enum coll_side side)
{
	return side == COLL_IN || rank == params->root ? 1 : 0;
}

static struct coll_piece
piece(const struct coll_params *params, uint32_t rank, enum coll_side side, bool apart, uint32_t index)
{
	return coll_piece_whole(params, side == COLL_IN ? rank : COLL_ALL);
}

const struct coll_op_ops coll_reduce = {
	.sums = true,
	.rooted = true,
	.grid = COLL_IN,
	.busbw_factor = coll_factor_one,
	.length = coll_length_vector,
	.pieces = pieces,
	.piece = piece,
};
