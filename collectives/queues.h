/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The monitor's two queues (paper III-C1), for every rank: the Send Step Queue holds the target of each sending step,
 * the Receive Step Queue the source of each receiving step, both in step order.
 */
#pragma once

#include <stdint.h>

#include "collectives/schedule.h"

/* A send that arrives at a rank. */
struct coll_receive {
	uint32_t rank, step; /* whose send, which of its steps */
	uint32_t needed_by;  /* first own sending step that waits for it; COLL_NONE: only the result needs it */
};

struct coll_queues {
	uint32_t ranks, steps;
	uint32_t *ssq;            /* [ranks * steps] target of step s of rank r at r * steps + s - 1 */
	struct coll_receive *rsq; /* receives of rank r: rsq[rsq_start[r]] .. rsq[rsq_start[r + 1] - 1] */
	uint32_t *rsq_start;      /* [ranks + 1] */
};

/* Receives stand by (step of the sender, rank of the sender). @return NULL with errno ENOMEM */
struct coll_queues *coll_queues_create(const struct coll_schedule *schedule);
void coll_queues_destroy(struct coll_queues *queues);

static inline uint32_t
coll_queues_receives(const struct coll_queues *queues, uint32_t rank)
{
	return queues->rsq_start[rank + 1] - queues->rsq_start[rank];
}

/* "F1S2", as the paper's Fig. 4 names step 2 of rank 1. @param buf  at least 24 bytes. @return buf */
char *coll_step_name(uint32_t rank, uint32_t step, char *buf);
