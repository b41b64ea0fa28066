/* SPDX-License-Identifier: BSD-3-Clause */
/* Makes the cases and the runs. */
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/array.h"
#include "common/input_file.h"
#include "common/log.h"
#include "common/run_files.h"
#include "common/units.h"
#include "emulation/outputs/outputs.h"
#include "eval/counterfactual.h"
#include "eval/eval.h"
#include "eval/tradeoff/tradeoff.h"
#include "scenario/scenario.h"
#include "twin/rerun/job.h"
#include "workload/plan.h"
#include "workload/workload.h"

#define MAX_BROKEN 10 /* a cause that breaks this many runs breaks the others, too: a full disk */
#define ORDERS 8      /* by which shares of more than SHAPLEY_MAX causes are sampled */
#define FAMILIES "families"

struct slot {
	size_t of;
	uint32_t point;
};

struct work {
	struct tradeoff *study;
	struct slot slots[POOL_MAX_JOBS];
	size_t next; /* by case and point: up to here all have been started */
	size_t expected, done;
};

const char *
tradeoff_diagnoser(const struct tradeoff_policy *policy)
{
	if (policy->program[0] != '\0')
		return policy->name;
	return policy->system != NULL ? policy->system->diagnoser : "vedrfolnir";
}

static const char *
value_text(const struct tradeoff_value *value)
{
	return value->text[0] != '\0' ? value->text : "own";
}

char *
tradeoff_run_dir(const struct tradeoff *study, const struct tradeoff_case *c, struct tradeoff_point point, char *buf)
{
	const struct tradeoff_policy *policy = &study->policies[point.policy];

	snprintf(buf, PATH_MAX, "%s/%s,%s,%s", c->dir,
		 policy->program[0] != '\0' ? strrchr(policy->name, '/') + 1 : policy->name,
		 value_text(&study->budgets[point.budget]), value_text(&study->epochs[point.epoch]));
	return buf;
}

/* ---- cases ---- */

/* When the first possible cause begins, not before the job. */
static double
first_start_ns(const struct scenario *scenario, uint32_t job)
{
	const struct plan *plan = scenario->plan;
	uint64_t job_ps = scenario->workload->jobs[job].start_ps, first_ps = TIME_NEVER;

	for (uint32_t i = 0; i < scenario->faults.count; i++) {
		const struct fault_common *common = scenario->faults.faults[i].params;

		if (common->enabled && common->start_ps < first_ps)
			first_ps = common->start_ps;
	}
	for (uint32_t i = 0; i < plan->nbackgrounds; i++)
		if (plan->backgrounds[i].start_ps < first_ps)
			first_ps = plan->backgrounds[i].start_ps;
	for (uint32_t i = 0; i < plan->nmessages; i++)
		if (plan->messages[i].start_ps < first_ps)
			first_ps = plan->messages[i].start_ps;
	for (uint32_t j = 0; j < scenario->workload->njobs; j++)
		if (j != job && scenario->workload->jobs[j].enabled && scenario->workload->jobs[j].start_ps < first_ps)
			first_ps = scenario->workload->jobs[j].start_ps;
	return (double)(first_ps != TIME_NEVER && first_ps > job_ps ? first_ps : job_ps) / PS_PER_NS;
}

/* @param seed  its key; NULL: the file has its own */
static struct scenario *
load(const struct tradeoff *study, const char *path, const char *seed, struct err *err)
{
	struct scenario_options options = { .path = path };

	for (size_t i = 0; i < study->nsets; i++)
		options.sets[options.nsets++] = study->sets[i];
	if (seed != NULL)
		options.sets[options.nsets++] = seed;
	return scenario_load(&options, err);
}

