/* SPDX-License-Identifier: BSD-3-Clause */
/* A job: where its ranks are, and what they are like. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "workload/workload_state.h"

static int
read_ranks(struct reading *r, const struct work_job_config *config, struct work_job *job)
{
	struct placement_site site = { r->topo, r->taken, r->workload->seed, config->name };
	struct placement placement;
	bool placed = cfg_has(&config->where, "placement");
	int rc = cfg_bind_in(r->cfg, &config->where, &placement_table, &placement, r->err);

	if (rc != 0)
		return rc;
	if (placed && config->ranks.count != 0)
		return cfg_fail(&placement.where, NULL, r->err, "the job's ranks are named; give one of both");
	if (placed)
		return placement_ranks(&placement, &site, &job->ranks, &job->grid.ranks, r->err);
	return endpoint_list(r->topo, &config->ranks, &config->where, "ranks", &job->ranks, &job->grid.ranks, r->err);
}

static int
read_grid(struct reading *r, const struct work_job_config *config, struct work_job *job)
{
	void *dims;
	size_t count;
	int rc = cfg_bind_list_in(r->cfg, &config->where, &dims_table, &dims, &count, r->err);

	if (rc != 0)
		return rc;
	job->grid.dims = dims;
	job->grid.ndims = (uint32_t)count;
	return grid_check(&job->grid, r->err);
}

static int
read_stragglers(struct reading *r, const struct work_job_config *config, struct work_job *job)
{
	void *stragglers;
	int rc = cfg_bind_list_in(r->cfg, &config->where, &straggler_table, &stragglers, &job->nstragglers, r->err);

	job->stragglers = rc == 0 ? stragglers : NULL;
	for (size_t i = 0; rc == 0 && i < job->nstragglers; i++) {
		const struct straggler *straggler = &job->stragglers[i];

		if (straggler->rank >= (int64_t)job->grid.ranks)
			rc = cfg_fail(&straggler->where, "rank", r->err, "%lld: the job has ranks 0 to %u",
				      (long long)straggler->rank, job->grid.ranks - 1);
		else if (straggler->iteration >= (int64_t)job->iterations)
			rc = cfg_fail(&straggler->where, "iteration", r->err, "%lld: the job has iterations 0 to %u",
				      (long long)straggler->iteration, job->iterations - 1);
	}
	return rc;
}

int
workload_read_job(struct reading *r, const struct work_job_config *config, struct work_job *job)
{
	int rc;

	job->where = config->where;
	job->start_ps = config->start_ps;
	job->gap_ps = config->gap_ps;
	job->compute_ps = config->compute_ps;
	job->iterations = (uint32_t)config->iterations;
	job->enabled = config->enabled;
	job->measured = config->measured;
	rc = read_ranks(r, config, job);
	if (rc == 0)
		rc = read_grid(r, config, job);
	if (rc == 0)
		rc = cfg_bind_in(r->cfg, &config->where, &jitter_table, &job->jitter, r->err);
	if (rc == 0 && (job->jitter.kind == JITTER_NONE) != (job->jitter.spread_ps == 0))
		rc = cfg_fail(&job->jitter.where, job->jitter.spread_ps != 0 ? "spread" : "kind", r->err,
			      "jitter has a kind and a spread, or neither");
	if (rc == 0)
		rc = read_stragglers(r, config, job);
	for (uint32_t rank = 0; rc == 0 && rank < job->grid.ranks; rank++)
		r->taken[job->ranks[rank].node] = true;
	return rc;
}
