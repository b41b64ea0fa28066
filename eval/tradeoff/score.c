/* SPDX-License-Identifier: BSD-3-Clause */
/* The worth of one run's verdict, and its cost. */
#include <errno.h>
#include <limits.h>
#include <math.h>
#include <string.h>

#include "common/input_file.h"
#include "common/run_files.h"
#include "emulation/outputs/outputs.h"
#include "eval/case_result.h"
#include "eval/counterfactual.h"
#include "eval/tradeoff/tradeoff.h"

#define RESULT "result.json"

#define MEASURE_ROW(id, name_, title_, unit_, one_, of_, more_)                                                            \
	[id] = { .name = name_, .title = title_, .unit = unit_, .one = one_, .of = of_, .more_is_better = more_ },
const struct tradeoff_measure_row tradeoff_measures[TRADEOFF_NMEASURES] = { TRADEOFF_MEASURES(MEASURE_ROW) };

/* The suspects that a verdict has to name, and those that it must not. */
struct causes {
	bool costly[SUSPECT_MAX], blameless[SUSPECT_MAX];
	uint32_t ncostly;
};

static json_t *
load(const char *dir, const char *name, struct err *err)
{
	char path[PATH_MAX + TRADEOFF_WORD + 32]; /* a run's folder, its diagnoser's, and the file */
	json_t *root;

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	root = input_json(path, 0, NULL);
	if (root == NULL)
		err_set(err, -ENODATA, "%s cannot be read", path);
	return root;
}

static double
number(const json_t *object, const char *key)
{
	return json_number_value(json_object_get(object, key));
}

/* Does a finding name one of the wanted suspects? Marks them. */
static bool
names(const struct suspects *suspects, const bool *wanted, const json_t *finding, bool *named)
{
	bool any = false;

	for (size_t s = 0; s < suspects->count; s++)
		if (wanted[s] && suspect_is_named(suspects, s, finding)) {
			named[s] = true;
			any = true;
		}
	return any;
}

/* @return the time since the first cause began; NaN: never */
static double
after(const struct tradeoff_case *c, double detected_ns)
{
	return isnan(detected_ns) ? NAN : fmax(detected_ns - c->start_ns, 0);
}

/*
 * When the first cause was named; and of a right verdict when the last of all had been, of a family the last of those that
 * are named. Findings without effect name none.
 */
static void
note_times(const struct tradeoff_case *c, const struct causes *causes, const json_t *verdict,
	   struct tradeoff_result *result)
{
	double first_ns[SUSPECT_MAX], earliest_ns = NAN, latest_ns = NAN;
	const json_t *finding;
	size_t i;

	for (size_t s = 0; s < c->suspects->count; s++)
		first_ns[s] = NAN;
	json_array_foreach(json_object_get(verdict, "findings"), i, finding) {
		const json_t *detected = json_object_get(finding, "detected_ns");
		bool named[SUSPECT_MAX] = { 0 };

		if (!json_is_number(detected) || json_is_true(json_object_get(finding, "without_effect")) ||
		    !names(c->suspects, causes->costly, finding, named))
			continue;
		for (size_t s = 0; s < c->suspects->count; s++)
			if (named[s])
				first_ns[s] = fmin(first_ns[s], json_number_value(detected));
	}
	for (size_t s = 0; s < c->suspects->count; s++) {
		if (!causes->costly[s])
			continue;
		earliest_ns = fmin(earliest_ns, first_ns[s]);
		latest_ns = fmax(latest_ns, first_ns[s]);
	}
	result->values[TRADEOFF_DETECTION] = after(c, earliest_ns);
	if (result->values[TRADEOFF_ACCURACY] == 1)
		result->values[TRADEOFF_VERDICT] = after(c, latest_ns);
}

/* Notes the bytes on the analyzer's socket and on links, and the records that the budget held back. */
static void
note_costs(const struct tradeoff_policy *policy, const json_t *verdict, const json_t *run, struct tradeoff_result *result)
{
	const json_t *export = json_object_get(run, "export");
	double run_s = number(run, "virtual_ns") / 1e9, offered = number(export, "offered_records");
	double socket = policy->system != NULL && policy->detection == NULL
				? (double)telemetry_bytes(verdict, policy->system->kinds)
				: number(export, "sent_bytes");

	result->values[TRADEOFF_SOCKET] = socket / run_s;
	result->values[TRADEOFF_LINKS] = (poll_bytes(verdict) + probe_bytes(verdict)) / run_s;
	result->values[TRADEOFF_HELD_BACK] = number(export, "deferred_records");
	result->values[TRADEOFF_DROPPED] = number(export, "dropped_records");
	result->values[TRADEOFF_COMPLETENESS] = offered > 0 ? number(export, "sent_records") / offered : 1;
}

/* The suspects that the verdict names: of a system that prices its findings, those that cost time. */
static void
find_named(const struct tradeoff_case *c, const struct tradeoff_policy *policy, const json_t *verdict,
	   const struct claims *claims, bool *named)
{
	static const bool any[SUSPECT_MAX] = { [0 ... SUSPECT_MAX - 1] = true };
	const json_t *finding;
	size_t i;

	if (policy->detection != NULL) {
		memcpy(named, claims->named, SUSPECT_MAX * sizeof(*named));
		return;
	}
	json_array_foreach(json_object_get(verdict, "findings"), i, finding)
		names(c->suspects, any, finding, named);
}

