/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Every rank's memory, cut so that what is done to one element of a cell is done to all: at the ends of chunks and of what
 * the operation promises, and wherever a chunk is put or read whose other side is cut there.
 */
#pragma once

#include "collectives/schedule.h"

#define CELLS_MAX (1u << 26) /* of all ranks */

struct cells {
	uint32_t *first;   /* [ranks + 1] each rank's first cell; they are numbered over all ranks */
	uint64_t **bounds; /* [ranks][its cells + 1] elements where they begin, and where the last ends */
};

struct cell_range {
	uint32_t first, end;
};

/*
 * @param order  [steps] in which data moves, for speed
 * @return 0; -ENOMEM; -E2BIG with err set: chunks overlap in such a way that it would be more than CELLS_MAX
 */
int cells_init(struct cells *cells, const struct coll_schedule *schedule, const uint32_t *order, struct err *err);
void cells_fini(struct cells *cells, uint32_t ranks);

/* The cells of a chunk of a rank's memory. */
struct cell_range cells_of(const struct cells *cells, uint32_t rank, uint64_t from, uint64_t count);

static inline uint64_t
cell_from(const struct cells *cells, uint32_t rank, uint32_t cell)
{
	return cells->bounds[rank][cell - cells->first[rank]];
}

/* Its last element. */
static inline uint64_t
cell_last(const struct cells *cells, uint32_t rank, uint32_t cell)
{
	return cells->bounds[rank][cell - cells->first[rank] + 1] - 1;
}
