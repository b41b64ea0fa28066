/* SPDX-License-Identifier: BSD-3-Clause */
#include "diag/vedrfolnir/cause/merge.h"

#include <stdlib.h>
#include <string.h>

#include "diag/vedrfolnir/cause/confidence.h"
#include "diag/vedrfolnir/cause/settle.h"

static void
free_finding(struct cause_finding *finding)
{
	free(finding->out.ports);
	free(finding->out.flows);
	free(finding->out.flow_ps);
	free(finding->out.victims);
	free(finding->out.steps);
	free(finding->out.claims);
	free(finding->flow_score);
}

/* The link that leads to a finding in its bucket. */
static uint32_t *
link_to(struct cause_set *set, uint32_t i)
{
	uint32_t *link = merge_bucket(set, &set->findings[i].out, set->findings[i].out.key);

	while (*link != i)
		link = &set->findings[*link].next;
	return link;
}

void
merge_remove(struct cause_set *set, uint32_t i)
{
	uint32_t last = set->count - 1;

	if (set->buckets != NULL) {
		*link_to(set, i) = set->findings[i].next;
		if (last != i)
			*link_to(set, last) = i;
	}
	free_finding(&set->findings[i]);
	set->findings[i] = set->findings[last];
	set->count--;
}

void
merge_free(struct cause_set *set)
{
	for (uint32_t i = 0; i < set->count; i++)
		free_finding(&set->findings[i]);
	free(set->findings);
	free(set->buckets);
	set->buckets = NULL;
	set->findings = NULL;
	set->count = set->cap = 0;
}

/* Adds claims to those of a finding. */
static void
put_claims(struct cause_set *set, struct finding *to, const struct finding_claim *claims, uint32_t count)
{
	struct finding_claim *grown;

	if (count == 0)
		return;
	grown = realloc(to->claims, ((size_t)to->nclaims + count) * sizeof(*grown));
	if (grown == NULL) {
		set->no_memory = true;
		return;
	}
	memcpy(grown + to->nclaims, claims, count * sizeof(*claims));
	to->claims = grown;
	to->nclaims += count;
}

void
merge_take_claims(struct cause_set *set, struct finding *to, const struct finding *from)
{
	put_claims(set, to, from->claims, from->nclaims);
	to->explained_ps += from->explained_ps;
}

static void
take_trust(struct cause_finding *into, const struct cause_finding *from)
{
	for (int critical = 0; critical < 2; critical++) {
		into->trust[critical].machine_ps += from->trust[critical].machine_ps;
		into->trust[critical].of_ps += from->trust[critical].of_ps;
		into->trust[critical].borne_ps += from->trust[critical].borne_ps;
		into->trust[critical].sure_ps += from->trust[critical].sure_ps;
	}
}

/* The pauses of a queue are part of it: their ports join it, and their time. */
static void
fold_pauses(struct cause_set *set, struct cause_finding *queue, struct cause_finding *pauses)
{
	uint32_t *ports = queue->out.ports, nports = queue->out.nports;

	merge_take_claims(set, &queue->out, &pauses->out);
	take_trust(queue, pauses);

	for (uint32_t i = 0; i < nports; i++)
		cause_port(set, pauses, ports[i]);
	queue->out.ports = pauses->out.ports;
	queue->out.nports = pauses->out.nports;
	pauses->out.ports = ports;
	pauses->out.nports = nports;
}

/*
 * Retransmissions that no port counted a loss for, of a flow that stood still most of the lost time: timeouts.
 * @param paused_ps  the most that a finding about pauses claims
 */
static bool
is_timeout(const struct finding *out, double paused_ps, double excess_ps)
{
	return merge_is(out, FINDING_OF_LOSS) && out->root_port == EV_NONE && paused_ps > CAUSE_LOSS_LEFT * excess_ps;
}

static bool
is_too_little(const struct cause_input *in, uint32_t step, double explained_ps)
{
	return explained_ps < CAUSE_MIN_EXPLAINED * cause_excess_ps(in, step) &&
	       (in->steps[step].open || explained_ps < CAUSE_SLOWS_ALONE * (double)in->steps[step].expect_ps);
}

/* The most that a finding about pauses claims. */
static double
most_paused_ps(const struct cause_set *set)
{
	double paused_ps = 0;

	for (uint32_t i = 0; i < set->count; i++) {
		if (merge_is(&set->findings[i].out, FINDING_OF_PAUSES) && set->findings[i].claimed_ps > paused_ps)
			paused_ps = set->findings[i].claimed_ps;
	}
	return paused_ps;
}

/* What has been settled of one step. */
static void
note_claims(struct cause_set *set, struct finding *out, uint32_t step)
{
	double rest_ps = out->explained_ps;

	for (uint32_t f = 0; f < out->nflows; f++) {
		if (out->flow_ps[f] > 0)
			put_claims(set, out, &(struct finding_claim){ step, out->flows[f], out->flow_ps[f] }, 1);
		rest_ps -= out->flow_ps[f];
		out->flow_ps[f] = 0;
	}
	if (rest_ps > 1) /* not for want of digits */
		put_claims(set, out, &(struct finding_claim){ step, RUN_NONE, rest_ps }, 1);
}

