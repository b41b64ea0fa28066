/* SPDX-License-Identifier: BSD-3-Clause */
#include "workload/jobs/compute.h"

#include <stdlib.h>
#include <string.h>

#include "common/array.h"
#include "common/hash.h"
#include "common/minmax.h"
#include "common/prng.h"
#include "common/wire/record_hdr.h"

/* The chance of jobs. */

static uint64_t
digest_text(uint64_t digest, const char *text)
{
	for (; *text != '\0'; text++)
		digest = digest_u64(digest, (unsigned char)*text);
	return digest_u64(digest, UINT64_MAX); /* "ab", "c" is not "a", "bc" */
}

uint64_t
chance(uint64_t seed, enum chance_of of, const char *owner, const char *part, uint32_t rank, uint32_t iteration)
{
	uint64_t digest = digest_u64(digest_u64(DIGEST_INIT, seed), of);

	digest = digest_text(digest_text(digest, owner), part);
	return digest_u64(digest, (uint64_t)rank << 32 | iteration);
}

#define IRWIN_HALL 12 /* uniform draws whose sum has variance 1 */

static const struct cfg_choice kinds[] = {
	{ "none", JITTER_NONE, "as planned" },
	{ "uniform", JITTER_UNIFORM, "0 to spread more" },
	{ "normal", JITTER_NORMAL, "more or less, with standard deviation spread, never below 0" },
	{ 0 },
};

#define AT(field) offsetof(struct jitter, field)
static const struct cfg_field jitter_fields[] = {
	CFG_FIELD("kind", CFG_ENUM, AT(kind), .def = "none", .choices = kinds, .doc = "Distribution of the compute time."),
	CFG_FIELD("spread", CFG_TIME, AT(spread_ps), .def = "0ns", .doc = "Width of the distribution."),
};
#undef AT

const struct cfg_table jitter_table = {
	.path = "jobs.jitter",
	.doc = "Variation of the ranks' compute time. Each rank, collective and iteration has its own random value, from "
	       "the run's seed.",
	.size = sizeof(struct jitter),
	.fields = jitter_fields,
	.nfields = ARRAY_LEN(jitter_fields),
};

#define AT(field) offsetof(struct straggler, field)
static const struct cfg_field straggler_fields[] = {
	CFG_FIELD("rank", CFG_INT, AT(rank), .max = RECORD_MAX_NODES - 1, .doc = "The slow rank."),
	CFG_FIELD("delay", CFG_TIME, AT(delay_ps), .doc = "Additional compute time before each collective."),
	CFG_FIELD("collective", CFG_STRING, AT(collective), .def = "", .doc = "Only before this collective of the job."),
	CFG_FIELD("iteration", CFG_INT, AT(iteration), .def = "-1", .min = -1, .max = 999999,
		  .doc = "Only in this iteration, from 0; -1: in all."),
};
#undef AT

const struct cfg_table straggler_table = {
	.path = "jobs.delays",
	.doc = "Stragglers: ranks that compute longer than planned.",
	.list = true,
	.size = sizeof(struct straggler),
	.fields = straggler_fields,
	.nfields = ARRAY_LEN(straggler_fields),
	.words = "rank delay collective iteration",
};

/* Draws the jitter of a planned computation. @return ps, of either sign */
static int64_t
jitter_ps(const struct compute *compute, uint32_t rank, uint32_t iteration)
{
	struct prng prng;
	double sum = 0;

	if (compute->jitter.kind == JITTER_NONE || compute->jitter.spread_ps == 0)
		return 0;
	prng_init(&prng, chance(compute->seed, CHANCE_COMPUTE, compute->job, compute->collective, rank, iteration), 0);
	if (compute->jitter.kind == JITTER_UNIFORM)
		return (int64_t)prng_below(&prng, compute->jitter.spread_ps);
	for (int i = 0; i < IRWIN_HALL; i++)
		sum += prng_unit(&prng);
	return (int64_t)((sum - IRWIN_HALL / 2.0) * (double)compute->jitter.spread_ps);
}

