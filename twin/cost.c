/* SPDX-License-Identifier: BSD-3-Clause */
#include "twin/trial.h"

#include <errno.h>
#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/hash.h"
#include "common/input_file.h"
#include "common/minmax.h"
#include "common/run_files.h"
#include "common/units.h"
#include "scenario/scenario.h"
#include "twin/rerun/rerun.h"
#include "twin/rerun/text.h"

struct costing {
	const struct twin_model *model;
	struct rerun_case c;
	char config[PATH_MAX + 16], store[PATH_MAX + 16];
	struct claims claims; /* the verdict's */
	uint32_t id;          /* of the job, as the verdict has it */
};

/* ---- suspects ---- */

/* Is the suspect another item of one that is there: a storm's next spell, a host's next late step? */
static bool
joins(const struct suspect *suspect, const struct suspect *before)
{
	size_t length = strlen(before->name);

	return strcmp(suspect->kind, "fault") == 0 && strncmp(suspect->name, before->name, length) == 0 &&
	       suspect->name[length] == '#';
}

/* Items of one fault are left out together. */
static void
join_items(struct suspects *suspects)
{
	size_t kept = 0;

	for (size_t i = 0; i < suspects->count; i++) {
		size_t into = 0;

		while (into < kept && !joins(&suspects->at[i], &suspects->at[into]))
			into++;
		if (into == kept) {
			suspects->at[kept++] = suspects->at[i];
			continue;
		}
		json_array_append_new(suspects->at[into].more_sets, json_string(suspects->at[i].set));
		suspect_fini(&suspects->at[i]);
	}
	suspects->count = kept;
}

/* Is a finding about some iteration of the job? */
static bool
concerns(const json_t *finding, uint32_t job)
{
	const json_t *iteration;
	size_t i;

	json_array_foreach(json_object_get(finding, "iterations"), i, iteration)
		if (json_integer_value(json_object_get(iteration, "job")) == (json_int_t)job)
			return true;
	return false;
}

/* Does the verdict name it for this job, whatever it says that it cost? */
static bool
is_claimed(const struct suspects *suspects, size_t index, const json_t *findings, uint32_t job)
{
	const json_t *finding;
	size_t i;

	json_array_foreach(findings, i, finding)
		if (concerns(finding, job) && suspect_is_named(suspects, index, finding))
			return true;
	return false;
}

/* Those that the verdict does not name for the job are part of the twin, and of no question. */
static void
drop_unnamed(struct costing *costing)
{
	struct suspects *suspects = &costing->c.suspects;
	struct suspects one = { .count = 1 };
	size_t kept = 0;

	for (size_t i = 0; i < suspects->count; i++) {
		one.at = &suspects->at[i];
		if (kept < SUSPECT_MAX && strcmp(one.at->kind, "straggler") != 0 &&
		    is_claimed(&one, 0, costing->model->findings, costing->id))
			suspects->at[kept++] = suspects->at[i];
		else
			suspect_fini(&suspects->at[i]);
	}
	suspects->count = kept;
}

/* Keeps TWIN_MAX_SUSPECTS, those to which the verdict gives most; the others stay in every run. */
static void
keep_most(struct costing *costing)
{
	struct suspects *suspects = &costing->c.suspects;

	while (suspects->count > TWIN_MAX_SUSPECTS) {
		size_t least = 0;

		for (size_t i = 1; i < suspects->count; i++)
			if (costing->claims.ns[i] <= costing->claims.ns[least])
				least = i;
		suspect_fini(&suspects->at[least]);
		suspects->count--;
		memmove(&suspects->at[least], &suspects->at[least + 1], (suspects->count - least) * sizeof(*suspects->at));
		memmove(&costing->claims.ns[least], &costing->claims.ns[least + 1],
			(suspects->count - least) * sizeof(*costing->claims.ns));
	}
}

/* ---- runs ---- */

/* Results of another twin in the folder are no longer of use. */
static struct rerun_store *
open_store(const struct costing *costing, struct err *err)
{
	uint64_t digest = DIGEST_INIT;
	struct rerun_store *store;
	FILE *file = input_fopen(costing->config, NULL);
	char of[64];
	int byte;

	while (file != NULL && (byte = getc(file)) != EOF)
		digest = digest_u64(digest, (uint64_t)byte);
	if (file != NULL)
		fclose(file);
	snprintf(of, sizeof(of), " twin %016llx", (unsigned long long)digest);
	store = rerun_store_open(costing->store, of, err);
	if (store != NULL)
		return store;
	unlink(costing->store);
	err->text[0] = '\0';
	return rerun_store_open(costing->store, of, err);
}

/* ---- results ---- */

/*
 * How a suspect's cost is spread over the findings that name it: as the verdict has it, or all to the first.
 */