/* A case whose truth is reruns: its effective configuration stands in its folder, and is what every run is of. */
static int
make_rerun_case(struct tradeoff *study, struct tradeoff_case *c, const char *path, const char *seed, struct err *err)
{
	struct rerun_case *rerun = &study->reruns[study->nreruns];
	struct scenario *scenario = load(study, path, seed, err);
	uint64_t before;
	int ret;

	if (scenario == NULL)
		return -EINVAL;
	ret = run_dir_make(c->dir, err);
	if (ret < 0) {
		scenario_destroy(scenario);
		return ret;
	}
	snprintf(c->scenario, sizeof(c->scenario), "%s/" RUN_CONFIG, c->dir);
	before = case_file_set_aside(c->scenario);
	*rerun = (struct rerun_case){ .family = c->input->name,
				      .index = (uint32_t)c->seed,
				      .scenario = c->scenario,
				      .dir = c->dir,
				      .loaded = scenario,
				      .orders = ORDERS };
	study->nreruns++;
	c->rerun = rerun;
	c->suspects = &rerun->suspects;
	c->start_ns = first_start_ns(scenario, rerun->job);
	ret = output_config(scenario, c->dir, err);
	if (ret == 0)
		ret = case_file_check(c->scenario, before, err);
	if (ret == 0)
		ret = suspects_list(scenario, rerun->job, &rerun->suspects, err);
	if (ret == 0)
		ret = rerun_case_init(rerun, err);
	scenario_destroy(scenario);
	return ret;
}

static int
make_case(struct tradeoff *study, const struct tradeoff_input *input, uint64_t seed, struct err *err)
{
	struct tradeoff_case *c = &study->cases[study->ncases++];
	char key[40], path[PATH_MAX];
	int ret;

	*c = (struct tradeoff_case){ .input = input, .seed = seed, .number = study->nreruns };
	if (snprintf(c->dir, sizeof(c->dir), "%s/%s/%" PRIu64, study->dir, input->name, seed) >= (int)sizeof(c->dir))
		return err_set(err, -ENAMETOOLONG, "%s: too long a name", study->dir);
	snprintf(key, sizeof(key), "seed=%" PRIu64, seed);
	if (input->path[0] != '\0')
		return make_rerun_case(study, c, input->path, key, err);
	ret = run_dir_make(c->dir, err);
	if (ret < 0)
		return ret;
	ret = disturb_write(1, (uint32_t)seed, c->dir, err);
	snprintf(path, sizeof(path), "%s/case.cfg", c->dir);
	return ret == 0 ? make_rerun_case(study, c, path, NULL, err) : ret;
}

/* A family's case, which the runner has made. */
static int
take_family_case(struct tradeoff *study, const struct eval *eval, const struct tradeoff_input *input, uint32_t index,
		 uint64_t number, struct err *err)
{
	struct tradeoff_case *c = &study->cases[study->ncases++];
	struct scenario *scenario;
	int ret;

	*c = (struct tradeoff_case){ .input = input, .seed = index, .number = number };
	eval_case_dir(eval, input->family, index, NULL, c->dir, sizeof(c->dir));
	snprintf(c->scenario, sizeof(c->scenario), "%s/case.cfg", c->dir);
	scenario = load(study, c->scenario, NULL, err);
	if (scenario == NULL)
		return -EINVAL;
	c->suspects = &c->own;
	c->start_ns = first_start_ns(scenario, 0);
	ret = suspects_list(scenario, 0, &c->own, err);
	if (ret == 0 && c->own.count > SUSPECT_MAX)
		ret = err_set(err, -EINVAL, "%s: more than %d possible causes", c->scenario, SUSPECT_MAX);
	scenario_destroy(scenario);
	return ret;
}

