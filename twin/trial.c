/* SPDX-License-Identifier: BSD-3-Clause */
#include "twin/trial.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/input_file.h"
#include "common/run_files.h"
#include "common/tail.h"
#include "common/units.h"
#include "twin/model.h"
#include "twin/rerun/job.h"

#define LOG_FILE "log.txt"
#define ALPHA 0.05 /* of the interval in which one more draw is, to both sides */

/* One draw of a trial. */
struct trial_run {
	size_t trial;
	uint32_t draw;
};

struct trials {
	struct twin_trial *trials;
	size_t count;
	struct trial_run next;
	struct trial_run of[POOL_MAX_JOBS]; /* the run of each slot */
	const char *dir;
	struct err *why; /* of the first that failed */
};

double
twin_error_job(const struct twin_error *error)
{
	if (!error->complete || error->measured_ns <= 0)
		return 1;
	return fabs(error->twin_ns - error->measured_ns) / error->measured_ns;
}

double
twin_error_steps(const struct twin_error *error)
{
	if (!error->complete || error->all_steps_ns <= 0)
		return 1;
	return error->steps_ns / error->all_steps_ns;
}

static double
mean(const double *draws_ns, uint32_t draws)
{
	double sum_ns = 0;

	for (uint32_t d = 0; d < draws; d++)
		sum_ns += draws_ns[d];
	return draws > 0 ? sum_ns / draws : 0;
}

double
twin_error_chance(const struct twin_error *error)
{
	return error->measured_ns > 0 ? mean(error->draws_ns, error->draws) / error->measured_ns : 0;
}

double
twin_error_chance_steps(const struct twin_error *error)
{
	return error->all_steps_ns > 0 ? mean(error->draws_steps_ns, error->draws) / error->all_steps_ns : 0;
}

double
twin_error_bound_ns(const double *draws_ns, uint32_t draws)
{
	double mean_ns = mean(draws_ns, draws), squares = 0;

	if (draws < 3)
		return mean_ns;
	for (uint32_t d = 0; d < draws; d++)
		squares += (draws_ns[d] - mean_ns) * (draws_ns[d] - mean_ns);
	return mean_ns + tail_student_at(ALPHA / 2, draws - 1) * sqrt(squares / (draws - 1) * (1 + 1.0 / draws));
}

bool
twin_error_is_near(const struct twin_error *error)
{
	double job_ns = fmax(TWIN_MAX_ERROR * error->measured_ns, twin_error_bound_ns(error->draws_ns, error->draws));
	double steps_ns =
		fmax(TWIN_MAX_STEPS * error->all_steps_ns, twin_error_bound_ns(error->draws_steps_ns, error->draws));

	return error->complete && error->measured_ns > 0 && error->all_steps_ns > 0 &&
	       fabs(error->twin_ns - error->measured_ns) <= job_ns && error->steps_ns <= steps_ns;
}

/* The step of the run that a row of the twin's table is; RUN_NONE: it is none. */
static uint32_t
find_step(const struct twin_model *model, uint32_t work, uint32_t iteration, uint32_t rank, uint32_t step)
{
	uint32_t index = work < model->nworks ? evidence_collective(model->ev, model->works[work].id, iteration) : EV_NONE;

	return index != EV_NONE ? run_find_step(model->run, &model->run->collectives[index], rank, step) : RUN_NONE;
}

/* What steps took in one draw, and when jobs ended. @return 0 or -ENODATA */
static int
read_run(const struct twin_trial *trial, uint32_t draw, const char *dir)
{
	const struct twin_model *model = trial->model;
	float *took_ns = &trial->took_ns[(size_t)draw * model->run->nsteps];
	double *ends_ns = &trial->ends_ns[(size_t)draw * model->njobs];
	char path[PATH_MAX + 16], *line = NULL;
	size_t room = 0;
	FILE *file;

	snprintf(path, sizeof(path), "%s/" RUN_STEPS, dir);
	file = input_fopen(path, NULL);
	if (file == NULL)
		return -ENODATA;
	while (getline(&line, &room, file) > 0) {
		uint32_t job, work, iteration, rank, step, channel, index;
		double start_ns, duration_ns;

		if (sscanf(line, "%u,%u,%u,%u,%u,%u,%*[^,],%*[^,],%*u,%*u,%*u,%lf,%lf", &job, &work, &iteration, &rank,
			   &step, &channel, &start_ns, &duration_ns) != 8 ||
		    step == 0 || job >= model->njobs)
			continue;
		index = find_step(model, work, iteration, rank, step);
		if (index == RUN_NONE)
			continue;
		took_ns[index] = (float)duration_ns;
		ends_ns[job] = fmax(ends_ns[job], start_ns + duration_ns);
	}
	free(line);
	fclose(file);
	return 0;
}

