/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Algorithms that go by rounds: in each of them a rank sends at most once. It does so when its own send before is complete
 * and all that came to it in earlier rounds has arrived.
 */
#pragma once

#include "collectives/builder.h"

struct rounds;

/* @return NULL without memory: builder fails, and all others do nothing */
struct rounds *rounds_create(struct coll_builder *builder, uint32_t ranks);
/* A rank's send of the round. */
struct coll_dep rounds_send(struct rounds *rounds, uint32_t rank, uint32_t peer, const struct coll_chunk *chunk);
/* The round is over: what was sent in it counts as having arrived. */
void rounds_next(struct rounds *rounds);
/* Frees it. */
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