/* Cases that are right by construction, by the evaluation's runner. @return how many runs broke, or negative errno */
static int
make_families(struct tradeoff *study, struct err *err)
{
	struct eval eval = { .cases = study->nseeds,
			     .policies = { EVAL_OUT_OF_BAND },
			     .npolicies = 1,
			     .jobs = study->jobs,
			     .shard = study->shard,
			     .source = { .seed = 1,
					 .scale = study->scale,
					 .picks = CASE_PICKS_ALL,
					 .shape = shapes,
					 .nsets = study->nsets } };
	char dir[PATH_MAX], path[PATH_MAX + 32];
	uint64_t number = 0;
	int ret = 0;

	for (uint32_t i = 0; i < study->ninputs; i++)
		if (study->inputs[i].family != NULL)
			eval.families[eval.nfamilies++] = study->inputs[i].family;
	if (eval.nfamilies == 0)
		return 0;
	memcpy(eval.source.sets, study->sets, sizeof(eval.source.sets));
	snprintf(dir, sizeof(dir), "%s/" FAMILIES, study->dir);
	snprintf(path, sizeof(path), "%s/eval.sqlite", dir);
	eval.dir = dir;
	ret = run_dir_make(dir, err);
	if (ret >= 0) {
		eval.store = store_open(path, eval.source.seed, eval.source.scale, "", err);
		ret = eval.store != NULL ? runner_run(&eval, err) : -errno;
	}
	for (uint32_t i = 0; ret == 0 && i < study->ninputs; i++)
		for (uint32_t k = 0; ret == 0 && study->inputs[i].family != NULL && k < study->nseeds; k++, number++)
			if (shard_has(study->shard, number))
				ret = take_family_case(study, &eval, &study->inputs[i], k, number, err);
	store_close(eval.store);
	return ret;
}

/*
 * Results are of these keys: others have another folder.
 * @param begins  runs follow, and the folder is theirs
 */
static int
check_folder(const struct tradeoff *study, bool begins, struct err *err)
{
	json_t *sets = json_array(), *is, *was;
	char path[PATH_MAX];
	int ret = 0;

	for (size_t i = 0; i < study->nsets; i++)
		json_array_append_new(sets, json_string(study->sets[i]));
	is = json_pack("{s:o, s:f, s:b}", "sets", sets, "scale", study->scale, "detection_times", study->times);
	snprintf(path, sizeof(path), "%s/study.json", study->dir);
	was = input_json(path, 0, NULL);
	if (was != NULL && !json_equal(was, is))
		ret = err_set(err, -EINVAL,
			      "%s: the results there are of other --set, --scale or --no-times; ask for the same, or give "
			      "another --out",
			      study->dir);
	else if (was == NULL && begins)
		ret = output_json(json_incref(is), study->dir, "study.json", err);
	json_decref(is);
	json_decref(was);
	return ret;
}

/* ---- checks ---- */

static int
compare_values(const void *a, const void *b)
{
	const struct tradeoff_value *x = a, *y = b;

	return (x->value > y->value) - (x->value < y->value);
}

/* Loads the first case with each value, and orders them. @param limit  0 is no limit, the largest */
static int
order_values(const struct tradeoff *study, const char *key, struct tradeoff_value *values, uint32_t count, struct err *err)
{
	bool is_budget = strcmp(key, "exporter.budget") == 0;
	int ret = 0;

	for (uint32_t i = 0; ret == 0 && i < count; i++) {
		char set[TRADEOFF_WORD + 32];
		struct scenario *scenario;

		snprintf(set, sizeof(set), "%s=%s", key, values[i].text);
		scenario = load(study, study->cases[0].scenario, values[i].text[0] != '\0' ? set : NULL, err);
		if (scenario == NULL)
			return -EINVAL;
		values[i].value = is_budget ? scenario->exporter.budget - 1 : scenario->telemetry.epoch_ps;
		scenario_destroy(scenario);
	}
	qsort(values, count, sizeof(*values), compare_values);
	for (uint32_t i = 0; is_budget && i < count; i++)
		values[i].value++;
	return ret;
}

static int
order_all(struct tradeoff *study, struct err *err)
{
	int ret = order_values(study, "exporter.budget", study->budgets, study->nbudgets, err);

	return ret == 0 ? order_values(study, "telemetry.epoch", study->epochs, study->nepochs, err) : ret;
}

