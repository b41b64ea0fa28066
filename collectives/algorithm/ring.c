/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Ring: everybody sends to the next rank, one block a step (Patarasuk and Yuan, JPDC 2009; the paper's Fig. 1a, 4).
 * ReduceScatter: in step s rank r passes on block r-s, to which the ranks r-s+1..r have added; block r arrives whole.
 * AllGather: in step s rank r passes on block r-s+1, its own first.
 */
#include "collectives/algorithm/algorithm.h"

/* One step: passes on a block that the step before received. */
static struct coll_dep
pass_on(struct coll_builder *builder, const struct coll_params *params, uint32_t rank, uint32_t block, bool reduce)
{
	uint64_t start = coll_block_start(params->count_elems, params->ranks, block);
	struct coll_chunk chunk = {
		.src_elems = start,
		.dst_elems = start,
		.count_elems = coll_block_start(params->count_elems, params->ranks, block + 1) - start,
		.reduce = reduce,
	};

	return coll_builder_send(builder, rank, (rank + 1) % params->ranks, 0, &chunk);
}

/* Steps that reduce, then steps that gather. */
static void
go_round(struct coll_builder *builder, const struct coll_params *params, uint32_t reducing, uint32_t gathering)
{
	uint32_t n = params->ranks;

	for (uint32_t rank = 0; rank < n; rank++) {
		for (uint32_t step = 1; step <= reducing + gathering; step++) {
			bool reduce = step <= reducing;
			uint32_t back = reduce ? step : step - reducing - 1;
			struct coll_dep id = pass_on(builder, params, rank, (rank + n - back) % n, reduce);

			if (step == 1)
				continue;
			coll_builder_depend(builder, id, (struct coll_dep){ rank, step - 1 });
			coll_builder_depend(builder, id, (struct coll_dep){ (rank + n - 1) % n, step - 1 });
		}
	}
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

const struct coll_algorithm_ops coll_ring = {
	.of = {
		[COLL_ALLGATHER] = { .build = allgather, .split = true, .block_steps = true },
		[COLL_REDUCESCATTER] = { .build = reducescatter, .split = true, .block_steps = true },
		[COLL_ALLREDUCE] = { .build = allreduce, .split = true, .block_steps = true },
	},
};
