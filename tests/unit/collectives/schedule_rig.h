/* SPDX-License-Identifier: BSD-3-Clause */
/* Schedules that have to be possible, for tests. */
#pragma once

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "collectives/schedule.h"

/* The second dependency of a step of ring and halving-doubling: what it waits for beside its own previous step. */
static inline struct coll_dep *
arrival_of(struct coll_schedule *schedule, uint32_t rank, uint32_t step)
{
	assert_int_equal(coll_step_at(schedule, rank, step)->ndeps, 2);
	return &schedule->deps[coll_step_at(schedule, rank, step)->first_dep + 1];
}

static inline struct coll_schedule *
make_schedule(enum coll_op op, enum coll_algorithm algorithm, uint32_t ranks, uint64_t count)
{
	struct err err = { 0 };
	struct coll_schedule *schedule = coll_schedule_create(&(struct coll_params){ op, algorithm, ranks, count }, &err);

	if (schedule == NULL)
		fail_msg("%s", err.text);
	return schedule;
}
