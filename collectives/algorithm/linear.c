/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Linear: everything is sent at once. AllToAll: each rank to all others, the next one first (Thakur, Rabenseifner, Gropp
 * 2005, section 4.3; NCCL's AllToAll). SendRecv: the pairs that the user lists.
 */
#include <errno.h>

#include "collectives/algorithm/algorithm.h"
#include "collectives/algorithm/pattern.h"

static void
alltoall(struct coll_builder *builder, const struct coll_params *params, const struct coll_layout *layout)
{
	uint32_t n = params->ranks;
	struct coll_chunk *blocks = blocks_create(builder, params, layout);

	if (blocks == NULL)
		return;
	blocks_keep(builder, params, blocks);
	for (uint32_t rank = 0; rank < n; rank++)
		for (uint32_t next = 1; next < n; next++) {
			uint32_t peer = (rank + next) % n;
			const struct coll_chunk *block = &blocks[(size_t)rank * n + peer];

			if (block->count_elems != 0)
				coll_builder_send(builder, rank, peer, 0, block);
		}
	free(blocks);
}

static void
sendrecv(struct coll_builder *builder, const struct coll_params *params, const struct coll_layout *layout)
{
	uint32_t *received = calloc(params->ranks, sizeof(*received));

	for (uint32_t i = 0; i < params->npairs && received != NULL; i++) {
		const struct coll_pair *pair = &params->pairs[i];
		struct coll_chunk whole = {
			.dst_elems = layout->out_elems + received[pair->to]++ * params->count_elems,
			.count_elems = params->count_elems,
		};

		coll_builder_send(builder, pair->from, pair->to, 0, &whole);
	}
	if (received == NULL)
		coll_builder_fail(builder, -ENOMEM);
	free(received);
}

const struct coll_algorithm_ops coll_linear = {
	.of = {
		[COLL_ALLTOALL] = { .build = alltoall, .split = true, .block_steps = true },
		[COLL_ALLTOALLV] = { .build = alltoall },
		[COLL_SENDRECV] = { .build = sendrecv },
	},
};
