/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * From the schedule of one group of ranks to that of a whole job: every group runs a copy of it at the same time, and
 * ranks may compute before.
 */
#pragma once

#include "collectives/schedule.h"

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
