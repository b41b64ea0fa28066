/* SPDX-License-Identifier: BSD-3-Clause */
#include "diag/vedrfolnir/cause/cause.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/array.h"
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
	struct cause_set all = { .in = in, .activity = &activity };
	struct finding *out = NULL;
	int rc = 0;

	all.buckets = malloc(CAUSE_BUCKETS * sizeof(*all.buckets));
	all.no_memory = activity_init(&activity, in->ev, in->steps, in->nsteps) != 0 || all.buckets == NULL;
	for (uint32_t b = 0; b < CAUSE_BUCKETS && all.buckets != NULL; b++)
		all.buckets[b] = EV_NONE;
	for (uint32_t s = 0; s < in->nsteps && !all.no_memory; s++) {
		if (in->steps[s].slow || in->steps[s].late_ps != 0)
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
		out[i] = all.findings[i].out;
		memset(&all.findings[i].out, 0, sizeof(all.findings[i].out));
	}
	if (all.no_memory || out == NULL)
		rc = err_set(err, -ENOMEM, "out of memory for findings");
	else if (all.full)
		rc = err_set(err, -E2BIG, "more than %d findings", CAUSE_MAX_FINDINGS);
	merge_free(&all);
	activity_fini(&activity);
	*findings = out;
	return rc;
}

/* Every signature for itself, then what they have in common: what is too little goes, the rest joins the others. */
static void
look_at_step(struct cause_set *all, uint32_t step)
{
	struct cause_set set = { .in = all->in, .activity = all->activity };

	for (set.looking = 0; set.looking < all->in->ncauses; set.looking++)
		all->in->causes[set.looking]->look(&set, step);
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

	if (a->critical_ps != b->critical_ps)
		return a->critical_ps > b->critical_ps ? -1 : 1;
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
