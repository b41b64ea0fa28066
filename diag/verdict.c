/* SPDX-License-Identifier: BSD-3-Clause */
#include "diag/verdict.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/err.h"
#include "common/minmax.h"
#include "diag/collect/evidence.h"
#include "diag/diagnoser.h"
#include "diag/finding.h"
#include "diag/run/fill.h"
#include "diag/run/run.h"

struct joining;
typedef int cmp_fn(const struct joining *j, const struct finding *a, const struct finding *b);

struct joining {
	const struct run *run;
	struct finding *findings;
	cmp_fn *cmp;      /* two that compare as 0 are one */
	uint64_t *rtt_ps; /* [run->ncollectives] longest base RTT */
};

/*
 * The only affected job, if its culprits are flows of jobs: for another job the culprits are others. RUN_NONE: it is of
 * all affected jobs.
 */
static uint32_t
job_of(const struct run *run, const struct finding *finding)
{
	for (uint32_t i = 0; i < finding->nflows; i++) {
		if (run->flows[finding->flows[i]].collective)
			return run->iterations[run->collectives[finding->collective].in].job;
	}
	return RUN_NONE;
}

static int
cmp_u32(uint32_t a, uint32_t b)
{
	return ORDER(a, b);
}

/* 0: of the same type, at the same place */
static int
cmp_place(const struct joining *j, const struct finding *a, const struct finding *b)
{
	int by = strcmp(a->type->key, b->type->key);

	(void)j;
	by = by != 0 ? by : cmp_u32(a->root_port, b->root_port);
	return by != 0 ? by : strcmp(a->root, b->root);
}

/* 0: the same cause at the same place */
static int
cmp_cause(const struct joining *j, const struct finding *a, const struct finding *b)
{
	int by = cmp_place(j, a, b);

	by = by != 0 ? by : cmp_u32(a->key, b->key);
	return by != 0 ? by : cmp_u32(job_of(j->run, a), job_of(j->run, b));
}

static int
cmp_order(const void *pa, const void *pb, void *arg)
{
	const struct joining *j = arg;
	const uint32_t *a = pa, *b = pb;
	int by = j->cmp(j, &j->findings[*a], &j->findings[*b]);

	by = by != 0 ? by : cmp_u32(j->findings[*a].collective, j->findings[*b].collective);
	return by != 0 ? by : cmp_u32(*a, *b);
}

/* Adds to a list an element that is not in it yet. @return 0 or -ENOMEM */
static int
put_new(uint32_t **list, uint32_t *count, const uint32_t *items, uint32_t nitems)
{
	uint32_t *grown = realloc(*list, ((size_t)*count + nitems + 1) * sizeof(*grown)), before = *count;

	if (grown == NULL)
		return -ENOMEM;
	*list = grown;
	for (uint32_t i = 0; i < nitems; i++) {
		bool known = false;

		for (uint32_t k = 0; k < before && !known; k++)
			known = grown[k] == items[i];
		if (!known)
			grown[(*count)++] = items[i];
	}
	return 0;
}

static double
flow_ps(const struct finding *of, uint32_t flow)
{
	for (uint32_t i = 0; i < of->nflows; i++) {
		if (of->flows[i] == flow)
			return of->flow_ps[i];
	}
	return 0;
}

/* @return 0 or -ENOMEM */
static int
put_flows(struct finding *into, const struct finding *from)
{
	double *grown = realloc(into->flow_ps, ((size_t)into->nflows + from->nflows + 1) * sizeof(*grown));
	uint32_t before = into->nflows;

	if (grown == NULL)
		return -ENOMEM;
	into->flow_ps = grown;
	for (uint32_t i = 0; i < before; i++)
		grown[i] += flow_ps(from, into->flows[i]);
	if (put_new(&into->flows, &into->nflows, from->flows, from->nflows) != 0)
		return -ENOMEM;
	for (uint32_t i = before; i < into->nflows; i++)
		grown[i] = flow_ps(from, into->flows[i]);
	return 0;
}

