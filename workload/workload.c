/* SPDX-License-Identifier: BSD-3-Clause */
#include "workload/workload.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "workload/workload_state.h"

static int read_singles(struct reading *r);
static int read_jobs(struct reading *r);

struct workload *
workload_create(const struct cfg *cfg, const struct topo *topo, uint64_t seed, struct err *err)
{
	struct reading r = { .cfg = cfg, .topo = topo, .err = err };
	int rc = -ENOMEM;

	r.workload = calloc(1, sizeof(*r.workload));
	r.taken = calloc(topo->nnodes + 1u, sizeof(*r.taken));
	if (r.workload != NULL && r.taken != NULL) {
		r.workload->seed = seed;
		rc = read_singles(&r);
		if (rc == 0)
			rc = read_jobs(&r);
	}
	free(r.taken);
	if (rc == 0)
		return r.workload;
	err_set(err, rc, "out of memory for jobs");
	workload_destroy(r.workload);
	errno = -rc;
	return NULL;
}

void
workload_destroy(struct workload *workload)
{
	if (workload == NULL)
		return;
	for (uint32_t j = 0; j < workload->njobs; j++) {
		free(workload->jobs[j].ranks);
		free((void *)workload->jobs[j].grid.dims);
		free(workload->jobs[j].stragglers);
	}
	free(workload->jobs);
	free(workload->works);
	free(workload->after);
	free(workload);
}

/* Room for the jobs of a list. */
static int
add_jobs(struct workload *workload, size_t count)
{
	struct work_job *jobs = realloc(workload->jobs, (workload->njobs + count + 1) * sizeof(*jobs));

	if (jobs == NULL)
		return -ENOMEM;
	memset(jobs + workload->njobs, 0, (count + 1) * sizeof(*jobs));
	workload->jobs = jobs;
	return 0;
}

/* Names the latest job. @return 0 or -EINVAL: no name, or another job's */
static int
name_job(const struct workload *workload, const char *name, const struct cfg_where *where, struct err *err)
{
	struct work_job *job = &workload->jobs[workload->njobs - 1];
	int rc = workload_check_name(where, name, err);

	for (uint32_t other = 0; rc == 0 && other + 1 < workload->njobs; other++)
		if (strcmp(workload->jobs[other].name, name) == 0)
			rc = cfg_fail(where, "name", err, "\"%s\" is the name of another job", name);
	snprintf(job->name, sizeof(job->name), "%s", name);
	return rc;
}

/* A collective of the top level is a job, of its name. */
static int
read_single(struct reading *r, const struct collective_config *config)
{
	struct workload *workload = r->workload;
	struct work_job *job = &workload->jobs[workload->njobs++];
	struct work_item *work;
	int rc;

	job->where = config->where;
	job->start_ps = config->start_ps;
	job->gap_ps = config->gap_ps;
	job->iterations = (uint32_t)config->iterations;
	job->enabled = config->enabled;
	rc = endpoint_list(r->topo, &config->ranks, &config->where, "ranks", &job->ranks, &job->grid.ranks, r->err);
	if (rc != 0)
		return rc;
	for (uint32_t rank = 0; rank < job->grid.ranks; rank++)
		r->taken[job->ranks[rank].node] = true;
	work = workload_add(r, workload->njobs - 1, config, "");
	if (work == NULL)
		return -EINVAL;
	return name_job(workload, work->name, &config->where, r->err);
}

static int
read_singles(struct reading *r)
{
	void *bound;
	size_t count;
	int rc = cfg_bind_list(r->cfg, &collective_table, NULL, &bound, &count, r->err);
	const struct collective_config *configs = bound;

	if (rc == 0)
		rc = add_jobs(r->workload, count);
	for (size_t i = 0; i < count && rc == 0; i++)
		rc = read_single(r, &configs[i]);
	free(bound);
	return rc;
}

/* @return 0 or -EINVAL: a phase without a pipeline, a straggler before what there is not */
static int
check_names(const struct reading *r, uint32_t job, const struct phases *phases, bool has_pipeline)
{
	const struct work_job *of = &r->workload->jobs[job];

	for (size_t i = 0; i < phases->count && !has_pipeline; i++)
		if (phases->configs[i].phase != PHASE_NONE)
			return cfg_fail(&phases->configs[i].where, "phase", r->err, "the job has no pipeline");
	for (size_t i = 0; i < of->nstragglers; i++) {
		bool known = of->stragglers[i].collective == NULL;

		for (uint32_t w = 0; w < r->workload->nworks && !known; w++)
			known = r->workload->works[w].job == job &&
				strcmp(r->workload->works[w].name, of->stragglers[i].collective) == 0;
		if (!known)
			return cfg_fail(&of->stragglers[i].where, "collective", r->err,
					"\"%s\" is no collective of job \"%s\"", of->stragglers[i].collective, of->name);
	}
	return 0;
}

static int
read_collectives(struct reading *r, const struct work_job_config *config, uint32_t job)
{
	struct pipeline_config pipeline = { .dim = NULL };
	struct collective_config *configs;
	struct phases phases;
	void *bound;
	bool has_pipeline;
	int rc = cfg_bind_list_in(r->cfg, &config->where, &job_collective_table, &bound, &phases.count, r->err);

	if (rc != 0)
		return rc;
	phases.configs = configs = bound;
	for (size_t i = 0; i < phases.count; i++) {
		configs[i].has_after = cfg_has(&configs[i].where, "after");
		configs[i].iterations = config->iterations;
		configs[i].start_ps = config->start_ps;
		configs[i].gap_ps = config->gap_ps;
	}
	has_pipeline = cfg_has(&config->where, "pipeline");
	if (phases.count == 0)
		rc = cfg_fail(&config->where, NULL, r->err, "job \"%s\" has no collectives", config->name);
	else if (has_pipeline)
		rc = cfg_bind_in(r->cfg, &config->where, &pipeline_table, &pipeline, r->err);
	if (rc == 0 && has_pipeline)
		rc = workload_add_pipeline(r, job, &phases, &pipeline);
	else if (rc == 0)
		rc = workload_add_phase(r, job, &phases, PHASE_NONE, WORK_NO_STAGE, NULL, 0, "");
	if (rc == 0)
		rc = check_names(r, job, &phases, has_pipeline);
	free(bound);
	return rc;
}

static int
read_jobs(struct reading *r)
{
	struct workload *workload = r->workload;
	uint32_t first = workload->njobs;
	void *bound;
	size_t count;
	int rc = cfg_bind_list(r->cfg, &job_table, NULL, &bound, &count, r->err);
	const struct work_job_config *configs = bound;

	if (rc == 0)
		rc = add_jobs(workload, count);
	for (size_t i = 0; i < count && rc == 0; i++) {
		workload->njobs++;
		rc = name_job(workload, configs[i].name, &configs[i].where, r->err);
	}
	/* Placements see what others leave. */
	for (int placed = 0; placed <= 1; placed++)
		for (size_t i = 0; i < count && rc == 0; i++)
			if (cfg_has(&configs[i].where, "placement") == placed)
				rc = workload_read_job(r, &configs[i], &workload->jobs[first + i]);
	for (size_t i = 0; i < count && rc == 0; i++)
		rc = read_collectives(r, &configs[i], first + (uint32_t)i);
	free(bound);
	return rc;
}
