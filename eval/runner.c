/* SPDX-License-Identifier: BSD-3-Clause */
#include "eval/runner.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/clock.h"
#include "common/log.h"
#include "eval/case_result.h"
#include "eval/eval_progress.h"
#include "eval/items.h"
#include "eval/job.h"
#include "eval/pool.h"

#define MAX_BROKEN 10 /* whatever breaks so many runs breaks the others, too: a full disk */

struct slot {
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
	uint32_t broken; /* runs */
	struct eval_progress progress;
	struct err *err;
};

char *
eval_case_dir(const struct eval *eval, const struct family *family, uint32_t index, const char *folder, char *buf,
	      size_t cap)
{
	snprintf(buf, cap, "%s/%s/%03u%s%s", eval->dir, family->name, index, folder != NULL ? "/" : "",
		 folder != NULL ? folder : "");
	return buf;
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

static pid_t
start_item(struct runner *runner, struct slot *slot, struct item *item, int cpu)
{
	const struct eval *eval = runner->eval;
	char dir[PATH_MAX], scenario[PATH_MAX], fabric[PATH_MAX], out[PATH_MAX];
	struct job_config config = { .scenario = scenario,
				     .fabric = fabric,
				     .out = out,
				     .sets = eval->source.sets,
				     .nsets = eval->source.nsets,
				     .cpu = cpu };
	const char *folder;
	pid_t ret = 0;

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
	eval_case_dir(eval, item->family, item->index, "case.cfg", scenario, sizeof(scenario));
	eval_case_dir(eval, item->family, item->index, folder, out, sizeof(out));
	eval_case_dir(eval, item->family, item->index, eval_fabric_folder(folder), fabric, sizeof(fabric));
	slot->start_ns = clock_now_ns();
	ret = job_start(&config, runner->err);
	if (ret < 0)
		return ret;
	if (slot->policy == NULL)
		item->state = ITEM_BUSY;
	else
		item_started(item, eval);
	return ret;
}

static pid_t
start(void *ctx, uint32_t number, int cpu, struct err *err)
{
	struct runner *runner = ctx;
	struct item *item = items_next(&runner->items);

	(void)err; /* the runner's own */
	return item != NULL ? start_item(runner, &runner->slots[number], item, cpu) : 0;
}

/* Tells of a run that is no result. @param lost  runs that are not to be expected any more @return 0, or -EIO: no more */
static int
run_broke(struct runner *runner, const struct item *item, const char *folder, uint32_t lost, const struct err *why)
{
	char dir[PATH_MAX];

	runner->progress.expected -= lost;
	eval_progress_end();
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

static int
ended(void *ctx, uint32_t number, int status, struct err *err)
{
	struct runner *runner = ctx;
	const struct slot *slot = &runner->slots[number];
	int ret = slot->policy == NULL ? truth_ended(runner, slot->item, status) : policy_ended(runner, slot, status);

	(void)err;
	eval_progress_show(&runner->progress);
	return ret;
}

int
runner_run(const struct eval *eval, struct err *err)
{
	const struct pool_ops ops = { start, ended };
	struct runner *runner = calloc(1, sizeof(*runner));
	char path[PATH_MAX];
	int ret;

	if (runner == NULL)
		return err_set(err, -ENOMEM, "out of memory");
	runner->eval = eval;
	runner->err = err;
	snprintf(path, sizeof(path), "%s/fabric.cfg", eval->dir);
	runner->network = case_network(path, &eval->source, err);
	runner->source = eval->source;
	runner->source.network = runner->network;
	ret = runner->network != NULL ? items_init(&runner->items, eval, err) : -EINVAL;
	eval_progress_begin(&runner->progress, items_left(&runner->items));
	eval_progress_show(&runner->progress);
	if (ret == 0)
		ret = pool_run(eval->jobs, &ops, runner, err);
	eval_progress_end();
	if (ret == 0)
		ret = (int)runner->broken;
	scenario_destroy(runner->network);
	items_fini(&runner->items);
	free(runner);
	return ret;
}
