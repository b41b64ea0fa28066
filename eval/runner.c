/* SPDX-License-Identifier: BSD-3-Clause */
#include "eval/eval.h"

#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/log.h"
#include "common/run_files.h"
#include "eval/case_result.h"
#include "eval/judge.h"
#include "eval/place.h"
#include "scenario/scenario.h"
#include "twin/rerun/job.h"

/* The cases of an evaluation, and the progress of each. */

/* Policies are run in order; up to next they have been started, were done before, or are of another shard. */
struct item {
	const struct family *family;
	uint32_t index, attempt;
	/* BUSY: its truth is being found; BROKEN: the run for it did not end */
	enum { ITEM_NEW, ITEM_BUSY, ITEM_RIGHT, ITEM_BROKEN } state;
	uint32_t next;
};

struct items {
	const struct eval *eval;
	struct item *at;
	uint32_t count;
};

static bool item_awaits_truths_verdict(const struct item *item, const struct eval *eval);

#define MAX_ATTEMPTS 50 /* a family that is wrong by construction so often in a row is broken */

/* Can the files of a case be read, and its truth? Missing or incomplete files are made again. */
static bool
is_there(const struct eval *eval, const struct item *item)
{
	char dir[PATH_MAX], path[PATH_MAX];
	struct scenario_options options = { .path = path, .nsets = eval->source.nsets };
	struct err err = { 0 };
	struct scenario *scenario;
	struct truth truth;

	memcpy(options.sets, eval->source.sets, options.nsets * sizeof(options.sets[0]));
	eval_case_dir(eval, item->family, item->index, EVAL_TRUTH "/" JOB_RECORDS, path, sizeof(path));
	if (item_awaits_truths_verdict(item, eval) && access(path, R_OK) < 0)
		return false;
	eval_case_dir(eval, item->family, item->index, "case.cfg", path, sizeof(path));
	eval_case_dir(eval, item->family, item->index, NULL, dir, sizeof(dir));
	if (job_check(dir, EVAL_TRUTH, JOB_DONE, &err) < 0 || truth_load(&truth, dir, EVAL_TRUTH, &err) < 0)
		return false;
	truth_fini(&truth);
	scenario = scenario_load(&options, &err);
	scenario_destroy(scenario);
	return scenario != NULL;
}

/* Passes over policies that the store has. */
static void
skip_done(struct item *item, const struct eval *eval)
{
	while (item->next < eval->npolicies &&
	       store_has_run(eval->store, item->family->name, item->index, eval->policies[item->next]))
		item->next++;
}

/* All cases of all families, as far as the store and the files have them. @return 0 or -ENOMEM with err */
static int
items_init(struct items *items, const struct eval *eval, struct err *err)
{
	uint32_t count = 0;

	for (uint32_t f = 0; f < eval->nfamilies; f++)
		count += eval_cases(eval, eval->families[f]);
	*items = (struct items){ .eval = eval, .at = calloc(count, sizeof(*items->at)) };
	if (items->at == NULL)
		return err_set(err, -ENOMEM, "out of memory for %u cases", count);
	for (uint32_t f = 0; f < eval->nfamilies; f++) {
		for (uint32_t i = 0; i < eval_cases(eval, eval->families[f]); i++) {
			struct item *item = &items->at[items->count++];
			int64_t attempt = store_attempt(eval->store, eval->families[f]->name, i);

			*item = (struct item){ .family = eval->families[f], .index = i };
			item->attempt =
				attempt >= 0 ? (uint32_t)attempt : store_next_attempt(eval->store, item->family->name, i);
			skip_done(item, eval);
			if (!shard_has(eval->shard, items->count - 1))
				item->next = eval->npolicies;
			if (attempt >= 0 && item->next < eval->npolicies && is_there(eval, item))
				item->state = ITEM_RIGHT;
		}
	}
	return 0;
}

static void
items_fini(struct items *items)
{
	free(items->at);
	*items = (struct items){ 0 };
}

/* @return a case of which a run can start, NULL: none can start before another ends */
static struct item *
items_next(const struct items *items)
{
	for (uint32_t i = 0; i < items->count; i++) {
		struct item *item = &items->at[i];

		if (item->next < items->eval->npolicies && item->state != ITEM_BUSY && item->state != ITEM_BROKEN)
			return item;
	}
	return NULL;
}

/* @return runs of policies that are still to be made */
static uint32_t
items_left(const struct items *items)
{
	uint32_t left = 0;

	for (uint32_t i = 0; i < items->count; i++)
		left += items->eval->npolicies - items->at[i].next;
	return left;
}

/*
 * Makes the case of this attempt and writes its files; where chance fails, that of the next.
 * @param source  the evaluation's, with the network  @return 0, or negative errno with err
 */
static int
item_make(struct item *item, const struct eval *eval, const struct case_source *source, struct err *err)
{
	char dir[PATH_MAX];
	int ret;

	eval_case_dir(eval, item->family, item->index, NULL, dir, sizeof(dir));
	ret = run_dir_make(dir, err);
	if (ret < 0)
		return ret;
	for (;;) {
		struct eval_case c;

		ret = case_init(&c, item->family, item->index, item->attempt, source);
		if (ret == 0)
			ret = item->family->make(&c);
		if (ret == 0 && (source->picks & CASE_PICKS_ROUTES) == 0 && place_collides(&c))
			case_add_anomaly(&c, json_pack("{s:s}", "kind", "ring"));
		if (ret == 0)
			ret = case_write(&c, dir, err);
		case_fini(&c);
		if (ret != -EAGAIN)
			break;
		if (++item->attempt >= MAX_ATTEMPTS)
			return err_set(err, -ELOOP, "%s/%03u: no case in %d attempts", item->family->name, item->index,
				       MAX_ATTEMPTS);
	}
	return ret;
}

