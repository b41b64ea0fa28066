/* SPDX-License-Identifier: BSD-3-Clause */
/* The runs of a sweep, several side by side. */
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdlib.h>

#include "cli/sweep/sweep.h"
#include "common/log.h"
#include "common/program.h"
#include "common/run_files.h"
#include "twin/rerun/job.h"

#define MAX_BROKEN 10 /* a cause that breaks this many runs breaks the others, too: a full disk */

struct work {
	const struct sweep *sweep;
	sqlite3 *db;
	uint32_t next, all; /* up to next the runs were started, or had been made */
	struct sweep_run slots[POOL_MAX_JOBS];
	struct runs_progress progress;
	uint32_t broken;
};

uint32_t
sweep_runs(const struct sweep *sweep)
{
	uint64_t count = sweep->nseeds;

	for (uint32_t i = 0; i < sweep->npaths && count <= SWEEP_MAX_RUNS; i++)
		count *= sweep->paths[i].count;
	return count <= SWEEP_MAX_RUNS ? (uint32_t)count : 0;
}

struct sweep_run
sweep_run_of(const struct sweep *sweep, uint32_t number)
{
	struct sweep_run run = { .number = number, .point = number / sweep->nseeds };
	uint32_t rest = run.point;

	run.seed = sweep->seeds[number % sweep->nseeds];
	for (uint32_t i = sweep->npaths; i-- > 0; rest /= sweep->paths[i].count)
		run.values[i] = rest % sweep->paths[i].count;
	return run;
}

static char *
dir_of(const struct sweep *sweep, const struct sweep_run *run, char dir[PATH_MAX])
{
	snprintf(dir, PATH_MAX, "%s/" SWEEP_RUNS "/%05u", sweep->dir, run->number);
	return dir;
}

/* @return 0 or -E2BIG with err set */
static int
add_option(struct child_args *args, const char *option, const char *value, struct err *err)
{
	int ret = child_add(args, option, err);

	return ret == 0 ? child_add(args, value, err) : ret;
}

/* Starts a run. @return its job's pid, or negative errno with err set */
static pid_t
start_run(const struct sweep *sweep, const struct sweep_run *run, int cpu, struct err *err)
{
	char named[PATH_MAX];
	struct child_args args = {
		.argv = { "rocelab", "run", child_path(sweep->scenario.path, named), "--allow-unfinished", "--json" },
		.count = 5,
	};
	char dir[PATH_MAX], seed[32], sets[SWEEP_MAX_PATHS][SWEEP_SET_BYTES];
	int ret = add_option(&args, "--out", dir_of(sweep, run, dir), err);

	snprintf(seed, sizeof(seed), "%" PRIu64, run->seed);
	if (ret == 0)
		ret = add_option(&args, "--seed", seed, err);
	for (size_t i = 0; ret == 0 && i < sweep->scenario.nsets; i++)
		ret = add_option(&args, "--set", sweep->scenario.sets[i], err);
	if (ret == 0 && sweep->also != NULL)
		ret = add_option(&args, "--set", sweep->also, err);
	for (uint32_t i = 0; ret == 0 && i < sweep->npaths; i++) {
		snprintf(sets[i], SWEEP_SET_BYTES, "%s=%s", sweep->paths[i].path, sweep->paths[i].values[run->values[i]]);
		ret = add_option(&args, "--set", sets[i], err);
	}
	return ret < 0 ? ret : job_start_program("cli", &args, dir, sweep->real_time ? -1 : cpu, err);
}

static pid_t
start(void *ctx, uint32_t slot, int cpu, struct err *err)
{
	struct work *work = ctx;
	const struct sweep *sweep = work->sweep;

	while (work->next < work->all && (!shard_has(&sweep->shard, work->next) || sweep_store_has(work->db, work->next)))
		work->next++;
	if (work->next == work->all)
		return 0;
	work->slots[slot] = sweep_run_of(sweep, work->next++);
	return start_run(sweep, &work->slots[slot], cpu, err);
}

static int
ended(void *ctx, uint32_t slot, int status, struct err *err)
{
	struct work *work = ctx;
	const struct sweep_run *run = &work->slots[slot];
	struct err why = { 0 };
	char dir[PATH_MAX];
	int ret = status == EXIT_DONE ? sweep_store_add(work->db, work->sweep, run, dir_of(work->sweep, run, dir), &why)
				      : err_set(&why, -ENODATA, "rocelab run ended with status %d", status);

	if (ret == 0) {
		work->progress.done++;
		if (work->sweep->discard && job_discard(dir, &why) < 0)
			log_warning("%s", why.text);
	} else {
		runs_progress_end();
		log_warning("%s failed: %s; %s/" JOB_LOG " has details", dir_of(work->sweep, run, dir), why.text, dir);
		work->progress.expected--;
		work->broken++;
	}
	runs_progress_show(&work->progress, "");
	if (work->broken < MAX_BROKEN)
		return 0;
	return err_set(err, -EIO, "%u runs failed; fix the cause and repeat the command", work->broken);
}

int
sweep_make(const struct sweep *sweep, sqlite3 *db, struct err *err)
{
	const struct pool_ops ops = { start, ended };
	struct work *work = calloc(1, sizeof(*work));
	uint32_t missing = 0;
	int ret;

	if (work == NULL)
		return err_set(err, -ENOMEM, "out of memory");
	work->sweep = sweep;
	work->db = db;
	work->all = sweep_runs(sweep);
	for (uint32_t i = 0; i < work->all; i++)
		missing += shard_has(&sweep->shard, i) && !sweep_store_has(db, i);
	runs_progress_begin(&work->progress, missing);
	runs_progress_show(&work->progress, "");
	ret = pool_run(sweep->jobs, &ops, work, err);
	runs_progress_end();
	if (ret == 0)
		ret = (int)work->broken;
	free(work);
	return ret;
}
