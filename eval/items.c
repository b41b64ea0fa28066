/* SPDX-License-Identifier: BSD-3-Clause */
#include "eval/items.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/run_dir.h"
#include "eval/case_result.h"
#include "eval/job.h"
#include "eval/judge.h"
#include "eval/place.h"

#define MAX_ATTEMPTS 50 /* a family that is wrong by construction so often in a row is broken */

/* Can the files of a case be read, and its truth? What is not there, or not whole, is made again. */
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
	if (case_result_check(dir, EVAL_TRUTH, JOB_DONE, &err) < 0 || truth_load(&truth, dir, EVAL_TRUTH, &err) < 0)
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

int
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
			if (attempt >= 0 && item->next < eval->npolicies && is_there(eval, item))
				item->state = ITEM_RIGHT;
		}
	}
	return 0;
}

void
items_fini(struct items *items)
{
	free(items->at);
	*items = (struct items){ 0 };
}

struct item *
items_next(const struct items *items)
{
	for (uint32_t i = 0; i < items->count; i++) {
		struct item *item = &items->at[i];

		if (item->next < items->eval->npolicies && item->state != ITEM_BUSY && item->state != ITEM_BROKEN)
			return item;
	}
	return NULL;
}

uint32_t
items_left(const struct items *items)
{
	uint32_t left = 0;

	for (uint32_t i = 0; i < items->count; i++)
		left += items->eval->npolicies - items->at[i].next;
	return left;
}

int
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

bool
item_awaits_truths_verdict(const struct item *item, const struct eval *eval)
{
	for (uint32_t p = item->next; p < eval->npolicies; p++)
		if (strcmp(eval->policies[p], EVAL_OUT_OF_BAND) == 0)
			return !store_has_run(eval->store, item->family->name, item->index, EVAL_OUT_OF_BAND);
	return false;
}

int
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

void
item_started(struct item *item, const struct eval *eval)
{
	item->next++;
	skip_done(item, eval);
}
