/* SPDX-License-Identifier: BSD-3-Clause */
#include "eval/compare/score.h"

#include <errno.h>
#include <inttypes.h>
#include <jansson.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/array.h"
#include "common/input_file.h"
#include "common/log.h"
#include "common/run_files.h"
#include "emulation/outputs/outputs.h"
#include "eval/case_result.h"
#include "eval/store.h"
#include "scenario/scenario.h"
#include "twin/rerun/job.h"

/* The origin of the cases in a folder. */

/* Digests of programs' files by name: another version's findings are not this one's. @return NULL: out of memory */
static json_t *
programs_json(void)
{
	json_t *programs = json_object();
	char digest[20];

	for (uint32_t i = 0; compare_program(i) != NULL; i++) {
		snprintf(digest, sizeof(digest), "%016" PRIx64, case_file_digest(compare_program(i)->program));
		json_object_set_new(programs, compare_program(i)->name, json_string(digest));
	}
	return programs;
}

static json_t *
corpus_json(const struct compare_study *study)
{
	return json_pack("{s:i, s:I, s:f, s:b, s:o}", "version", COMPARE_VERSION, "seed", (json_int_t)study->seed, "scale",
			 study->scale, "detection_times", study->times, "programs", programs_json());
}

/* @return a program that was another file when its results were made, or NULL */
static const char *
changed_program(const json_t *was, const json_t *is)
{
	const char *name;
	json_t *digest;

	json_object_foreach((json_t *)is, name, digest) {
		const json_t *before = json_object_get(was, name);

		if (before != NULL && !json_equal(before, digest))
			return name;
	}
	return NULL;
}

/* @param text  [size] the origin of cases, in words */
static void
describe_corpus(const json_t *corpus, char *text, size_t size)
{
	json_t *programs = json_object_get(corpus, "programs");
	int used = snprintf(text, size, "version %lld, seed %lld, scale %g, %s times to detection, ",
			    (long long)json_integer_value(json_object_get(corpus, "version")),
			    (long long)json_integer_value(json_object_get(corpus, "seed")),
			    json_number_value(json_object_get(corpus, "scale")),
			    json_is_true(json_object_get(corpus, "detection_times")) ? "with" : "without");
	const char *name, *between = "program ";
	json_t *digest;

	if (json_object_size(programs) == 0)
		snprintf(text + used, size - (size_t)used, "no plugin diagnoser");
	json_object_foreach(programs, name, digest) {
		if ((size_t)used < size)
			used += snprintf(text + used, size - (size_t)used, "%s%s", between, name);
		between = ", ";
	}
}

/* @return 0; -EINVAL with err: of something else, or it cannot be read; -ENOENT: it is not recorded */
static int
compare_folder_check(const struct compare_study *study, const char *root, struct err *err)
{
	char path[PATH_MAX], text[512];
	const char *changed;
	json_t *was, *is;
	int ret = 0;

	snprintf(path, sizeof(path), "%s/" COMPARE_CORPUS, root);
	was = input_json(path, 0, NULL);
	if (was == NULL)
		return access(path, F_OK) == 0
			       ? err_set(err, -EINVAL, "%s is no JSON; remove it with the cases beside it", path)
			       : -ENOENT;
	is = corpus_json(study);
	changed = changed_program(json_object_get(was, "programs"), json_object_get(is, "programs"));
	if (changed != NULL) {
		ret = err_set(err, -EINVAL,
			      "%s: %s has changed since the cases there were run with it; give another folder, or remove "
			      "this one",
			      root, changed);
	} else if (!json_equal(was, is)) {
		describe_corpus(was, text, sizeof(text));
		ret = err_set(err, -EINVAL, "%s: the cases there are of %s; ask for the same, or give another folder", root,
			      text);
	}
	json_decref(was);
	json_decref(is);
	return ret;
}

/* Checks the same, and records it in a folder without a record. @return 0 or negative errno with err */
static int
compare_folder_begin(const struct compare_study *study, const char *root, struct err *err)
{
	int ret = compare_folder_check(study, root, err);

	if (ret != -ENOENT)
		return ret;
	return output_json(corpus_json(study), root, COMPARE_CORPUS, err);
}

#define MAX_BROKEN 10 /* a cause that breaks this many runs breaks the others, too: a full disk */
#define CASE_FILE "case.cfg"

struct todo {
	uint32_t number;
	const struct compare_run *run;
};

struct work {
	struct compare_study *study;
	struct todo *todo; /* [ntodo] in order of cases */
	uint32_t ntodo, started, done;
	struct todo slots[POOL_MAX_JOBS];
};

/* The folder of a case, in one of the study's. @param dir  PATH_MAX @return it */
static char *
compare_case_dir(const char *root, uint32_t number, char *dir)
{
	snprintf(dir, PATH_MAX, "%s/%04u", root, number);
	return dir;
}