/* Weight in the confidence of all: by cost; a finding without any has next to none. */
static double
weight(const struct finding *finding)
{
	return finding->critical_ps + 1;
}

/* @return 0 or -ENOMEM */
static int
take(struct finding *into, const struct finding *from)
{
	uint32_t *steps = realloc(into->steps, ((size_t)into->nsteps + from->nsteps + 1) * sizeof(*steps));
	struct finding_claim *claims;

	if (steps == NULL)
		return -ENOMEM;
	into->steps = steps;
	for (uint32_t i = 0; i < from->nsteps; i++) /* each is of one collective */
		steps[into->nsteps++] = from->steps[i];
	claims = realloc(into->claims, ((size_t)into->nclaims + from->nclaims + 1) * sizeof(*claims));
	if (claims == NULL)
		return -ENOMEM;
	into->claims = claims;
	for (uint32_t i = 0; i < from->nclaims; i++)
		claims[into->nclaims++] = from->claims[i];
	if (put_new(&into->ports, &into->nports, from->ports, from->nports) != 0 ||
	    put_new(&into->victims, &into->nvictims, from->victims, from->nvictims) != 0 || put_flows(into, from) != 0)
		return -ENOMEM;
	if (into->origin_port == RUN_NONE)
		into->origin_port = from->origin_port;
	into->start_ps = min_u64(into->start_ps, from->start_ps);
	into->end_ps = max_u64(into->end_ps, from->end_ps);
	into->score += from->score;
	into->confidence += from->confidence * weight(from);
	into->borne_out += from->borne_out * weight(from);
	into->machine += from->machine * weight(from);
	into->explained_ps += from->explained_ps;
	into->critical_ps += from->critical_ps;
	into->regained_ps += from->regained_ps;
	into->costless &= from->costless;
	return 0;
}

/* By cost, largest first; equals keep their order. */
static void
sort_flows(struct finding *finding)
{
	for (uint32_t i = 1; i < finding->nflows; i++) {
		uint32_t flow = finding->flows[i], at = i;
		double ps = finding->flow_ps[i];

		for (; at > 0 && finding->flow_ps[at - 1] < ps; at--) {
			finding->flows[at] = finding->flows[at - 1];
			finding->flow_ps[at] = finding->flow_ps[at - 1];
		}
		finding->flows[at] = flow;
		finding->flow_ps[at] = ps;
	}
}

/* What leaving it out regains: its share beside the others, or more, alone. */
static double
worth_ps(const struct finding *finding)
{
	return fmax(finding->critical_ps, finding->regained_ps);
}

/* The order of a verdict's findings. */
static bool
weighs_more(const struct finding *a, const struct finding *b)
{
	bool a_untimed = (a->type->traits & FINDING_UNTIMED) != 0, b_untimed = (b->type->traits & FINDING_UNTIMED) != 0;

	if (a_untimed != b_untimed)
		return b_untimed;
	if (a->costless != b->costless)
		return b->costless;
	if (worth_ps(a) != worth_ps(b))
		return worth_ps(a) > worth_ps(b);
	return a->critical_ps != b->critical_ps ? a->critical_ps > b->critical_ps : a->score > b->score;
}

/*
 * Adds the cost of a finding there, or of its part of it, to the part of a collective; its flows are all known. @return
 * 0 or -ENOMEM
 */
