/* SPDX-License-Identifier: BSD-3-Clause */
#include "eval/flowpulse/study.h"

#include <errno.h>
#include <fnmatch.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "common/run_dir.h"
#include "eval/case_file.h"

#define COUNTS "counts.bin"
#define ROUNDS 8 /* of asking: none needs as many */

const struct fp_experiment *
fp_experiment_find(const char *name)
{
	for (const struct fp_experiment *experiment = fp_experiments; experiment->name != NULL; experiment++)
		if (strcmp(experiment->name, name) == 0)
			return experiment;
	return NULL;
}

static struct fp_run *
find_run(struct fp_study *study, const char *name)
{
	for (uint32_t i = 0; i < study->nruns; i++)
		if (strcmp(study->runs[i].name, name) == 0)
			return &study->runs[i];
	return NULL;
}

/* Its folder and scenario, and its counts, if they are there from before. */
static int
begin_run(struct fp_study *study, struct fp_run *run, struct err *err)
{
	char dir[PATH_MAX], path[PATH_MAX + 16];
	uint64_t before;
	int ret;

	if (snprintf(dir, sizeof(dir), "%s/%s", study->dir, run->name) >= (int)sizeof(dir))
		return err_set(err, -ENAMETOOLONG, "%s: too long a name", study->dir);
	ret = run_dir_make(dir, err);
	if (ret < 0)
		return ret;
	snprintf(path, sizeof(path), "%s/case.cfg", dir);
	before = case_file_digest(path);
	ret = fp_spec_write(&run->spec, dir, err);
	if (ret == 0)
		ret = case_file_check(path, before, err);
	snprintf(path, sizeof(path), "%s/" COUNTS, dir);
	if (ret == 0)
		run->grid = fp_grid_load(path);
	if (run->grid != NULL)
		fp_spec_note_losses(&run->spec, run->grid);
	return ret;
}

static void
note_other(struct fp_study *study, const char *point)
{
	for (uint32_t i = 0; i < study->nothers; i++)
		if (strcmp(study->others[i], point) == 0)
			return;
	if (study->nothers < FP_MAX_POINTS)
		snprintf(study->others[study->nothers++], FP_NAME, "%s", point);
}

static bool
is_wanted(struct fp_study *study, const struct fp_spec *spec)
{
	char point[FP_NAME];

	if (study->points == NULL)
		return true;
	fp_spec_point(spec, point);
	if (fnmatch(study->points, point, 0) == 0)
		return true;
	note_other(study, point);
	return false;
}

/* Have all experiments no row, since no point is wanted? @return 0, or -EINVAL with err set */
static int
check_points(const struct fp_study *study, struct err *err)
{
	char list[512] = "";
	size_t used = 0;

	for (uint32_t i = 0; i < study->nexperiments; i++)
		if (json_array_size(study->rows[i]) != 0)
			return 0;
	for (uint32_t i = 0; i < study->nothers && used < sizeof(list) - FP_NAME; i++)
		used += (size_t)snprintf(list + used, sizeof(list) - used, "%s%s", i != 0 ? ", " : "", study->others[i]);
	return err_set(err, -EINVAL, "--points \"%s\": no row is of such; there are %s%s", study->points, list,
		       used >= sizeof(list) - FP_NAME ? " and more" : "");
}

int
fp_need(struct fp_study *study, const struct fp_spec *spec, const struct fp_grid **grid, struct err *err)
{
	char name[FP_NAME];
	struct fp_run *run;
	int ret = 0;

	*grid = NULL;
	if (!is_wanted(study, spec))
		return 0;
	fp_spec_name(spec, name);
	run = find_run(study, name);
	if (run == NULL && study->nruns == FP_MAX_RUNS)
		return err_set(err, -ENOSPC, "more than %d runs", FP_MAX_RUNS);
	if (run == NULL) {
		run = &study->runs[study->nruns++];
		*run = (struct fp_run){ .spec = *spec };
		memcpy(run->name, name, sizeof(name));
		ret = begin_run(study, run, err);
	}
	study->nwaiting += run->grid == NULL;
	*grid = run->grid;
	return ret;
}

/* Asks all experiments. @return how many runs are wanting, or negative errno with err set */
static int
ask(struct fp_study *study, struct err *err)
{
	int ret = 0;

	study->nwaiting = 0;
	for (uint32_t i = 0; ret == 0 && i < study->nexperiments; i++) {
		json_decref(study->rows[i]);
		study->rows[i] = json_array();
		ret = study->experiments[i]->evaluate(study, study->rows[i], err);
	}
	return ret < 0 ? ret : (int)study->nwaiting;
}

int
fp_study_run(struct fp_study *study, struct err *err)
{
	int ret = 0;

	study->runs = calloc(FP_MAX_RUNS, sizeof(*study->runs));
	study->others = calloc(FP_MAX_POINTS, sizeof(*study->others));
	if (study->runs == NULL || study->others == NULL)
		return err_set(err, -ENOMEM, "out of memory");
	for (int round = 0; round < ROUNDS; round++) {
		ret = ask(study, err);
		if (ret <= 0)
			return ret == 0 && study->points != NULL ? check_points(study, err) : ret;
		ret = fp_runs(study, err);
		if (ret != 0)
			return ret;
	}
	return err_set(err, -EIO, "some runs left no counts");
}

void
fp_study_fini(struct fp_study *study)
{
	for (uint32_t i = 0; i < study->nruns; i++)
		fp_grid_destroy(study->runs[i].grid);
	for (uint32_t i = 0; i < study->nexperiments; i++)
		json_decref(study->rows[i]);
	free(study->runs);
	free(study->others);
	study->runs = NULL;
	study->others = NULL;
	study->nruns = 0;
}
