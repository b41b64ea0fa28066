/* SPDX-License-Identifier: BSD-3-Clause */
/* Every rank has a block for every rank; at the end it has theirs, in the order of the senders. */
#include "collectives/op/op.h"

static uint64_t
length(const struct coll_params *params, enum coll_side side)
{
	/* The data for rank 0 is longest: a block of each rank, each as long as the longest. */
	return side == COLL_IN ? params->count_elems
			       : params->ranks * coll_block_count(params->count_elems, params->ranks, 0);
}

static uint32_t
pieces(const struct coll_params *params, uint32_t rank, enum coll_side side)
{
	return params->ranks;
}

static struct coll_piece
piece(const struct coll_params *params, uint32_t rank, enum coll_side side, bool apart, uint32_t index)
{
	struct coll_piece piece = coll_piece_block(params, side == COLL_IN ? index : rank, side == COLL_IN ? rank : index);

	if (side == COLL_OUT)
		piece.at_elems = index * piece.count_elems;
	return piece;
}

const struct coll_op_ops coll_alltoall = {
	.apart = true,
	.by_block = true,
	.busbw_factor = coll_factor_moved,
	.length = length,
	.pieces = pieces,
	.piece = piece,
};
