/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Ring: everybody sends to the next rank, one block a step (Patarasuk and Yuan, JPDC 2009; the paper's Fig. 1a, 4).
 * ReduceScatter: in step s rank r passes on block r-s, to which the ranks r-s+1..r have added; block r arrives whole.
 * AllGather: in step s rank r passes on block r-s+1, its own first.
 * Broadcast and Reduce: the ring without the link to the root, or from it, is a chain through which chunks go.
 * SendRecv: every rank's vector goes to the next.
 */
#include <errno.h>

#include "collectives/algorithm/algorithm.h"
#include "collectives/algorithm/pattern.h"

/* Rounds that reduce, then rounds that gather. */
static void
go_round(struct coll_builder *builder, const struct coll_params *params, uint32_t reducing, uint32_t gathering)
{
	uint32_t n = params->ranks;
	struct rounds *rounds;

	if (coll_builder_count_all(builder, reducing + gathering))
		return;
	rounds = rounds_create(builder, n);
	for (uint32_t round = 1; round <= reducing + gathering; round++) {
		bool reduce = round <= reducing;
		uint32_t back = reduce ? round : round - reducing - 1;

		for (uint32_t rank = 0; rank < n; rank++) {
			uint32_t block = (rank + n - back) % n;
			struct coll_chunk chunk = rounds_blocks(params, block, block + 1, reduce);

			rounds_send(rounds, rank, (rank + 1) % n, &chunk);
		}
		rounds_next(rounds);
	}
	rounds_end(rounds);
}

static void
allgather(struct coll_builder *builder, const struct coll_params *params, const struct coll_layout *layout)
{
	go_round(builder, params, 0, params->ranks - 1);
}

static void
reducescatter(struct coll_builder *builder, const struct coll_params *params, const struct coll_layout *layout)
{
	go_round(builder, params, params->ranks - 1, 0);
}

static void
allreduce(struct coll_builder *builder, const struct coll_params *params, const struct coll_layout *layout)
{
	go_round(builder, params, params->ranks - 1, params->ranks - 1);
}

static uint32_t
chain_parent(const struct coll_params *params, uint32_t channel, uint32_t rank)
{
	return rank == params->root ? COLL_NONE : (rank + params->ranks - 1) % params->ranks;
}

static void
chain(struct coll_builder *builder, const struct coll_params *params, bool up)
{
	struct tree tree;

	if (tree_init(&tree, params, 0, chain_parent) != 0)
		coll_builder_fail(builder, -ENOMEM);
	else
		for (uint32_t i = 0; i < params->chunks; i++) {
			struct coll_chunk chunk = tree_chunk(0, params->count_elems, params->chunks, i);

			if (up)
				tree_up(&tree, builder, chunk);
			else
				tree_down(&tree, builder, chunk, false);
		}
	tree_fini(&tree);
}

static void
broadcast(struct coll_builder *builder, const struct coll_params *params, const struct coll_layout *layout)
{
	chain(builder, params, false);
}

static void
reduce(struct coll_builder *builder, const struct coll_params *params, const struct coll_layout *layout)
{
	chain(builder, params, true);
}

static uint32_t
neighbours(const struct coll_params *params, struct coll_pair *pairs)
{
	for (uint32_t rank = 0; rank < params->ranks; rank++)
		pairs[rank] = (struct coll_pair){ rank, (rank + 1) % params->ranks };
	return params->ranks;
}

static void
sendrecv(struct coll_builder *builder, const struct coll_params *params, const struct coll_layout *layout)
{
	struct coll_chunk whole = { .dst_elems = layout->out_elems, .count_elems = params->count_elems };

	for (uint32_t rank = 0; rank < params->ranks; rank++)
		coll_builder_send(builder, rank, (rank + 1) % params->ranks, 0, &whole);
}

const struct coll_algorithm_ops coll_ring = {
	.of = {
		[COLL_ALLGATHER] = { .build = allgather, .split = true, .block_steps = true },
		[COLL_REDUCESCATTER] = { .build = reducescatter, .split = true, .block_steps = true },
		[COLL_ALLREDUCE] = { .build = allreduce, .split = true, .block_steps = true },
		[COLL_BROADCAST] = { .build = broadcast, .chunks = COLL_DEFAULT_CHUNKS },
		[COLL_REDUCE] = { .build = reduce, .chunks = COLL_DEFAULT_CHUNKS },
		[COLL_SENDRECV] = { .build = sendrecv, .pairs = neighbours },
	},
};
