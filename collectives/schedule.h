/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A collective (struct coll_params), and the schedule that is made of it, as data: for each rank an ordered list of
 * steps, each sending one chunk to one peer or working on the rank's own memory, and the dependencies of each step: an
 * acyclic graph.
 * collectives/op/ defines the results of operations, collectives/algorithm/ makes their steps.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/err.h"
#include "common/wire/collective.h"

#define COLL_MAX_RANKS 65536                /* RECORD_MAX_NODES: records name no more */
#define COLL_MAX_FLOAT_RANKS 1024           /* the sum of 1024 float contributions is still exact, see data.c */
#define COLL_MAX_MESSAGE_BYTES (1ull << 31) /* IBTA 9.7.7: the longest RC message */
#define COLL_MAX_CHANNELS 64
#define COLL_MAX_CHUNKS 4096
#define COLL_NONE UINT32_MAX
#define COLL_PLAIN_STEPS 4096 /* of a schedule; those of a larger one are packed */

/* One message of SendRecv: the sender's vector. */
struct coll_pair {
	uint32_t from, to;
};

struct coll_params {
	enum coll_op op;
	enum coll_algorithm algorithm;
	uint32_t ranks;
	uint64_t count_elems;   /* vector length a rank: of what it sends, or of what it receives where that is more */
	uint32_t root;          /* Broadcast and Reduce; others: 0 */
	uint32_t chunks;        /* chunks that go through a pipeline one after another; 0: the algorithm's number */
	uint32_t channels;      /* the vector is split among this number of copies of the algorithm; 0: 1 */
	const uint64_t *counts; /* AllToAllv: [ranks * ranks] elements from rank to rank, sender major */
	const struct coll_pair *pairs; /* SendRecv in pairs that the user lists */
	uint32_t npairs;
};

/* First element of a block; the first count_elems % ranks blocks are one element longer. Block "ranks" is the end. */
static inline uint64_t
coll_block_start(uint64_t count_elems, uint32_t ranks, uint32_t block)
{
	uint64_t longer = count_elems % ranks;

	return count_elems / ranks * block + (block < longer ? block : longer);
}

static inline uint64_t
coll_block_count(uint64_t count_elems, uint32_t ranks, uint32_t block)
{
	return count_elems / ranks + (block < count_elems % ranks);
}

/*
 * A step is (rank, number); numbers count from 1 (the paper's FiSj is rank i, step j). As a dependency of a step of rank
 * r: if it is r's own, it is complete (sent and acknowledged, or computed); if another's, its message to r has arrived.
 */
struct coll_dep {
	uint32_t rank, step;
};

/*
 * A step. It starts when all its dependencies are done and the step before it on the same (peer, channel) is complete.
 * Nothing else orders steps: not even those of one rank.
 */
struct coll_step {
	uint32_t peer;             /* rank that receives; the own rank: a local step */
	uint32_t channel : 31;     /* steps of one (rank, peer, channel) share a flow and go in the order of the list */
	bool reduce : 1;           /* adds to the data there; else overwrites */
	uint32_t first_dep, ndeps; /* in schedule->deps: coll_step_dep() */
	uint64_t src_elems;        /* where the chunk is read in the sender's memory */
	uint64_t dst_elems;        /* where it is put in the receiver's */
	uint64_t count_elems;      /* its length; 0 of a local step alone: it computes */
	uint64_t compute_ps;       /* local step: how long it takes */
};

_Static_assert(sizeof(struct coll_step) == 48, "kinds of it are compared byte by byte");

/* The layout of a rank's memory, the same for all ranks. */
struct coll_layout {
	uint64_t in_elems, out_elems; /* where its input and its result begin; alike: in place */
	uint64_t scratch_elems;       /* where neither is */
	uint64_t memory_elems;        /* its length */
};

/* The size of a collective in results, in nccl-tests' terms. */
struct coll_size {
	enum coll_op op;
	uint32_t ranks, root; /* of each group that runs it for itself */
	uint64_t bytes;       /* nccl-tests' "size" of the operation; 0: unknown, of messages that are no one collective */
};

struct coll_schedule {
	uint32_t ranks;
	uint32_t group_ranks; /* of each group that runs the operation by itself: all, but after coll_schedule_spread() */
	uint32_t *member;     /* [ranks] place in its group, COLL_NONE: no part; NULL: one group, place and rank are one */
	uint32_t max_steps;   /* of the rank that has most */
	enum coll_op op;
	enum coll_algorithm algorithm;
	uint32_t root;
	uint64_t count_elems;    /* vector length a rank */
	uint64_t *counts;        /* as in struct coll_params; NULL: none */
	struct coll_pair *pairs; /* the same */
	uint32_t npairs;
	uint64_t in_elems, out_elems; /* as in struct coll_layout */
	uint64_t memory_elems;        /* address space of a rank: vectors and scratch */
	uint32_t *first_step;         /* [ranks + 1] index of each rank's first in steps */
	/* Of at most COLL_PLAIN_STEPS steps. */
	struct coll_step *steps; /* [first_step[ranks]] rank major; NULL: there are more, which are packed */
	struct coll_dep *deps; /* of step i from steps[i].first_dep; of packed steps: less the step's own rank and number */
	/*
	 * Of more steps, as they are alike: each has a kind, which is a step of peer less its rank, of dst_elems less
	 * src_elems, and of src_elems 0. All modulo the size of their types.
	 */
	struct coll_step *kinds;
	uint32_t *kind_of;        /* [first_step[ranks]] in kinds; NULL: steps has them */
	uint64_t *src_elems;      /* [first_step[ranks]] */
	struct coll_size of_file; /* op COLL_CUSTOM: what the file's messages are together; bytes 0: unknown */
};

