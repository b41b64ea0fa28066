/* SPDX-License-Identifier: BSD-3-Clause */
#include "diag/vedrfolnir/cause/cause.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/array.h"
#include "diag/vedrfolnir/cause/confidence.h"
#include "diag/vedrfolnir/cause/delays.h"
#include "diag/vedrfolnir/cause/merge.h"

#define CAUSE_POINT(name) &cause_##name,
const struct cause *const causes[] = { CAUSES(CAUSE_POINT) };
const uint32_t ncauses = ARRAY_LEN(causes);

static void look_at_step(struct cause_set *all, uint32_t step);
static int cmp_finding(const void *pa, const void *pb);

int
cause_find(const struct cause_input *in, struct finding **findings, uint32_t *count, struct err *err)
{
	struct activity activity = { 0 };
	struct delays delays = { 0 };
	struct cause_set all = { .in = in, .activity = &activity, .delays = &delays };
	struct finding *out = NULL;
	int rc = 0;

	all.buckets = malloc(CAUSE_BUCKETS * sizeof(*all.buckets));
	all.no_memory = activity_init(&activity, in->ev, in->steps, in->nsteps) != 0 || delays_init(&delays, in) != 0 ||
			all.buckets == NULL;
	for (uint32_t b = 0; b < CAUSE_BUCKETS && all.buckets != NULL; b++)
		all.buckets[b] = EV_NONE;
	for (uint32_t s = 0; s < in->nsteps && !all.no_memory; s++) {
		if (in->steps[s].slow || cause_host_ps(in, s) != 0)
			look_at_step(&all, s);
	}
	merge_roots(&all);
	for (uint32_t i = 0; i < all.count; i++)
		merge_sort_flows(&all.findings[i]);
	if (all.count > 1)
		qsort(all.findings, all.count, sizeof(*all.findings), cmp_finding);
	out = calloc((size_t)all.count + 1, sizeof(*out));
	*count = out != NULL ? all.count : 0;
	for (uint32_t i = 0; i < *count; i++) {
		confidence_conclude(&all.findings[i]);
		out[i] = all.findings[i].out;
		memset(&all.findings[i].out, 0, sizeof(all.findings[i].out));
	}
	if (all.no_memory || out == NULL)
		rc = err_set(err, -ENOMEM, "out of memory for findings");
	else if (all.full)
		rc = err_set(err, -E2BIG, "more than %d findings", CAUSE_MAX_FINDINGS);
	merge_free(&all);
	activity_fini(&activity);
	delays_fini(&delays);
	*findings = out;
	return rc;
}

/* Does a cause look at such a step? Of one that only computes the network says nothing. */
static bool
is_about(const struct cause *cause, const struct run_step *step)
{
	return !run_is_local(step) || (cause->type.traits & FINDING_OF_HOST) != 0;
}

/* Every signature for itself, then what they have in common: what is too little goes, the rest joins the others. */
static void
look_at_step(struct cause_set *all, uint32_t step)
{
	struct cause_set set = { .in = all->in, .activity = all->activity, .delays = all->delays };

	for (set.looking = 0; set.looking < all->in->ncauses; set.looking++) {
		if (is_about(all->in->causes[set.looking], &all->in->steps[step]))
			all->in->causes[set.looking]->look(&set, step);
	}
	merge_settle(&set, step);
	for (uint32_t i = 0; i < set.count; i++)
		merge_into(all, &set.findings[i], step);
	all->full |= set.full;
	all->no_memory |= set.no_memory;
	merge_free(&set);
}

/* A loop comes before the deadlock that it makes; else the order of causes. */
static int64_t
tie_rank(const struct cause_finding *finding)
{
	return (finding->out.type->traits & FINDING_OF_LOOP) != 0 ? -1 : (int64_t)finding->order;
}

static int
cmp_finding(const void *pa, const void *pb)
{
	const struct cause_finding *one = pa, *other = pb;
	const struct finding *a = &one->out, *b = &other->out;

	if (a->score != b->score)
		return a->score > b->score ? -1 : 1;
	if (a->type != b->type)
		return tie_rank(one) < tie_rank(other) ? -1 : 1;
	if (a->collective != b->collective)
		return a->collective < b->collective ? -1 : 1;
	if (strcmp(a->root, b->root) != 0)
		return strcmp(a->root, b->root);
	if (a->nflows != 0 && b->nflows != 0 && a->flows[0] != b->flows[0])
		return a->flows[0] < b->flows[0] ? -1 : 1;
	return 0;
}

/* ---- findings under construction ---- */

uint32_t
merge_put(struct cause_set *set, uint32_t **items, uint32_t *count, uint32_t item)
{
	uint32_t *grown;

	for (uint32_t i = 0; i < *count; i++) {
		if ((*items)[i] == item)
			return i;
	}
	grown = realloc(*items, (*count + 1) * sizeof(*grown));
	if (grown == NULL) {
		set->no_memory = true;
		return EV_NONE;
	}
	*items = grown;
	grown[*count] = item;
	return (*count)++;
}

static bool
is_same(const struct cause_finding *finding, const struct finding *want, uint32_t key)
{
	return finding->out.type == want->type && finding->out.key == key && finding->out.root_port == want->root_port &&
	       finding->out.collective == want->collective && strcmp(finding->out.root, want->root) == 0;
}