/* ---- errors ---- */

/* Differences of a step, of its measured time to the mean of draws, and of each draw to the mean of the others. */
static void
add_step(const struct twin_trial *trial, uint32_t index, struct twin_error *error)
{
	const struct run_step *step = &trial->model->run->steps[index];
	uint32_t nsteps = trial->model->run->nsteps, draws = trial->model->draws;
	double measured_ns = (double)(step->end_ps - step->start_ps) / PS_PER_NS, sum_ns = 0;

	for (uint32_t d = 0; d < draws; d++)
		sum_ns += (double)trial->took_ns[(size_t)d * nsteps + index];
	error->measured_ns = fmax(error->measured_ns, (double)step->end_ps / PS_PER_NS);
	error->steps_ns += fabs(sum_ns / draws - measured_ns);
	error->all_steps_ns += measured_ns;
	for (uint32_t d = 0; d < draws && draws > 1; d++) {
		double own_ns = (double)trial->took_ns[(size_t)d * nsteps + index];

		error->draws_steps_ns[d] += fabs(own_ns - (sum_ns - own_ns) / (draws - 1));
	}
}

static bool
is_measured(const struct twin_trial *trial, uint32_t index)
{
	const struct run_step *step = &trial->model->run->steps[index];

	return step->reported && step->started && !step->open;
}

/* Is it done in every draw, too? */
static bool
is_comparable(const struct twin_trial *trial, uint32_t index)
{
	bool comparable = is_measured(trial, index);

	for (uint32_t d = 0; d < trial->model->draws; d++)
		comparable &= trial->took_ns[(size_t)d * trial->model->run->nsteps + index] >= 0;
	return comparable;
}

/* A message that the twin never had delivered. Computation that was none is no step of it. */
static bool
is_lacking(const struct twin_trial *trial, uint32_t index)
{
	return is_measured(trial, index) && !run_is_local(&trial->model->run->steps[index]);
}

static void
add_end(const struct twin_trial *trial, uint32_t job, struct twin_error *error)
{
	uint32_t njobs = trial->model->njobs, draws = trial->model->draws;
	double start_ns = (double)trial->model->jobs[job].start_ps / PS_PER_NS, sum_ns = 0;

	for (uint32_t d = 0; d < draws; d++)
		sum_ns += trial->ends_ns[(size_t)d * njobs + job];
	for (uint32_t d = 0; d < draws && draws > 1; d++) {
		double own_ns = trial->ends_ns[(size_t)d * njobs + job];

		error->draws_ns[d] = fabs(own_ns - (sum_ns - own_ns) / (draws - 1));
	}
	error->twin_ns = sum_ns / draws - start_ns;
	error->measured_ns -= start_ns;
}

static void
compare(struct twin_trial *trial)
{
	const struct twin_model *model = trial->model;

	for (uint32_t j = 0; j < model->njobs; j++)
		trial->errors[j] = (struct twin_error){ .draws = model->draws, .complete = true };
	for (uint32_t s = 0; s < model->run->nsteps; s++) {
		const struct run_job *job = run_job_of(model->run, model->run->steps[s].collective);

		if (is_comparable(trial, s))
			add_step(trial, s, &trial->errors[job - model->run->jobs]);
		else if (is_lacking(trial, s))
			trial->errors[job - model->run->jobs].complete = false;
	}
	for (uint32_t j = 0; j < model->njobs; j++)
		add_end(trial, j, &trial->errors[j]);
}

static pid_t
start(void *ctx, uint32_t slot, int cpu, struct err *err)
{
	struct trials *work = ctx;
	struct trial_run *next = &work->next;
	char dir[PATH_MAX], name[32], config[PATH_MAX + 32], draw[32];
	const char *const sets[] = { draw };
	struct job_config job = {
		.scenario = config, .fabric = dir, .out = dir, .policy = "off", .sets = sets, .nsets = 1, .cpu = cpu
	};
	int ret = 0;

	if (next->trial == work->count)
		return 0;
	snprintf(dir, sizeof(dir), "%s/trial-%zu-%u", work->dir, next->trial, next->draw);
	snprintf(name, sizeof(name), "trial-%zu.cfg", next->trial);
	snprintf(config, sizeof(config), "%s/%s", work->dir, name);
	snprintf(draw, sizeof(draw), "draw=%u", next->draw);
	if (next->draw == 0)
		ret = twin_write(work->trials[next->trial].model, work->dir, name, err);
	if (ret < 0)
		return ret;
	work->of[slot] = *next;
	if (++next->draw == work->trials[next->trial].model->draws)
		*next = (struct trial_run){ next->trial + 1, 0 };
	return job_start(&job, err);
}