static int
put_part(struct finding *into, const struct finding *from, const struct finding_part *cost)
{
	struct finding_part *part = NULL, *grown;

	for (uint32_t i = 0; i < into->nparts && part == NULL; i++)
		part = into->parts[i].collective == cost->collective ? &into->parts[i] : NULL;
	if (part == NULL) {
		uint32_t at = into->nparts;

		grown = realloc(into->parts, ((size_t)at + 1) * sizeof(*grown));
		if (grown == NULL)
			return -ENOMEM;
		into->parts = grown;
		for (; at > 0 && grown[at - 1].collective > cost->collective; at--)
			grown[at] = grown[at - 1];
		into->nparts++;
		part = &grown[at];
		*part = (struct finding_part){ .collective = cost->collective,
					       .flow_ps = calloc((size_t)into->nflows + 1, sizeof(*part->flow_ps)) };
		if (part->flow_ps == NULL)
			return -ENOMEM;
	}
	part->critical_ps += cost->critical_ps;
	for (uint32_t f = 0; f < into->nflows; f++) {
		for (uint32_t k = 0; k < from->nflows; k++)
			part->flow_ps[f] += from->flows[k] == into->flows[f] ? cost->flow_ps[k] : 0;
	}
	return 0;
}

/* @return 0 or -ENOMEM */
static int
put_parts(struct finding *into, const struct finding *from)
{
	const struct finding_part whole = { .collective = from->collective,
					    .critical_ps = from->critical_ps,
					    .flow_ps = from->flow_ps };
	int rc = from->nparts == 0 ? put_part(into, from, &whole) : 0;

	for (uint32_t i = 0; i < from->nparts && rc == 0; i++)
		rc = put_part(into, from, &from->parts[i]);
	return rc;
}

/* The least cost of a finding with an effect: a part of the affected time, or the longest base RTT of that. */
static double
least_ps(const struct joining *j, const struct finding *finding)
{
	uint64_t rtt_ps = 0, took_ps = 0;

	for (uint32_t i = 0; i < finding->nparts; i++) {
		const struct run_collective *c = &j->run->collectives[finding->parts[i].collective];
		uint64_t end_ps = c->complete ? c->end_ps : j->run->end_ps;

		rtt_ps = max_u64(rtt_ps, j->rtt_ps[finding->parts[i].collective]);
		took_ps = sum_u64(took_ps, end_ps > c->start_ps ? end_ps - c->start_ps : 0);
	}
	return fmin((double)rtt_ps, FINDING_LEAST_SHARE * (double)took_ps);
}

/* Adds all of a group, the one that weighs most first. @return 0 or -ENOMEM */
static int
take_group(const struct joining *j, const uint32_t *group, uint32_t count, uint32_t most, struct finding *all)
{
	int rc = take(all, &j->findings[most]);

	for (uint32_t i = 0; i < count && rc == 0; i++) {
		if (group[i] != most)
			rc = take(all, &j->findings[group[i]]);
	}
	if (count > 1)
		sort_flows(all);
	for (uint32_t i = 0; i < count && rc == 0; i++)
		rc = put_parts(all, &j->findings[group[i]]);
	all->costless &= count == 1 || all->regained_ps <= 0 || all->regained_ps < least_ps(j, all);
	all->confidence /= all->critical_ps + count;
	all->borne_out /= all->critical_ps + count;
	all->machine /= all->critical_ps + count;
	return rc;
}

/* Makes one finding of a group, in the place of the one that weighs most. @return 0 or -ENOMEM */
static int
join_group(const struct joining *j, const uint32_t *group, uint32_t count)
{
	struct finding *into, all = { .origin_port = RUN_NONE, .start_ps = UINT64_MAX, .costless = true };
	uint32_t most = group[0];
	int rc;

	for (uint32_t i = 1; i < count; i++)
		most = weighs_more(&j->findings[group[i]], &j->findings[most]) ? group[i] : most;
	into = &j->findings[most];
	rc = take_group(j, group, count, most, &all);
	if (rc != 0) {
		finding_fini(&all);
		return rc;
	}
	all.type = into->type;
	memcpy(all.root, into->root, sizeof(all.root));
	all.root_port = into->root_port;
	all.key = into->key;
	all.collective = into->collective;
	all.evidence = into->evidence;
	all.lacks = into->lacks;
	for (uint32_t i = 0; i < count; i++) {
		finding_fini(&j->findings[group[i]]);
		j->findings[group[i]] = (struct finding){ .type = NULL };
	}
	*into = all;
	return 0;
}