uint32_t *
merge_bucket(const struct cause_set *set, const struct finding *want, uint32_t key)
{
	uint64_t hash = (uint64_t)want->root_port << 32 | key;

	hash = (hash ^ (uint64_t)want->collective << 40) * 0x9e3779b97f4a7c15ULL;
	return &set->buckets[hash >> 32 & (CAUSE_BUCKETS - 1)];
}

struct cause_finding *
merge_find(struct cause_set *set, const struct finding *want, uint32_t key)
{
	if (set->buckets != NULL) {
		uint32_t i = *merge_bucket(set, want, key);

		while (i != EV_NONE && !is_same(&set->findings[i], want, key))
			i = set->findings[i].next;
		return i != EV_NONE ? &set->findings[i] : NULL;
	}
	for (uint32_t i = 0; i < set->count; i++) {
		if (is_same(&set->findings[i], want, key))
			return &set->findings[i];
	}
	return NULL;
}

struct cause_finding *
merge_make(struct cause_set *set, const struct finding *want, uint32_t key, uint32_t order)
{
	struct cause_finding *finding;

	if (set->count == CAUSE_MAX_FINDINGS) {
		set->full = true;
		return NULL;
	}
	if (set->count == set->cap) {
		uint32_t cap = set->cap == 0 ? 16 : set->cap * 2;
		struct cause_finding *grown = realloc(set->findings, cap * sizeof(*grown));

		if (grown == NULL) {
			set->no_memory = true;
			return NULL;
		}
		set->findings = grown;
		set->cap = cap;
	}
	finding = &set->findings[set->count++];
	*finding = (struct cause_finding){ .out.key = key, .order = order, .part = EV_NONE, .best_step = EV_NONE };
	finding->out.type = want->type;
	finding->out.root_port = want->root_port;
	finding->out.origin_port = EV_NONE;
	finding->out.collective = want->collective;
	memcpy(finding->out.root, want->root, sizeof(finding->out.root));
	if (set->buckets != NULL) {
		uint32_t *bucket = merge_bucket(set, want, key);

		finding->next = *bucket;
		*bucket = set->count - 1;
	}
	return finding;
}

struct cause_finding *
cause_add(struct cause_set *set, uint32_t root_port, const char *root, uint32_t key, uint32_t step)
{
	struct finding want = { .type = &set->in->causes[set->looking]->type,
				.root_port = root_port,
				.collective = set->in->steps[step].collective };
	struct cause_finding *finding;

	if (root_port != EV_NONE)
		evidence_port_name(set->in->ev, root_port, want.root);
	else
		snprintf(want.root, sizeof(want.root), "%s", root);
	finding = merge_find(set, &want, key);
	if (finding == NULL)
		finding = merge_make(set, &want, key, set->looking);
	if (finding == NULL || merge_put(set, &finding->out.steps, &finding->out.nsteps, step) == EV_NONE)
		return NULL;
	if (!run_is_local(&set->in->steps[step]) &&
	    merge_put(set, &finding->out.victims, &finding->out.nvictims, set->in->steps[step].flow) == EV_NONE)
		return NULL;
	return finding;
}

void
cause_port(struct cause_set *set, struct cause_finding *finding, uint32_t port)
{
	merge_put(set, &finding->out.ports, &finding->out.nports, port);
}

/* Room for one culprit more. */
static bool
grow_by_flow(double **by_flow, uint32_t count)
{
	double *grown = realloc(*by_flow, ((size_t)count + 1) * sizeof(*grown));

	if (grown == NULL)
		return false;
	*by_flow = grown;
	grown[count] = 0;
	return true;
}

void
cause_flow(struct cause_set *set, struct cause_finding *finding, uint32_t flow, double score)
{
	uint32_t before = finding->out.nflows;
	uint32_t at = merge_put(set, &finding->out.flows, &finding->out.nflows, flow);

	if (at == EV_NONE)
		return;
	if (finding->out.nflows > before &&
	    (!grow_by_flow(&finding->flow_score, at) || !grow_by_flow(&finding->out.flow_ps, at))) {
		set->no_memory = true;
		finding->out.nflows = before;
		return;
	}
	finding->flow_score[at] += score;
}

void
cause_time(struct cause_finding *finding, uint64_t start_ps, uint64_t end_ps)
{
	if (finding->out.end_ps == 0 || start_ps < finding->out.start_ps)
		finding->out.start_ps = start_ps;
	if (end_ps > finding->out.end_ps)
		finding->out.end_ps = end_ps;
}

bool
cause_score(struct cause_finding *finding, double score)
{
	bool best = finding->out.evidence.nclauses == 0 || score > finding->best;

	finding->out.score += score;
	if (best)
		finding->best = score;
	return best;
}

void
cause_explains(struct cause_finding *finding, uint32_t part, double ps)
{
	if (finding->part != part) {
		finding->part = part;
		finding->part_ps = 0;
	}
	finding->part_ps += ps;
	if (finding->part_ps > finding->claimed_ps)
		finding->claimed_ps = finding->part_ps;
}

void
cause_name_flows(const struct cause_finding *finding, struct finding_evidence *evidence)
{
	uint32_t worst = 0;

	for (uint32_t i = 1; i < finding->out.nflows; i++)
		worst = finding->flow_score[i] > finding->flow_score[worst] ? i : worst;
	evidence->flows = finding->out.nflows;
	evidence->flow = finding->out.nflows != 0 ? finding->out.flows[worst] : EV_NONE;
}
