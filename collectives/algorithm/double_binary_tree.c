/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Two binary trees, each for half of the vector (Sanders, Speck, Traeff: "Two-tree algorithms for full bandwidth
 * broadcast, reduction and scan", Parallel Computing 35, 2009; NCCL's trees). The numbers of the ranks from left to
 * right make a tree of least depth, in which odd ones are leaves; in the other tree numbers are mirrored, or of an odd
 * number of ranks moved by one, so that a leaf here is none there, and sends and receives are busy everywhere. Chunks
 * go through in a pipeline. AllReduce: both trees are of all ranks, and each half goes up and down. Broadcast and
 * Reduce: they are of all but the root, which stands above both.
 */
#include <errno.h>

#include "collectives/algorithm/algorithm.h"
#include "collectives/algorithm/pattern.h"

#define TREES 2

/* A number's parent among m: the lowest one bit moves up, unless that is none of them; then it goes. Above 0: none. */
static uint32_t
parent_of_number(uint32_t number, uint32_t m)
{
	uint32_t low = number & (0 - number), up = (number ^ low) | low << 1;

	if (number == 0)
		return COLL_NONE;
	return up < m ? up : number ^ low;
}

/* Number of the one at a place in a tree, and back. */
static uint32_t
number_at(uint32_t place, uint32_t m, uint32_t tree)
{
	return tree == 0 ? place : m % 2 == 0 ? m - 1 - place : (place + m - 1) % m;
}

static uint32_t
place_of(uint32_t number, uint32_t m, uint32_t tree)
{
	return tree == 0 ? number : m % 2 == 0 ? m - 1 - number : (number + 1) % m;
}

static uint32_t
parent_of_all(const struct coll_params *params, uint32_t tree, uint32_t rank)
{
	uint32_t n = params->ranks, parent = parent_of_number(number_at(rank, n, tree), n);

	return parent == COLL_NONE ? COLL_NONE : place_of(parent, n, tree);
}

static uint32_t
parent_below_root(const struct coll_params *params, uint32_t tree, uint32_t rank)
{
	uint32_t n = params->ranks, from_root = (rank + n - params->root) % n, parent;

	if (from_root == 0)
		return COLL_NONE;
	parent = parent_of_number(number_at(from_root - 1, n - 1, tree), n - 1);
	return parent == COLL_NONE ? params->root : (place_of(parent, n - 1, tree) + 1 + params->root) % n;
}

static void
build(struct coll_builder *builder, const struct coll_params *params, bool up, bool down)
{
	struct tree trees[TREES] = { 0 };
	int rc = 0;

	for (uint32_t t = 0; t < TREES && rc == 0; t++)
		rc = tree_init(&trees[t], params, t, up && down ? parent_of_all : parent_below_root);
	if (rc != 0)
		coll_builder_fail(builder, rc);
	for (uint32_t i = 0; i < params->chunks && rc == 0; i++)
		for (uint32_t t = 0; t < TREES; t++) {
			uint64_t start = coll_block_start(params->count_elems, TREES, t);
			uint64_t count = coll_block_count(params->count_elems, TREES, t);
			struct coll_chunk chunk = tree_chunk(start, count, params->chunks, i);

			if (up)
				tree_up(&trees[t], builder, chunk);
			if (down)
				tree_down(&trees[t], builder, chunk, up);
		}
	for (uint32_t t = 0; t < TREES; t++)
		tree_fini(&trees[t]);
}

static void
allreduce(struct coll_builder *builder, const struct coll_params *params, const struct coll_layout *layout)
{
	build(builder, params, true, true);
}

static void
broadcast(struct coll_builder *builder, const struct coll_params *params, const struct coll_layout *layout)
{
	build(builder, params, false, true);
}

static void
reduce(struct coll_builder *builder, const struct coll_params *params, const struct coll_layout *layout)
{
	build(builder, params, true, false);
}

const struct coll_algorithm_ops coll_double_binary_tree = {
	.of = {
		[COLL_ALLREDUCE] = { .build = allreduce, .chunks = COLL_DEFAULT_CHUNKS },
		[COLL_BROADCAST] = { .build = broadcast, .chunks = COLL_DEFAULT_CHUNKS },
		[COLL_REDUCE] = { .build = reduce, .chunks = COLL_DEFAULT_CHUNKS },
	},
};
