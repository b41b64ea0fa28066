/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Makes schedules (collectives/schedule.h) step by step: for algorithms, and for readers of schedule files.
 *
 *	struct coll_builder *b = coll_builder_create(2);
 *	struct coll_dep first = coll_builder_send(b, 0, 1, 0, &(struct coll_chunk){ .count_elems = 8 });
 *	struct coll_dep second = coll_builder_local(b, 1, 0, &(struct coll_chunk){ 0 }, 5000);
 *
 *	coll_builder_depend(b, second, first);
 *	schedule = coll_builder_finish(b, &params, &(struct coll_layout){ .memory_elems = 8 }, err);
 *
 * Nothing fails before the end: the first error is reported by coll_builder_finish().
 */
#pragma once

#include "collectives/schedule.h"

#define COLL_MAX_STEPS (1u << 28) /* of all ranks; dependencies too */

struct coll_builder;

/* A range of elements that a step moves. */
struct coll_chunk {
	uint64_t src_elems;   /* where it is read in the sender's memory */
	uint64_t dst_elems;   /* where it is put in the receiver's */
	uint64_t count_elems; /* its length; 0 of a local step alone: computation */
	bool reduce;          /* adds to the data there; else overwrites */
};

/* @return NULL without memory, which all others take: coll_builder_finish() reports it */
struct coll_builder *coll_builder_create(uint32_t ranks);
/* A builder that counts steps and keeps none: its memory does not grow with them, and it makes no schedule. */
struct coll_builder *coll_builder_create_counting(uint32_t ranks);
/*
 * Adds EACH steps to every rank of a counting builder, in a time that does not depend on EACH.
 * @return false: the builder keeps steps, and nothing was added
 */
bool coll_builder_count_all(struct coll_builder *builder, uint32_t each);
/* @return 0; -ENOMEM or -E2BIG: what was added before the first error is counted */
int coll_builder_counted(const struct coll_builder *builder, struct coll_step_count *count);
/* Frees a builder that is not going to be finished; also NULL. */
void coll_builder_destroy(struct coll_builder *builder);

/*
 * Appends a step to a rank's list: a message to a peer.
 * @param rank     sender, below ranks
 * @param channel  steps with the same rank, peer and channel go one after another, others at the same time
 * @return the step, by which dependencies name it
 */
struct coll_dep coll_builder_send(struct coll_builder *builder, uint32_t rank, uint32_t peer, uint32_t channel,
				  const struct coll_chunk *chunk);

/*
 * Appends a local step: moves or adds within the rank's memory, and computes.
 * @param channel     local steps of one channel go one after another
 * @param compute_ps  how long it takes, in picoseconds
 */
struct coll_dep coll_builder_local(struct coll_builder *builder, uint32_t rank, uint32_t channel,
				   const struct coll_chunk *chunk, uint64_t compute_ps);

/*
 * A step waits for another: for its completion if it is of the same rank, else for its message's arrival.
 * @param step  one that was added
 * @param on    may be added later; twice the same is once
 */
void coll_builder_depend(struct coll_builder *builder, struct coll_dep step, struct coll_dep on);

/* The caller cannot add more steps. @param rc  what coll_builder_finish() is to return: -ENOMEM */
void coll_builder_fail(struct coll_builder *builder, int rc);

/*
 * The schedule, with steps and dependencies in the order in which they were added. Cycles, races and what becomes of
 * the data are not looked at: coll_schedule_check() is for that. The builder is gone afterwards.
 * @param params  of the schedule: ranks as in coll_builder_create(), operation, algorithm, length, root, counts, pairs;
 *                the arrays are copied
 * @param layout  every chunk lies in its memory
 * @return NULL with err and errno set, naming rank and step: ENOMEM; E2BIG: more than COLL_MAX_STEPS; EINVAL: a peer
 *         that is no rank, a chunk outside the memory, a message of nothing, a dependency on a step that does not exist
 *         or whose message goes elsewhere
 */
struct coll_schedule *coll_builder_finish(struct coll_builder *builder, const struct coll_params *params,
					  const struct coll_layout *layout, struct err *err);
