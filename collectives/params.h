/* SPDX-License-Identifier: BSD-3-Clause */
/* What a collective is to do: operation, algorithm, ranks, lengths. Schedules are made of it. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/err.h"
#include "common/wire/collective.h"

#define COLL_MAX_RANKS 1024                 /* the sum of 1024 float contributions is still exact, see data.c */
#define COLL_MAX_MESSAGE_BYTES (1ull << 31) /* IBTA 9.7.7: the longest RC message */
#define COLL_MAX_CHANNELS 64
#define COLL_MAX_CHUNKS 4096
#define COLL_NONE UINT32_MAX

/* One message of SendRecv: the sender's vector. */
struct coll_pair {
	uint32_t from, to;
};

struct coll_params {
	enum coll_op op;
	enum coll_algorithm algorithm;
	uint32_t ranks;
	uint64_t count_elems;   /* vector length a rank: of what it sends, or of what it receives where that is more */
	uint32_t root;          /* Broadcast and Reduce; others: 0 */
	uint32_t chunks;        /* chunks that go through a pipeline one after another; 0: the algorithm's number */
	uint32_t channels;      /* the vector is split among this number of copies of the algorithm; 0: 1 */
	const uint64_t *counts; /* AllToAllv: [ranks * ranks] elements from rank to rank, sender major */
	const struct coll_pair *pairs; /* SendRecv in pairs that the user lists */
	uint32_t npairs;
};

/* First element of a block; the first count_elems % ranks blocks are one element longer. Block "ranks" is the end. */
static inline uint64_t
coll_block_start(uint64_t count_elems, uint32_t ranks, uint32_t block)
{
	uint64_t longer = count_elems % ranks;

	return count_elems / ranks * block + (block < longer ? block : longer);
}

static inline uint64_t
coll_block_count(uint64_t count_elems, uint32_t ranks, uint32_t block)
{
	return count_elems / ranks + (block < count_elems % ranks);
}