/* Joins findings that compare as equal, in a list of that order. @return 0 or -ENOMEM */
static int
join_alike(struct joining *j, uint32_t *order, uint32_t count, cmp_fn *cmp)
{
	int rc = 0;

	j->cmp = cmp;
	qsort_r(order, count, sizeof(*order), cmp_order, j);
	for (uint32_t first = 0, end; first < count && rc == 0; first = end) {
		for (end = first + 1; end < count && cmp(j, &j->findings[order[first]], &j->findings[order[end]]) == 0;
		     end++)
			;
		rc = end > first + 1 || j->findings[order[first]].nparts == 0 ? join_group(j, &order[first], end - first)
									      : 0;
	}
	return rc;
}

/* The remaining findings without effect whose culprits are flows of no job. @return their number */
static uint32_t
list_little(const struct joining *j, uint32_t count, uint32_t *order)
{
	uint32_t little = 0;

	for (uint32_t i = 0; i < count; i++) {
		const struct finding *finding = &j->findings[i];

		if (finding->type != NULL && finding->costless && finding->nflows != 0 &&
		    (finding->type->traits & FINDING_UNTIMED) == 0 && job_of(j->run, finding) == RUN_NONE)
			order[little++] = i;
	}
	return little;
}

/* With an effect, without one, or of no known time: reports list them by these groups. */
static bool
of_one_group(const struct finding *a, const struct finding *b)
{
	return (a->type->traits & FINDING_UNTIMED) == (b->type->traits & FINDING_UNTIMED) && a->costless == b->costless;
}

static int
cmp_weight(const void *pa, const void *pb, void *arg)
{
	const struct joining *j = arg;
	const uint32_t *ia = pa, *ib = pb;
	const struct finding *a = &j->findings[*ia], *b = &j->findings[*ib];

	if (of_one_group(a, b) && finding_folded(a) != finding_folded(b))
		return finding_folded(b) ? -1 : 1;
	if (weighs_more(a, b))
		return -1;
	return weighs_more(b, a) ? 1 : cmp_u32(*ia, *ib);
}

/* Those that are left, in order. @param order  [count] room @return 0 or -ENOMEM */
static int
put_in_order(struct joining *j, uint32_t *order, uint32_t *count)
{
	struct finding *sorted = calloc((size_t)*count + 1, sizeof(*sorted));
	uint32_t left = 0;

	for (uint32_t i = 0; i < *count; i++) {
		if (j->findings[i].type != NULL)
			order[left++] = i;
	}
	qsort_r(order, left, sizeof(*order), cmp_weight, j);
	for (uint32_t i = 0; i < left && sorted != NULL; i++)
		sorted[i] = j->findings[order[i]];
	for (uint32_t i = 0; i < left && sorted != NULL; i++)
		j->findings[i] = sorted[i];
	*count = sorted != NULL ? left : *count;
	free(sorted);
	return sorted != NULL ? 0 : -ENOMEM;
}

int
findings_order(const struct run *run, struct finding *findings, uint32_t count, struct err *err)
{
	struct joining j = { .run = run, .findings = findings };
	uint32_t *order = run_alloc(count, sizeof(*order), err);
	int rc = order != NULL ? put_in_order(&j, order, &count) : -ENOMEM;

	free(order);
	return rc;
}

int
findings_join(const struct run *run, struct finding *findings, uint32_t *count, struct err *err)
{
	struct joining j = { .run = run,
			     .findings = findings,
			     .rtt_ps = run_alloc(run->ncollectives, sizeof(*j.rtt_ps), err) };
	uint32_t *order = run_alloc(*count, sizeof(*order), err), timed = 0;
	int rc = j.rtt_ps != NULL && order != NULL ? 0 : -ENOMEM;

	for (uint32_t i = 0; i < run->nsteps && rc == 0 && *count != 0; i++) {
		uint64_t *rtt_ps = &j.rtt_ps[run->steps[i].collective];

		*rtt_ps = max_u64(*rtt_ps, run->steps[i].base_rtt_ps);
	}
	for (uint32_t i = 0; i < *count && rc == 0; i++) {
		if ((findings[i].type->traits & FINDING_UNTIMED) == 0)
			order[timed++] = i;
	}
	if (rc == 0)
		rc = join_alike(&j, order, timed, cmp_cause);
	if (rc == 0)
		rc = join_alike(&j, order, list_little(&j, *count, order), cmp_place);
	if (rc == 0)
		rc = put_in_order(&j, order, count);
	free(order);
	free(j.rtt_ps);
	return rc == 0 ? 0 : err_set(err, -ENOMEM, "out of memory for findings");
}