/* The keys by which a system other than a detection policy runs in a case. */
static int
system_keys(const struct tradeoff_case *c, const struct tradeoff_policy *policy, struct system_sets *sets, struct err *err)
{
	struct scenario_options options = { .path = c->scenario };
	struct scenario *scenario = scenario_load(&options, err), *with;

	sets->count = 0;
	if (scenario == NULL)
		return -EINVAL;
	with = systems_load(&options, scenario, &policy->system, 1, 1, sets, err);
	scenario_destroy(scenario);
	scenario_destroy(with);
	return with != NULL ? 0 : -EINVAL;
}

/* Loads a case with the keys beside a detection policy. @return 0 or -EINVAL with err set */
static int
check_variant(const struct tradeoff *study, const struct tradeoff_case *c, const struct tradeoff_policy *policy,
	      struct err *err)
{
	struct scenario_options options = { .path = c->scenario };
	struct scenario *scenario;
	struct variant_sets sets;
	int ret = variant_sets(policy->detection, &sets, err);

	for (size_t i = 0; i < study->nsets; i++)
		options.sets[options.nsets++] = study->sets[i];
	for (uint32_t i = 0; ret == 0 && i < sets.count; i++)
		options.sets[options.nsets++] = sets.text[i];
	scenario = ret == 0 ? scenario_load(&options, err) : NULL;
	scenario_destroy(scenario);
	return scenario != NULL ? 0 : -EINVAL;
}

/* Does every policy run in every case? Checked before anything runs under it. */
static int
check_policies(const struct tradeoff *study, struct err *err)
{
	for (size_t i = 0; i < study->ncases; i++)
		for (uint32_t p = 0; p < study->npolicies; p++) {
			const struct tradeoff_policy *policy = &study->policies[p];
			struct err why = { 0 };
			struct system_sets sets;
			int ret = 0;

			if (policy->system != NULL)
				ret = system_keys(&study->cases[i], policy, &sets, &why);
			else if (policy->detection != NULL && strchr(policy->detection, '+') != NULL)
				ret = check_variant(study, &study->cases[i], policy, &why);
			if (ret < 0)
				return err_set(err, -EINVAL, "--policy %s cannot run in %s: %s", policy->name,
					       study->cases[i].input->name, why.text);
		}
	return 0;
}

/* And in every family? */
static int
check_families(const struct tradeoff *study, struct err *err)
{
	for (uint32_t i = 0; i < study->ninputs; i++)
		for (uint32_t p = 0; study->inputs[i].family != NULL && p < study->npolicies; p++)
			if (study->policies[p].detection == NULL)
				return err_set(
					err, -EINVAL,
					"--policy %s: the judge of family %s grades detection policies alone; give a "
					"scenario, or \"" TRADEOFF_CAUSES "\"",
					study->policies[p].name, study->inputs[i].name);
	return 0;
}

/* ---- runs ---- */

/* Is a run to be made by this program? */
static bool
is_waiting(const struct tradeoff *study, size_t of, uint32_t point)
{
	struct tradeoff_result result;
	char dir[PATH_MAX];

	if (!shard_has(study->shard, study->cases[of].number))
		return false;
	tradeoff_read(tradeoff_run_dir(study, &study->cases[of], tradeoff_point(study, point), dir), &result);
	return !result.there;
}

