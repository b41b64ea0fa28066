/* SPDX-License-Identifier: BSD-3-Clause */
/* Placement: which hosts a job's ranks get, when the scenario does not name them. Pure: topology and seed decide. */
#pragma once

#include "common/cfg/cfg.h"
#include "workload/jobs/endpoint.h"

/*
 * A job's ranks as a grid, and the groups that its dimensions make: data, tensor, pipeline and expert parallelism
 * (Shoeybi et al., Megatron-LM, 2019; Narayanan et al., SC 2021, section 3). Pure.
 */

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
 * Parses the dimensions of a word: "tensor", or several, "tensor+data"; "" is GRID_ALL.
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

enum placement_kind { PLACE_PACKED, PLACE_SPREAD, PLACE_RANDOM, PLACE_ONE_PER_LEAF };

/* The group "placement" of a job. */
struct placement {
	struct cfg_where where;
	int kind;                 /* enum placement_kind */
	int64_t count;            /* ranks; 0: as many as there is room for */
	int64_t nics;             /* ranks of a host, one a NIC */
	int64_t seed;             /* of kind random; -1: the run's */
	struct cfg_strings hosts; /* to choose from; empty: all */
	bool share;               /* hosts of other jobs too */
};

extern const struct cfg_table placement_table;

/* Inputs of a placement besides its own configuration. */
struct placement_site {
	const struct topo *topo;
	const bool *taken; /* [topo->nnodes] hosts that other jobs use */
	uint64_t seed;     /* the run's */
	const char *job;   /* name: random placements of two jobs have nothing in common */
};

/*
 * Takes hosts of the topology in its order, leaf by leaf (a leaf is the switch of a host's first NIC), by kind. packed
 * fills one leaf after another. spread takes one host of every leaf, then another of every leaf, and so on. random
 * draws a number for each host, so that removing a host shifts no other. one-per-leaf takes the first free host of
 * every leaf. Ranks are numbered in the order taken, those of one host by NIC.
 * @param ranks  out: malloc'd, the caller's to free
 * @return 0, -ENOMEM, or -EINVAL with err set: too few free hosts or leaves, no such NIC, unknown hosts
 */
int placement_ranks(const struct placement *placement, const struct placement_site *site, struct endpoint **ranks,
		    uint32_t *count, struct err *err);