/* Names as in scenario files. */
const char *coll_op_name(enum coll_op op);
const char *coll_algorithm_name(enum coll_algorithm algorithm);

/* @return whether the algorithm has the operation */
bool coll_algorithm_has(enum coll_algorithm algorithm, enum coll_op op);
/* @return whether every step sends one block, so that a step's length gives the vector's */
bool coll_block_steps(enum coll_algorithm algorithm, enum coll_op op);

/* A rank's place in its group; COLL_NONE: it has no part. */
static inline uint32_t
coll_member(const struct coll_schedule *schedule, uint32_t rank)
{
	return schedule->member != NULL ? schedule->member[rank] : rank;
}

/* Steps of a rank; of the rank that has most of them; of all ranks. */
static inline uint32_t
coll_steps(const struct coll_schedule *schedule, uint32_t rank)
{
	return schedule->first_step[rank + 1] - schedule->first_step[rank];
}

static inline uint32_t
coll_max_steps(const struct coll_schedule *schedule)
{
	return schedule->max_steps;
}

static inline uint32_t
coll_all_steps(const struct coll_schedule *schedule)
{
	return schedule->first_step[schedule->ranks];
}

/* @return the index in schedule->steps of a rank's step; step counts from 1 */
static inline size_t
coll_step_index(const struct coll_schedule *schedule, uint32_t rank, uint32_t step)
{
	return (size_t)schedule->first_step[rank] + step - 1;
}

/* A step of a schedule of at most COLL_PLAIN_STEPS, where it is. */
static inline struct coll_step *
coll_step_at(const struct coll_schedule *schedule, uint32_t rank, uint32_t step)
{
	return &schedule->steps[coll_step_index(schedule, rank, step)];
}

/* @param index  of the step of a rank, in all steps */
static inline struct coll_step
coll_step_of(const struct coll_schedule *schedule, uint32_t rank, size_t index)
{
	struct coll_step step;

	if (schedule->steps != NULL)
		return schedule->steps[index];
	step = schedule->kinds[schedule->kind_of[index]];
	step.peer += rank;
	step.src_elems = schedule->src_elems[index];
	step.dst_elems += step.src_elems;
	return step;
}

static inline struct coll_step
coll_step_get(const struct coll_schedule *schedule, uint32_t rank, uint32_t step)
{
	return coll_step_of(schedule, rank, coll_step_index(schedule, rank, step));
}

/* @param i  below its ndeps. @return what a step of a rank waits for */
static inline struct coll_dep
coll_step_dep(const struct coll_schedule *schedule, uint32_t rank, uint32_t step, const struct coll_step *at, uint32_t i)
{
	struct coll_dep dep = schedule->deps[at->first_dep + i];

	return schedule->steps != NULL ? dep : (struct coll_dep){ dep.rank + rank, dep.step + step };
}

/* The arrival that a step waits for, where no step waits for several; rank COLL_NONE: it waits for none. */
static inline struct coll_dep
coll_step_arrival(const struct coll_schedule *schedule, uint32_t rank, uint32_t step)
{
	const struct coll_step at = coll_step_get(schedule, rank, step);

	for (uint32_t i = 0; i < at.ndeps; i++) {
		struct coll_dep dep = coll_step_dep(schedule, rank, step, &at, i);

		if (dep.rank != rank)
			return dep;
	}
	return (struct coll_dep){ .rank = COLL_NONE };
}

/* Lists of dependencies, of which equal ones are kept once. */
struct coll_lists {
	struct coll_dep *deps; /* [first[count]] */
	uint32_t *first;       /* [count + 1] of each list in deps */
	uint32_t *slots;       /* [nslots] hash table of lists; COLL_NONE: free */
	uint32_t count, nslots, deps_cap, first_cap;
	uint32_t latest; /* that was added: the next is often the same */
};

/* @return the number of a list, a new one where there is none like it; COLL_NONE: no memory */
uint32_t coll_lists_add(struct coll_lists *lists, const struct coll_dep *deps, uint32_t count);
/* No more will be added: the table that finds equal ones goes. */
void coll_lists_keep(struct coll_lists *lists);
void coll_lists_free(struct coll_lists *lists);

