/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A collective as data: for each rank an ordered list of steps, each sending one chunk to one peer.
 * The operation works on one vector of count elements a rank. AllGather: rank r contributes block r and ends with
 * all blocks. ReduceScatter: every rank contributes a full vector and rank r ends with block r of the sum.
 * AllReduce: every rank ends with the whole sum (ReduceScatter, then AllGather).
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/err.h"
#include "common/wire/collective.h"

#define COLL_MAX_RANKS 1024 /* the sum of 1024 float contributions is still exact, see data.c */
#define COLL_NONE UINT32_MAX

/* One send of one rank. Step numbers count from 1 (the paper's FiSj is rank i, step j). */
struct coll_step {
	uint32_t peer;                      /* rank that receives */
	uint32_t depends_rank;              /* rank whose send must have arrived here before; COLL_NONE: none */
	uint32_t depends_step;              /* which of its steps */
	bool reduce;                        /* the receiver adds to what it has; else it overwrites */
	uint64_t offset_elems, count_elems; /* chunk, at the same offset on both sides */
};

struct coll_schedule {
	uint32_t ranks, steps; /* steps a rank; every rank has as many */
	enum coll_op op;
	enum coll_algorithm algorithm;
	uint64_t count_elems; /* vector length a rank */
	struct coll_step *at; /* [ranks * steps], rank major: at[rank * steps + step - 1] */
};

/* As scenario files spell them. */
const char *coll_op_name(enum coll_op op);
const char *coll_algorithm_name(enum coll_algorithm algorithm);

/* Whether every step of the algorithm sends one block, so that a step's length tells the vector's. */
bool coll_block_steps(enum coll_algorithm algorithm);

/* Where a step stands. step counts from 1. */
static inline struct coll_step *
coll_step_at(const struct coll_schedule *schedule, uint32_t rank, uint32_t step)
{
	return &schedule->at[(size_t)rank * schedule->steps + step - 1];
}

/* First element of a block; the first count_elems % ranks blocks are one element longer. Block "ranks" is the end. */
static inline uint64_t
coll_block_start(uint64_t count_elems, uint32_t ranks, uint32_t block)
{
	uint64_t longer = count_elems % ranks;

	return count_elems / ranks * block + (block < longer ? block : longer);
}

/*
 * Builds a schedule.
 * @param count_elems  vector length; split into one block a rank, of at most one element difference
 * @return NULL with err set: too few ranks (< 2), too many, halving-doubling with ranks not a power of two,
 *         fewer elements than ranks
 */
struct coll_schedule *coll_schedule_create(enum coll_op op, enum coll_algorithm algorithm, uint32_t ranks,
					   uint64_t count_elems, struct err *err);
void coll_schedule_destroy(struct coll_schedule *schedule);

/*
 * Proves symbolically that the schedule completes, without data. Any two accesses to the same elements of a rank, one
 * of them a change, are shown to be ordered by the dependencies (sums commute, so they need no order); hence every
 * order of delivery gives one result, and executing one order over sets of contributions (whose element is in which
 * chunk) decides for all. An access lasts from a send's start to its arrival. Sends of one rank follow each other.
 * Time O(steps * ranks^2), memory O(ranks^3 / 8) bytes and a few machine words a step and chunk.
 * @return 0; -ENOMEM; -EINVAL with err naming rank, step and chunk: a malformed step, a step that waits for itself,
 *         two accesses that race, data sent before it is complete, a contribution added twice, a rank that ends
 *         incomplete
 */
int coll_schedule_check(const struct coll_schedule *schedule, struct err *err);

/* Bytes that nccl-tests calls "size" and its factor busbw = algbw * factor (performance.md of nccl-tests). */
uint64_t coll_size_bytes(const struct coll_schedule *schedule, uint32_t elem_bytes);
double coll_busbw_factor(enum coll_op op, uint32_t ranks);
