/* SPDX-License-Identifier: BSD-3-Clause */
#include "twin/rerun/job.h"

#include <errno.h>
#include <limits.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/array.h"
#include "common/child.h"
#include "common/clock.h"
#include "common/err.h"
#include "common/input_file.h"
#include "common/interrupt.h"
#include "common/log.h"
#include "common/outfile.h"
#include "common/program.h"
#include "common/run_files.h"
#include "emulation/outputs/outputs.h"
#include "plugin/session.h"
#include "twin/rerun/text.h"

struct pool {
	const struct pool_ops *ops;
	void *ctx;
	uint32_t jobs;
	int cpus[POOL_MAX_JOBS];
	uint32_t ncpus;
	struct err *err;
	bool stopping;
};

/* The running jobs, by slot, for stop_jobs(); 0: none. */
static volatile sig_atomic_t pids[POOL_MAX_JOBS];

/* In a signal's handler, too. Their files are no result. */
static void
stop_jobs(void)
{
	for (uint32_t i = 0; i < POOL_MAX_JOBS; i++)
		if (pids[i] != 0)
			interrupt_pass_on((pid_t)pids[i]);
}

static int
start_some(struct pool *pool)
{
	for (uint32_t i = 0; i < pool->jobs && !interrupt_asked(); i++) {
		pid_t pid;

		if (pids[i] != 0)
			continue;
		pid = pool->ops->start(pool->ctx, i, pool->ncpus != 0 ? pool->cpus[i % pool->ncpus] : -1, pool->err);
		if (pid < 0)
			return pid;
		pids[i] = pid;
	}
	return 0;
}

static bool
is_busy(const struct pool *pool)
{
	for (uint32_t i = 0; i < pool->jobs; i++)
		if (pids[i] != 0)
			return true;
	return false;
}

/* Waits until one ends. */
static int
wait_for_one(struct pool *pool)
{
	int status;
	pid_t pid = waitpid(-1, &status, 0);
	uint32_t slot = 0;

	if (pid < 0)
		return errno == EINTR ? 0 : err_set(pool->err, -errno, "waiting for a run: %s", strerror(errno));
	while (slot < pool->jobs && pids[slot] != pid)
		slot++;
	if (slot == pool->jobs)
		return 0;
	pids[slot] = 0;
	if (interrupt_asked() || pool->stopping)
		return 0;
	return pool->ops->ended(pool->ctx, slot, WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status),
				pool->err);
}

int
pool_run(uint32_t jobs, const struct pool_ops *ops, void *ctx, struct err *err)
{
	const struct interrupt_actions actions = { .ask = stop_jobs };
	struct pool pool = { .ops = ops, .ctx = ctx, .jobs = jobs, .err = err };
	int ret = 0;

	pool.ncpus = job_cpus(pool.cpus, POOL_MAX_JOBS);
	interrupt_catch(&actions);
	for (;;) {
		if (ret == 0 && !interrupt_asked())
			ret = start_some(&pool);
		if (!is_busy(&pool))
			break;
		if ((ret < 0 || interrupt_asked()) && !pool.stopping) {
			stop_jobs();
			pool.stopping = true;
		}
		if (wait_for_one(&pool) < 0 && ret == 0)
			ret = -EIO; /* err has it; the others are waited for */
	}
	return ret == 0 && interrupt_asked() ? -EINTR : ret;
}

/* The running program, for end_program(). */
static volatile sig_atomic_t program_pid;

/* In a signal's handler. */
static void
end_program(void)
{
	if (program_pid > 0)
		interrupt_pass_on((pid_t)program_pid);
}

static void
prepare(const char *out, int on_cpu)
{
	const struct interrupt_actions actions = { .ask = end_program };
	char path[PATH_MAX];
	cpu_set_t cpus;
	int log;

	prctl(PR_SET_PDEATHSIG, SIGTERM);
	interrupt_catch(&actions);
	if (on_cpu >= 0) {
		CPU_ZERO(&cpus);
		CPU_SET(on_cpu, &cpus);
		sched_setaffinity(0, sizeof(cpus), &cpus);
	}
	snprintf(path, sizeof(path), "%s/" JOB_LOG, out);
	log = outfile_stream(path, NULL);
	if (log < 0)
		return;
	dup2(log, STDOUT_FILENO);
	dup2(log, STDERR_FILENO);
	close(log);
}

