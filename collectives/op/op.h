/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The definition of an operation: the elements that each rank has at first, and those that it has at the end. A new one
 * is a file here, its line in meson.build, and a row of COLL_OPS (common/wire/collective.h). The proof, the payload and
 * the results go by its fields.
 */
#pragma once

#include "collectives/schedule.h"

#define COLL_ALL COLL_NONE /* the sum over all ranks' contributions */

/* A run of elements in one vector of one rank. */
struct coll_piece {
	uint64_t at_elems, count_elems; /* in the vector */
	uint64_t origin_elems;          /* first element's number in the vector of the rank that contributes it */
	uint32_t from;                  /* that rank, or COLL_ALL */
};

enum coll_side {
	COLL_IN,  /* what a rank contributes */
	COLL_OUT, /* what it has at the end */
};

struct coll_op_ops {
	bool apart;          /* the result has a vector of its own; else it replaces the contribution */
	bool sums;           /* nccl-tests' column redop: "sum", else "none" */
	bool rooted;         /* has a root */
	bool by_block;       /* nccl-tests' column count has the length of a block, not of the vector */
	enum coll_side grid; /* not apart: the side whose pieces cover the whole vector */
	/* algbw times this is busbw (doc/PERFORMANCE.md of nccl-tests). */
	double (*busbw_factor)(uint32_t ranks);
	/* @return 0, or -EINVAL with err set: what its parameters lack. NULL: nothing to check */
	int (*check)(const struct coll_params *params, struct err *err);
	/* Elements of a vector, the longest of all ranks'. */
	uint64_t (*length)(const struct coll_params *params, enum coll_side side);
	/* Pieces of a rank's vector; none: it has no part in that side. Pieces without elements are possible. */
	uint32_t (*pieces)(const struct coll_params *params, uint32_t rank, enum coll_side side);
	/*
	 * @param apart  input and output are two vectors (they may be, where they need not): of AllGather's input and
	 *               ReduceScatter's output there is one block then, which begins at element 0
	 */
	struct coll_piece (*piece)(const struct coll_params *params, uint32_t rank, enum coll_side side, bool apart,
				   uint32_t index);
};

#define COLL_OP_EXTERN(id, value, name, title, symbol) extern const struct coll_op_ops coll_##symbol;
COLL_OPS(COLL_OP_EXTERN)

/* @return the operations of a row of COLL_OPS */
const struct coll_op_ops *coll_op_ops(enum coll_op op);

/* Functions for rows: factors (n - 1) / n and 1, the length of one vector of count_elems, a single piece. */
double coll_factor_moved(uint32_t ranks);
double coll_factor_one(uint32_t ranks);
uint64_t coll_length_vector(const struct coll_params *params, enum coll_side side);
uint32_t coll_pieces_one(const struct coll_params *params, uint32_t rank, enum coll_side side);

static inline struct coll_piece
coll_piece_whole(const struct coll_params *params, uint32_t from)
{
	return (struct coll_piece){ .count_elems = params->count_elems, .from = from };
}

/* Block b, at its place in the vector. */
static inline struct coll_piece
coll_piece_block(const struct coll_params *params, uint32_t block, uint32_t from)
{
	uint64_t start = coll_block_start(params->count_elems, params->ranks, block);

	return (struct coll_piece){
		.at_elems = start,
		.count_elems = coll_block_count(params->count_elems, params->ranks, block),
		.origin_elems = start,
		.from = from,
	};
}
