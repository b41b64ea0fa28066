/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A job's ranks as a grid, and the groups that its dimensions make: data, tensor, pipeline and expert parallelism
 * (Shoeybi et al., Megatron-LM, 2019; Narayanan et al., SC 2021, section 3). Pure.
 */
#pragma once

#include "common/cfg/cfg.h"

#define GRID_MAX_DIMS 8
#define GRID_ALL 0u /* no dimension: all ranks are one group */

/* One group of "dims" of a job. */
struct grid_dim {
	struct cfg_where where;
	const char *name;
	int64_t size;
};

extern const struct cfg_table dims_table;

/* Rank = place in the first dimension + size of it * (place in the second + ...): the first runs fastest. */
struct grid {
	const struct grid_dim *dims;
	uint32_t ndims;
	uint32_t ranks; /* product of all sizes; any number without dimensions */
};

/* @return 0, or -EINVAL with err set: sizes do not multiply to the ranks, a name twice or with a sign, too many */
int grid_check(const struct grid *grid, struct err *err);

/*
 * Which dimensions a word names: "tensor", or several, "tensor+data"; "" is GRID_ALL.
 * @param where, key  of the word, for messages
 * @return 0, or -EINVAL with err set: unknown or repeated
 */
int grid_parse(const struct grid *grid, const char *word, const struct cfg_where *where, const char *key, uint32_t *mask,
	       struct err *err);

/* Ranks of a group of these dimensions: those that agree in all others. */
uint32_t grid_group_ranks(const struct grid *grid, uint32_t mask);
/* A rank's place in its group, from 0, in the order of ranks. */
uint32_t grid_member(const struct grid *grid, uint32_t mask, uint32_t rank);
/* Rank at a place of a group; groups count from 0, in the order of their first ranks. */
uint32_t grid_rank(const struct grid *grid, uint32_t mask, uint32_t group, uint32_t member);
