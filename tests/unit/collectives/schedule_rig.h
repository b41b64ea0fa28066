/* SPDX-License-Identifier: BSD-3-Clause */
/* Schedules that have to be possible, for tests. */
#pragma once

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "collectives/schedule.h"

static inline struct coll_schedule *
make_schedule(enum coll_op op, enum coll_algorithm algorithm, uint32_t ranks, uint64_t count)
{
	struct err err = { 0 };
	struct coll_schedule *schedule = coll_schedule_create(op, algorithm, ranks, count, &err);

	if (schedule == NULL)
		fail_msg("%s", err.text);
	return schedule;
}
