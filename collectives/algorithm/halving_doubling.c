/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Halving and doubling (Thakur, Rabenseifner, Gropp: "Optimization of Collective Communication Operations in MPICH",
 * IJHPCA 19(1), 2005, sections 4.1 to 4.5; the paper's Fig. 1b).
 * ReduceScatter, recursive vector halving and distance halving: partners at distance n/2, n/4 .. 1 exchange the half
 * of the remaining blocks in which the other one is. AllGather, recursive doubling: partners at distance 1, 2 .. n/2
 * exchange all they have.
 * Broadcast: the root's blocks are scattered, then gathered by all. Reduce: as ReduceScatter, then the root gathers.
 * Ranks and blocks are counted from the root there, by exclusive or.
 */
#include <errno.h>
#include <inttypes.h>

#include "collectives/algorithm/algorithm.h"
#include "collectives/algorithm/pattern.h"

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

/* Blocks are in aligned groups of distance: the peer's to reduce, the own to gather. */
static void
exchange(struct rounds *rounds, const struct coll_params *params, uint32_t distance, bool reduce)
{
	for (uint32_t rank = 0; rank < params->ranks; rank++) {
		uint32_t at = rank ^ params->root;
		uint32_t first = (reduce ? at ^ distance : at) & ~(distance - 1);
		struct coll_chunk chunk = rounds_blocks(params, first, first + distance, reduce);

		rounds_send(rounds, rank, rank ^ distance, &chunk);
	}
	rounds_next(rounds);
}

static void
halve(struct rounds *rounds, const struct coll_params *params)
{
	for (uint32_t distance = params->ranks / 2; distance > 0; distance /= 2)
		exchange(rounds, params, distance, true);
}

static void
twice(struct rounds *rounds, const struct coll_params *params)
{
	for (uint32_t distance = 1; distance < params->ranks; distance *= 2)
		exchange(rounds, params, distance, false);
}

/* Half of the ranks in groups of twice the distance send their blocks to, or get them from, the other half. */
static void
move_half(struct rounds *rounds, const struct coll_params *params, uint32_t distance, bool to_root)
{
	for (uint32_t at = distance; at < params->ranks; at += 2 * distance) {
		struct coll_chunk chunk = rounds_blocks(params, at, at + distance, false);
		uint32_t far = at ^ params->root, near = far ^ distance;

		rounds_send(rounds, to_root ? far : near, to_root ? near : far, &chunk);
	}
	rounds_next(rounds);
}

static void
allgather(struct coll_builder *builder, const struct coll_params *params, const struct coll_layout *layout)
{
	struct rounds *rounds = rounds_create(builder, params->ranks);

	twice(rounds, params);
	rounds_end(rounds);
}

static void
reducescatter(struct coll_builder *builder, const struct coll_params *params, const struct coll_layout *layout)
{
	struct rounds *rounds = rounds_create(builder, params->ranks);

	halve(rounds, params);
	rounds_end(rounds);
}

static void
allreduce(struct coll_builder *builder, const struct coll_params *params, const struct coll_layout *layout)
{
	struct rounds *rounds = rounds_create(builder, params->ranks);

	halve(rounds, params);
	twice(rounds, params);
	rounds_end(rounds);
}

static void
broadcast(struct coll_builder *builder, const struct coll_params *params, const struct coll_layout *layout)
{
	struct rounds *rounds = rounds_create(builder, params->ranks);

	for (uint32_t distance = params->ranks / 2; distance > 0; distance /= 2)
		move_half(rounds, params, distance, false);
	twice(rounds, params);
	rounds_end(rounds);
}

static void
reduce(struct coll_builder *builder, const struct coll_params *params, const struct coll_layout *layout)
{
	struct rounds *rounds = rounds_create(builder, params->ranks);

	halve(rounds, params);
	for (uint32_t distance = 1; distance < params->ranks; distance *= 2)
		move_half(rounds, params, distance, true);
	rounds_end(rounds);
}

const struct coll_algorithm_ops coll_halving_doubling = {
	.check = check,
	.of = {
		[COLL_ALLGATHER] = { .build = allgather, .split = true },
		[COLL_REDUCESCATTER] = { .build = reducescatter, .split = true },
		[COLL_ALLREDUCE] = { .build = allreduce, .split = true },
		[COLL_BROADCAST] = { .build = broadcast, .split = true },
		[COLL_REDUCE] = { .build = reduce, .split = true },
	},
};