/* Runs a program to its end. @return its exit status, or negative errno with err set: it did not start */
static int
run_program(const char *folder, const struct child_args *args, struct err *err)
{
	char path[PATH_MAX], text[128];
	int status;
	pid_t pid;

	if (child_find(args->argv[0], folder, path, sizeof(path), err) < 0)
		return -ENOENT;
	pid = child_start(path, args, false, err);
	if (pid < 0)
		return pid;
	program_pid = pid;
	if (interrupt_asked()) /* before there was a program */
		interrupt_pass_on(pid);
	status = child_wait(pid);
	program_pid = 0;
	if (status != 0)
		printf("%s %s\n", args->argv[0], child_text(status, text, sizeof(text)));
	return status;
}

static int
run_fabric(const struct job_config *config, struct err *err)
{
	struct child_args args = { .argv = { "dpswitch", config->scenario, "--out", config->fabric, "--quiet" },
				   .count = 5 };
	struct variant_sets sets;
	int ret = variant_sets(config->policy, &sets, err);

	for (size_t i = 0; ret == 0 && i < config->nsets + sets.count; i++) {
		ret = child_add(&args, "--set", err);
		if (ret == 0)
			ret = child_add(&args, i < config->nsets ? config->sets[i] : sets.text[i - config->nsets], err);
	}
	return ret < 0 ? ret : run_program("dpswitch", &args, err);
}

/* The diagnoser that an analyzer runs, and its options. */
struct question {
	const char *out;       /* folder of its verdict */
	const char *diagnoser; /* NULL: all */
	const char *program;   /* of this path; NULL: one of ours */
	const char *option;    /* NULL: none */
	bool times;
};

/* @return its exit status, or negative errno with err */
static int
run_analyzer(const struct job_config *config, const struct question *question, struct err *err)
{
	char records[PATH_MAX], plugin[PATH_MAX], cpu[PATH_MAX];
	struct child_args args = { .argv = { "analyzer", "--read", records, "--out", question->out }, .count = 5 };
	const char *const more[] = { "--diagnoser", question->diagnoser, "--cpu", cpu, "--plugins",
				     plugin,        "--allow-left-out" };
	size_t count = question->diagnoser == NULL ? 0 : question->program == NULL ? 4 : ARRAY_LEN(more);
	int ret = 0;

	snprintf(records, sizeof(records), "%s/" JOB_RECORDS, config->fabric);
	snprintf(plugin, sizeof(plugin), "%s/" RUN_PLUGIN, question->out);
	snprintf(cpu, sizeof(cpu), "%s/" JOB_ANALYSIS, question->out);
	for (size_t i = 0; ret == 0 && i < count; i++)
		ret = child_add(&args, more[i], err);
	if (ret == 0 && question->option != NULL)
		ret = child_add(&args, question->option, err);
	if (ret == 0 && question->times)
		ret = child_add(&args, "--detection-times", err);
	return ret < 0 ? ret : run_program("diag", &args, err);
}

