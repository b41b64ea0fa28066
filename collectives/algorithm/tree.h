/* SPDX-License-Identifier: BSD-3-Clause */
/* Vectors that go up and down trees in chunks, each as soon as it is there. */
#pragma once

#include "collectives/builder.h"

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

/* Chunk number index of a part of the vector, of as many as asked for, or as there are elements; none of it: empty. */
struct coll_chunk tree_chunk(uint64_t start, uint64_t count, uint32_t chunks, uint32_t index);
