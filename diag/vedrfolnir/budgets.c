/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What counts as one cause: a flow of no job or of another job, at every place that it delayed; a finding's type and
 * root, over all collectives and iterations; and all unexplained time.
 */
#include "diag/vedrfolnir/section.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/minmax.h"
#include "diag/run/fill.h"
#include "diag/vedrfolnir/rating/rating.h"

struct sharing {
	const struct run *run;
	struct section *section;
	uint32_t *alike;  /* [nfindings] the first finding of the same type and root */
	uint32_t *job_of; /* [nflows] the flow's job, RUN_NONE: no job's */
	double *left_ps;  /* [nsteps] lost, and not explained */
	/* [nfindings] their Shapley values beside what the job's flows do to each other, and the unexplained */
	double *apart_ps;
	bool *own; /* [nfindings] about what the job's flows do to each other, in part at least */
	struct replay_claim *claims;
	uint32_t nclaims;
};

static bool
is_host(const struct finding *finding)
{
	return (finding->type->traits & (FINDING_OF_HOST | FINDING_OF_SENDER)) == FINDING_OF_HOST;
}

static uint32_t
job_of(const struct run *run, uint32_t collective)
{
	return run->iterations[run->collectives[collective].in].job;
}

/* ---- claims ---- */

static int
cmp_cause(const struct finding *a, const struct finding *b)
{
	int by_type = strcmp(a->type->key, b->type->key), by_root = strcmp(a->root, b->root);

	return by_type != 0 ? by_type : by_root != 0 ? by_root : ORDER(a->key, b->key);
}

static int
cmp_root(const void *pa, const void *pb, void *of)
{
	const struct finding *findings = of;
	uint32_t i = *(const uint32_t *)pa, j = *(const uint32_t *)pb;
	const struct finding *a = &findings[i], *b = &findings[j];
	int by = cmp_cause(a, b);

	return by != 0 ? by : ORDER(i, j);
}

static int
find_alike(struct sharing *s, struct err *err)
{
	const struct finding *findings = s->section->findings;
	uint32_t *order = run_alloc(s->section->nfindings, sizeof(*order), err), first = 0;

	if (order == NULL)
		return -ENOMEM;
	for (uint32_t i = 0; i < s->section->nfindings; i++)
		order[i] = i;
	if (s->section->nfindings > 1)
		qsort_r(order, s->section->nfindings, sizeof(*order), cmp_root, s->section->findings);
	for (uint32_t i = 0; i < s->section->nfindings; i++) {
		const struct finding *a = &findings[order[first]], *b = &findings[order[i]];

		if (cmp_cause(a, b) != 0)
			first = i;
		s->alike[order[i]] = order[first];
	}
	free(order);
	return 0;
}

/* Is it about what the flows of a job do to each other? Nobody can leave that out. */
static bool
is_own(const struct sharing *s, const struct replay_claim *claim)
{
	return claim->owner == RUN_NONE ||
	       (claim->part != RUN_NONE && claim->player >= s->run->nflows && s->job_of[claim->part] != RUN_NONE);
}

/*
 * Without it the job's bytes may pass other ports: its flows do not share queues then, and links are there that were down.
 * Of unexplained time nothing is known.
 */
static bool
shifts(const struct sharing *s, const struct replay_claim *claim)
{
	return is_own(s, claim) || strcmp(s->section->findings[claim->owner].type->key, "link-down") == 0;
}

static void
put_claim(struct sharing *s, struct replay_claim claim)
{
	claim.shifts = shifts(s, &claim);
	s->claims[s->nclaims++] = claim;
}

static void
put_finding(struct sharing *s, uint32_t index)
{
	const struct finding *finding = &s->section->findings[index];

	for (uint32_t i = 0; i < finding->nclaims; i++) {
		const struct finding_claim *claim = &finding->claims[i];
		bool other = claim->flow != RUN_NONE && s->job_of[claim->flow] != job_of(s->run, finding->collective);
		double ps = fmin(claim->ps, s->left_ps[claim->step]);

		s->left_ps[claim->step] -= ps;
		put_claim(s, (struct replay_claim){ .step = claim->step,
						    .player = other ? claim->flow : s->run->nflows + s->alike[index],
						    .ps = ps,
						    .owner = index,
						    .part = claim->flow,
						    .host = is_host(finding),
						    .found = true });
	}
}

static void
put_unexplained(struct sharing *s)
{
	for (uint32_t i = 0; i < s->run->nsteps; i++)
		if (s->left_ps[i] > 0)
			put_claim(s, (struct replay_claim){ .step = i,
							    .player = s->run->nflows + s->section->nfindings,
							    .ps = s->left_ps[i],
							    .owner = RUN_NONE });
}

