/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Binomial trees (Thakur, Rabenseifner, Gropp 2005, sections 4.2, 4.4): in the round of distance d = 2^k a rank sends
 * to, or gets from, the one d behind it; n - 1 messages in ceil(log2 n) rounds, whatever n is. Ranks are counted from
 * the root. Broadcast goes from the largest distance to the smallest, Reduce in reverse. AllReduce is Reduce to rank 0
 * and Broadcast; AllGather gathers blocks at rank 0 and broadcasts all; ReduceScatter reduces at rank 0 and scatters.
 */
#include "collectives/algorithm/algorithm.h"
#include "collectives/algorithm/pattern.h"

enum what { WHOLE, BLOCKS }; /* the vector, or the blocks of the far one's subtree */

static void
go(struct rounds *rounds, const struct coll_params *params, uint32_t distance, bool to_root, enum what what, bool reduce)
{
	uint32_t n = params->ranks;

	for (uint32_t at = distance; at < n; at += 2 * distance) {
		uint32_t far = (at + params->root) % n, near = (at - distance + params->root) % n;
		uint32_t end = at + distance < n ? at + distance : n;
		struct coll_chunk chunk = rounds_blocks(params, what == BLOCKS ? at : 0, what == BLOCKS ? end : n, reduce);

		rounds_send(rounds, to_root ? far : near, to_root ? near : far, &chunk);
	}
	rounds_next(rounds);
}

static void
to_root(struct rounds *rounds, const struct coll_params *params, enum what what, bool reduce)
{
	for (uint32_t distance = 1; distance < params->ranks; distance *= 2)
		go(rounds, params, distance, true, what, reduce);
}

static void
from_root(struct rounds *rounds, const struct coll_params *params, enum what what)
{
	uint32_t distance = 1;

	while (distance * 2 < params->ranks)
		distance *= 2;
	for (; distance > 0; distance /= 2)
		go(rounds, params, distance, false, what, false);
}

static void
broadcast(struct coll_builder *builder, const struct coll_params *params, const struct coll_layout *layout)
{
	struct rounds *rounds = rounds_create(builder, params->ranks);

	from_root(rounds, params, WHOLE);
	rounds_end(rounds);
}

static void
reduce(struct coll_builder *builder, const struct coll_params *params, const struct coll_layout *layout)
{
	struct rounds *rounds = rounds_create(builder, params->ranks);

	to_root(rounds, params, WHOLE, true);
	rounds_end(rounds);
}

static void
allreduce(struct coll_builder *builder, const struct coll_params *params, const struct coll_layout *layout)
{
	struct rounds *rounds = rounds_create(builder, params->ranks);

	to_root(rounds, params, WHOLE, true);
	from_root(rounds, params, WHOLE);
	rounds_end(rounds);
}

static void
allgather(struct coll_builder *builder, const struct coll_params *params, const struct coll_layout *layout)
{
	struct rounds *rounds = rounds_create(builder, params->ranks);

	to_root(rounds, params, BLOCKS, false);
	from_root(rounds, params, WHOLE);
	rounds_end(rounds);
}

static void
reducescatter(struct coll_builder *builder, const struct coll_params *params, const struct coll_layout *layout)
{
	struct rounds *rounds = rounds_create(builder, params->ranks);

	to_root(rounds, params, WHOLE, true);
	from_root(rounds, params, BLOCKS);
	rounds_end(rounds);
}

const struct coll_algorithm_ops coll_binomial_tree = {
	.of = {
		[COLL_ALLGATHER] = { .build = allgather, .split = true },
		[COLL_REDUCESCATTER] = { .build = reducescatter, .split = true },
		[COLL_ALLREDUCE] = { .build = allreduce },
		[COLL_BROADCAST] = { .build = broadcast },
		[COLL_REDUCE] = { .build = reduce },
	},
};
