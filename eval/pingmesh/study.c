/* SPDX-License-Identifier: BSD-3-Clause */
/* A verdict that is there is not made again: it is the last thing that a run leaves. */
#include "eval/pingmesh/study.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/array.h"
#include "common/log.h"
#include "common/progress_line.h"
#include "common/run_dir.h"
#include "common/run_files.h"
#include "eval/case_file.h"
#include "eval/case_result.h"
#include "eval/job.h"
#include "eval/pool.h"

#define BASELINE "paper" /* folder, of the verdict by Algorithm 1 */
#define MAX_BROKEN 10    /* whatever breaks so many runs breaks the others, too: a full disk */

struct work {
	struct pm_study *study;
	uint32_t *waiting; /* [nwaiting] cases, numbered through all seeds */
	uint32_t nwaiting, started, done;
	uint32_t slots[POOL_MAX_JOBS];
};

static void
folder_of(const struct pm_study *study, uint32_t number, char *dir)
{
	snprintf(dir, PATH_MAX, "%s/%" PRIu64 "/%03u", study->dir, study->seeds[number / study->cases],
		 number % study->cases);
}

static void
path_of(const struct pm_study *study, uint32_t number, const char *name, char path[PATH_MAX + 32])
{
	char dir[PATH_MAX];

	folder_of(study, number, dir);
	snprintf(path, PATH_MAX + 32, "%s/%s", dir, name);
}

/* The verdict by Algorithm 1 is in a folder of its own. */
static void
baseline_of(const struct pm_study *study, uint32_t number, char dir[PATH_MAX + 32])
{
	path_of(study, number, BASELINE, dir);
}

static void
verdict_path(const struct pm_study *study, uint32_t number, bool baseline, char path[PATH_MAX + 32])
{
	path_of(study, number, baseline ? BASELINE "/" RUN_VERDICT : RUN_VERDICT, path);
}

/* Writes a case. The verdict beside it is of the case that is there: it must be the same. */
static int
make_case(const struct pm_study *study, uint32_t number, struct pm_case *c, struct err *err)
{
	char dir[PATH_MAX], path[PATH_MAX + 32];
	uint64_t before;
	int ret;

	folder_of(study, number, dir);
	ret = run_dir_make(dir, err);
	if (ret < 0)
		return ret;
	path_of(study, number, "case.cfg", path);
	before = case_file_digest(path);
	ret = pm_case_make(c, study->seeds[number / study->cases], number % study->cases, path, err);
	return ret == 0 ? case_file_check(path, before, err) : ret;
}

/* ---- runs ---- */

static pid_t
start(void *ctx, uint32_t slot, int cpu, struct err *err)
{
	struct work *work = ctx;
	char dir[PATH_MAX], scenario[PATH_MAX + 32], baseline[PATH_MAX + 32];

	if (work->started == work->nwaiting)
		return 0;
	work->slots[slot] = work->waiting[work->started++];
	folder_of(work->study, work->slots[slot], dir);
	path_of(work->study, work->slots[slot], "case.cfg", scenario);
	baseline_of(work->study, work->slots[slot], baseline);
	return job_start(&(struct job_config){ .scenario = scenario,
					       .fabric = dir,
					       .out = dir,
					       .policy = "off",
					       .diagnose = true,
					       .again = work->study->baseline ? "--pingmesh-algorithm=paper" : NULL,
					       .again_out = baseline,
					       .cpu = cpu },
			 err);
}

static void
show(const struct work *work)
{
	progress_line("%u of %u runs", work->done, work->nwaiting);
}

/* What nobody asks for any more: all but the case, its verdict, and what people read of it. */
static void
tidy(const struct pm_study *study, uint32_t number)
{
	static const char *const files[] = { RUN_RECORDING, RUN_PAGE,  RUN_CONFIG,    RUN_STEPS,
					     RUN_WAITING,   RUN_FLOWS, RUN_PROVENANCE };
	char path[PATH_MAX + 32];

	for (size_t i = 0; i < ARRAY_LEN(files); i++) {
		path_of(study, number, files[i], path);
		unlink(path);
	}
}

