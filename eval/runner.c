/* SPDX-License-Identifier: BSD-3-Clause */
#include "eval/runner.h"

#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/interrupt.h"
#include "common/log.h"
#include "eval/case_result.h"
#include "eval/eval_progress.h"
#include "eval/items.h"
#include "eval/job.h"

#define MAX_BROKEN 10 /* whatever breaks so many runs breaks the others, too: a full disk */

struct slot {
	pid_t pid; /* 0: free */
	struct item *item;
	const char *policy; /* NULL: the run for the truth */
	uint64_t start_ns;
};

struct runner {
	const struct eval *eval;
	struct case_source source; /* the evaluation's, with the network */
	struct scenario *network;
	struct items items;
	struct slot slots[EVAL_MAX_JOBS];
	int cpus[EVAL_MAX_JOBS];
	uint32_t ncpus;
	uint32_t broken; /* runs */
	struct eval_progress progress;
	struct err *err;
};

/* The jobs under way, for stop_jobs(); 0: none. */
static volatile sig_atomic_t job_pids[EVAL_MAX_JOBS];

/* In a signal's handler, too. What they leave behind is no result. */
static void
stop_jobs(void)
{
	for (uint32_t i = 0; i < EVAL_MAX_JOBS; i++)
		if (job_pids[i] != 0)
			interrupt_pass_on((pid_t)job_pids[i]);
}

static void
set_pid(struct runner *runner, struct slot *slot, pid_t pid)
{
	slot->pid = pid;
	job_pids[slot - runner->slots] = pid;
}

/* What a job runs: the fabric for the truth; else for a policy, unless that is what the truth is from, and the diagnosis. */
static void
choose(const struct item *item, const struct eval *eval, const char *policy, struct job_config *config)
{
	config->diagnose = policy != NULL;
	if (policy == NULL)
		config->policy = item_awaits_truths_verdict(item, eval) ? EVAL_OUT_OF_BAND : "off";
	else
		config->policy = strcmp(policy, EVAL_OUT_OF_BAND) != 0 ? policy : NULL;
}

static int
start(struct runner *runner, struct slot *slot, struct item *item)
{
	const struct eval *eval = runner->eval;
	uint32_t number = (uint32_t)(slot - runner->slots);
	char dir[PATH_MAX], scenario[PATH_MAX], fabric[PATH_MAX], out[PATH_MAX];
	struct job_config config = {
		.scenario = scenario, .fabric = fabric, .out = out, .sets = eval->source.sets, .nsets = eval->source.nsets
	};
	const char *folder;
	int ret = 0;

	slot->item = item;
	slot->policy = item->state == ITEM_RIGHT ? eval->policies[item->next] : NULL;
	eval_case_dir(eval, item->family, item->index, NULL, dir, sizeof(dir));
	if (slot->policy == NULL) {
		case_result_forget_truth(dir);
		ret = item_make(item, eval, &runner->source, runner->err);
	}
	if (ret < 0)
		return ret;
	choose(item, eval, slot->policy, &config);
	folder = slot->policy != NULL ? slot->policy : EVAL_TRUTH;
	config.cpu = runner->ncpus != 0 ? runner->cpus[number % runner->ncpus] : -1;
	eval_case_dir(eval, item->family, item->index, "case.cfg", scenario, sizeof(scenario));
	eval_case_dir(eval, item->family, item->index, folder, out, sizeof(out));
	eval_case_dir(eval, item->family, item->index, eval_fabric_folder(folder), fabric, sizeof(fabric));
	slot->start_ns = clock_now_ns();
	ret = (int)job_start(&config, runner->err);
	if (ret < 0)
		return ret;
	set_pid(runner, slot, ret);
	if (slot->policy == NULL)
		item->state = ITEM_BUSY;
	else
		item_started(item, eval);
	return 0;
}

/* Tells of a run that is no result. @param lost  runs that are not to be expected any more @return 0, or -EIO: no more */
static int
run_broke(struct runner *runner, const struct item *item, const char *folder, uint32_t lost, const struct err *why)
{
	char dir[PATH_MAX];

	runner->progress.expected -= lost;
	eval_progress_end(&runner->progress);
	log_warning("%s failed: %s; log.txt there says more",
		    eval_case_dir(runner->eval, item->family, item->index, folder, dir, sizeof(dir)), why->text);
	if (++runner->broken < MAX_BROKEN)
		return 0;
	return err_set(runner->err, -EIO, "%u runs failed; the same command goes on when that is mended", runner->broken);
}

static int
truth_ended(struct runner *runner, struct item *item, int status)
{
	const struct eval *eval = runner->eval;
	struct err why = { 0 };
	char dir[PATH_MAX];

	eval_case_dir(eval, item->family, item->index, NULL, dir, sizeof(dir));
	if (case_result_check(dir, EVAL_TRUTH, status, &why) < 0) {
		case_result_forget_truth(dir);
		item->state = ITEM_BROKEN;
		return run_broke(runner, item, EVAL_TRUTH, eval->npolicies - item->next, &why);
	}
	return item_judge(item, eval, runner->err);
}

