/* SPDX-License-Identifier: BSD-3-Clause */
#include "twin/twin.h"

#include <errno.h>
#include <jansson.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "common/child.h"
#include "common/clock.h"
#include "common/input_file.h"
#include "common/program.h"
#include "common/run_files.h"
#include "diag/collect/stream.h"
#include "emulation/outputs/outputs.h"
#include "twin/model.h"
#include "twin/trial.h"

/* Chance of the twin: far from the seeds that people give, none of which is in the records. */
#define TWIN_SEED UINT64_C(7305172900000000000)

/* Reads a recording into the evidence. @return 0 or negative errno with err */
static int
read_records(const char *path, struct evidence *ev, struct err *err)
{
	int fd = source_open_file(path, err), ret;

	if (fd < 0)
		return fd;
	ret = stream_read_fd(fd, ev, NULL, err);
	close(fd);
	return ret;
}

/* Of a job whose twin is too far from what was measured. */
static json_t *
given_up(const struct twin_model *model, uint32_t job, const struct twin_error *error)
{
	return json_pack("{s:I, s:s, s:f, s:f, s:f, s:f, s:f, s:f, s:b, s:[]}", "job", (json_int_t)job, "name",
			 model->run->jobs[job].name, "measured_ns", error->measured_ns, "twin_ns", error->twin_ns, "error",
			 twin_error_job(error), "steps_error", twin_error_steps(error), "chance", twin_error_chance(error),
			 "steps_chance", twin_error_chance_steps(error), "usable", 0, "suspects");
}

/* What a job lost over all its iterations. */
static double
lost_ps(const struct run *run, uint32_t job)
{
	double lost = 0;

	for (uint32_t s = 0; s < run->nsteps; s++)
		if (run_job_of(run, run->steps[s].collective) == &run->jobs[job])
			lost += run_lost_ps(&run->steps[s]);
	return lost;
}

/* Is it one of the TWIN_MAX_JOBS that lost most? */
static bool
is_asked(const struct run *run, uint32_t job)
{
	double own = lost_ps(run, job);
	uint32_t before = 0;

	for (uint32_t j = 0; j < run->njobs; j++)
		before += lost_ps(run, j) > own || (lost_ps(run, j) == own && j < job);
	return own > 0 && before < TWIN_MAX_JOBS;
}

/* @return 0, or negative errno with err set */
static int
cost_jobs(const struct twin_options *options, const struct twin_model *model, const struct twin_work *work,
	  const struct twin_error *errors, json_t *list, struct err *err)
{
	for (uint32_t j = 0; j < model->njobs; j++) {
		json_t *job;

		if (!is_asked(model->run, j))
			continue;
		errno = 0;
		job = twin_error_is_near(&errors[j]) ? twin_cost_job(model, j, options->dir, work, &errors[j], err)
						     : given_up(model, j, &errors[j]);
		if (job == NULL)
			return errno != 0 ? -errno : -ENOMEM;
		json_array_append_new(list, job);
	}
	return 0;
}

static int
make(const struct twin_options *options, struct twin_model *model, struct err *err)
{
	struct twin_error *errors = NULL;
	json_t *list = json_array();
	char dir[PATH_MAX + 16];
	struct twin_work work = { .dir = dir, .jobs = options->jobs };
	int ret = twin_model_infer(model, err);

	if (options->limit_s > 0)
		work.deadline_ns = clock_now_ns() + (uint64_t)(options->limit_s * 1e9);
	snprintf(dir, sizeof(dir), "%s/" RUN_TWIN_WORK, options->dir);
	if (ret == 0)
		ret = run_dir_make(dir, err) < 0 ? -EIO : 0;

	if (ret == 0)
		errors = calloc((size_t)model->njobs + 1, sizeof(*errors));
	if (ret == 0 && errors == NULL)
		ret = err_set(err, -ENOMEM, "out of memory for %u jobs", model->njobs);
	if (ret == 0)
		ret = twin_fit(model, &work, errors, err);
	if (ret == 0)
		ret = twin_write(model, options->dir, RUN_TWIN_CONFIG, err);
	if (ret == 0)
		ret = cost_jobs(options, model, &work, errors, list, err);
	if (ret == 0)
		ret = output_json(json_pack("{s:i, s:I, s:I, s:O}", "schema_version", 1, "seed", (json_int_t)model->seed,
					    "draws", (json_int_t)model->draws, "jobs", list),
				  options->dir, RUN_TWIN, err);
	rmdir(dir); /* where all runs are done */
	json_decref(list);
	free(errors);
	return ret;
}

int
twin_make(const struct twin_options *options, struct err *err)
{
	json_t *verdict = input_json(options->verdict, 0, NULL);
	struct evidence ev;
	struct run run = { 0 };
	struct twin_model model = {
		.ev = &ev, .run = &run, .findings = json_object_get(verdict, "findings"), .seed = TWIN_SEED
	};
	int ret;

	evidence_init(&ev);
	ret = verdict != NULL ? read_records(options->records, &ev, err)
			      : err_set(err, -EINVAL, "%s cannot be read", options->verdict);
	if (ret == 0)
		ret = run_build(&run, &ev, err);
	if (ret == 0)
		ret = make(options, &model, err);
	twin_model_fini(&model);
	run_fini(&run);
	evidence_fini(&ev);
	json_decref(verdict);
	return ret;
}

int
twin_reports_write(const struct twin_reports *reports, struct err *err)
{
	char records[PATH_MAX + 16], plugins[PATH_MAX + 16], costs[PATH_MAX + 16], path[PATH_MAX];
	const char *const more[] = { "--plugins", plugins, "--costs", costs, "--print", NULL };
	const bool wanted[] = { reports->plugins != NULL, reports->plugins != NULL, reports->with_costs,
				reports->with_costs, reports->print };
	struct child_args args = {
		.argv = { "analyzer", "--read", records, "--out", reports->out, "--allow-left-out", "--quiet" }, .count = 7
	};
	int ret;
	pid_t pid;

	snprintf(records, sizeof(records), "%s/" RUN_RECORDING, reports->records);
	snprintf(plugins, sizeof(plugins), "%s/" RUN_PLUGIN, reports->plugins != NULL ? reports->plugins : "");
	snprintf(costs, sizeof(costs), "%s/" RUN_TWIN, reports->out);
	for (size_t i = 0; more[i] != NULL; i++)
		if (wanted[i] && child_add(&args, more[i], err) < 0)
			return -E2BIG;
	ret = child_find("analyzer", "diag", path, sizeof(path), err);
	pid = ret == 0 ? child_start(path, &args, false, err) : ret;
	if (pid < 0)
		return (int)pid;
	ret = child_wait(pid);
	return ret <= EXIT_USAGE ? ret : EXIT_FAILED;
}

int
twin_model_infer(struct twin_model *model, struct err *err)
{
	int ret = twin_jobs_infer(model, err);

	if (ret == 0)
		ret = twin_flows_infer(model, err);
	if (ret == 0)
		twin_faults_infer(model);
	return ret;
}

void
twin_model_fini(struct twin_model *model)
{
	for (uint32_t j = 0; j < model->njobs; j++)
		free(model->jobs[j].ports);
	free(model->jobs);
	free(model->works);
	free(model->computes);
	free(model->flows);
}
