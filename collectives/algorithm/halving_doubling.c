/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Halving and doubling (Thakur, Rabenseifner, Gropp: "Optimization of Collective Communication Operations in MPICH",
 * IJHPCA 19(1), 2005, sections 4.1, 4.4, 4.5; the paper's Fig. 1b).
 * ReduceScatter, recursive vector halving and distance halving: partners at distance n/2, n/4 .. 1 exchange the half
 * of the remaining blocks in which the other one is. AllGather, recursive doubling: partners at distance 1, 2 .. n/2
 * exchange all they have.
 */
#include <errno.h>
#include <inttypes.h>

#include "collectives/algorithm/algorithm.h"

static int
check(const struct coll_params *params, struct err *err)
{
	uint32_t ranks = params->ranks, below = 1;

	if ((ranks & (ranks - 1)) == 0)
		return 0;
	while (below * 2 <= ranks)
		below *= 2;
	return err_set(err, -EINVAL,
		       "halving-doubling needs a power of two ranks, not %" PRIu32 ": use %" PRIu32 " or %" PRIu32
		       " ranks, or algorithm ring",
		       ranks, below, 2 * below);
}

/* Steps that reduce, then steps that gather. */
static void
exchange(struct coll_builder *builder, const struct coll_params *params, uint32_t reducing, uint32_t gathering)
{
	uint32_t n = params->ranks;

	for (uint32_t rank = 0; rank < n; rank++) {
		uint32_t before = COLL_NONE;

		for (uint32_t step = 1; step <= reducing + gathering; step++) {
			bool reduce = step <= reducing;
			uint32_t distance = reduce ? n >> step : 1u << (step - reducing - 1);
			uint32_t peer = rank ^ distance;
			/* Blocks come in aligned groups of distance: the peer's to reduce, the own to gather. */
			uint32_t first = (reduce ? peer : rank) & ~(distance - 1);
			uint64_t start = coll_block_start(params->count_elems, n, first);
			struct coll_dep id = coll_builder_send(
				builder, rank, peer, 0,
				&(struct coll_chunk){
					.src_elems = start,
					.dst_elems = start,
					.count_elems = coll_block_start(params->count_elems, n, first + distance) - start,
					.reduce = reduce,
				});

			if (step > 1) {
				coll_builder_depend(builder, id, (struct coll_dep){ rank, step - 1 });
				coll_builder_depend(builder, id, (struct coll_dep){ before, step - 1 });
			}
			before = peer;
		}
	}
}

static uint32_t
rounds(const struct coll_params *params)
{
	return (uint32_t)__builtin_ctz(params->ranks);
}

static void
allgather(struct coll_builder *builder, const struct coll_params *params, const struct coll_layout *layout)
{
	exchange(builder, params, 0, rounds(params));
}

static void
reducescatter(struct coll_builder *builder, const struct coll_params *params, const struct coll_layout *layout)
{
	exchange(builder, params, rounds(params), 0);
}

static void
allreduce(struct coll_builder *builder, const struct coll_params *params, const struct coll_layout *layout)
{
	exchange(builder, params, rounds(params), rounds(params));
}

const struct coll_algorithm_ops coll_halving_doubling = {
	.check = check,
	.of = {
		[COLL_ALLGATHER] = { .build = allgather, .split = true },
		[COLL_REDUCESCATTER] = { .build = reducescatter, .split = true },
		[COLL_ALLREDUCE] = { .build = allreduce, .split = true },
	},
};