static char *
run_dir_of(const char *root, const struct todo *todo, char *dir)
{
	snprintf(dir, PATH_MAX, "%s/%04u/%s", root, todo->number, todo->run->name);
	return dir;
}

static bool
is_there(const char *dir, const char *name)
{
	char path[PATH_MAX + 32];

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	return access(path, R_OK) == 0;
}

/* A run's recording goes last: where there is a summary and no recording, all of it is done. */
static bool
is_done(const char *root, const struct todo *todo)
{
	char dir[PATH_MAX];

	run_dir_of(root, todo, dir);
	return is_there(dir, RUN_SUMMARY) && !is_there(dir, RUN_RECORDING);
}

/* ---- cases ---- */

/* Writes a case. Results beside it are of the case that is there: it must be the same. */
static int
make_case(const struct compare_study *study, uint32_t number, struct err *err)
{
	char dir[PATH_MAX], path[PATH_MAX + 32];
	uint64_t before;
	int ret;

	compare_case_dir(study->dir, number, dir);
	ret = run_dir_make(dir, err);
	if (ret < 0)
		return ret;
	snprintf(path, sizeof(path), "%s/" CASE_FILE, dir);
	before = case_file_set_aside(path);
	ret = compare_make(number, study->seed, study->scale, path, err);
	return ret == 0 ? case_file_check(path, before, err) : ret;
}

/* ---- runs ---- */

/* Cases are written, and those runs listed that are not done. */
static int
list_todo(struct work *work, struct err *err)
{
	struct compare_study *study = work->study;
	int ret = compare_folder_begin(study, study->dir, err);

	for (uint32_t number = 0; ret == 0 && number < study->cases; number++) {
		const struct compare_cell cell = compare_cell(number);

		if (!shard_has(study->shard, number))
			continue;
		ret = make_case(study, number, err);
		for (uint32_t r = 0; r < compare_nruns; r++) {
			struct todo todo = { number, &compare_runs[r] };

			if (compare_has_run(&cell, todo.run) && !is_done(study->dir, &todo))
				work->todo[work->ntodo++] = todo;
		}
	}
	return ret;
}

/*
 * The keys that a run has besides its policy. @return how many, or negative errno with err: the fault to leave out is
 * not known
 */
static int
keys_of(const struct todo *todo, const struct scenario *scenario, char texts[COMPARE_MAX_SETS][SUSPECT_SET],
	struct err *err)
{
	const struct compare_cell cell = compare_cell(todo->number);
	const struct compare_run *run = todo->run;
	struct suspects suspects = { 0 };
	int count = 0, ret = 0;

	for (size_t i = 0; i < ARRAY_LEN(run->keys) && run->keys[i] != NULL; i++)
		snprintf(texts[count++], SUSPECT_SET, "%s", run->keys[i]);
	if (run->volumes && cell.fabric->is_sprayed)
		snprintf(texts[count++], SUSPECT_SET, "flowpulse.enabled=true");
	if (run->probes && cell.fault->probed != NULL)
		snprintf(texts[count++], SUSPECT_SET, "%s", cell.fault->probed);
	if (run->without_fault || run->without_background)
		ret = compare_parts(cell.fault, scenario, &suspects, err);
	for (size_t s = 0; s < suspects.count && count < COMPARE_MAX_SETS; s++)
		if (compare_is_background(&suspects.at[s]) ? run->without_background : run->without_fault)
			snprintf(texts[count++], SUSPECT_SET, "%s", suspects.at[s].set);
	suspects_fini(&suspects);
	return ret < 0 ? ret : count;
}

static pid_t
start_run(struct work *work, const struct todo *todo, int cpu, struct err *err)
{
	char dir[PATH_MAX], path[PATH_MAX + 32], texts[COMPARE_MAX_SETS][SUSPECT_SET];
	const char *sets[COMPARE_MAX_SETS], *diagnosers[COMPARE_MAX_SYSTEMS], *programs[COMPARE_MAX_SYSTEMS];
	struct scenario_options from = { .path = path };
	struct scenario *scenario;
	int nsets;
	struct job_config config = { .scenario = path,
				     .fabric = run_dir_of(work->study->dir, todo, dir),
				     .out = dir,
				     .policy = todo->run->policy,
				     .diagnose = todo->run->diagnosed,
				     .diagnosers = diagnosers,
				     .programs = programs,
				     .detection_times = work->study->times,
				     .sets = sets,
				     .cpu = cpu };

	snprintf(path, sizeof(path), "%s/%04u/" CASE_FILE, work->study->dir, todo->number);
	scenario = scenario_load(&from, err);
	if (scenario == NULL)
		return -EINVAL;
	nsets = keys_of(todo, scenario, texts, err);
	scenario_destroy(scenario);
	if (nsets < 0)
		return nsets;
	config.nsets = (size_t)nsets;
	for (size_t i = 0; i < config.nsets; i++)
		sets[i] = texts[i];
	config.ndiagnosers = compare_diagnosers(todo->run, diagnosers, programs);
	return job_start(&config, err);
}

