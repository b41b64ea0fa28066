/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Jobs of a scenario, resolved: ranks are placed on hosts, groups are divided, pipelines are written out as
 * collectives, and every collective has its predecessors. A collective of the scenario's top level is a job of its own.
 */
#pragma once

#include "collectives/schedule.h"
#include "common/wire/layout.h"
#include "workload/config.h"
#include "workload/jobs/compute.h"
#include "workload/jobs/endpoint.h"
#include "workload/jobs/place.h"

#define WORK_NO_STAGE UINT32_MAX

struct work_job {
	struct cfg_where where;
	char name[REC_NAME_LEN];
	struct endpoint *ranks; /* [grid.ranks] owned */
	struct grid grid;       /* dims owned */
	uint32_t pipeline;      /* the dimension whose places are stages, as a mask; GRID_ALL: it has no pipeline */
	uint64_t start_ps, gap_ps;
	uint64_t compute_ps; /* at the beginning of an iteration */
	uint32_t iterations;
	bool enabled;  /* else its collectives keep their numbers, ports and ranks, and never begin */
	bool measured; /* all of them */
	struct jitter jitter;
	struct straggler *stragglers; /* [nstragglers] owned */
	size_t nstragglers;
};

/* One collective of a job: its parameters from the scenario, and its place in the job. */
struct work_item {
	struct collective_config config;
	char name[REC_NAME_LEN];
	uint32_t job;
	uint32_t dims;                /* of its groups, as a mask */
	uint32_t stage, to_stage;     /* of a pipeline; to_stage: stage sends to it; WORK_NO_STAGE: neither */
	uint64_t compute_ps;          /* planned, of every participating rank, before it */
	uint32_t first_after, nafter; /* in workload->after: predecessors in the job; none: the job's start */
};

struct workload {
	struct work_job *jobs;
	struct work_item *works; /* by their run-wide numbers */
	uint32_t *after;
	uint32_t njobs, nworks, nafter;
	size_t works_cap, after_cap;
	uint64_t seed;
};

/*
 * Reads "collectives" and "jobs" of a scenario.
 * @param seed  the run's
 * @return NULL with err set (file:line, the value, the remedy): unknown, repeated or too few hosts, sizes that do not
 *         fit, names that are unknown, repeated or of others' shape
 */
struct workload *workload_create(const struct cfg *cfg, const struct topo *topo, uint64_t seed, struct err *err);
void workload_destroy(struct workload *workload);

/* The groups of ranks that run a collective. */
struct work_groups {
	uint32_t groups, ranks; /* how many, and ranks of each */
	uint32_t *rank_of;      /* [groups * ranks] the job's rank at each place; the caller's to free */
};

/* @return 0 or -ENOMEM */
int workload_groups(const struct workload *workload, uint32_t work, struct work_groups *groups);

/* Inputs of the time that its ranks compute before a collective; names live as long as the workload. */
struct compute workload_compute(const struct workload *workload, uint32_t work);