static int
ended(void *ctx, uint32_t slot, int status, struct err *err)
{
	struct work *work = ctx;
	char dir[PATH_MAX], verdict[PATH_MAX + 32];
	struct err why = { 0 };

	folder_of(work->study, work->slots[slot], dir);
	if (case_result_check(dir, ".", status, &why) == 0) {
		tidy(work->study, work->slots[slot]);
		work->done++;
		show(work);
		return 0;
	}
	progress_line("%s", "");
	log_warning("%s failed: %s; log.txt there says more", dir, why.text);
	path_of(work->study, work->slots[slot], RUN_VERDICT, verdict);
	unlink(verdict);
	if (++work->study->broken < MAX_BROKEN)
		return 0;
	return err_set(err, -EIO, "%u runs failed; the same command goes on when that is mended", work->study->broken);
}

/* Cases are written, and those listed that have no verdict. */
static int
list_waiting(struct work *work, struct err *err)
{
	const struct pm_study *study = work->study;
	struct pm_case *c = calloc(1, sizeof(*c));
	int ret = c != NULL ? 0 : err_set(err, -ENOMEM, "out of memory");

	for (uint32_t i = 0; ret == 0 && i < study->nseeds * study->cases; i++) {
		char path[PATH_MAX + 32];
		bool lacks;

		ret = make_case(study, i, c, err);
		pm_case_fini(c);
		verdict_path(study, i, study->baseline, path);
		lacks = access(path, R_OK) != 0;
		verdict_path(study, i, false, path);
		if (lacks || access(path, R_OK) != 0)
			work->waiting[work->nwaiting++] = i;
	}
	free(c);
	return ret;
}

static int
run_waiting(struct pm_study *study, struct err *err)
{
	const struct pool_ops ops = { start, ended };
	struct work work = { .study = study,
			     .waiting = calloc((size_t)study->nseeds * study->cases, sizeof(*work.waiting)) };
	int ret = work.waiting != NULL ? list_waiting(&work, err) : err_set(err, -ENOMEM, "out of memory");

	if (ret == 0) {
		show(&work);
		ret = pool_run(study->jobs, &ops, &work, err);
		progress_line("%s", "");
	}
	free(work.waiting);
	return ret;
}

/* ---- scores ---- */

/* @return 0, -ENODATA: there is no verdict; other negative errno with err */
static int
load_verdict(const struct pm_study *study, uint32_t number, bool baseline, json_t **verdict, struct err *err)
{
	char path[PATH_MAX + 32];

	verdict_path(study, number, baseline, path);
	*verdict = json_load_file(path, 0, NULL);
	if (*verdict != NULL)
		return 0;
	return access(path, F_OK) == 0 ? err_set(err, -EINVAL, "%s is no JSON; remove it", path) : -ENODATA;
}

/* @return 0, -ENODATA: there is no verdict; other negative errno with err */
static int
score_case(struct pm_study *study, uint32_t number, struct err *err)
{
	struct pm_row *row = &study->rows[study->nrows];
	json_t *verdict, *baseline = NULL;
	int ret = load_verdict(study, number, false, &verdict, err);

	if (ret == 0 && study->baseline)
		ret = load_verdict(study, number, true, &baseline, err);
	if (ret != 0) {
		json_decref(verdict);
		return ret;
	}
	*row = (struct pm_row){ .seed = study->seeds[number / study->cases],
				.index = number % study->cases,
				.c = calloc(1, sizeof(*row->c)) };
	study->nrows++;
	ret = row->c != NULL ? make_case(study, number, row->c, err) : err_set(err, -ENOMEM, "out of memory");
	if (ret == 0)
		ret = pm_score(row->c, verdict, &row->marks, err);
	if (ret == 0 && study->baseline)
		ret = pm_score(row->c, baseline, &row->baseline, err);
	for (uint32_t p = 0; ret == 0 && p < row->c->nproblems; p++)
		pm_problem_text(row->c, &row->c->problems[p], row->problems[p], sizeof(row->problems[p]));
	if (row->c != NULL)
		pm_case_fini(row->c);
	json_decref(verdict);
	json_decref(baseline);
	return ret;
}

int
pm_study_run(struct pm_study *study, struct err *err)
{
	uint32_t count = study->nseeds * study->cases;
	int ret;

	study->rows = calloc(count, sizeof(*study->rows));
	if (study->rows == NULL)
		return err_set(err, -ENOMEM, "out of memory for %u cases", count);
	ret = run_waiting(study, err);
	for (uint32_t i = 0; ret == 0 && i < count; i++) {
		ret = score_case(study, i, err);
		ret = ret == -ENODATA ? 0 : ret;
	}
	return ret;
}

void
pm_study_fini(struct pm_study *study)
{
	for (uint32_t i = 0; i < study->nrows; i++)
		free(study->rows[i].c);
	free(study->rows);
	study->rows = NULL;
	study->nrows = 0;
}