static int
make_claims(struct sharing *s, struct err *err)
{
	size_t count = s->run->nsteps;

	for (uint32_t i = 0; i < s->section->nfindings; i++)
		count += s->section->findings[i].nclaims;
	s->claims = run_alloc(count, sizeof(*s->claims), err);
	s->alike = run_alloc(s->section->nfindings, sizeof(*s->alike), err);
	s->job_of = run_alloc(s->run->nflows, sizeof(*s->job_of), err);
	s->left_ps = run_alloc(s->run->nsteps, sizeof(*s->left_ps), err);
	if (s->claims == NULL || s->alike == NULL || s->job_of == NULL || s->left_ps == NULL || find_alike(s, err) != 0)
		return -ENOMEM;
	for (uint32_t f = 0; f < s->run->nflows; f++)
		s->job_of[f] = RUN_NONE;
	for (uint32_t i = 0; i < s->run->nsteps; i++) {
		if (s->run->steps[i].flow != RUN_NONE)
			s->job_of[s->run->steps[i].flow] = job_of(s->run, s->run->steps[i].collective);
		s->left_ps[i] = run_lost_ps(&s->run->steps[i]);
	}
	for (uint32_t i = 0; i < s->section->nfindings; i++)
		put_finding(s, i);
	put_unexplained(s);
	return 0;
}

/* ---- their shares of jobs' times ---- */

/* Steps are sorted by job. */
static int
cmp_step(const void *pa, const void *pb)
{
	const struct replay_claim *a = pa, *b = pb;

	return ORDER(a->step, b->step);
}

/* @param claims  [count] of one job */
static int
share_apart(struct sharing *s, uint32_t job, const struct replay_claim *claims, uint32_t count, struct err *err)
{
	struct replay_claim *apart = run_alloc(count, sizeof(*apart), err);
	struct replay_together together;
	uint32_t napart = 0;
	int ret;

	if (apart == NULL)
		return -ENOMEM;
	for (uint32_t i = 0; i < count; i++) {
		if (!is_own(s, &claims[i]))
			apart[napart++] = claims[i];
		else if (claims[i].owner != RUN_NONE)
			s->own[claims[i].owner] = true;
	}
	ret = napart != 0 ? replay_share(s->run, job, apart, napart, &together, err) : 0;
	for (uint32_t i = 0; i < napart && ret == 0; i++)
		s->apart_ps[apart[i].owner] += apart[i].share_ps;
	free(apart);
	return ret;
}

static int
share(struct sharing *s, struct err *err)
{
	struct vedrfolnir *own = s->section->own;
	struct replay_together together = { 0 };
	int ret = 0;

	if (s->nclaims > 1)
		qsort(s->claims, s->nclaims, sizeof(*s->claims), cmp_step);
	for (uint32_t i = 0, end = 0; i < s->nclaims && ret == 0; i = end) {
		uint32_t job = job_of(s->run, s->run->steps[s->claims[i].step].collective);

		while (end < s->nclaims && job_of(s->run, s->run->steps[s->claims[end].step].collective) == job)
			end++;
		ret = share_apart(s, job, s->claims + i, end - i, err);
		if (ret == 0)
			ret = replay_share(s->run, job, s->claims + i, end - i, &together, err);
		for (uint32_t c = i; c < end; c++) {
			struct time_budget *budget = &own->budgets[s->run->steps[s->claims[c].step].collective];

			budget->hosts_ps = together.hosts_ps;
			budget->found_ps = together.found_ps;
		}
	}
	return ret;
}

/* Adds the result of a claim to its finding and its collective. */
static void
take(const struct sharing *s, const struct replay_claim *claim)
{
	struct vedrfolnir *own = s->section->own;
	struct time_budget *budget = &own->budgets[s->run->steps[claim->step].collective];
	struct finding *finding = claim->owner != RUN_NONE ? &s->section->findings[claim->owner] : NULL;

	budget->lost_ps += claim->share_ps;
	if (finding == NULL) {
		budget->hidden_ps += claim->regained_ps;
		return;
	}
	budget->explained_ps += claim->share_ps;
	finding->critical_ps += claim->share_ps;
	finding->regained_ps += claim->regained_ps;
	for (uint32_t f = 0; f < finding->nflows && claim->part != RUN_NONE; f++)
		if (finding->flows[f] == claim->part)
			finding->flow_ps[f] += claim->share_ps;
}

/* ---- findings with an effect ---- */

/* The least share of a collective's time that counts. */
static double
least_share_ps(const struct run *run, const struct run_collective *collective)
{
	uint64_t end_ps = collective->complete ? collective->end_ps : run->end_ps;

	return end_ps > collective->start_ps ? FINDING_LEAST_SHARE * (double)(end_ps - collective->start_ps) : 0;
}

