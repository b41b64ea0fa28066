/* SPDX-License-Identifier: BSD-3-Clause */
/* Element data of a collective: initial contents, the sum, and the element-wise check of the result. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "collectives/op/op.h"
#include "collectives/schedule.h"

/* COLL_BYTES is of files that give lengths in bytes: only of synthetic payload. */
enum coll_type { COLL_INT32, COLL_FLOAT32, COLL_BYTES };

static inline uint32_t
coll_elem_bytes(enum coll_type type)
{
	return type == COLL_BYTES ? 1 : type == COLL_FLOAT32 ? sizeof(float) : sizeof(int32_t);
}

/*
 * @return the type of elements while they are summed and checked; the functions below take it. Floats become integers
 *         where more ranks add to them than floats hold exactly, so that a sum is exact in any order.
 */
enum coll_type coll_data_type(enum coll_type type, const struct coll_schedule *schedule);

/* Fills a rank's memory with its contribution; elements it does not contribute get a value that would be noticed. */
void coll_data_fill(void *memory, const struct coll_schedule *schedule, enum coll_type type, uint32_t rank,
		    uint32_t iteration);

/* dst[i] += src[i] */
void coll_data_reduce(void *dst, const void *src, enum coll_type type, size_t count_elems);

/*
 * Compares what a rank must have at the end, as nccl-tests' #wrong. Float contributions are chosen so that sums are
 * exact in any order.
 * @return number of wrong elements
 */
uint64_t coll_data_wrong(const void *memory, const struct coll_schedule *schedule, enum coll_type type, uint32_t rank,
			 uint32_t iteration);

/* The result that a schedule's operation promises in each rank's memory, for any source of the schedule. */

/* The parameters of one of its groups, as far as operations want them; arrays remain the schedule's. */
struct coll_params coll_schedule_params(const struct coll_schedule *schedule);

/*
 * The pieces of its group's data that a rank has before the first step (COLL_IN) and after the last (COLL_OUT).
 * at_elems is a piece's place in memory.
 */
uint32_t coll_contents_count(const struct coll_schedule *schedule, uint32_t rank, enum coll_side side);
struct coll_piece coll_contents(const struct coll_schedule *schedule, uint32_t rank, enum coll_side side, uint32_t index);