static pid_t
start_run(const struct tradeoff *study, const struct slot *slot, int cpu, struct err *err)
{
	const struct tradeoff_case *c = &study->cases[slot->of];
	const struct tradeoff_point point = tradeoff_point(study, slot->point);
	const struct tradeoff_policy *policy = &study->policies[point.policy];
	const char *sets[CASE_MAX_SETS + SYSTEM_MAX_SETS + 2], *diagnoser = tradeoff_diagnoser(policy);
	const char *program = policy->program[0] != '\0' ? policy->program : NULL;
	char dir[PATH_MAX], budget[TRADEOFF_WORD + 32], epoch[TRADEOFF_WORD + 32];
	struct system_sets keys = { .count = 0 };
	struct job_config config = { .scenario = c->scenario,
				     .fabric = tradeoff_run_dir(study, c, point, dir),
				     .out = dir,
				     .policy = policy->detection != NULL ? policy->detection
					       : policy->system != NULL  ? "off"
									 : c->rerun->policy,
				     .diagnose = true,
				     .diagnosers = &diagnoser,
				     .ndiagnosers = 1,
				     .programs = &program,
				     .detection_times = study->times,
				     .sets = sets,
				     .cpu = cpu };

	if (policy->system != NULL && system_keys(c, policy, &keys, err) < 0)
		return -EINVAL;
	for (size_t i = 0; c->rerun == NULL && i < study->nsets; i++)
		sets[config.nsets++] = study->sets[i];
	for (size_t i = 0; i < keys.count; i++)
		sets[config.nsets++] = keys.text[i];
	snprintf(budget, sizeof(budget), "exporter.budget=%s", study->budgets[point.budget].text);
	snprintf(epoch, sizeof(epoch), "telemetry.epoch=%s", study->epochs[point.epoch].text);
	if (study->budgets[point.budget].text[0] != '\0')
		sets[config.nsets++] = budget;
	if (study->epochs[point.epoch].text[0] != '\0')
		sets[config.nsets++] = epoch;
	return job_start(&config, err);
}

static pid_t
start(void *ctx, uint32_t number, int cpu, struct err *err)
{
	struct work *work = ctx;
	uint32_t points = tradeoff_points(work->study);

	for (; work->next < work->study->ncases * points; work->next++) {
		struct slot slot = { work->next / points, (uint32_t)(work->next % points) };

		if (!is_waiting(work->study, slot.of, slot.point))
			continue;
		work->next++;
		work->slots[number] = slot;
		return start_run(work->study, &slot, cpu, err);
	}
	return 0;
}

static void
show(const struct work *work)
{
	progress_line("%zu of %zu runs", work->done, work->expected);
}

/* Removes files that are no longer needed: all but the summary, the verdict and its report for people. */
static void
tidy(const char *dir, const char *diagnoser)
{
	static const char *const of_run[] = { RUN_CONFIG,    RUN_STEPS, RUN_FLOWS,      RUN_TRUTH,
					      RUN_RECORDING, RUN_STORE, RUN_PREDICTION, "log.txt" };
	static const char *const of_verdict[] = { RUN_PAGE,  RUN_WAITING,  RUN_PROVENANCE, RUN_VOLUMES,
						  RUN_PATHS, RUN_PINGMESH, RUN_STEPS,      "score.json" };
	char path[PATH_MAX + 128];

	for (size_t i = 0; i < ARRAY_LEN(of_run); i++) {
		snprintf(path, sizeof(path), "%s/%s", dir, of_run[i]);
		unlink(path);
	}
	for (size_t i = 0; i < ARRAY_LEN(of_verdict); i++) {
		snprintf(path, sizeof(path), "%s/%s/%s", dir, diagnoser, of_verdict[i]);
		unlink(path);
	}
}

static int
ended(void *ctx, uint32_t number, int status, struct err *err)
{
	struct work *work = ctx;
	struct tradeoff *study = work->study;
	const struct tradeoff_case *c = &study->cases[work->slots[number].of];
	const struct tradeoff_point point = tradeoff_point(study, work->slots[number].point);
	struct err why = { 0 };
	char dir[PATH_MAX];
	int ret;

	tradeoff_run_dir(study, c, point, dir);
	ret = job_check(c->dir, strrchr(dir, '/') + 1, status, &why);
	if (ret == 0)
		ret = tradeoff_score(study, c, point, &why);
	if (ret == 0) {
		tidy(dir, tradeoff_diagnoser(&study->policies[point.policy]));
		work->done++;
		show(work);
		return 0;
	}
	if (ret != -ENODATA)
		return err_set(err, ret, "%s", why.text);
	progress_line("%s", "");
	log_warning("%s failed: %s; see log.txt there", dir, why.text);
	if (++study->broken < MAX_BROKEN)
		return 0;
	return err_set(err, -EIO, "%u runs failed; fix the cause and repeat the command", study->broken);
}

