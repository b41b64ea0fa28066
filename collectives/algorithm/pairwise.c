/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Pairwise exchange (Thakur, Rabenseifner, Gropp 2005, section 4.3): in round k each rank sends to one rank and
 * receives from one: from and to the one whose number differs from its own in the bits of k where ranks are a power of
 * two, else to the k-th behind it and from the k-th before it. The next round begins when both are over.
 */
#include "collectives/algorithm/algorithm.h"
#include "collectives/algorithm/pattern.h"

static void
alltoall(struct coll_builder *builder, const struct coll_params *params, const struct coll_layout *layout)
{
	uint32_t n = params->ranks;
	bool power = (n & (n - 1)) == 0;
	struct coll_chunk *blocks = blocks_create(builder, params, layout);
	struct rounds *rounds = rounds_create(builder, n);

	if (blocks != NULL)
		blocks_keep(builder, params, blocks);
	for (uint32_t round = 1; round < n && blocks != NULL; round++) {
		for (uint32_t rank = 0; rank < n; rank++) {
			uint32_t peer = power ? rank ^ round : (rank + round) % n;
			const struct coll_chunk *block = &blocks[(size_t)rank * n + peer];

			if (block->count_elems != 0)
				rounds_send(rounds, rank, peer, block);
		}
		rounds_next(rounds);
	}
	rounds_end(rounds);
	free(blocks);
}

const struct coll_algorithm_ops coll_pairwise = {
	.of = {
		[COLL_ALLTOALL] = { .build = alltoall, .split = true, .block_steps = true },
		[COLL_ALLTOALLV] = { .build = alltoall },
	},
};
