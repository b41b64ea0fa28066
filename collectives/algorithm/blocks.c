/* SPDX-License-Identifier: BSD-3-Clause */
#include "collectives/algorithm/blocks.h"

#include <errno.h>

struct coll_chunk *
blocks_create(struct coll_builder *builder, const struct coll_params *params, const struct coll_layout *layout)
{
	const struct coll_op_ops *op = coll_op_ops(params->op);
	size_t n = params->ranks;
	struct coll_chunk *blocks = calloc(n * n, sizeof(*blocks));

	if (blocks == NULL) {
		coll_builder_fail(builder, -ENOMEM);
		return NULL;
	}
	for (uint32_t rank = 0; rank < n; rank++)
		for (uint32_t other = 0; other < n; other++) {
			struct coll_piece in = op->piece(params, rank, COLL_IN, true, other);
			struct coll_piece out = op->piece(params, rank, COLL_OUT, true, other);

			blocks[rank * n + other].src_elems = layout->in_elems + in.at_elems;
			blocks[rank * n + other].count_elems = in.count_elems;
			blocks[other * n + rank].dst_elems = layout->out_elems + out.at_elems;
		}
	return blocks;
}

void
blocks_keep(struct coll_builder *builder, const struct coll_params *params, const struct coll_chunk *blocks)
{
	size_t n = params->ranks;

	for (uint32_t rank = 0; rank < n; rank++)
		if (blocks[rank * n + rank].count_elems != 0)
			coll_builder_local(builder, rank, 0, &blocks[rank * n + rank], 0);
}
