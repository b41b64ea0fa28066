/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Dependencies between steps: a schedule's steps by their index in schedule->steps, an edge where one starts only when
 * another is over: a dependency, or the order of one rank's steps to one peer by one channel, whose messages arrive in
 * that order.
 */
#pragma once

#include "collectives/schedule.h"

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
