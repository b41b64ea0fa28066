/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Shared by the parts of the symbolic check: check.c goes through the steps, races.c orders accesses, values.c moves
 * data.
 */
#pragma once

#include "collectives/schedule.h"

/*
 * Dependencies between steps: a schedule's steps by their index in schedule->steps, an edge where one starts only when
 * another is over: a dependency, or the order of one rank's steps to one peer by one channel, whose messages arrive in
 * that order.
 */

struct graph {
	const struct coll_schedule *schedule;
	uint32_t *rank_of;           /* [steps] */
	uint32_t *first_prev, *prev; /* [steps + 1]: those that step i waits for are prev[first_prev[i]..] */
	uint32_t *first_next, *next; /* reversed */
	uint32_t *order;             /* [steps]: all of them, none before one that it waits for */
	/*
	 * Steps of one rank that follow each other by edges are a chain: divided greedily in the order of the list, a
	 * step joins the chain whose last step is the latest of those that it waits for.
	 */
	uint32_t *chain_of, *chain_at; /* [steps]: which, and at which place of it, from 1 */
	uint32_t chains;
};

/* @return 0; -ENOMEM; -EINVAL with err naming a step that waits for itself */
int graph_init(struct graph *graph, const struct coll_schedule *schedule, struct err *err);
void graph_fini(struct graph *graph);

static inline uint32_t
graph_nprev(const struct graph *graph, uint32_t step)
{
	return graph->first_prev[step + 1] - graph->first_prev[step];
}

static inline uint32_t
graph_nnext(const struct graph *graph, uint32_t step)
{
	return graph->first_next[step + 1] - graph->first_next[step];
}

/* A step's number in its rank's list, from 1. */
static inline uint32_t
graph_number(const struct graph *graph, uint32_t step)
{
	return step - graph->schedule->first_step[graph->rank_of[step]] + 1;
}

static inline struct coll_step
graph_step(const struct graph *graph, uint32_t step)
{
	return coll_step_of(graph->schedule, graph->rank_of[step], step);
}

/*
 * Every rank's memory, divided so that all elements of a cell are treated alike: at the ends of chunks and of ranges
 * that the operation promises, and wherever a chunk is put or read whose other side is divided there.
 */

#define CELLS_MAX (1u << 26) /* of all ranks */

/* A check's budget, and the rest of it. */
struct budget {
	struct coll_check_budget all, left;
};

/* @return false: there is not so much left, and nothing is taken */
static inline bool
budget_take(uint64_t *left, uint64_t amount)
{
	if (amount > *left)
		return false;
	*left -= amount;
	return true;
}

struct cells {
	uint32_t *first;   /* [ranks + 1] each rank's first cell; they are numbered over all ranks */
	uint64_t **bounds; /* [ranks][its cells + 1] elements where they begin, and where the last ends */
};

struct cell_range {
	uint32_t first, end;
};

/*
 * @param order  [steps] in which data moves, for speed
 * @return 0; -ENOMEM; -E2BIG with err set: chunks overlap so that there would be more than CELLS_MAX, or than the budget
 *         has memory or work for
 */
int cells_init(struct cells *cells, const struct coll_schedule *schedule, const uint32_t *order, struct budget *budget,
	       struct err *err);
void cells_fini(struct cells *cells, uint32_t ranks);

/* The cells of a chunk of a rank's memory. */
struct cell_range cells_of(const struct cells *cells, uint32_t rank, uint64_t from, uint64_t count);

static inline uint64_t
cell_from(const struct cells *cells, uint32_t rank, uint32_t cell)
{
	return cells->bounds[rank][cell - cells->first[rank]];
}

/* The last element of a cell. */
static inline uint64_t
cell_last(const struct cells *cells, uint32_t rank, uint32_t cell)
{
	return cells->bounds[rank][cell - cells->first[rank] + 1] - 1;
}

/*
 * Checks each step by itself: its peer and chunk, and that its dependencies exist.
 * @return 0 or -EINVAL with err naming rank and step
 */
int coll_schedule_check_form(const struct coll_schedule *schedule, struct err *err);

/* Every access to every cell, ordered by vector clocks. */
struct races;

/* @param budget  must outlive the races */
struct races *races_create(const struct graph *graph, const struct cells *cells, struct budget *budget);
void races_destroy(struct races *races);
/* Checks a step; called for each step in the graph's order. @return 0, -ENOMEM; -EINVAL, -E2BIG with err set */
int races_step(struct races *races, uint32_t step, struct err *err);

/* The contributions that each cell holds: of which rank, to which element. */
struct values;

struct values *values_create(const struct graph *graph, const struct cells *cells);
void values_destroy(struct values *values);
/* Executes one step. @return 0 or -EINVAL with err set */
int values_step(struct values *values, uint32_t step, struct err *err);
/* After the last step: does every rank have what the operation promises? @return 0 or -EINVAL with err set */
int values_complete(const struct values *values, struct err *err);
