/* SPDX-License-Identifier: BSD-3-Clause */
/* Findings under construction. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "diag/vedrfolnir/cause/merge.h"

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
	return finding->out.type == want->type && finding->key == key && finding->out.root_port == want->root_port &&
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
	*finding = (struct cause_finding){ .key = key, .order = order, .part = EV_NONE, .best_step = EV_NONE };
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
	if (finding == NULL || merge_put(set, &finding->out.steps, &finding->out.nsteps, step) == EV_NONE ||
	    merge_put(set, &finding->out.victims, &finding->out.nvictims, set->in->steps[step].flow) == EV_NONE)
		return NULL;
	return finding;
}

void
cause_port(struct cause_set *set, struct cause_finding *finding, uint32_t port)
{
	merge_put(set, &finding->out.ports, &finding->out.nports, port);
}

void
cause_flow(struct cause_set *set, struct cause_finding *finding, uint32_t flow, double score)
{
	uint32_t before = finding->out.nflows;
	uint32_t at = merge_put(set, &finding->out.flows, &finding->out.nflows, flow);

	if (at == EV_NONE)
		return;
	if (finding->out.nflows > before) {
		double *grown = realloc(finding->flow_score, finding->out.nflows * sizeof(*grown));

		if (grown == NULL) {
			set->no_memory = true;
			finding->out.nflows = before;
			return;
		}
		finding->flow_score = grown;
		grown[at] = 0;
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
	if (finding->part_ps > finding->out.explained_ps)
		finding->out.explained_ps = finding->part_ps;
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