static json_t *
claims_json(const struct costing *costing, size_t suspect, double cost_ns)
{
	const json_t *finding;
	json_t *list = json_array();
	double sum_ns = 0;
	size_t i;

	json_array_foreach(costing->model->findings, i, finding) {
		sum_ns += suspect_claim_ns(&costing->c.suspects, suspect, finding, costing->id);
	}
	json_array_foreach(costing->model->findings, i, finding) {
		double ns = suspect_claim_ns(&costing->c.suspects, suspect, finding, costing->id);
		double share = sum_ns > 0 ? ns / sum_ns : json_array_size(list) == 0;
		json_t *flows;

		if (!suspect_is_named(&costing->c.suspects, suspect, finding) || !concerns(finding, costing->id))
			continue;
		flows = suspect_flows_named(&costing->c.suspects.at[suspect], finding);
		json_array_append_new(list, json_pack("{s:s, s:s, s:I, s:o, s:f}", "type", json_text(finding, "type"),
						      "root", json_text(finding, "root"), "finding", (json_int_t)i, "flows",
						      flows, "cost_ns", share * cost_ns));
	}
	return list;
}

/* Below the error of the twin its figure says nothing. */
static const char *
word_of(double cost_ns, double margin_ns, bool has_effect)
{
	if (fabs(cost_ns) >= margin_ns)
		return cost_ns > 0 && has_effect ? "cost" : "none";
	return "unknown";
}

/*
 * All suspects together cost no more than what the measured run lost: by how much the twin took longer beyond chance, their
 * costs are too large. Where it took less, a cause may be missing, which is none of these.
 */
static double
scale_of(const struct rerun_truth *truth, const struct twin_error *error, double error_ns)
{
	double all_ns = truth->base_ns - truth->all_ns;

	return error->twin_ns > error->measured_ns && all_ns > error_ns ? 1 - error_ns / all_ns : 1;
}

static json_t *
suspect_json(const struct costing *costing, size_t i, const struct rerun_truth *truth, double scale, double error_ns)
{
	const struct suspect *suspect = &costing->c.suspects.at[i];
	const struct rerun_cost *cost = &truth->costs[i];
	double cost_ns = scale * (truth->has_shapley ? cost->shapley_ns : cost->regained_ns);
	double margin_ns = fmax(error_ns, truth->limit * cost->error_ns);
	bool has_effect = rerun_is_effect(&costing->c, truth->base_ns, cost_ns);
	double confidence = cost_ns > 0 ? fmax(0, 1 - margin_ns / (2 * cost_ns)) : 0;

	return json_pack("{s:s, s:s, s:f, s:f, s:f, s:f, s:s, s:f, s:f, s:o}", "name", suspect->name, "kind", suspect->kind,
			 "alone_ns", scale * cost->regained_ns, "cost_ns", cost_ns, "standard_error_ns", cost->error_ns,
			 "share", truth->base_ns > truth->all_ns ? cost_ns / scale / (truth->base_ns - truth->all_ns) : 0,
			 "word", word_of(cost_ns, margin_ns, has_effect), "confidence", confidence, "estimate_ns",
			 costing->claims.ns[i], "claims", claims_json(costing, i, fmax(cost_ns, 0)));
}

static json_t *
job_json(const struct costing *costing, uint32_t job, const struct rerun_truth *truth, const struct twin_error *error)
{
	double bound_ns = twin_error_bound_ns(error->draws_ns, error->draws);
	double error_ns = fmax(0, fabs(error->twin_ns - error->measured_ns) - bound_ns);
	double scale = scale_of(truth, error, error_ns);
	json_t *suspects = json_array();

	for (size_t i = 0; i < costing->c.suspects.count; i++)
		json_array_append_new(suspects, suspect_json(costing, i, truth, scale, error_ns));
	return json_pack("{s:I, s:s, s:f, s:f, s:f, s:f, s:f, s:f, s:b, s:f, s:b, s:I, s:I, s:o}", "job", (json_int_t)job,
			 "name", costing->model->run->jobs[job].name, "measured_ns", error->measured_ns, "twin_ns",
			 truth->base_ns, "error", twin_error_job(error), "steps_error", twin_error_steps(error), "chance",
			 twin_error_chance(error), "steps_chance", twin_error_chance_steps(error), "usable", 1,
			 "without_any_ns", truth->all_ns, "sampled", costing->c.suspects.count > SHAPLEY_MAX, "draws",
			 (json_int_t)costing->c.draws, "runs", (json_int_t)(costing->c.nsets_out * costing->c.draws),
			 "suspects", suspects);
}

