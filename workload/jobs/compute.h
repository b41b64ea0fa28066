/* SPDX-License-Identifier: BSD-3-Clause */
/* Computation time of a rank: planned, and after jitter and stragglers. Pure. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "common/cfg/cfg.h"

/*
 * Chance of jobs: every number that is drawn belongs to the thing it is drawn for, by its name and number. So one job,
 * rank or iteration less shifts no other's.
 */

/* Purpose of a random number. */
enum chance_of { CHANCE_PLACEMENT, CHANCE_COMPUTE, CHANCE_SKEW };

/*
 * @param seed              the run's
 * @param owner, part       names: of the job and of its collective, or a host
 * @param rank, iteration   of the thing; 0 where it has none
 * @return uniform in [0, 2^64)
 */
uint64_t chance(uint64_t seed, enum chance_of of, const char *owner, const char *part, uint32_t rank, uint32_t iteration);

enum jitter_kind { JITTER_NONE, JITTER_UNIFORM, JITTER_NORMAL };

/* The group "jitter" of a job. */
struct jitter {
	struct cfg_where where;
	int kind;           /* enum jitter_kind */
	uint64_t spread_ps; /* uniform: the most; normal: standard deviation */
};

/* One group of "delays" of a job: a straggler. */
struct straggler {
	struct cfg_where where;
	int64_t rank;
	uint64_t delay_ps;
	const char *collective; /* name; NULL: before every collective of the job */
	int64_t iteration;      /* from 0; -1: every one */
};

extern const struct cfg_table jitter_table, straggler_table;

/* All inputs of the time that a rank computes before a collective. */
struct compute {
	uint64_t seed;                /* the run's */
	const char *job, *collective; /* names */
	struct jitter jitter;
	const struct straggler *stragglers; /* of the job */
	size_t nstragglers;
};

/*
 * The actual computation time of a rank: the planned one with its jitter, plus the delays of stragglers.
 * uniform adds a draw from [0, spread). normal adds a draw of mean 0 and standard deviation spread, the sum of twelve
 * uniform ones (Irwin-Hall, within 6 deviations); the result is at least 0.
 * @return ps
 */
uint64_t compute_actual_ps(const struct compute *compute, uint32_t rank, uint32_t iteration, uint64_t planned_ps);

/* @return ps that jitter adds to a planned computation at most */
uint64_t compute_spread_ps(const struct compute *compute);

/* @return whether a rank computes before the collective in any iteration, planned or not: then it needs a step for it */
bool compute_any(const struct compute *compute, uint32_t rank, uint64_t planned_ps);

/*
 * The counts of an AllToAllv by sender and receiver: as tokens go to experts, some of which are in greater demand.
 * Pure.
 */

/* Parameters of a skewed exchange. */
struct skew {
	uint32_t ranks;
	uint64_t elems;  /* that every rank sends, to itself too */
	double factor;   /* demand of the rank in greatest demand over that of the one in least; 1: uniform */
	bool back;       /* the reverse exchange: each pair's counts are swapped */
	uint64_t seed;   /* the run's */
	const char *job; /* name: its exchanges have the same ranks in demand */
};

/*
 * Fills in the counts from rank to rank. Demand falls in even steps from rank to rank, in random order. The remainder
 * of the division goes to the rank in greatest demand.
 * @param counts  [ranks * ranks] elements, sender major
 * @return the most that a rank sends; 0 without memory
 */
uint64_t skew_counts(const struct skew *skew, uint64_t *counts);