static void
grade(const struct causes *causes, const struct suspects *suspects, const bool *named, struct tradeoff_result *result)
{
	uint32_t found = 0, anyone = 0, blameless = 0;
	struct err why = { 0 };

	for (size_t s = 0; s < suspects->count; s++) {
		anyone += named[s];
		found += causes->costly[s] && named[s];
		blameless += causes->blameless[s] && named[s];
		if (causes->costly[s] && !named[s])
			err_set(&why, 0, "%s is not named", suspects->at[s].name);
		else if (causes->blameless[s] && named[s])
			err_set(&why, 0, "%s is named and cost nothing", suspects->at[s].name);
	}
	snprintf(result->outcome, sizeof(result->outcome), "%s",
		 found == causes->ncostly && blameless == 0 ? "tp"
		 : anyone == 0                              ? "fn"
							    : "fp");
	snprintf(result->why, sizeof(result->why), "%.*s", (int)sizeof(result->why) - 1, why.text);
	result->values[TRADEOFF_RECALL] = causes->ncostly != 0 ? (double)found / causes->ncostly : NAN;
}

/* Scores the claims by the time that a rerun without each suspect regains. */
static int
score_by_reruns(const struct tradeoff *study, const struct tradeoff_case *c, const struct tradeoff_policy *policy,
		const json_t *verdict, struct causes *causes, struct tradeoff_result *result, struct err *err)
{
	struct counterfactual_score score;
	bool named[SUSPECT_MAX] = { 0 };
	struct rerun_truth truth;
	struct claims claims;
	int ret = rerun_truth(study->store, c->rerun, &truth, err);

	if (ret < 0)
		return ret;
	for (size_t s = 0; s < c->suspects->count; s++) {
		causes->costly[s] = truth.costs[s].has_effect;
		causes->blameless[s] =
			!causes->costly[s] && !rerun_is_effect(c->rerun, truth.base_ns, truth.costs[s].shapley_ns);
		causes->ncostly += causes->costly[s];
	}
	claims_read(verdict, c->suspects, c->rerun->job, &claims);
	find_named(c, policy, verdict, &claims, named);
	grade(causes, c->suspects, named, result);
	counterfactual_score(c->rerun, &truth, &claims, &score);
	if (policy->detection != NULL && score.has_cost)
		result->values[TRADEOFF_SHARE_ERROR] = score.error;
	return 0;
}

/* Scores the claims by the family's judge: existing anomalies are to be named, their cost is not known. */
static int
score_by_judge(const struct tradeoff_case *c, const char *folder, const char *diagnoser, struct causes *causes,
	       struct tradeoff_result *result, struct err *err)
{
	struct store_run run = { .index = (uint32_t)c->seed };
	int ret;

	if (snprintf(run.policy, sizeof(run.policy), "%s/%s", folder, diagnoser) >= (int)sizeof(run.policy))
		return err_set(err, -ENAMETOOLONG, "%s/%s: too long a name", folder, diagnoser);
	ret = case_result(c->dir, folder, &run, err);
	if (ret < 0)
		return ret;
	for (size_t s = 0; s < c->suspects->count; s++)
		causes->costly[s] = true;
	snprintf(result->outcome, sizeof(result->outcome), "%s", score_name(run.outcome));
	snprintf(result->why, sizeof(result->why), "%s", run.why);
	return 0;
}

static int
write_result(const char *dir, const struct tradeoff_result *result, struct err *err)
{
	json_t *root = json_pack("{s:s, s:s}", "outcome", result->outcome, "why", result->why);

	for (int m = 0; m < TRADEOFF_NMEASURES; m++)
		json_object_set_new(root, tradeoff_measures[m].name,
				    isnan(result->values[m]) ? json_null() : json_real(result->values[m]));
	return output_json(root, dir, RESULT, err);
}

int
tradeoff_score(const struct tradeoff *study, const struct tradeoff_case *c, struct tradeoff_point point, struct err *err)
{
	const struct tradeoff_policy *policy = &study->policies[point.policy];
	const char *diagnoser = tradeoff_diagnoser(policy);
	struct tradeoff_result result = { .there = true };
	struct causes causes = { 0 };
	char dir[PATH_MAX], of[PATH_MAX + TRADEOFF_WORD];
	json_t *verdict, *run;
	int ret = -ENODATA;

	tradeoff_run_dir(study, c, point, dir);
	snprintf(of, sizeof(of), "%s/%s", dir, diagnoser);
	for (int m = 0; m < TRADEOFF_NMEASURES; m++)
		result.values[m] = NAN;
	verdict = load(of, RUN_VERDICT, err);
	run = verdict != NULL ? load(dir, RUN_SUMMARY, err) : NULL;
	if (run != NULL && c->rerun != NULL)
		ret = score_by_reruns(study, c, policy, verdict, &causes, &result, err);
	else if (run != NULL)
		ret = score_by_judge(c, strrchr(dir, '/') + 1, diagnoser, &causes, &result, err);
	if (ret == 0) {
		result.values[TRADEOFF_ACCURACY] = strcmp(result.outcome, "tp") == 0;
		note_times(c, &causes, verdict, &result);
		note_costs(policy, verdict, run, &result);
		ret = write_result(dir, &result, err);
	}
	json_decref(verdict);
	json_decref(run);
	return ret;
}

void
tradeoff_read(const char *dir, struct tradeoff_result *result)
{
	struct err err = { 0 };
	json_t *root = load(dir, RESULT, &err);

	*result = (struct tradeoff_result){ .there = root != NULL };
	snprintf(result->outcome, sizeof(result->outcome), "%s", json_text(root, "outcome"));
	snprintf(result->why, sizeof(result->why), "%s", json_text(root, "why"));
	for (int m = 0; m < TRADEOFF_NMEASURES; m++) {
		const json_t *value = json_object_get(root, tradeoff_measures[m].name);

		result->values[m] = json_is_number(value) ? json_number_value(value) : NAN;
	}
	json_decref(root);
}
