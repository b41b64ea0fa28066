/* SPDX-License-Identifier: BSD-3-Clause */
/* Every rank contributes a vector and ends with the whole sum. */
#include "collectives/op/op.h"

static double
factor(uint32_t ranks)
{
	return 2 * coll_factor_moved(ranks);
}

static struct coll_piece
piece(const struct coll_params *params, uint32_t rank, enum coll_side side, bool apart, uint32_t index)
{
	return coll_piece_whole(params, side == COLL_IN ? rank : COLL_ALL);
}

const struct coll_op_ops coll_allreduce = {
	.sums = true,
	.grid = COLL_IN,
	.busbw_factor = factor,
	.length = coll_length_vector,
	.pieces = coll_pieces_one,
	.piece = piece,
};
