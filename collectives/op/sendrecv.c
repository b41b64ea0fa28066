/* SPDX-License-Identifier: BSD-3-Clause */
/* Messages from rank to rank, each of the sender's whole vector. A rank has room for those that it gets, in their order. */
#include <errno.h>
#include <inttypes.h>

#include "collectives/op/op.h"

static int
check(const struct coll_params *params, struct err *err)
{
	if (params->npairs == 0)
		return err_set(err, -EINVAL, "sendrecv needs pairs of ranks");
	for (uint32_t i = 0; i < params->npairs; i++) {
		const struct coll_pair *pair = &params->pairs[i];

		if (pair->from >= params->ranks || pair->to >= params->ranks)
			return err_set(err, -EINVAL, "%" PRIu32 " to %" PRIu32 ": there are ranks 0 to %" PRIu32,
				       pair->from, pair->to, params->ranks - 1);
		if (pair->from == pair->to)
			return err_set(err, -EINVAL, "rank %" PRIu32 " sends to itself", pair->from);
	}
	return 0;
}

static uint32_t
pieces(const struct coll_params *params, uint32_t rank, enum coll_side side)
{
	uint32_t count = 0;

	if (side == COLL_IN)
		return 1;
	for (uint32_t i = 0; i < params->npairs; i++)
		count += params->pairs[i].to == rank;
	return count;
}

static uint64_t
length(const struct coll_params *params, enum coll_side side)
{
	uint32_t most = 0;

	for (uint32_t rank = 0; rank < params->ranks; rank++) {
		uint32_t count = pieces(params, rank, side);

		most = count > most ? count : most;
	}
	return most * params->count_elems;
}

static struct coll_piece
piece(const struct coll_params *params, uint32_t rank, enum coll_side side, bool apart, uint32_t index)
{
	struct coll_piece piece = coll_piece_whole(params, rank);

	if (side == COLL_IN)
		return piece;
	piece.at_elems = index * params->count_elems;
	for (uint32_t i = 0, nth = 0; i < params->npairs; i++)
		if (params->pairs[i].to == rank && nth++ == index)
			piece.from = params->pairs[i].from;
	return piece;
}

const struct coll_op_ops coll_sendrecv = {
	.apart = true,
	.busbw_factor = coll_factor_one,
	.check = check,
	.length = length,
	.pieces = pieces,
	.piece = piece,
};