/* Is the verdict on the run for the truth itself still missing? Then that run has to record its input. */
static bool
item_awaits_truths_verdict(const struct item *item, const struct eval *eval)
{
	for (uint32_t p = item->next; p < eval->npolicies; p++)
		if (strcmp(eval->policies[p], EVAL_OUT_OF_BAND) == 0)
			return !store_has_run(eval->store, item->family->name, item->index, EVAL_OUT_OF_BAND);
	return false;
}

/* The run for the truth is over: the case is right, or replaced by the next attempt. @return as above */
static int
item_judge(struct item *item, const struct eval *eval, struct err *err)
{
	const char *family = item->family->name;
	struct err why = { 0 };
	struct truth truth;
	char dir[PATH_MAX];
	bool right;
	int ret;

	eval_case_dir(eval, item->family, item->index, NULL, dir, sizeof(dir));
	ret = truth_load(&truth, dir, EVAL_TRUTH, err);
	if (ret < 0)
		return ret;
	right = judge_is_right(&truth, &why);
	truth_fini(&truth);
	case_result_tidy(dir, EVAL_TRUTH, right && item_awaits_truths_verdict(item, eval));
	if (right) {
		item->state = ITEM_RIGHT;
		return store_add_case(eval->store, family, item->index, item->attempt, err);
	}
	ret = store_exclude(eval->store, family, item->index, item->attempt, why.text, err);
	item->state = ITEM_NEW;
	if (ret == 0 && ++item->attempt >= MAX_ATTEMPTS)
		ret = err_set(err, -ELOOP, "%s/%03u: wrong by construction %d times: %s", family, item->index, MAX_ATTEMPTS,
			      why.text);
	return ret;
}

/* The run of the next policy has started. */
static void
item_started(struct item *item, const struct eval *eval)
{
	item->next++;
	skip_done(item, eval);
}

#define MAX_BROKEN 10 /* a cause that breaks this many runs breaks the others, too: a full disk */

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
	struct runs_progress progress;
	uint32_t wrong; /* runs without a true positive */
	struct err *err;
};

static void
show_progress(const struct runner *runner)
{
	char wrong[32];

	snprintf(wrong, sizeof(wrong), ", %u wrong", runner->wrong);
	runs_progress_show(&runner->progress, wrong);
}

char *
eval_case_dir(const struct eval *eval, const struct family *family, uint32_t index, const char *folder, char *buf,
	      size_t cap)
{
	snprintf(buf, cap, "%s/%s/%03u%s%s", eval->dir, family->name, index, folder != NULL ? "/" : "",
		 folder != NULL ? folder : "");
	return buf;
}

/*
 * The run of a job: the fabric for the truth; else for a policy, unless the truth's run is of that policy, and the
 * diagnosis.
 */
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

/* Reports a run without a result. @param lost  runs that are not to be expected any more @return 0, or -EIO: no more */
static int
run_broke(struct runner *runner, const struct item *item, const char *folder, uint32_t lost, const struct err *why)
{
	char dir[PATH_MAX];

	runner->progress.expected -= lost;
	runs_progress_end();
	log_warning("%s failed: %s; see log.txt there",
		    eval_case_dir(runner->eval, item->family, item->index, folder, dir, sizeof(dir)), why->text);
	if (++runner->broken < MAX_BROKEN)
		return 0;
	return err_set(runner->err, -EIO, "%u runs failed; fix the cause and repeat the command", runner->broken);
}

static int
truth_ended(struct runner *runner, struct item *item, int status)
{
	const struct eval *eval = runner->eval;
	struct err why = { 0 };
	char dir[PATH_MAX];

	eval_case_dir(eval, item->family, item->index, NULL, dir, sizeof(dir));
	if (job_check(dir, EVAL_TRUTH, status, &why) < 0) {
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
	ret = job_check(dir, fabric, status, &why);
	if (ret == 0)
		ret = case_result(dir, fabric, &run, &why);
	if (ret == -ENODATA)
		return run_broke(runner, slot->item, slot->policy, 1, &why);
	if (ret < 0)
		return err_set(runner->err, ret, "%s", why.text);
	case_result_tidy(dir, slot->policy, run.outcome != OUTCOME_TP);
	if (strcmp(fabric, slot->policy) != 0)
		case_result_tidy(dir, fabric, run.outcome != OUTCOME_TP);
	runner->progress.done++;
	runner->wrong += run.outcome != OUTCOME_TP;
	return store_add_run(eval->store, &run, runner->err);
}

static int
ended(void *ctx, uint32_t number, int status, struct err *err)
{
	struct runner *runner = ctx;
	const struct slot *slot = &runner->slots[number];
	int ret = slot->policy == NULL ? truth_ended(runner, slot->item, status) : policy_ended(runner, slot, status);

	(void)err;
	show_progress(runner);
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
	runs_progress_begin(&runner->progress, items_left(&runner->items));
	show_progress(runner);
	if (ret == 0)
		ret = shard_check(eval->shard, items_left(&runner->items), err);
	if (ret == 0)
		ret = pool_run(eval->jobs, &ops, runner, err);
	runs_progress_end();
	if (ret == 0)
		ret = (int)runner->broken;
	scenario_destroy(runner->network);
	items_fini(&runner->items);
	free(runner);
	return ret;
}
