/* SPDX-License-Identifier: BSD-3-Clause */
/* Patterns that algorithms share: rounds, trees, the blocks of all pairs. */
#pragma once

#include <stdlib.h>

#include "collectives/builder.h"
#include "collectives/op/op.h"

/*
 * Algorithms that go by rounds: in each of them a rank sends at most once. It does so when its own send before is
 * complete and all messages to it in earlier rounds have arrived.
 */

struct rounds;

/* @return NULL without memory: builder fails, and all others do nothing */
struct rounds *rounds_create(struct coll_builder *builder, uint32_t ranks);
/* Adds a rank's send to the round. */
struct coll_dep rounds_send(struct rounds *rounds, uint32_t rank, uint32_t peer, const struct coll_chunk *chunk);
/* The round is over: messages sent in it count as having arrived. */
void rounds_next(struct rounds *rounds);
/* Frees the rounds. */
void rounds_end(struct rounds *rounds);

/* Blocks first to end of a vector, where they stand in it, at both sides. */
static inline struct coll_chunk
rounds_blocks(const struct coll_params *params, uint32_t first, uint32_t end, bool reduce)
{
	uint64_t start = coll_block_start(params->count_elems, params->ranks, first);

	return (struct coll_chunk){
		.src_elems = start,
		.dst_elems = start,
		.count_elems = coll_block_start(params->count_elems, params->ranks, end) - start,
		.reduce = reduce,
	};
}

/* Vectors that go up and down trees in chunks, each as soon as it is there. */

struct tree {
	uint32_t *parent;           /* [ranks] COLL_NONE: the root */
	uint32_t *child, *sibling;  /* [ranks] a rank's first child, and the next one of its parent; COLL_NONE */
	uint32_t *order;            /* [ranks] each behind its parent */
	struct coll_dep *up, *down; /* [ranks] the steps that took the latest chunk from it to its parent, and back */
	uint32_t ranks, channel;
};

/*
 * @param parent_of  a rank's parent, COLL_NONE of the one root
 * @return 0, or -ENOMEM
 */
int tree_init(struct tree *tree, const struct coll_params *params, uint32_t channel,
	      uint32_t (*parent_of)(const struct coll_params *params, uint32_t channel, uint32_t rank));
void tree_fini(struct tree *tree);

/* Each rank adds its sum of a chunk to its parent's, when all its children's has arrived. */
void tree_up(struct tree *tree, struct coll_builder *builder, struct coll_chunk chunk);

/*
 * Each rank passes a chunk on to all its children at once, when it has arrived.
 * @param summed  the same chunk went up before: the root waits for that
 */
void tree_down(struct tree *tree, struct coll_builder *builder, struct coll_chunk chunk, bool summed);

/*
 * Chunk number index of a range of the vector, of the requested number, or of the number of elements; none of it:
 * empty.
 */
struct coll_chunk tree_chunk(uint64_t start, uint64_t count, uint32_t chunks, uint32_t index);

/* Common to AllToAll and AllToAllv: the source of the block for each rank, and its destination. */

/*
 * The blocks of all pairs.
 * @return [ranks * ranks] chunk from each rank to each, sender major, some of them perhaps empty; the caller's to free;
 *         NULL without memory, which fails the builder
 */
struct coll_chunk *blocks_create(struct coll_builder *builder, const struct coll_params *params,
				 const struct coll_layout *layout);

/* Every rank's block for itself: a local step, where it has elements. */
void blocks_keep(struct coll_builder *builder, const struct coll_params *params, const struct coll_chunk *blocks);
