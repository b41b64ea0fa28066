/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * SendRecv from stage to stage: rank r sends to rank r + 1, chunk by chunk (micro-batch by micro-batch), each when the same
 * chunk has arrived from the stage before. What a stage makes of it is not looked at: it sends its own vector's.
 */
#include "collectives/algorithm/algorithm.h"
#include "collectives/algorithm/pattern.h"

static uint32_t
stages(const struct coll_params *params, struct coll_pair *pairs)
{
	for (uint32_t rank = 0; rank + 1 < params->ranks; rank++)
		pairs[rank] = (struct coll_pair){ rank, rank + 1 };
	return params->ranks - 1;
}

static void
sendrecv(struct coll_builder *builder, const struct coll_params *params, const struct coll_layout *layout)
{
	for (uint32_t i = 0; i < params->chunks; i++) {
		struct coll_chunk chunk = tree_chunk(0, params->count_elems, params->chunks, i);
		struct coll_dep before = { 0 };

		chunk.dst_elems += layout->out_elems;
		for (uint32_t rank = 0; rank + 1 < params->ranks && chunk.count_elems != 0; rank++) {
			struct coll_dep step = coll_builder_send(builder, rank, rank + 1, 0, &chunk);

			if (rank > 0)
				coll_builder_depend(builder, step, before);
			before = step;
		}
	}
}

const struct coll_algorithm_ops coll_pipeline = {
	.of = {
		[COLL_SENDRECV] = { .build = sendrecv, .pairs = stages, .chunks = COLL_DEFAULT_CHUNKS },
	},
};
