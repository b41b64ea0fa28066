/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Chains of a schedule. A schedule is any acyclic graph, and a rank has several steps in flight at once: the paper's
 * one Send Step Queue and one Receive Step Queue a rank (III-C1) become one of each a chain. A rank's steps are divided
 * into chains greedily, in the order of its list: a step joins the chain whose last step is one of its own
 * dependencies, the latest of them; else the chain whose last step is the one before it of the same peer and channel;
 * else it begins a chain. So the steps of a chain follow each other in every run, whatever their times: none starts
 * before the one in front of it is complete. The other dependencies of a step are not in its chain: other ranks'
 * messages, and own steps of other chains. A ring is one chain a rank, two channels are two, a linear AllToAll of n
 * ranks n - 1 of one step.
 */
#pragma once

#include "collectives/schedule.h"

struct chains {
	const struct coll_schedule *schedule;
	void *block;           /* of the arrays as long as ranks */
	uint32_t *first_chain; /* [ranks + 1] index of each rank's first chain in first_entry */
	uint32_t *first_entry; /* [chains + 1] index of each chain's first step, as if all ranks were in entries */
	/*
	 * Of a rank that is one chain in the order of its list, and of one that sends all on one (peer, channel), nothing
	 * is kept: these are all that a large job has, whose steps are millions.
	 */
	uint32_t *order_at; /* [ranks] of its first step in entries, chain_of, entry_of; COLL_NONE: one chain, in order */
	uint32_t *lane_at;  /* [ranks] of its first step in before and behind; COLL_NONE: one peer and channel */
	uint32_t *entries;  /* the steps of each chain, in order, counted per rank from 1 */
	uint32_t *chain_of; /* of each step: its chain, among its rank's */
	uint32_t *entry_of; /* its place in the chain, from 1 */
	uint32_t *before;   /* step before it of the same peer and channel; 0: none */
	uint32_t *behind;   /* step behind it of the same peer and channel; 0: none */
	/* By the index of a step, a list of steps, less its own rank and number: those of many steps are alike. */
	uint32_t *awaits_of; /* [steps] dependencies on other chains: own steps, and others' messages */
	uint32_t
		*waiters_of; /* [steps] the reverse: own steps that wait for it, the receiver's that wait for its message */
	struct coll_lists lists;
};

/*
 * O(s log s + d) for s steps and d dependencies.
 * @param schedule  must outlive the chains
 * @return NULL without memory
 */
struct chains *chains_create(const struct coll_schedule *schedule);
void chains_destroy(struct chains *chains);

/* @param list  of awaits_of, waiters_of */
static inline uint32_t
chains_listed(const struct chains *chains, uint32_t list)
{
	return chains->lists.first[list + 1] - chains->lists.first[list];
}

static inline struct coll_dep
chains_list_at(const struct chains *chains, uint32_t list, uint32_t rank, uint32_t step, uint32_t i)
{
	struct coll_dep dep = chains->lists.deps[chains->lists.first[list] + i];

	return (struct coll_dep){ dep.rank + rank, dep.step + step };
}

/* @return how many dependencies on other chains a step has */
static inline uint32_t
chains_awaits(const struct chains *chains, uint32_t rank, uint32_t step)
{
	return chains_listed(chains, chains->awaits_of[coll_step_index(chains->schedule, rank, step)]);
}

static inline struct coll_dep
chains_await(const struct chains *chains, uint32_t rank, uint32_t step, uint32_t i)
{
	size_t at = coll_step_index(chains->schedule, rank, step);

	return chains_list_at(chains, chains->awaits_of[at], rank, step, i);
}

/* @return how many steps of other chains wait for a step */
static inline uint32_t
chains_waiters(const struct chains *chains, uint32_t rank, uint32_t step)
{
	return chains_listed(chains, chains->waiters_of[coll_step_index(chains->schedule, rank, step)]);
}

static inline struct coll_dep
chains_waiter(const struct chains *chains, uint32_t rank, uint32_t step, uint32_t i)
{
	size_t at = coll_step_index(chains->schedule, rank, step);

	return chains_list_at(chains, chains->waiters_of[at], rank, step, i);
}

static inline uint32_t
chains_count(const struct chains *chains, uint32_t rank)
{
	return chains->first_chain[rank + 1] - chains->first_chain[rank];
}

/* Steps of one of a rank's chains. */
static inline uint32_t
chains_length(const struct chains *chains, uint32_t rank, uint32_t chain)
{
	uint32_t at = chains->first_chain[rank] + chain;

	return chains->first_entry[at + 1] - chains->first_entry[at];
}

/* @param entry  1 to the chain's length. @return the step, as the rank counts them */
static inline uint32_t
chains_step(const struct chains *chains, uint32_t rank, uint32_t chain, uint32_t entry)
{
	uint32_t at = chains->order_at[rank], first = chains->first_entry[chains->first_chain[rank] + chain];

	return at == COLL_NONE ? entry : chains->entries[at + first - chains->schedule->first_step[rank] + entry - 1];
}

/* @return the chain of a step, among its rank's */
static inline uint32_t
chains_of(const struct chains *chains, uint32_t rank, uint32_t step)
{
	return chains->order_at[rank] == COLL_NONE ? 0 : chains->chain_of[chains->order_at[rank] + step - 1];
}

/* @return its place in it, from 1 */
static inline uint32_t
chains_entry(const struct chains *chains, uint32_t rank, uint32_t step)
{
	return chains->order_at[rank] == COLL_NONE ? step : chains->entry_of[chains->order_at[rank] + step - 1];
}

/* @return the step before one of the same peer and channel, 0: none */
static inline uint32_t
chains_before(const struct chains *chains, uint32_t rank, uint32_t step)
{
	return chains->lane_at[rank] == COLL_NONE ? step - 1 : chains->before[chains->lane_at[rank] + step - 1];
}

/* @return the step behind one of the same peer and channel, 0: none */
static inline uint32_t
chains_behind(const struct chains *chains, uint32_t rank, uint32_t step)
{
	if (chains->lane_at[rank] != COLL_NONE)
		return chains->behind[chains->lane_at[rank] + step - 1];
	return step < coll_steps(chains->schedule, rank) ? step + 1 : 0;
}

/* @return the step behind one in its chain, 0: it is the last */
static inline uint32_t
chains_next(const struct chains *chains, uint32_t rank, uint32_t step)
{
	uint32_t chain = chains_of(chains, rank, step), entry = chains_entry(chains, rank, step);

	return entry < chains_length(chains, rank, chain) ? chains_step(chains, rank, chain, entry + 1) : 0;
}

/*
 * How deep each step lies in the graph: 1 where it waits for nothing, else one more than the deepest that it waits for.
 * Steps of one depth are those that would run together if all took equally long: step s of a ring has depth s.
 * @return [steps], the caller's to free; NULL with errno ENOMEM, or EINVAL: some steps wait for each other
 */
uint32_t *chains_depths(const struct chains *chains);
