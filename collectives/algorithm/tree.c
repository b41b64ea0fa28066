/* SPDX-License-Identifier: BSD-3-Clause */
#include "collectives/algorithm/tree.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>

int
tree_init(struct tree *tree, const struct coll_params *params, uint32_t channel,
	  uint32_t (*parent_of)(const struct coll_params *params, uint32_t channel, uint32_t rank))
{
	uint32_t n = params->ranks, ordered = 0;

	*tree = (struct tree){
		.parent = malloc(n * sizeof(uint32_t)),
		.child = malloc(n * sizeof(uint32_t)),
		.sibling = malloc(n * sizeof(uint32_t)),
		.order = malloc(n * sizeof(uint32_t)),
		.up = calloc(n, sizeof(struct coll_dep)),
		.down = calloc(n, sizeof(struct coll_dep)),
		.ranks = n,
		.channel = channel,
	};
	if (tree->parent == NULL || tree->child == NULL || tree->sibling == NULL || tree->order == NULL ||
	    tree->up == NULL || tree->down == NULL)
		return -ENOMEM;
	for (uint32_t rank = 0; rank < n; rank++)
		tree->child[rank] = COLL_NONE;
	for (uint32_t rank = n; rank-- > 0;) { /* so that children come in the order of ranks */
		uint32_t parent = parent_of(params, channel, rank);

		tree->parent[rank] = parent;
		tree->sibling[rank] = COLL_NONE;
		if (parent == COLL_NONE) {
			tree->order[ordered++] = rank;
			continue;
		}
		tree->sibling[rank] = tree->child[parent];
		tree->child[parent] = rank;
	}
	for (uint32_t i = 0; i < ordered; i++)
		for (uint32_t c = tree->child[tree->order[i]]; c != COLL_NONE; c = tree->sibling[c])
			tree->order[ordered++] = c;
	assert(ordered == n);
	return 0;
}

void
tree_fini(struct tree *tree)
{
	free(tree->parent);
	free(tree->child);
	free(tree->sibling);
	free(tree->order);
	free(tree->up);
	free(tree->down);
}

static void
wait_for_children(const struct tree *tree, struct coll_builder *builder, uint32_t rank, struct coll_dep step)
{
	for (uint32_t c = tree->child[rank]; c != COLL_NONE; c = tree->sibling[c])
		coll_builder_depend(builder, step, tree->up[c]);
}

void
tree_up(struct tree *tree, struct coll_builder *builder, struct coll_chunk chunk)
{
	chunk.reduce = true;
	for (uint32_t i = tree->ranks; i-- > 1 && chunk.count_elems != 0;) {
		uint32_t rank = tree->order[i];

		tree->up[rank] = coll_builder_send(builder, rank, tree->parent[rank], tree->channel, &chunk);
		wait_for_children(tree, builder, rank, tree->up[rank]);
	}
}

void
tree_down(struct tree *tree, struct coll_builder *builder, struct coll_chunk chunk, bool summed)
{
	chunk.reduce = false;
	for (uint32_t i = 0; i < tree->ranks && chunk.count_elems != 0; i++) {
		uint32_t rank = tree->order[i];

		for (uint32_t c = tree->child[rank]; c != COLL_NONE; c = tree->sibling[c]) {
			struct coll_dep step = coll_builder_send(builder, rank, c, tree->channel, &chunk);

			if (tree->parent[rank] != COLL_NONE)
				coll_builder_depend(builder, step, tree->down[rank]);
			else if (summed)
				wait_for_children(tree, builder, rank, step);
			tree->down[c] = step;
		}
	}
}

struct coll_chunk
tree_chunk(uint64_t start, uint64_t count, uint32_t chunks, uint32_t index)
{
	uint64_t first = coll_block_start(count, chunks, index);

	return (struct coll_chunk){
		.src_elems = start + first,
		.dst_elems = start + first,
		.count_elems = coll_block_count(count, chunks, index),
	};
}