/* Facts about the findings of a collective that decide how each of them is judged. */
struct judged {
	bool any_alone, host_alone; /* one regains something alone; a host does */
	bool own;                   /* what the job's flows do to each other has a part of its lost time */
};

/*
 * What one regains alone. Equal causes side by side hide each other: each has its part of what all of them regain that can
 * be left out. Where none regains anything alone, all of them together do; unless unexplained time regains more than they
 * do together. But what hides behind the contention of the job's own flows is not one of them: that contention stays. The
 * same holds for late hosts: a chain may wait for any of them, one step after the other.
 * @param apart_ps  the finding's Shapley value beside what cannot be left out
 * @param own       it is about what the job's flows do to each other
 */
static double
effect_ps(const struct finding *finding, double apart_ps, bool own, const struct time_budget *budget,
	  const struct judged *judged)
{
	if (is_host(finding) && !judged->host_alone && budget->hosts_ps >= budget->least_ps)
		return finding->critical_ps > 0 ? budget->hosts_ps : 0;
	if (!judged->any_alone)
		return own || !judged->own ? finding->critical_ps : fmax(finding->regained_ps, apart_ps);
	/* What was inferred for want of another cause, behind others, may be their work. */
	if (is_host(finding) || (finding->type->traits & FINDING_BY_DEFAULT) != 0)
		return finding->regained_ps;
	return fmax(finding->regained_ps, apart_ps);
}

/*
 * Does it regain nothing alone? What counts by its share beside others alone counts if that is a part of the collective's
 * time: a few round trips of a flow of others are none beside a timer that lasted for a thousand.
 */
static bool
is_hidden(const struct finding *finding, const struct time_budget *budget)
{
	return !is_host(finding) && finding->regained_ps < budget->least_ps;
}

/* @param judged  [ncollectives] zeroed */
static void
judge(const struct run *run, struct section *section, const struct sharing *s, struct judged *judged)
{
	struct vedrfolnir *own = section->own;
	double together_ps;

	for (uint32_t i = 0; i < run->nsteps; i++) {
		struct time_budget *budget = &own->budgets[run->steps[i].collective];

		budget->least_ps = fmax(budget->least_ps, (double)run->steps[i].base_rtt_ps);
	}
	for (uint32_t i = 0; i < run->ncollectives; i++) {
		own->budgets[i].least_ps = fmin(least_share_ps(run, &run->collectives[i]), own->budgets[i].least_ps);
		together_ps = fmin(own->budgets[i].found_ps, own->budgets[i].explained_ps);
		judged[i].any_alone = own->budgets[i].hidden_ps > fmax(own->budgets[i].least_ps, together_ps);
	}
	for (uint32_t i = 0; i < section->nfindings; i++) {
		const struct finding *finding = &section->findings[i];
		double least_ps = own->budgets[finding->collective].least_ps;
		bool alone = finding->regained_ps > 0 && finding->regained_ps >= least_ps;

		judged[finding->collective].any_alone |= alone;
		judged[finding->collective].host_alone |= alone && is_host(finding);
		judged[finding->collective].own |= s->own[i] && finding->critical_ps >= least_ps;
	}
	for (uint32_t i = 0; i < section->nfindings; i++) {
		struct finding *finding = &section->findings[i];
		const struct time_budget *budget = &own->budgets[finding->collective];
		double ps = effect_ps(finding, s->apart_ps[i], s->own[i], budget, &judged[finding->collective]);

		finding->costless =
			ps <= 0 || ps < budget->least_ps ||
			(is_hidden(finding, budget) && ps < least_share_ps(run, &run->collectives[finding->collective]));
	}
}

int
budgets_sum_up(const struct run *run, struct section *section, struct err *err)
{
	struct vedrfolnir *own = section->own;
	struct sharing s = { .run = run, .section = section };
	struct judged *judged = run_alloc(run->ncollectives, sizeof(*judged), err);
	int ret = -ENOMEM;

	s.apart_ps = run_alloc(section->nfindings, sizeof(*s.apart_ps), err);
	s.own = run_alloc(section->nfindings, sizeof(*s.own), err);
	own->budgets = run_alloc(run->ncollectives, sizeof(*own->budgets), err);
	if (own->budgets != NULL && judged != NULL && s.apart_ps != NULL && s.own != NULL)
		ret = findings_give_links(run, section->findings, section->nfindings, err);
	if (ret == 0)
		ret = make_claims(&s, err);
	if (ret == 0)
		ret = share(&s, err);
	for (uint32_t i = 0; ret == 0 && i < s.nclaims; i++)
		take(&s, &s.claims[i]);
	free(s.claims);
	free(s.alike);
	free(s.job_of);
	free(s.left_ps);
	if (ret == 0)
		judge(run, section, &s, judged);
	free(s.apart_ps);
	free(s.own);
	free(judged);
	return ret;
}
