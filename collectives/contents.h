/* SPDX-License-Identifier: BSD-3-Clause */
/* What a schedule's operation promises of each rank's memory, whoever made the schedule. */
#pragma once

#include "collectives/op/op.h"
#include "collectives/schedule.h"

/* The parameters of one of its groups, as far as operations want them; arrays remain the schedule's. */
struct coll_params coll_schedule_params(const struct coll_schedule *schedule);

/* What a rank has of its group's before the first step (COLL_IN), and after the last (COLL_OUT); at_elems is its place in memory. */
uint32_t coll_contents_count(const struct coll_schedule *schedule, uint32_t rank, enum coll_side side);
struct coll_piece coll_contents(const struct coll_schedule *schedule, uint32_t rank, enum coll_side side, uint32_t index);