static int
ended(void *ctx, uint32_t slot, int status, struct err *err)
{
	struct trials *work = ctx;
	const struct trial_run *run = &work->of[slot];
	struct twin_trial *trial = &work->trials[run->trial];
	char dir[PATH_MAX], path[PATH_MAX + 16], name[32];
	struct err why = { 0 };

	(void)err;
	snprintf(name, sizeof(name), "trial-%zu-%u", run->trial, run->draw);
	snprintf(dir, sizeof(dir), "%s/%s", work->dir, name);
	if (job_check(work->dir, name, status, &why) < 0 || read_run(trial, run->draw, dir) < 0) {
		if (work->why->text[0] == '\0')
			err_set(work->why, -ENODATA, "%s/" LOG_FILE ": %s", dir, why.text);
		return 0;
	}
	trial->done++;
	run_files_remove(dir, &why);
	snprintf(path, sizeof(path), "%s/" LOG_FILE, dir);
	unlink(path);
	rmdir(dir);
	return 0;
}

/* @return 0 or -ENOMEM */
static int
trial_init(struct twin_trial *trial)
{
	const struct twin_model *model = trial->model;
	size_t steps = (size_t)model->draws * model->run->nsteps;

	trial->done = 0;
	trial->took_ns = malloc((steps + 1) * sizeof(*trial->took_ns));
	trial->ends_ns = calloc((size_t)model->draws * model->njobs + 1, sizeof(*trial->ends_ns));
	for (size_t i = 0; i < steps && trial->took_ns != NULL; i++)
		trial->took_ns[i] = -1;
	return trial->took_ns != NULL && trial->ends_ns != NULL ? 0 : -ENOMEM;
}

/* Its errors, and its scenario's file and memory are no longer needed. */
static void
trial_end(struct twin_trial *trial, size_t index, const char *dir)
{
	char path[PATH_MAX + 32];

	trial->ran = trial->took_ns != NULL && trial->ends_ns != NULL && trial->done == trial->model->draws;
	if (trial->ran)
		compare(trial);
	snprintf(path, sizeof(path), "%s/trial-%zu.cfg", dir, index);
	if (trial->ran)
		unlink(path);
	free(trial->took_ns);
	free(trial->ends_ns);
	trial->took_ns = NULL;
	trial->ends_ns = NULL;
}

int
twin_trials_run(struct twin_trial *trials, size_t count, struct twin_work *work, struct err *err)
{
	const struct pool_ops ops = { start, ended };
	struct err why = { 0 };
	struct trials of = { .trials = trials, .count = count, .dir = work->dir, .why = &why };
	uint64_t begin_ns = clock_now_ns(), runs = 1;
	bool any = false;
	int ret = 0;

	for (size_t i = 0; i < count; i++) {
		runs += trials[i].model->draws;
		if (trial_init(&trials[i]) < 0)
			ret = err_set(err, -ENOMEM, "out of memory for runs of the twin");
	}
	if (ret == 0)
		ret = pool_run(work->jobs, &ops, &of, err);
	work->run_ns = (clock_now_ns() - begin_ns) / runs + 1;
	for (size_t i = 0; i < count; i++) {
		trial_end(&trials[i], i, work->dir);
		any |= trials[i].ran;
	}
	return ret < 0 || any ? ret : err_set(err, -ENODATA, "every run of the twin failed: %s", why.text);
}

int
twin_work_check(const struct twin_work *work, uint64_t runs, struct err *err)
{
	double left_s = (double)(int64_t)(work->deadline_ns - clock_now_ns()) / 1e9;

	if (work->deadline_ns == 0 || left_s > (double)runs * (double)work->run_ns / 1e9)
		return 0;
	return err_set(err, -ETIME, "%llu more runs of %.2f s each would take too long", (unsigned long long)runs,
		       (double)work->run_ns / 1e9);
}