static int
policy_ended(struct runner *runner, const struct slot *slot, int status)
{
	const struct eval *eval = runner->eval;
	const char *fabric = eval_fabric_folder(slot->policy);
	struct store_run run = { .index = slot->item->index };
	struct err why = { 0 };
	char dir[PATH_MAX];
	int ret;

	snprintf(run.family, sizeof(run.family), "%s", slot->item->family->name);
	snprintf(run.policy, sizeof(run.policy), "%s", slot->policy);
	run.wall_s = (double)(clock_now_ns() - slot->start_ns) / 1e9;
	eval_case_dir(eval, slot->item->family, slot->item->index, NULL, dir, sizeof(dir));
	ret = case_result_check(dir, fabric, status, &why);
	if (ret == 0)
		ret = case_result(dir, fabric, &run, &why);
	if (ret == -ENODATA)
		return run_broke(runner, slot->item, slot->policy, 1, &why);
	if (ret < 0)
		return err_set(runner->err, ret, "%s", why.text);
	case_result_tidy(dir, slot->policy, run.outcome != OUTCOME_TP);
	if (strcmp(fabric, slot->policy) != 0)
		case_result_tidy(dir, fabric, run.outcome != OUTCOME_TP);
	eval_progress_done(&runner->progress, run.outcome != OUTCOME_TP);
	return store_add_run(eval->store, &run, runner->err);
}

static struct slot *
slot_of(struct runner *runner, pid_t pid)
{
	for (uint32_t i = 0; i < runner->eval->jobs; i++)
		if (runner->slots[i].pid == pid)
			return &runner->slots[i];
	return NULL;
}

/* Waits until one ends. What one that was stopped leaves behind is no result. */
static int
wait_for_one(struct runner *runner)
{
	struct slot *slot;
	int status, ret;
	pid_t pid = waitpid(-1, &status, 0);

	if (pid < 0)
		return errno == EINTR ? 0 : err_set(runner->err, -errno, "waiting for a run: %s", strerror(errno));
	slot = slot_of(runner, pid);
	if (slot == NULL)
		return 0;
	set_pid(runner, slot, 0);
	if (interrupt_asked() || runner->err->text[0] != '\0') /* stopped by stop_jobs() */
		return 0;
	status = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
	ret = slot->policy == NULL ? truth_ended(runner, slot->item, status) : policy_ended(runner, slot, status);
	eval_progress_show(&runner->progress);
	return ret;
}

static bool
busy(const struct runner *runner)
{
	for (uint32_t i = 0; i < runner->eval->jobs; i++)
		if (runner->slots[i].pid != 0)
			return true;
	return false;
}

static int
run_items(struct runner *runner)
{
	bool stopped = false;
	int ret = 0;

	for (;;) {
		for (uint32_t i = 0; ret == 0 && !interrupt_asked() && i < runner->eval->jobs; i++) {
			struct item *item = runner->slots[i].pid == 0 ? items_next(&runner->items) : NULL;

			if (item != NULL)
				ret = start(runner, &runner->slots[i], item);
		}
		if (!busy(runner))
			break;
		if ((ret < 0 || interrupt_asked()) && !stopped) {
			stop_jobs();
			stopped = true;
		}
		if (wait_for_one(runner) < 0)
			ret = -EIO; /* err has it; the others are waited for */
	}
	return ret == 0 && interrupt_asked() ? -EINTR : ret;
}

int
runner_run(const struct eval *eval, struct err *err)
{
	const struct interrupt_actions actions = { .ask = stop_jobs };
	struct runner *runner = calloc(1, sizeof(*runner));
	char path[PATH_MAX];
	int ret;

	if (runner == NULL)
		return err_set(err, -ENOMEM, "out of memory");
	runner->eval = eval;
	runner->err = err;
	runner->ncpus = job_cpus(runner->cpus, EVAL_MAX_JOBS);
	interrupt_catch(&actions);
	snprintf(path, sizeof(path), "%s/fabric.cfg", eval->dir);
	runner->network = case_network(path, &eval->source, err);
	runner->source = eval->source;
	runner->source.network = runner->network;
	ret = runner->network != NULL ? items_init(&runner->items, eval, err) : -EINVAL;
	eval_progress_begin(&runner->progress, items_left(&runner->items));
	eval_progress_show(&runner->progress);
	if (ret == 0)
		ret = run_items(runner);
	eval_progress_end(&runner->progress);
	if (ret == 0)
		ret = (int)runner->broken;
	scenario_destroy(runner->network);
	items_fini(&runner->items);
	free(runner);
	return ret;
}