uint64_t
compute_spread_ps(const struct compute *compute)
{
	uint64_t times = compute->jitter.kind == JITTER_NORMAL ? IRWIN_HALL / 2 : 1;

	return compute->jitter.kind == JITTER_NONE ? 0 : times * compute->jitter.spread_ps;
}

static bool
concerns(const struct straggler *straggler, const struct compute *compute, uint32_t rank)
{
	return straggler->rank == (int64_t)rank &&
	       (straggler->collective == NULL || strcmp(straggler->collective, compute->collective) == 0);
}

uint64_t
compute_actual_ps(const struct compute *compute, uint32_t rank, uint32_t iteration, uint64_t planned_ps)
{
	int64_t actual_ps = planned_ps != 0 ? (int64_t)planned_ps + jitter_ps(compute, rank, iteration) : 0;
	uint64_t late_ps = 0;

	for (size_t i = 0; i < compute->nstragglers; i++) {
		const struct straggler *straggler = &compute->stragglers[i];

		if (concerns(straggler, compute, rank) &&
		    (straggler->iteration < 0 || straggler->iteration == (int64_t)iteration))
			late_ps += straggler->delay_ps;
	}
	return (actual_ps > 0 ? (uint64_t)actual_ps : 0) + late_ps;
}

bool
compute_any(const struct compute *compute, uint32_t rank, uint64_t planned_ps)
{
	bool any = planned_ps != 0;

	for (size_t i = 0; i < compute->nstragglers && !any; i++)
		any = concerns(&compute->stragglers[i], compute, rank) && compute->stragglers[i].delay_ps != 0;
	return any;
}

/* When ranks start. */

struct demand {
	uint32_t rank;
	uint64_t draw;
};

static int
by_draw(const void *a, const void *b)
{
	const struct demand *x = a, *y = b;

	if (x->draw != y->draw)
		return x->draw < y->draw ? -1 : 1;
	return ORDER(x->rank, y->rank);
}

/* Divides a sender's elements among the ranks. @param order  [ranks] from the rank in greatest demand to the least */
static void
divide(const struct skew *skew, const struct demand *order, uint64_t *gets)
{
	uint32_t n = skew->ranks;
	uint64_t left = skew->elems;
	double sum = n * (skew->factor + 1) / 2;

	for (uint32_t i = 0; i < n; i++) {
		double weight = n > 1 ? skew->factor + (1 - skew->factor) * i / (n - 1) : sum;

		gets[order[i].rank] = (uint64_t)((double)skew->elems * (weight / sum));
		if (gets[order[i].rank] > left)
			gets[order[i].rank] = left;
		left -= gets[order[i].rank];
	}
	gets[order[0].rank] += left;
}

uint64_t
skew_counts(const struct skew *skew, uint64_t *counts)
{
	uint32_t n = skew->ranks;
	struct demand *order = calloc(n + 1u, sizeof(*order));
	uint64_t *gets = calloc(n + 1u, sizeof(*gets)), most = 0;

	for (uint32_t rank = 0; order != NULL && rank < n; rank++)
		order[rank] = (struct demand){ rank, chance(skew->seed, CHANCE_SKEW, skew->job, "", rank, 0) };
	if (order != NULL && gets != NULL) {
		qsort(order, n, sizeof(*order), by_draw);
		divide(skew, order, gets);
		for (uint32_t from = 0; from < n; from++)
			for (uint32_t to = 0; to < n; to++)
				counts[(uint64_t)from * n + to] = gets[skew->back ? from : to];
		for (uint32_t rank = 0; rank < n; rank++)
			most = skew->back && gets[rank] * n > most ? gets[rank] * n : most;
		most = most > skew->elems ? most : skew->elems;
	}
	free(order);
	free(gets);
	return most;
}
