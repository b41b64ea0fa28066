/* SPDX-License-Identifier: BSD-3-Clause */
#include "collectives/algorithm/pattern.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>

/* An arrival that its receiver has not waited for yet. */
struct arrival {
	struct coll_dep on;
	uint32_t rank; /* receiver */
	uint32_t next; /* its next one, COLL_NONE ends */
};

struct rounds {
	struct coll_builder *builder;
	struct coll_dep *own;   /* [ranks] latest send, step 0: none */
	uint32_t *first, *last; /* [ranks] arrivals not waited for, in order */
	struct arrival *arrivals;
	uint32_t count, cap, begin; /* those from begin on are of this round */
};

struct rounds *
rounds_create(struct coll_builder *builder, uint32_t ranks)
{
	struct rounds *rounds = calloc(1, sizeof(*rounds));

	if (rounds == NULL) {
		coll_builder_fail(builder, -ENOMEM);
		return NULL;
	}
	rounds->builder = builder;
	rounds->own = calloc(ranks, sizeof(*rounds->own));
	rounds->first = malloc(ranks * sizeof(*rounds->first));
	rounds->last = malloc(ranks * sizeof(*rounds->last));
	if (rounds->own == NULL || rounds->first == NULL || rounds->last == NULL) {
		coll_builder_fail(builder, -ENOMEM);
		rounds_end(rounds);
		return NULL;
	}
	for (uint32_t rank = 0; rank < ranks; rank++)
		rounds->first[rank] = COLL_NONE;
	return rounds;
}

void
rounds_end(struct rounds *rounds)
{
	if (rounds == NULL)
		return;
	free(rounds->own);
	free(rounds->first);
	free(rounds->last);
	free(rounds->arrivals);
	free(rounds);
}

static void
queue_arrival(struct rounds *rounds, uint32_t peer, struct coll_dep id)
{
	if (rounds->count == rounds->cap) {
		uint32_t cap = rounds->cap == 0 ? 64 : 2 * rounds->cap;
		struct arrival *larger = realloc(rounds->arrivals, (size_t)cap * sizeof(*larger));

		if (larger == NULL) {
			coll_builder_fail(rounds->builder, -ENOMEM);
			return;
		}
		rounds->arrivals = larger;
		rounds->cap = cap;
	}
	rounds->arrivals[rounds->count++] = (struct arrival){ .on = id, .rank = peer, .next = COLL_NONE };
}

struct coll_dep
rounds_send(struct rounds *rounds, uint32_t rank, uint32_t peer, const struct coll_chunk *chunk)
{
	struct coll_dep id = { .rank = rank };

	if (rounds == NULL)
		return id;
	id = coll_builder_send(rounds->builder, rank, peer, 0, chunk);
	if (rounds->own[rank].step != 0)
		coll_builder_depend(rounds->builder, id, rounds->own[rank]);
	for (uint32_t i = rounds->first[rank]; i != COLL_NONE; i = rounds->arrivals[i].next)
		coll_builder_depend(rounds->builder, id, rounds->arrivals[i].on);
	rounds->first[rank] = COLL_NONE;
	rounds->own[rank] = id;
	queue_arrival(rounds, peer, id);
	return id;
}

void
rounds_next(struct rounds *rounds)
{
	for (; rounds != NULL && rounds->begin < rounds->count; rounds->begin++) {
		uint32_t rank = rounds->arrivals[rounds->begin].rank;

		if (rounds->first[rank] == COLL_NONE)
			rounds->first[rank] = rounds->begin;
		else
			rounds->arrivals[rounds->last[rank]].next = rounds->begin;
		rounds->last[rank] = rounds->begin;
	}
}

/* Trees. */

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
	for (uint32_t rank = n; rank-- > 0;) { /* so that children are in the order of ranks */
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

/* Blocks of all pairs. */

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
