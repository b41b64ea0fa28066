/* SPDX-License-Identifier: BSD-3-Clause */
/* Schedules that have to be possible, for tests. */
#pragma once

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "collectives/algorithm/algorithm.h"
#include "collectives/builder.h"
#include "common/array.h"

/* The second dependency of a step of ring and halving-doubling: what it waits for beside its own previous step. */
static inline struct coll_dep *
arrival_of(struct coll_schedule *schedule, uint32_t rank, uint32_t step)
{
	assert_int_equal(coll_step_at(schedule, rank, step)->ndeps, 2);
	return &schedule->deps[coll_step_at(schedule, rank, step)->first_dep + 1];
}

/* Of steps that a test made itself: an AllGather, with as much memory as is said. */
static inline struct coll_schedule *
finish_allgather(struct coll_builder *builder, uint32_t ranks, uint64_t count, uint64_t memory, struct err *err)
{
	struct coll_params params = { .op = COLL_ALLGATHER, .algorithm = COLL_RING, .ranks = ranks, .count_elems = count };

	return coll_builder_finish(builder, &params, &(struct coll_layout){ .memory_elems = memory }, err);
}

static inline struct coll_schedule *
make_schedule(enum coll_op op, enum coll_algorithm algorithm, uint32_t ranks, uint64_t count)
{
	struct err err = { 0 };
	struct coll_schedule *schedule = coll_schedule_create(
		&(struct coll_params){ .op = op, .algorithm = algorithm, .ranks = ranks, .count_elems = count }, &err);

	if (schedule == NULL)
		fail_msg("%s", err.text);
	return schedule;
}

/* What pairs of operation and algorithm are tried with, one after another, as far as they make sense there. */
struct rig_try {
	struct coll_params params;
	uint64_t counts[64 * 64];
	struct coll_pair pairs[128];
};

static const uint32_t rig_ranks[] = { 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 32, 64 };

/*
 * Parameters for one try of an operation by an algorithm.
 * @param index  different ones have other lengths, roots, chunks, channels and counts; 0: the plainest
 * @return false: there is no such pair, or it does not serve so many ranks
 */
static inline bool
rig_try(struct rig_try *try, enum coll_op op, enum coll_algorithm algorithm, uint32_t ranks, uint32_t index)
{
	static const uint32_t channels[] = { 1, 1, 3, 2 }, chunks[] = { 0, 1, 3, 7 };
	const struct coll_method *method = &coll_algorithm_ops(algorithm)->of[op];
	struct coll_params *params = &try->params;

	if (!coll_algorithm_has(algorithm, op) || (algorithm == COLL_HALVING_DOUBLING && (ranks & (ranks - 1)) != 0))
		return false;
	*params = (struct coll_params){ .op = op, .algorithm = algorithm, .ranks = ranks };
	params->count_elems = 7 * ranks + (algorithm == COLL_BRUCK ? 0 : ranks / 2);
	params->channels = channels[index % ARRAY_LEN(channels)];
	if (method->chunks != 0)
		params->chunks = chunks[index % ARRAY_LEN(chunks)];
	if (op == COLL_BROADCAST || op == COLL_REDUCE)
		params->root = index * 5 % ranks;
	if (op == COLL_ALLTOALLV) {
		for (uint32_t i = 0; i < ranks * ranks; i++)
			try->counts[i] = (i * 7 + index + i / ranks * 3) % 5 < 2 ? 0 : (i * 13 + index) % 7;
		try->counts[1] = 4;
		params->counts = try->counts;
		params->count_elems = 7 * ranks;
	}
	if (op == COLL_SENDRECV && method->pairs == NULL) {
		params->npairs = ranks < ARRAY_LEN(try->pairs) ? ranks + 1 : ranks;
		for (uint32_t i = 0; i < params->npairs; i++)
			try->pairs[i] =
				(struct coll_pair){ i % ranks, (i % ranks + 1 + (i + index) % (ranks - 1)) % ranks };
		params->pairs = try->pairs;
	}
	return true;
}
