/* SPDX-License-Identifier: BSD-3-Clause */
/* The runs of a study: the fabric, then its recording to counts, and what nobody asks for any more goes. */
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <unistd.h>

#include "common/log.h"
#include "common/progress_line.h"
#include "common/run_files.h"
#include "eval/case_result.h"
#include "eval/flowpulse/counts.h"
#include "eval/flowpulse/study.h"
#include "eval/job.h"
#include "eval/pool.h"

#define MAX_BROKEN 10 /* whatever breaks so many runs breaks the others, too: a full disk */

struct work {
	struct fp_study *study;
	uint32_t slots[POOL_MAX_JOBS]; /* index of the run */
	uint32_t done, broken;
};

static void
folder_of(const struct work *work, const struct fp_run *run, char *dir)
{
	snprintf(dir, PATH_MAX, "%s/%s", work->study->dir, run->name);
}

static pid_t
start(void *ctx, uint32_t slot, int cpu, struct err *err)
{
	struct work *work = ctx;

	for (uint32_t i = 0; i < work->study->nruns; i++) {
		struct fp_run *run = &work->study->runs[i];
		char dir[PATH_MAX], scenario[PATH_MAX + 16];

		if (run->grid != NULL || run->is_begun)
			continue;
		folder_of(work, run, dir);
		snprintf(scenario, sizeof(scenario), "%s/case.cfg", dir);
		run->is_begun = true;
		work->slots[slot] = i;
		return job_start(
			&(struct job_config){
				.scenario = scenario, .fabric = dir, .out = dir, .policy = "off", .cpu = cpu },
			err);
	}
	return 0;
}

/* @return 0, or negative errno with why set: the run is no result */
static int
take_counts(struct work *work, struct fp_run *run, int status, struct err *why)
{
	char dir[PATH_MAX], path[PATH_MAX + 16];
	int ret = case_result_check(work->study->dir, run->name, status, why);

	if (ret < 0)
		return ret;
	folder_of(work, run, dir);
	snprintf(path, sizeof(path), "%s/" JOB_RECORDS, dir);
	run->grid = fp_counts_read(path, &run->spec.fabric, why);
	if (run->grid == NULL)
		return -ENODATA;
	fp_spec_note_losses(&run->spec, run->grid);
	ret = fp_grid_save(run->grid, dir, "counts.bin", why);
	if (ret == 0)
		ret = run_files_remove(dir, why);
	return ret;
}

static void
show(const struct work *work)
{
	progress_line("%u of %u runs", work->done, work->study->nwaiting);
}

static int
ended(void *ctx, uint32_t slot, int status, struct err *err)
{
	struct work *work = ctx;
	struct fp_run *run = &work->study->runs[work->slots[slot]];
	struct err why = { 0 };

	if (take_counts(work, run, status, &why) == 0) {
		work->done++;
		show(work);
		return 0;
	}
	progress_line("%s", "");
	log_warning("%s/%s failed: %s; log.txt there says more", work->study->dir, run->name, why.text);
	if (++work->broken < MAX_BROKEN)
		return 0;
	return err_set(err, -EIO, "%u runs failed; the same command goes on when that is mended", work->broken);
}

int
fp_runs(struct fp_study *study, struct err *err)
{
	const struct pool_ops ops = { start, ended };
	struct work *work = calloc(1, sizeof(*work));
	int ret;

	if (work == NULL)
		return err_set(err, -ENOMEM, "out of memory");
	work->study = study;
	show(work);
	ret = pool_run(study->jobs, &ops, work, err);
	progress_line("%s", "");
	if (ret == 0)
		ret = (int)work->broken;
	free(work);
	return ret;
}
