/* SPDX-License-Identifier: BSD-3-Clause */
/* The root's vector is copied to every rank. */
#include "collectives/op/op.h"

static uint32_t
pieces(const struct coll_params *params, uint32_t rank, enum coll_side side)
{
	return side == COLL_OUT || rank == params->root ? 1 : 0;
}

static struct coll_piece
piece(const struct coll_params *params, uint32_t rank, enum coll_side side, bool apart, uint32_t index)
{
	return coll_piece_whole(params, params->root);
}

const struct coll_op_ops coll_broadcast = {
	.rooted = true,
	.grid = COLL_OUT,
	.busbw_factor = coll_factor_one,
	.length = coll_length_vector,
	.pieces = pieces,
	.piece = piece,
};
