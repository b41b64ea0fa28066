/* SPDX-License-Identifier: BSD-3-Clause */
#include "diag/flowtracer/pairs.h"

#include <errno.h>
#include <stdlib.h>

#include "common/minmax.h"
#include "diag/flowtracer/paths.h"
#include "diag/run/fill.h"

/* A step, as one of what its pair sent. */
struct sent {
	uint32_t src, dst, flow;
	uint64_t start_ps, end_ps, bytes;
};

static int
cmp_sent(const void *pa, const void *pb)
{
	const struct sent *a = pa, *b = pb;

	if (a->src != b->src)
		return a->src < b->src ? -1 : 1;
	if (a->dst != b->dst)
		return a->dst < b->dst ? -1 : 1;
	if (a->start_ps != b->start_ps)
		return a->start_ps < b->start_ps ? -1 : 1;
	return a->flow < b->flow ? -1 : a->flow > b->flow;
}

static uint32_t
list(const struct flowtracer *own, const struct run *run, struct sent *sent)
{
	uint32_t count = 0;

	for (uint32_t i = 0; i < run->nsteps; i++) {
		const struct run_step *step = &run->steps[i];
		const struct run_flow *flow = step->flow != RUN_NONE ? &run->flows[step->flow] : NULL;

		if (flow == NULL || !step->started || flow->src == RUN_NONE || flow->dst == RUN_NONE ||
		    flowtracer_path_of(own, step->flow, 0) == NULL)
			continue;
		sent[count++] = (struct sent){ flow->src,      flow->dst,    step->flow,
					       step->start_ps, step->end_ps, step->open ? step->acked_bytes : step->bytes };
	}
	qsort(sent, count, sizeof(*sent), cmp_sent);
	return count;
}

/* Steps of one pair, in the order of their starts: what they cover together. */
static struct flowtracer_pair
sum_up(const struct sent *sent, uint32_t count)
{
	struct flowtracer_pair pair = { .src = sent[0].src, .dst = sent[0].dst };
	uint64_t until_ps = 0;

	for (uint32_t i = 0; i < count; i++) {
		uint64_t from_ps = max_u64(sent[i].start_ps, until_ps);

		pair.bytes += sent[i].bytes;
		pair.active_ps += sent[i].end_ps > from_ps ? sent[i].end_ps - from_ps : 0;
		until_ps = max_u64(until_ps, sent[i].end_ps);
	}
	return pair;
}

/* @param seen  [run->nflows] zeroed; the number of the pair that a flow was counted in */
static uint32_t
count_flows(const struct sent *sent, uint32_t count, uint32_t *seen, uint32_t pair)
{
	uint32_t flows = 0;

	for (uint32_t i = 0; i < count; i++) {
		flows += seen[sent[i].flow] != pair;
		seen[sent[i].flow] = pair;
	}
	return flows;
}

int
flowtracer_pairs(struct flowtracer *own, const struct run *run, struct err *err)
{
	struct sent *sent = run_alloc(run->nsteps, sizeof(*sent), err);
	uint32_t *seen = run_alloc(run->nflows, sizeof(*seen), err), count, npairs = 0;

	if (sent == NULL || seen == NULL) {
		free(sent);
		free(seen);
		return -ENOMEM;
	}
	count = list(own, run, sent);
	for (uint32_t i = 0; i < count; i++)
		npairs += i == 0 || sent[i].src != sent[i - 1].src || sent[i].dst != sent[i - 1].dst;
	own->pairs = run_alloc(npairs, sizeof(*own->pairs), err);
	for (uint32_t first = 0, end; first < count && own->pairs != NULL; first = end) {
		struct flowtracer_pair *pair = &own->pairs[own->npairs++];

		for (end = first; end < count && sent[end].src == sent[first].src && sent[end].dst == sent[first].dst;)
			end++;
		*pair = sum_up(&sent[first], end - first);
		pair->flows = count_flows(&sent[first], end - first, seen, own->npairs);
	}
	free(sent);
	free(seen);
	return own->pairs != NULL ? 0 : -ENOMEM;
}
