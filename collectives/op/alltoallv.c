/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * AllToAll with blocks of any length, and none: counts[s * ranks + d] elements go from rank s to rank d. A rank has them in
 * the order of the receivers, and gets them in the order of the senders.
 */
#include <errno.h>
#include <inttypes.h>

#include "collectives/op/op.h"

static uint64_t
count_of(const struct coll_params *params, uint32_t from, uint32_t to)
{
	return params->counts[(size_t)from * params->ranks + to];
}

/* Elements that a rank sends, or receives. */
static uint64_t
sum(const struct coll_params *params, uint32_t rank, enum coll_side side, uint32_t end)
{
	uint64_t total = 0;

	for (uint32_t other = 0; other < end; other++)
		total += side == COLL_IN ? count_of(params, rank, other) : count_of(params, other, rank);
	return total;
}

static int
check(const struct coll_params *params, struct err *err)
{
	uint64_t most = 0;

	if (params->counts == NULL)
		return err_set(err, -EINVAL, "alltoallv needs to know how many elements go from each rank to each");
	for (uint32_t rank = 0; rank < params->ranks; rank++) {
		uint64_t total = 0;

		for (uint32_t to = 0; to < params->ranks; to++) {
			if (count_of(params, rank, to) > params->count_elems - total)
				return err_set(err, -EINVAL,
					       "rank %" PRIu32 " sends more than the %" PRIu64 " elements it has", rank,
					       params->count_elems);
			total += count_of(params, rank, to);
		}
		if (total - count_of(params, rank, rank) > most)
			most = total - count_of(params, rank, rank);
	}
	return most == 0 ? err_set(err, -EINVAL, "no rank sends anything to another") : 0;
}

static uint64_t
length(const struct coll_params *params, enum coll_side side)
{
	uint64_t most = 0;

	for (uint32_t rank = 0; rank < params->ranks; rank++) {
		uint64_t total = sum(params, rank, side, params->ranks);

		most = total > most ? total : most;
	}
	return most;
}

static uint32_t
pieces(const struct coll_params *params, uint32_t rank, enum coll_side side)
{
	return params->ranks;
}

static struct coll_piece
piece(const struct coll_params *params, uint32_t rank, enum coll_side side, bool apart, uint32_t index)
{
	uint32_t from = side == COLL_IN ? rank : index, to = side == COLL_IN ? index : rank;

	return (struct coll_piece){
		.at_elems = sum(params, rank, side, index),
		.count_elems = count_of(params, from, to),
		.origin_elems = sum(params, from, COLL_IN, to),
		.from = from,
	};
}

const struct coll_op_ops coll_alltoallv = {
	.apart = true,
	.busbw_factor = coll_factor_moved,
	.check = check,
	.length = length,
	.pieces = pieces,
	.piece = piece,
};
