/* SPDX-License-Identifier: BSD-3-Clause */
/* Shared by the parts of the symbolic check: check.c walks the schedule, races.c orders accesses, sets.c counts. */
#pragma once

#include <stdint.h>

#include "collectives/schedule.h"

/* Of each step by itself: peers, chunks, dependencies that exist. @return 0 or -EINVAL with err naming rank and step */
int coll_schedule_check_form(const struct coll_schedule *schedule, struct err *err);

/* Elements between two neighbouring chunk or block boundaries: all that is done to one is done to all of them. */
struct segments {
	uint64_t *bounds; /* [count + 1] */
	uint32_t count;
};

struct segment_range {
	uint32_t first, end;
};

struct segment_range segments_of(const struct segments *segments, const struct coll_step *step);

/* Happens-before by vector clocks, and every access to every segment of every rank. */
struct races;

struct races *races_create(const struct coll_schedule *schedule, const struct segments *segments);
void races_destroy(struct races *races);
/* To be called for each send in an order that its dependencies allow. @return 0, -ENOMEM, -EINVAL with err set */
int races_send(struct races *races, uint32_t rank, uint32_t step, struct err *err);

/* Whose contribution is in which segment of which rank's vector. */
struct sets;

struct sets *sets_create(const struct coll_schedule *schedule, const struct segments *segments);
void sets_destroy(struct sets *sets);
/* Executes one send. @return 0 or -EINVAL with err set */
int sets_send(struct sets *sets, uint32_t rank, uint32_t step, struct err *err);
/* After the last send: does every rank have what the operation promises? @return 0 or -EINVAL with err set */
int sets_complete(const struct sets *sets, struct err *err);