static int ask(struct verdict *v, const struct evidence *evidence, const struct diagnosis *diagnosis, struct err *err);
static int gather_findings(struct verdict *v, struct err *err);

int
verdict_build(struct evidence *evidence, const struct diagnosis *asked, uint32_t nasked, struct verdict **out,
	      struct err *err)
{
	struct verdict *v = run_alloc(1, sizeof(*v), err);
	int rc;

	if (v == NULL)
		return -ENOMEM;
	rc = run_build(&v->run, evidence, err);
	if (rc == 0) {
		evidence_release_steps(evidence);
		v->sections = run_alloc(nasked, sizeof(*v->sections), err);
		rc = v->sections != NULL ? 0 : -ENOMEM;
	}
	for (uint32_t i = 0; i < nasked && rc == 0; i++)
		rc = ask(v, evidence, &asked[i], err);
	if (rc == 0)
		rc = gather_findings(v, err);
	if (rc != 0) {
		verdict_destroy(v);
		return rc;
	}
	*out = v;
	return 0;
}

static bool
has_kinds(const struct evidence *evidence, uint64_t reads)
{
	for (uint32_t kind = 0; kind < RECORD_KINDS; kind++) {
		if ((reads & DIAGNOSER_READS(kind)) != 0 && evidence->kinds[kind] != 0)
			return true;
	}
	return false;
}

static int
ask(struct verdict *v, const struct evidence *evidence, const struct diagnosis *diagnosis, struct err *err)
{
	const struct diagnoser *by = diagnosis->by;
	void *defaults = NULL;
	int rc;

	if (!has_kinds(evidence, by->reads))
		return 0;
	if (diagnosis->options == NULL) {
		defaults = run_alloc(1, by->options_bytes, err);
		if (defaults == NULL)
			return -ENOMEM;
	}
	v->sections[v->nsections].by = by;
	rc = by->diagnose(evidence, &v->run, defaults != NULL ? defaults : diagnosis->options, &v->sections[v->nsections],
			  err);
	v->nsections++;
	free(defaults);
	return rc;
}

/* At the place that a finding names: its root; of several links, one of them. */
static uint32_t
known_of(const struct run *run, const struct finding *f)
{
	uint32_t known = RUN_NONE, node = RUN_NONE;

	if (f->root_port != RUN_NONE)
		return run_known_at(run, f->root_port, run->ports[f->root_port].node);
	for (uint32_t i = 0; i < run->nnodes; i++)
		node = strcmp(run->nodes[i].name, f->root) == 0 ? i : node;
	if (node != RUN_NONE)
		return run_known_at(run, RUN_NONE, node);
	for (uint32_t i = 0; i < f->nports && known == RUN_NONE; i++)
		known = run_known_at(run, f->ports[i], RUN_NONE);
	return known;
}

static void
mark_known(struct verdict *v)
{
	for (uint32_t i = 0; i < v->nfindings; i++) {
		struct finding *f = &v->findings[i];

		if ((f->type->traits & FINDING_OF_FAULT) != 0)
			f->known = known_of(&v->run, f) + 1; /* RUN_NONE + 1 is 0 */
	}
}

