/* SPDX-License-Identifier: BSD-3-Clause */
#include "eval/counterfactual.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/run_dir.h"
#include "eval/case_file.h"
#include "eval/disturb.h"

static int
make_case(struct counterfactual *study, uint64_t seed, uint32_t index, struct err *err)
{
	struct counterfactual_case *made = &study->made[study->nmade];
	struct rerun_case *c = &study->reruns[study->nmade];
	struct scenario *scenario;
	uint64_t before;
	int ret;

	made->seed = seed;
	made->index = index;
	made->fabric = disturb_fabric_of(index)->name;
	snprintf(made->family, sizeof(made->family), "counterfactual/%" PRIu64, seed);
	if (snprintf(made->dir, sizeof(made->dir), "%s/%" PRIu64 "/%03u", study->dir, seed, index) >=
	    (int)sizeof(made->dir))
		return err_set(err, -ENAMETOOLONG, "%s: too long a name", study->dir);
	snprintf(made->scenario, sizeof(made->scenario), "%s/case.cfg", made->dir);
	ret = run_dir_make(made->dir, err);
	before = case_file_digest(made->scenario);
	if (ret >= 0)
		ret = disturb_write(made->seed, made->index, made->dir, err);
	if (ret >= 0)
		ret = case_file_check(made->scenario, before, err);
	if (ret < 0)
		return ret;
	scenario = scenario_load(&(struct scenario_options){ .path = made->scenario }, err);
	if (scenario == NULL)
		return -EINVAL;
	*c = (struct rerun_case){ .family = made->family,
				  .index = index,
				  .scenario = made->scenario,
				  .dir = made->dir,
				  .loaded = scenario,
				  .diagnose = true };
	study->nmade++; /* from here on counterfactual_fini() sees it */
	ret = suspects_list(scenario, c->job, &c->suspects, err);
	if (ret == 0)
		ret = rerun_case_init(c, err);
	scenario_destroy(scenario);
	return ret;
}

int
counterfactual_make(struct counterfactual *study, struct err *err)
{
	size_t count = (size_t)study->nseeds * study->cases;
	int ret = 0;

	study->made = calloc(count, sizeof(*study->made));
	study->reruns = calloc(count, sizeof(*study->reruns));
	if (study->made == NULL || study->reruns == NULL)
		return err_set(err, -ENOMEM, "out of memory for %zu cases", count);
	for (uint32_t s = 0; ret == 0 && s < study->nseeds; s++)
		for (uint32_t index = 0; ret == 0 && index < study->cases; index++)
			ret = make_case(study, study->seeds[s], index, err);
	return ret;
}

void
counterfactual_fini(struct counterfactual *study)
{
	for (size_t i = 0; i < study->nmade; i++)
		rerun_case_fini(&study->reruns[i]);
	free(study->reruns);
	free(study->made);
	study->reruns = NULL;
	study->made = NULL;
	study->nmade = 0;
}

static size_t
greatest(const double *of, size_t count)
{
	size_t most = 0;

	for (size_t i = 1; i < count; i++)
		if (of[i] > of[most])
			most = i;
	return most;
}

/* Is what is claimed to cost most among those that do? Those whose times differ by no effect cost the same. */
static bool
is_first(const struct rerun_case *c, double base_ns, const double *claimed_ns, const double *cost_ns)
{
	size_t count = c->suspects.count, named = greatest(claimed_ns, count);

	return claimed_ns[named] > 0 && !rerun_is_effect(c, base_ns, cost_ns[greatest(cost_ns, count)] - cost_ns[named]);
}

/* Costs that are no effect are 0. */
static void
cut_off(const struct rerun_case *c, double base_ns, double *cost_ns)
{
	for (size_t i = 0; i < c->suspects.count; i++)
		if (!rerun_is_effect(c, base_ns, cost_ns[i]))
			cost_ns[i] = 0;
}

/* To shares of their sum. */
static void
normalize(double *of, size_t count)
{
	double sum = 0;

	for (size_t i = 0; i < count; i++)
		sum += of[i];
	for (size_t i = 0; sum > 0 && i < count; i++)
		of[i] /= sum;
}

/* Neither alone nor together with others does it cost anything. */
static bool
is_blameless(const struct rerun_case *c, const struct rerun_truth *truth, size_t suspect)
{
	return !truth->costs[suspect].has_effect && !rerun_is_effect(c, truth->base_ns, truth->costs[suspect].shapley_ns);
}

void
counterfactual_score(const struct rerun_case *c, const struct rerun_truth *truth, const struct claims *claims,
		     struct counterfactual_score *score)
{
	double shapley_ns[SUSPECT_MAX], alone_ns[SUSPECT_MAX], claimed_ns[SUSPECT_MAX];
	size_t count = c->suspects.count;

	*score = (struct counterfactual_score){ .suspects = (uint32_t)count };
	for (size_t i = 0; i < count; i++) {
		shapley_ns[i] = truth->costs[i].shapley_ns;
		alone_ns[i] = truth->costs[i].regained_ns;
		claimed_ns[i] = claims->ns[i];
		score->has_cost |= truth->costs[i].has_effect;
		score->innocents += !truth->costs[i].has_effect;
		score->named_innocents += !truth->costs[i].has_effect && claims->named[i];
		score->blameless += is_blameless(c, truth, i);
		score->named_blameless += is_blameless(c, truth, i) && claims->named[i];
	}
	cut_off(c, truth->base_ns, shapley_ns);
	cut_off(c, truth->base_ns, alone_ns);
	score->first = is_first(c, truth->base_ns, claimed_ns, shapley_ns);
	score->first_alone = is_first(c, truth->base_ns, claimed_ns, alone_ns);
	score->tau = kendall_tau(claimed_ns, shapley_ns, (uint32_t)count);
	score->tau_alone = kendall_tau(claimed_ns, alone_ns, (uint32_t)count);
	normalize(shapley_ns, count);
	normalize(claimed_ns, count);
	for (size_t i = 0; i < count; i++)
		score->error += fabs(claimed_ns[i] - shapley_ns[i]) / (double)count;
}