static int
run_points(struct tradeoff *study, struct err *err)
{
	const struct pool_ops ops = { start, ended };
	struct work *work = calloc(1, sizeof(*work));
	uint32_t points = tradeoff_points(study);
	int ret;

	if (work == NULL)
		return err_set(err, -ENOMEM, "out of memory");
	work->study = study;
	for (size_t of = 0; of < study->ncases; of++)
		for (uint32_t point = 0; point < points; point++)
			work->expected += is_waiting(study, of, point);
	ret = shard_check(study->shard, work->expected, err);
	if (ret == 0) {
		show(work);
		ret = pool_run(study->jobs, &ops, work, err);
	}
	progress_line("%s", "");
	free(work);
	return ret;
}

static int
read_results(struct tradeoff *study, struct err *err)
{
	uint32_t points = tradeoff_points(study);
	char dir[PATH_MAX];

	study->results = calloc(study->ncases * points, sizeof(*study->results));
	if (study->results == NULL)
		return err_set(err, -ENOMEM, "out of memory for %zu runs", study->ncases * points);
	for (size_t i = 0; i < study->ncases * points; i++)
		tradeoff_read(tradeoff_run_dir(study, &study->cases[i / points],
					       tradeoff_point(study, (uint32_t)(i % points)), dir),
			      &study->results[i]);
	return 0;
}

/* Cases, and the reruns that are the truth of some. @return how many runs broke, or negative errno */
static int
make_cases(struct tradeoff *study, struct err *err)
{
	char path[PATH_MAX];
	int ret = 0;

	for (uint32_t i = 0; ret == 0 && i < study->ninputs; i++)
		for (uint32_t k = 0; ret == 0 && study->inputs[i].family == NULL && k < study->nseeds; k++)
			ret = make_case(study, &study->inputs[i], study->seeds[k], err);
	if (ret == 0)
		ret = check_policies(study, err);
	if (ret == 0 && study->ncases != 0)
		ret = order_all(study, err);
	if (ret == 0)
		ret = check_folder(study, true, err);
	snprintf(path, sizeof(path), "%s/reruns.sqlite", study->dir);
	if (ret == 0) {
		study->store = rerun_store_open(path, " telemetry trade-off", err);
		ret = study->store != NULL ? 0 : -errno;
	}
	if (ret == 0 && study->nreruns != 0)
		ret = reruns_run(
			&(struct reruns){ study->store, study->reruns, study->nreruns, study->jobs, study->shard, true },
			err);
	if (ret == 0)
		ret = make_families(study, err);
	return ret == 0 ? check_policies(study, err) : ret;
}

int
tradeoff_run(struct tradeoff *study, struct err *err)
{
	size_t most = (size_t)study->ninputs * study->nseeds;
	int ret = check_families(study, err);

	if (ret == 0)
		ret = check_folder(study, false, err);
	study->cases = calloc(most, sizeof(*study->cases));
	study->reruns = calloc(most, sizeof(*study->reruns));
	if (study->cases == NULL || study->reruns == NULL)
		return err_set(err, -ENOMEM, "out of memory for %zu cases", most);
	if (ret == 0)
		ret = make_cases(study, err);
	if (ret == 0 && study->ncases != 0)
		ret = order_all(study, err);
	if (ret == 0)
		ret = run_points(study, err);
	if (ret == 0)
		ret = read_results(study, err);
	return ret == 0 ? (int)study->broken : ret;
}

void
tradeoff_fini(struct tradeoff *study)
{
	for (size_t i = 0; i < study->nreruns; i++)
		rerun_case_fini(&study->reruns[i]);
	for (size_t i = 0; i < study->ncases; i++)
		suspects_fini(&study->cases[i].own);
	rerun_store_close(study->store);
	free(study->cases);
	free(study->reruns);
	free(study->results);
}