void
merge_settle(struct cause_set *set, uint32_t step)
{
	double excess_ps = cause_excess_ps(set->in, step), paused_ps = most_paused_ps(set);
	uint32_t before = set->count;

	settle_step(set, step);
	for (uint32_t i = set->count; i-- > 0;) {
		const struct finding *out = &set->findings[i].out;

		if ((merge_is(out, FINDING_OF_QUEUES) && is_too_little(set->in, step, out->explained_ps)) ||
		    is_timeout(out, paused_ps, excess_ps) || cause_machine_share(set->in, step, &set->findings[i]) >= 1)
			merge_remove(set, i);
	}
	if (set->count < before) /* those that stay have more */
		settle_step(set, step);
	for (uint32_t i = 0; i < set->count; i++)
		note_claims(set, &set->findings[i].out, step);
	confidence_step(set, step);
	for (uint32_t i = set->count; i-- > 0;) {
		struct cause_finding *queue = merge_queue_of(set, &set->findings[i]);

		if (queue == NULL)
			continue;
		fold_pauses(set, queue, &set->findings[i]);
		merge_remove(set, i);
	}
}

/* Are all culprits flows of the collective? */
static bool
is_own(const struct cause_set *set, const struct finding *out)
{
	for (uint32_t i = 0; i < out->nflows; i++) {
		if (!set->in->ev->flows[out->flows[i]].collective)
			return false;
	}
	return out->nflows != 0;
}

/* Does the queue have all the culprits of these pauses? */
static bool
has_culprits(const struct cause_finding *queue, const struct finding *pauses)
{
	bool all = true;

	for (uint32_t i = 0; i < pauses->nflows && all; i++) {
		all = false;
		for (uint32_t j = 0; j < queue->out.nflows && !all; j++)
			all = queue->out.flows[j] == pauses->flows[i];
	}
	return all;
}

/* The finding about this queue by the first cause with the trait. @return NULL: there is none */
static struct cause_finding *
find_queue(struct cause_set *set, const struct cause_finding *pauses, enum finding_trait trait)
{
	struct finding want = pauses->out;
	struct cause_finding *queue = NULL;

	for (uint32_t c = 0; c < set->in->ncauses && queue == NULL; c++) {
		want.type = &set->in->causes[c]->type;
		if (merge_is(&want, trait))
			queue = merge_find(set, &want, pauses->out.key);
	}
	return queue;
}

struct cause_finding *
merge_queue_of(struct cause_set *set, const struct cause_finding *finding)
{
	struct cause_finding *queue;

	if (!merge_is(&finding->out, FINDING_FILLED))
		return NULL;
	queue = find_queue(set, finding, FINDING_HAS_PAUSES);
	if (queue == NULL && is_own(set, &finding->out))
		queue = find_queue(set, finding, FINDING_HAS_OWN_PAUSES);
	return queue != NULL && has_culprits(queue, &finding->out) ? queue : NULL;
}

/* Is this step a better witness than the one that the evidence is about? */
static bool
explains_more(const struct cause_set *all, const struct cause_finding *into, const struct cause_finding *from,
	      uint32_t step)
{
	bool critical = all->in->own[step].critical;

	if (into->best_step == EV_NONE)
		return true;
	if (critical != all->in->own[into->best_step].critical)
		return critical;
	return from->best > into->best;
}

void
merge_take(struct cause_set *all, struct cause_finding *into, const struct cause_finding *from)
{
	for (uint32_t i = 0; i < from->out.nsteps; i++)
		merge_put(all, &into->out.steps, &into->out.nsteps, from->out.steps[i]);
	for (uint32_t i = 0; i < from->out.nvictims; i++)
		merge_put(all, &into->out.victims, &into->out.nvictims, from->out.victims[i]);
	for (uint32_t i = 0; i < from->out.nports; i++)
		cause_port(all, into, from->out.ports[i]);
	for (uint32_t i = 0; i < from->out.nflows; i++)
		cause_flow(all, into, from->out.flows[i], from->flow_score[i]);
	merge_take_claims(all, &into->out, &from->out);
	take_trust(into, from);
	if (into->out.origin_port == EV_NONE)
		into->out.origin_port = from->out.origin_port;
	cause_time(into, from->out.start_ps, from->out.end_ps);
	into->out.score += from->out.score;
}

void
merge_into(struct cause_set *all, const struct cause_finding *finding, uint32_t step)
{
	struct cause_finding *into = merge_find(all, &finding->out, finding->out.key);

	if (into == NULL)
		into = merge_make(all, &finding->out, finding->out.key, finding->order);
	if (into == NULL)
		return;
	merge_take(all, into, finding);
	if (!explains_more(all, into, finding, step))
		return;
	into->best = finding->best;
	into->best_step = step;
	into->out.evidence = finding->out.evidence;
}

void
merge_sort_flows(struct cause_finding *finding)
{
	/* Insertion sort: few flows. */
	for (uint32_t i = 1; i < finding->out.nflows; i++) {
		uint32_t flow = finding->out.flows[i];
		double score = finding->flow_score[i];
		uint32_t j = i;

		for (; j > 0 && (finding->flow_score[j - 1] < score ||
				 (finding->flow_score[j - 1] == score && finding->out.flows[j - 1] > flow));
		     j--) {
			finding->out.flows[j] = finding->out.flows[j - 1];
			finding->flow_score[j] = finding->flow_score[j - 1];
		}
		finding->out.flows[j] = flow;
		finding->flow_score[j] = score;
	}
}
