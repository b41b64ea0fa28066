/* SPDX-License-Identifier: BSD-3-Clause */
#include "cli/blame/job.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include <jansson.h>

#include "common/run_files.h"
#include "scenario/scenario.h"

/* The job that the headline of a run's verdict speaks of. @return its number; UINT32_MAX: there is none */
static uint32_t
job_of_verdict(const char *run)
{
	char path[PATH_MAX + 32];
	json_t *verdict, *job;
	uint32_t number;

	if (run == NULL)
		return UINT32_MAX;
	snprintf(path, sizeof(path), "%s/" RUN_VERDICT, run);
	verdict = json_load_file(path, 0, NULL);
	job = json_object_get(json_object_get(json_object_get(verdict, "headline"), "of"), "job");
	number = json_is_integer(job) ? (uint32_t)json_integer_value(job) : UINT32_MAX;
	json_decref(verdict);
	return number;
}

int
blame_job_choose(const char *run, const char *of, const struct scenario *scenario, uint32_t *job, struct err *err)
{
	const struct workload *workload = scenario->workload;

	*job = of == NULL ? job_of_verdict(run) : UINT32_MAX;
	if (*job < workload->njobs && workload->jobs[*job].enabled)
		return 0;
	for (*job = 0; *job < workload->njobs; ++*job)
		if (of != NULL ? strcmp(workload->jobs[*job].name, of) == 0 : workload->jobs[*job].enabled)
			break;
	if (*job == workload->njobs && of != NULL)
		return err_set(err, -EINVAL, "--of %s: no job of the scenario has this name", of);
	if (*job == workload->njobs)
		return err_set(err, -EINVAL, "the scenario has no job: there is no time to be regained");
	return workload->jobs[*job].enabled ? 0
					    : err_set(err, -EINVAL, "--of %s: it is not enabled, and takes no time", of);
}

bool
blame_job_is_all(const char *of, const struct scenario *scenario)
{
	bool all = of != NULL && strcmp(of, "all") == 0;

	for (uint32_t j = 0; j < scenario->workload->njobs; j++)
		all &= strcmp(scenario->workload->jobs[j].name, "all") != 0;
	return all;
}