/* Do draws differ in anything? */
static bool
is_random(const struct rerun_case *c, const struct rerun_truth *truth)
{
	bool random = truth->base_error_ns > 0 || truth->all_error_ns > 0;

	for (size_t i = 0; i < c->suspects.count; i++)
		random |= truth->costs[i].regained_error_ns > 0 || truth->costs[i].draws_error_ns > 0;
	return random;
}

uint32_t
twin_cost_draws(const struct rerun_case *c, const struct rerun_truth *truth)
{
	double shares[SUSPECT_MAX], errors_ns[SUSPECT_MAX], sum_ns = rerun_shares(c, truth, shares);

	if (c->draws < 2 || !is_random(c, truth))
		return c->draws;
	if (c->draws < TWIN_DRAWS)
		return TWIN_DRAWS;
	for (size_t i = 0; i < c->suspects.count; i++)
		errors_ns[i] = truth->costs[i].draws_error_ns;
	if (rerun_shares_error(shares, errors_ns, c->suspects.count, sum_ns) <= TWIN_MAX_CHANCE)
		return c->draws;
	return min_u32(2 * c->draws, max_u32(c->draws, TWIN_MAX_DRAWS));
}

/* Runs it with as many draws as it needs, and as there is time for. @return 0 or negative errno with err */
static int
run_draws(struct rerun_case *c, struct rerun_store *store, const struct twin_work *work, struct rerun_truth *truth,
	  struct err *err)
{
	struct reruns reruns = { .store = store, .cases = c, .ncases = 1, .jobs = work->jobs };
	struct err late = { 0 };
	uint32_t draws = 0;
	int ret = 0;

	while (ret == 0 && draws != c->draws) {
		draws = c->draws;
		ret = reruns_run(&reruns, err);
		if (ret > 0)
			ret = err_set(err, -EIO, "%d runs of the twin failed", ret);
		if (ret == 0)
			ret = rerun_truth(store, c, truth, err);
		if (ret == 0)
			c->draws = twin_cost_draws(c, truth);
		if (twin_work_check(work, c->nsets_out * (c->draws - draws), &late) < 0)
			c->draws = draws;
	}
	return ret;
}

/* @return NULL with err and errno set */
static json_t *
run_case(struct costing *costing, uint32_t job, const struct twin_work *work, const struct twin_error *error,
	 struct err *err)
{
	struct rerun_store *store = open_store(costing, err);
	struct rerun_truth truth;
	json_t *result = NULL;
	int ret = store != NULL ? run_draws(&costing->c, store, work, &truth, err) : -EIO;

	if (ret == 0)
		result = job_json(costing, job, &truth, error);
	rerun_store_close(store);
	errno = -ret;
	return result;
}

/* Fewer draws have larger errors, which are reported. @return 0, or -ETIME with err: one takes too long */
static int
check_work(struct rerun_case *c, const struct twin_work *work, struct err *err)
{
	struct err late = { 0 };

	while (c->draws > 1 && twin_work_check(work, c->nsets_out * c->draws, &late) < 0)
		c->draws /= 2;
	return twin_work_check(work, c->nsets_out, err);
}

json_t *
twin_cost_job(const struct twin_model *model, uint32_t job, const char *dir, const struct twin_work *work,
	      const struct twin_error *error, struct err *err)
{
	struct costing costing = { .model = model };
	const struct scenario_options options = { .path = costing.config };
	json_t *verdict = json_pack("{s:O}", "findings", model->findings), *result = NULL;
	struct scenario *scenario;
	int ret;

	snprintf(costing.config, sizeof(costing.config), "%s/" RUN_TWIN_CONFIG, dir);
	snprintf(costing.store, sizeof(costing.store), "%s/" RUN_TWIN_RUNS, dir);
	scenario = scenario_load(&options, err);
	if (scenario == NULL) {
		json_decref(verdict);
		errno = EINVAL;
		return NULL;
	}
	costing.c = (struct rerun_case){ .family = "twin",
					 .index = job,
					 .scenario = costing.config,
					 .dir = work->dir,
					 .loaded = scenario,
					 .job = job,
					 .orders = TWIN_ORDERS,
					 .draws = max_u32(model->draws, 2) };
	ret = suspects_list(scenario, job, &costing.c.suspects, err);
	join_items(&costing.c.suspects);
	costing.id = model->run->jobs[job].id;
	drop_unnamed(&costing);
	claims_read(verdict, &costing.c.suspects, costing.id, &costing.claims);
	keep_most(&costing);
	if (ret == 0)
		ret = rerun_case_init(&costing.c, err);
	if (ret == 0)
		ret = check_work(&costing.c, work, err);
	scenario_destroy(scenario);
	errno = -ret;
	if (ret == 0)
		result = run_case(&costing, job, work, error, err);
	ret = errno;
	rerun_case_fini(&costing.c);
	json_decref(verdict);
	errno = ret;
	return result;
}