/*
 * Builds a schedule by one of the algorithms.
 * @return NULL with err and errno set. EINVAL: ranks, root, chunks or channels out of range or of no use to the
 *         algorithm, an algorithm that does not have the operation (err names those that have), ranks or lengths that it
 *         cannot serve; E2BIG; ENOMEM
 */
struct coll_schedule *coll_schedule_create(const struct coll_params *params, struct err *err);

/* Steps of a schedule. */
struct coll_step_count {
	uint64_t all;
	uint32_t most; /* of the rank that has most */
};

/*
 * Counts the steps of the schedule that coll_schedule_create() would make, without memory for it. With several channels
 * this is a lower bound: a message of several blocks becomes several there.
 * @return 0; -ENOMEM; -EINVAL or -E2BIG: there is no such schedule
 */
int coll_schedule_count(const struct coll_params *params, struct coll_step_count *count);
void coll_schedule_destroy(struct coll_schedule *schedule);

/* Limits of a check: its own memory, and entries of clocks, cells and accesses that it looks at. */
struct coll_check_budget {
	uint64_t bytes, work;
};

/*
 * Proves symbolically that the schedule completes, without data. Any two accesses to the same elements of a rank, one
 * of them a change, are shown to be ordered by what steps wait for (sums commute, so they need no order); hence every
 * order of delivery gives one result, and executing one order over values decides for all: a value is which element of
 * the ranks' vectors it holds, and the set of the ranks whose contributions are in it. An access of a message lasts
 * from its start to its arrival, at both ends; of a local step, while it takes. For s steps that touch a cells of
 * memory in all and make c chains in one connected part of the graph: time O(s c + a ranks), memory O(cells ranks) bits
 * and c words for each step that is waited for; where c is large, only as many words as there are steps before it.
 * @param budget  NULL: there is none
 * @return 0; -ENOMEM; -E2BIG with err; -EINVAL with err naming rank, step and elements: a malformed step, a step that
 *         waits for itself, two accesses that race, data sent before it is there, elements added to others, a contribution
 *         added twice, a rank that ends incomplete or with another's data
 */
int coll_schedule_check(const struct coll_schedule *schedule, const struct coll_check_budget *budget, struct err *err);

/* The collective as nccl-tests counts it, and its factor busbw = algbw * factor (performance.md of nccl-tests). */
struct coll_size coll_size_of(const struct coll_schedule *schedule, uint32_t elem_bytes);
double coll_busbw_factor(enum coll_op op, uint32_t ranks);

/*
 * Iterations of a schedule follow each other without a barrier: a rank that has done its part of one begins the next.
 * So that no message arrives more than one iteration early, it must not be sent before its receiver has started the
 * iteration before: the message has to wait for the start of some rank, whose end of an iteration depends on the
 * receiver's start of it. Mostly that is the sender itself. A ring holds its ranks together so; a Broadcast does not,
 * its root would run away.
 */

/*
 * Makes a schedule fit to be iterated. Where it is not by itself it gets a closing barrier: a rank that has done all else
 * enters a dissemination barrier (Hensgen, Finkel, Manber, IJPP 17(1), 1988; Mellor-Crummey and Scott, ACM TOCS 9(1), 1991,
 * section 3.3) among all that send or receive, of ceil(log2 n) rounds, one element a message, into elements behind its
 * memory. These are steps like any others.
 * @param schedule  acyclic; gone where another is returned, and after an error
 * @return the same, or one with the barrier; NULL with err and errno set: ENOMEM, E2BIG, EINVAL: steps wait for each other
 */
struct coll_schedule *coll_schedule_close(struct coll_schedule *schedule, struct err *err);

/*
 * Spreads the schedule of one group of ranks over a whole job: every group runs a copy of it at the same time, and
 * ranks may compute before.
 */

struct coll_spread {
	uint32_t ranks;          /* of the job */
	uint32_t groups;         /* copies */
	const uint32_t *rank_of; /* [groups * ranks of one] rank of the job at each place of each group; none twice */
	const bool *computes;    /* [ranks] whether it begins with a local step that computes */
	uint64_t compute_ps;     /* planned length of that step */
};

/*
 * The schedule of ranks that only compute, as those of groups of one do.
 * @param params   its name; ranks is of the job
 * @param computes  [params->ranks]; some of them
 * @return NULL with err and errno set: ENOMEM
 */
struct coll_schedule *coll_schedule_compute(const struct coll_params *params, const bool *computes, uint64_t compute_ps,
					    struct err *err);

/*
 * Copies a schedule for every group. Ranks are numbered as in the job; those of no group have no steps. A rank that
 * computes does so in its first step, for which all its steps wait that wait for no own one; arrivals do not.
 * Copies share no rank, so that what coll_schedule_check() proved of one holds for all.
 * @return NULL with err and errno set: ENOMEM, E2BIG
 */
struct coll_schedule *coll_schedule_spread(const struct coll_schedule *one, const struct coll_spread *spread,
					   struct err *err);
