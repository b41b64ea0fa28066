/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Ring: everybody sends to the next rank, one block a step (Patarasuk and Yuan, JPDC 2009; the paper's Fig. 1a, 4).
 * ReduceScatter: in step s rank r passes on block r-s, to which the ranks r-s+1..r have added; block r arrives whole.
 * AllGather: in step s rank r passes on block r-s+1, its own first.
 */
#include "collectives/algorithm.h"

static int
ring_check_ranks(uint32_t ranks, struct err *err)
{
	return 0;
}

static uint32_t
ring_steps(enum coll_op op, uint32_t ranks)
{
	return op == COLL_ALLREDUCE ? 2 * (ranks - 1) : ranks - 1;
}

static void
ring_fill(struct coll_schedule *schedule)
{
	uint32_t n = schedule->ranks;
	uint32_t reducing = schedule->op == COLL_ALLGATHER ? 0 : n - 1; /* steps that reduce come first */

	for (uint32_t rank = 0; rank < n; rank++) {
		for (uint32_t step = 1; step <= schedule->steps; step++) {
			bool reduce = step <= reducing;
			uint32_t back = reduce ? step : step - reducing - 1;
			uint32_t block = (rank + n - back) % n;
			uint64_t start = coll_block_start(schedule->count_elems, n, block);

			*coll_step_at(schedule, rank, step) = (struct coll_step){
				.peer = (rank + 1) % n,
				.depends_rank = step == 1 ? COLL_NONE : (rank + n - 1) % n,
				.depends_step = step - 1,
				.reduce = reduce,
				.offset_elems = start,
				.count_elems = coll_block_start(schedule->count_elems, n, block + 1) - start,
			};
		}
	}
}

const struct coll_algorithm_ops coll_ring = {
	.block_steps = true,
	.check_ranks = ring_check_ranks,
	.steps = ring_steps,
	.fill = ring_fill,
};