/* Of this process and its children so far. */
static double
cpu_s(void)
{
	struct rusage usage;

	getrusage(RUSAGE_CHILDREN, &usage);
	return (double)clock_cpu_ns() / 1e9 + (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
	       (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1e6;
}

/* Has a program diagnose the recording, to plugins.json. @return 0 or negative errno with err */
static int
ask_program(const struct job_config *config, const struct question *question, struct err *err)
{
	char records[PATH_MAX], plugin[PATH_MAX];

	snprintf(records, sizeof(records), "%s/" JOB_RECORDS, config->fabric);
	snprintf(plugin, sizeof(plugin), "%s/" RUN_PLUGIN, question->out);
	return plugin_replay(records, &question->program, 1, plugin, interrupt_asked, err);
}

/* Adds to the analyzer's output. @return 0 or negative errno with err */
static int
add_cpu(const char *out, double more_s, struct err *err)
{
	char path[PATH_MAX + 32];
	json_t *analysis;
	int ret;

	snprintf(path, sizeof(path), "%s/" JOB_ANALYSIS, out);
	analysis = input_json(path, 0, NULL);
	more_s += json_number_value(json_object_get(analysis, "cpu_s"));
	ret = analysis != NULL ? output_json(json_pack("{s:f}", "cpu_s", more_s), out, JOB_ANALYSIS, err)
			       : err_set(err, -EIO, "%s cannot be read", path);
	json_decref(analysis);
	return ret;
}

static int
run_diagnoser(const struct job_config *config, size_t index, struct err *err)
{
	char out[PATH_MAX];
	const struct question question = { .out = out,
					   .diagnoser = config->diagnosers[index],
					   .program = config->programs != NULL ? config->programs[index] : NULL,
					   .times = config->detection_times };
	double before_s = cpu_s(), program_s = 0;
	int ret;

	snprintf(out, sizeof(out), "%s/%s", config->out, question.diagnoser);
	ret = run_dir_make(out, err);
	if (ret >= 0 && question.program != NULL)
		ret = ask_program(config, &question, err);
	program_s = cpu_s() - before_s;
	if (ret >= 0)
		ret = run_analyzer(config, &question, err);
	return ret == 0 && question.program != NULL ? add_cpu(out, program_s, err) : ret;
}

/* @return 0, the exit status of one that failed, or negative errno with err */
static int
run_analyzers(const struct job_config *config, struct err *err)
{
	int ret = config->ndiagnosers == 0 ? run_analyzer(config, &(struct question){ .out = config->out }, err) : 0;

	for (size_t i = 0; ret == 0 && i < config->ndiagnosers && !interrupt_asked(); i++)
		ret = run_diagnoser(config, i, err);
	if (ret == 0 && config->again != NULL && !interrupt_asked())
		ret = run_dir_make(config->again_out, err);
	if (ret >= 0 && config->again != NULL && !interrupt_asked())
		ret = run_analyzer(config, &(struct question){ .out = config->again_out, .option = config->again }, err);
	return ret;
}

static enum job_status
run(const struct job_config *config)
{
	struct err err = { 0 };
	int fabric = config->policy != NULL ? run_fabric(config, &err) : 0;
	int analyzer = fabric != EXIT_FAILED && exit_code_is_of_run(fabric) && config->diagnose && !interrupt_asked()
			       ? run_analyzers(config, &err)
			       : 0;

	if (fabric < 0 || analyzer < 0) {
		log_error("%s", err.text);
		return JOB_NOT_STARTED;
	}
	if (!exit_code_is_of_run(fabric) || fabric == EXIT_FAILED)
		return JOB_FABRIC_FAILED;
	return analyzer == 0 ? JOB_DONE : JOB_NO_VERDICT;
}

/* Makes the process of a job. @return 0 in it, its pid in the caller, or negative errno with err set */
static pid_t
fork_job(const char *out, int cpu, struct err *err)
{
	int ret = run_dir_make(out, err);
	sigset_t before;
	pid_t pid;

	if (ret < 0)
		return ret;
	fflush(NULL);
	pid = child_fork(&before);
	ret = -errno;
	if (pid == 0)
		prepare(out, cpu);
	sigprocmask(SIG_SETMASK, &before, NULL);
	return pid < 0 ? err_set(err, ret, "%s: %s", out, strerror(-ret)) : pid;
}

pid_t
job_start(const struct job_config *config, struct err *err)
{
	pid_t pid = fork_job(config->out, config->cpu, err);
	int ret;

	if (pid != 0)
		return pid;
	ret = run(config);
	fflush(NULL);
	_exit(ret);
}

pid_t
job_start_program(const char *folder, const struct child_args *args, const char *out, int cpu, struct err *err)
{
	pid_t pid = fork_job(out, cpu, err);
	struct err why = { 0 };
	int ret;

	if (pid != 0)
		return pid;
	ret = run_program(folder, args, &why);
	if (ret < 0)
		log_error("%s", why.text);
	fflush(NULL);
	_exit(ret < 0 ? EXIT_NOT_BEGUN : ret >= CHILD_KILLED ? EXIT_FAILED : ret);
}

int
job_check(const char *dir, const char *fabric, int status, struct err *err)
{
	static const char *const texts[] = {
		[JOB_FABRIC_FAILED] = "the fabric failed",
		[JOB_NO_VERDICT] = "the analyzer failed",
		[JOB_NOT_STARTED] = "the programs did not start",
	};
	char path[PATH_MAX];
	json_t *run;
	int ret = 0;

	if (status != JOB_DONE)
		return err_set(err, -ENODATA, "%s", status <= JOB_NOT_STARTED ? texts[status] : "its process broke");
	snprintf(path, sizeof(path), "%s/%s/" RUN_SUMMARY, dir, fabric);
	run = input_json(path, 0, NULL);
	if (run == NULL)
		ret = err_set(err, -ENODATA, "run.json cannot be read");
	else if (strcmp(json_text(run, "end_reason"), "interrupt") == 0)
		ret = err_set(err, -ENODATA, "the fabric was interrupted");
	json_decref(run);
	return ret;
}

int
job_discard(const char *dir, struct err *err)
{
	char path[PATH_MAX + 16];
	int ret = run_files_remove(dir, err);

	if (ret == 0)
		ret = run_files_remove_guests(dir, err);
	if (ret == 0)
		ret = run_files_remove_systems(dir, err);
	snprintf(path, sizeof(path), "%s/" JOB_LOG, dir);
	unlink(path);
	rmdir(dir);
	return ret;
}

uint32_t
job_cpus(int *cpus, uint32_t cap)
{
	uint32_t count = 0;
	cpu_set_t set;

	if (sched_getaffinity(0, sizeof(set), &set) < 0)
		return 0;
	for (int cpu = 0; cpu < CPU_SETSIZE && count < cap; cpu++)
		if (CPU_ISSET(cpu, &set))
			cpus[count++] = cpu;
	return count;
}

void
runs_progress_begin(struct runs_progress *progress, uint32_t expected)
{
	*progress = (struct runs_progress){ .expected = expected, .start_ns = clock_now_ns() };
}

void
runs_progress_show(const struct runs_progress *progress, const char *remark)
{
	double elapsed_s = (double)(clock_now_ns() - progress->start_ns) / 1e9;
	double left_s = progress->done != 0 ? elapsed_s / progress->done * (progress->expected - progress->done) : 0;
	char left[48] = "";

	if (progress->done != 0)
		snprintf(left, sizeof(left), ", about %.0f:%02.0f min left", (double)((uint64_t)left_s / 60),
			 (double)((uint64_t)left_s % 60));
	progress_line("%u of %u runs%s%s", progress->done, progress->expected, remark, left);
}

void
runs_progress_end(void)
{
	progress_line("%s", "");
}

int
variant_sets(const char *name, struct variant_sets *sets, struct err *err)
{
	char copy[VARIANT_NAME], *save = NULL;

	*sets = (struct variant_sets){ .count = 0 };
	if (snprintf(copy, sizeof(copy), "%s", name) >= (int)sizeof(copy))
		return err_set(err, -EINVAL, "policy \"%s\": at most %d characters", name, VARIANT_NAME - 1);
	for (char *word = strtok_r(copy, "+", &save); word != NULL; word = strtok_r(NULL, "+", &save)) {
		char *text = sets->text[sets->count];
		const char *equals = strchr(word, '=');
		int used;

		if (sets->count == VARIANT_MAX_SETS)
			return err_set(err, -EINVAL, "policy \"%s\": at most %d keys", name, VARIANT_MAX_SETS - 1);
		if (sets->count != 0 && equals == NULL)
			return err_set(err, -EINVAL, "policy \"%s\": \"%s\" is no KEY=VALUE, as in vedrfolnir+detections=1",
				       name, word);
		if (sets->count == 0)
			used = snprintf(text, VARIANT_NAME, "detection.policy=%s", word);
		else
			used = snprintf(text, VARIANT_NAME, "%s%s",
					memchr(word, '.', (size_t)(equals - word)) == NULL ? "detection." : "", word);
		if (used >= VARIANT_NAME)
			return err_set(err, -EINVAL, "policy \"%s\": \"%s\" is too long", name, word);
		sets->count++;
	}
	return sets->count != 0 ? 0 : err_set(err, -EINVAL, "policy \"%s\": name one", name);
}
