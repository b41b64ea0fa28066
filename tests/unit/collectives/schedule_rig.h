/* SPDX-License-Identifier: BSD-3-Clause */
/* Schedules that have to be possible, for tests. */
#pragma once

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "collectives/builder.h"

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