/* Of all sections: those of one cause at one place are one. */
static int
gather_findings(struct verdict *v, struct err *err)
{
	uint32_t count = 0;

	for (uint32_t i = 0; i < v->nsections; i++)
		count += v->sections[i].nfindings;
	v->findings = run_alloc(count, sizeof(*v->findings), err);
	if (v->findings == NULL)
		return -ENOMEM;
	for (uint32_t i = 0; i < v->nsections; i++) {
		struct section *section = &v->sections[i];

		for (uint32_t f = 0; f < section->nfindings; f++)
			v->findings[v->nfindings++] = section->findings[f];
		free(section->findings);
		section->findings = NULL;
		section->nfindings = 0;
	}
	if (findings_join(&v->run, v->findings, &v->nfindings, err) != 0)
		return -ENOMEM;
	mark_known(v);
	return 0;
}

static void
free_findings(struct finding *findings, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++)
		finding_fini(&findings[i]);
	free(findings);
}

void
verdict_destroy(struct verdict *v)
{
	if (v == NULL)
		return;
	for (uint32_t i = 0; i < v->nsections; i++) {
		free_findings(v->sections[i].findings, v->sections[i].nfindings);
		if (v->sections[i].own != NULL)
			v->sections[i].by->destroy(v->sections[i].own);
	}
	free_findings(v->findings, v->nfindings);
	free(v->sections);
	free(v->twins);
	run_fini(&v->run);
	free(v);
}

#define CONCLUDE_LIKELY 0.5 /* least confidence of a finding that blames the network: below it, it is as likely wrong */

enum claim_kind
findings_blame(const struct finding *findings, uint32_t count, bool left, double *sure)
{
	bool effect = false, part = false;
	double most[2] = { 0, 0 };

	for (uint32_t i = 0; i < count; i++) {
		const struct finding *finding = &findings[i];

		if ((finding->type->traits & (FINDING_OF_HOST | FINDING_UNTIMED)) != 0)
			continue;
		effect |= !finding->costless;
		part |= finding->cost_from != FINDING_BY_TWIN || finding->cost_unknown;
		most[!finding->costless] = fmax(most[!finding->costless], finding->borne_out);
	}
	*sure = most[effect];
	if (!effect && (left || !part))
		return CLAIM_NO_EFFECT;
	return most[effect] > CONCLUDE_LIKELY ? CLAIM_FAULT : CLAIM_UNCERTAIN;
}

void
verdict_conclude(struct verdict *v, double unexplained_ps)
{
	for (uint32_t i = 0; i < v->nsections; i++) {
		struct claim *claim = &v->sections[i].claim;
		double sure;

		if (claim->kind == CLAIM_UNTIMED)
			continue;
		claim->left = fmax(unexplained_ps, (double)run_unreported_ps(&v->run)) > (double)run_base_rtt_ps(&v->run);
		if (claim->kind != CLAIM_FAULT && claim->kind != CLAIM_NO_EFFECT && claim->kind != CLAIM_UNCERTAIN)
			continue;
		claim->kind = findings_blame(v->findings, v->nfindings, claim->left, &sure);
		claim->confidence = claim->kind == CLAIM_FAULT ? sure : 0;
	}
}

const struct claim *
verdict_claim(const struct verdict *v)
{
	const struct claim *innocent = NULL;

	for (uint32_t i = 0; i < v->nsections; i++) {
		const struct claim *claim = &v->sections[i].claim;

		if (claim->kind == CLAIM_UNTIMED)
			continue;
		if (!claim->innocent)
			return claim;
		innocent = innocent != NULL ? innocent : claim;
	}
	return innocent;
}

bool
verdict_complete(const struct verdict *v)
{
	for (uint32_t i = 0; i < v->nsections; i++) {
		if (v->sections[i].skipped != 0)
			return false;
	}
	return run_complete(&v->run);
}

const struct section *
verdict_section(const struct verdict *v, const char *name)
{
	for (uint32_t i = 0; i < v->nsections; i++) {
		if (strcmp(v->sections[i].by->name, name) == 0)
			return &v->sections[i];
	}
	return NULL;
}