static pid_t
start(void *ctx, uint32_t slot, int cpu, struct err *err)
{
	struct work *work = ctx;

	if (work->started == work->ntodo)
		return 0;
	work->slots[slot] = work->todo[work->started++];
	return start_run(work, &work->slots[slot], cpu, err);
}

static void
show(const struct work *work)
{
	progress_line("%u of %u runs", work->done, work->ntodo);
}

static void
remove_all(const char *dir, const char *const *files, size_t count)
{
	char path[PATH_MAX + 128];

	for (size_t i = 0; i < count; i++) {
		snprintf(path, sizeof(path), "%s/%s", dir, files[i]);
		unlink(path);
	}
}

/* Removes files that are no longer needed: all but the summary, and the verdicts with their reports for people. */
static void
tidy(const char *dir, const struct compare_run *run)
{
	static const char *const drawn[] = { RUN_PAGE,    RUN_STEPS, RUN_WAITING, RUN_PROVENANCE,
					     RUN_VOLUMES, RUN_PATHS, RUN_PINGMESH };
	static const char *const run_files[] = { RUN_CONFIG, RUN_STEPS, RUN_FLOWS, RUN_TRUTH, RUN_RECORDING };
	const char *diagnosers[COMPARE_MAX_SYSTEMS], *programs[COMPARE_MAX_SYSTEMS];
	size_t count = compare_diagnosers(run, diagnosers, programs);
	char path[PATH_MAX + 64];

	for (size_t i = 0; i < count; i++) {
		snprintf(path, sizeof(path), "%s/%s", dir, diagnosers[i]);
		remove_all(path, drawn, ARRAY_LEN(drawn));
	}
	remove_all(dir, run_files, ARRAY_LEN(run_files));
}

static int
ended(void *ctx, uint32_t slot, int status, struct err *err)
{
	struct work *work = ctx;
	const struct todo *todo = &work->slots[slot];
	char dir[PATH_MAX], case_dir[PATH_MAX];
	struct err why = { 0 };

	run_dir_of(work->study->dir, todo, dir);
	compare_case_dir(work->study->dir, todo->number, case_dir);
	if (job_check(case_dir, todo->run->name, status, &why) == 0) {
		tidy(dir, todo->run);
		work->done++;
		show(work);
		return 0;
	}
	progress_line("%s", "");
	log_warning("%s failed: %s; see log.txt there", dir, why.text);
	if (++work->study->broken < MAX_BROKEN)
		return 0;
	return err_set(err, -EIO, "%u runs failed; fix the cause and repeat the command", work->study->broken);
}

static int
run_todo(struct compare_study *study, struct err *err)
{
	const struct pool_ops ops = { start, ended };
	struct work work = { .study = study, .todo = calloc((size_t)study->cases * compare_nruns, sizeof(*work.todo)) };
	int ret = work.todo != NULL ? list_todo(&work, err) : err_set(err, -ENOMEM, "out of memory");

	if (ret == 0)
		ret = shard_check(study->shard, work.ntodo, err);
	if (ret == 0) {
		show(&work);
		ret = pool_run(study->jobs, &ops, &work, err);
		progress_line("%s", "");
	}
	free(work.todo);
	return ret;
}

/* ---- scores ---- */

/* Are all runs of a case done? */
static bool
is_complete(const struct compare_study *study, uint32_t number)
{
	const struct compare_cell cell = compare_cell(number);
	bool all = true;

	for (uint32_t r = 0; r < compare_nruns; r++)
		all &= !compare_has_run(&cell, &compare_runs[r]) ||
		       is_done(study->dir, &(struct todo){ number, &compare_runs[r] });
	return all;
}

static int
score_all(struct compare_study *study, struct err *err)
{
	int ret = 0;

	for (uint32_t number = 0; ret == 0 && number < study->cases; number++) {
		struct compare_row *row = &study->rows[study->nrows];
		char dir[PATH_MAX];

		if (!shard_has(study->shard, number) || !is_complete(study, number))
			continue;
		row->number = number;
		ret = compare_score(compare_case_dir(study->dir, number, dir), row, err);
		study->nrows += ret == 0;
	}
	return ret;
}

int
compare_study_run(struct compare_study *study, struct err *err)
{
	int ret;

	study->rows = calloc(study->cases, sizeof(*study->rows));
	if (study->rows == NULL)
		return err_set(err, -ENOMEM, "out of memory for %u cases", study->cases);
	ret = run_todo(study, err);
	return ret == 0 ? score_all(study, err) : ret;
}

void
compare_study_fini(struct compare_study *study)
{
	free(study->rows);
	study->rows = NULL;
	study->nrows = 0;
}
