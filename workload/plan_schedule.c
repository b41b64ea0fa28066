/* SPDX-License-Identifier: BSD-3-Clause */
/* From what a job says of a collective to the schedule of all its ranks. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "collectives/builder.h"
#include "collectives/closing.h"
#include "collectives/spread.h"
#include "common/number.h"
#include "workload/imm.h"
#include "workload/jobs/skew.h"
#include "workload/plan_build.h"
#include "workload/plan_file.h"

#define VECTOR_ALIGN 64ull

/* The parameters of one group's schedule. Arrays are the caller's to free. */
struct group_params {
	struct coll_params params;
	uint64_t *counts;
	struct coll_pair *pairs;
};

static int
set_counts(const struct plan_builder *b, const struct work_item *work, struct group_params *of)
{
	struct skew skew = {
		.ranks = of->params.ranks,
		.elems = of->params.count_elems,
		.factor = work->config.skew,
		.back = work->config.back,
		.seed = b->workload->seed,
		.job = b->workload->jobs[work->job].name,
	};

	of->counts = calloc((size_t)skew.ranks * skew.ranks, sizeof(*of->counts));
	of->params.counts = of->counts;
	of->params.count_elems = of->counts != NULL ? skew_counts(&skew, of->counts) : 0;
	return of->params.count_elems != 0 ? 0 : err_set(b->err, -ENOMEM, "no memory for %u ranks", skew.ranks);
}

bool
plan_parse_pair(const char *text, struct coll_pair *pair)
{
	uint64_t from, to;
	const char *rest = number_scan(text, &from);

	if (rest == NULL || *rest != ' ' || !number_parse(rest + strspn(rest, " "), 0, UINT32_MAX - 1, &to) ||
	    from >= UINT32_MAX)
		return false;
	*pair = (struct coll_pair){ (uint32_t)from, (uint32_t)to };
	return true;
}

static int
set_pairs(const struct plan_builder *b, const struct work_item *work, struct group_params *of)
{
	const struct collective_config *config = &work->config;
	bool transfers = work->to_stage != WORK_NO_STAGE;
	size_t count = transfers ? 1 : config->pairs.count;

	of->pairs = calloc(count + 1, sizeof(*of->pairs));
	if (of->pairs == NULL)
		return err_set(b->err, -ENOMEM, "no memory for %zu pairs", count);
	of->pairs[0].to = 1;
	for (size_t i = 0; i < count && !transfers; i++)
		if (!plan_parse_pair(config->pairs.items[i], &of->pairs[i]))
			return cfg_fail(&config->where, "pairs", b->err,
					"\"%s\": two ranks of the group, as \"0 1\", would be right",
					config->pairs.items[i]);
	of->params.pairs = of->pairs;
	of->params.npairs = (uint32_t)count;
	return 0;
}

/* The schedule of one group. */
static struct coll_schedule *
create_one(const struct plan_builder *b, const struct work_item *work, uint32_t ranks, uint32_t elem_bytes, struct err *err)
{
	const struct collective_config *config = &work->config;
	uint64_t elems = config->step_bytes != 0 ? config->step_bytes / elem_bytes * ranks : config->bytes / elem_bytes;
	struct group_params of = { .params = {
					   .op = (enum coll_op)config->op,
					   .algorithm = (enum coll_algorithm)config->algorithm,
					   .ranks = ranks,
					   .count_elems = elems,
					   .root = (uint32_t)config->root,
					   .chunks = (uint32_t)config->chunks,
					   .channels = (uint32_t)config->channels,
				   } };
	struct coll_schedule *one = NULL;
	int rc = 0;

	if (config->op == COLL_ALLTOALLV)
		rc = set_counts(b, work, &of);
	if (config->pairs.count != 0 || work->to_stage != WORK_NO_STAGE)
		rc = set_pairs(b, work, &of);
	if (rc == 0)
		one = coll_schedule_create(&of.params, err);
	free(of.counts);
	free(of.pairs);
	return one;
}

/* @return whether some rank computes first; computes: [ranks of the job] */
static bool
find_computing(const struct plan_builder *b, uint32_t index, const struct work_groups *groups, bool *computes)
{
	struct compute compute = workload_compute(b->workload, index);
	bool any = false;

	/* A transfer is the end of a turn, whose collectives are what its ranks computed before. */
	for (uint32_t i = 0; b->workload->works[index].to_stage == WORK_NO_STAGE && i < groups->groups * groups->ranks;
	     i++) {
		uint32_t rank = groups->rank_of[i];

		computes[rank] = compute_any(&compute, rank, b->workload->works[index].compute_ps);
		any |= computes[rank];
	}
	return any;
}

/* Groups of one rank have nothing to send: their ranks compute. */
static struct coll_schedule *
compute_alone(const struct plan_builder *b, uint32_t index, const struct work_groups *groups, uint32_t elem_bytes,
	      struct err *err)
{
	const struct work_item *work = &b->workload->works[index];
	struct coll_params params = {
		.op = (enum coll_op)work->config.op,
		.algorithm = (enum coll_algorithm)work->config.algorithm,
		.ranks = b->workload->jobs[work->job].grid.ranks,
		.count_elems = work->config.bytes / elem_bytes,
	};
	bool *computes = calloc(params.ranks + 1u, sizeof(*computes));
	struct coll_schedule *all = NULL;

	if (computes == NULL)
		err_set(err, -ENOMEM, "no memory for %u ranks", params.ranks);
	else if (!find_computing(b, index, groups, computes))
		err_set(err, -EINVAL, "groups of one rank, which send nothing, and no compute: there is nothing to do");
	else
		all = coll_schedule_compute(&params, computes, work->compute_ps, err);
	free(computes);
	return all;
}

/* @param one  the group's; destroyed, or returned */
static struct coll_schedule *
spread(const struct plan_builder *b, uint32_t index, const struct work_groups *groups, struct coll_schedule *one,
       struct err *err)
{
	const struct work_item *work = &b->workload->works[index];
	uint32_t ranks = b->workload->jobs[work->job].grid.ranks;
	bool *computes = calloc(ranks + 1u, sizeof(*computes));
	bool transfers = work->to_stage != WORK_NO_STAGE;
	struct coll_schedule *all = NULL;

	if (computes == NULL) {
		err_set(err, -ENOMEM, "no memory for %u ranks", ranks);
	} else if (!find_computing(b, index, groups, computes) && groups->ranks == ranks && !transfers &&
		   work->config.stride == 1) {
		free(computes);
		return one;
	} else {
		struct coll_spread over = { ranks, groups->groups, groups->rank_of, computes, work->compute_ps };

		all = coll_schedule_spread(one, &over, err);
	}
	free(computes);
	coll_schedule_destroy(one);
	return all;
}

static struct coll_schedule *
make_groups(const struct plan_builder *b, uint32_t index, const struct work_groups *groups, struct err *cause)
{
	struct plan_collective *c = &b->plan->collectives[index];
	const struct work_item *work = &b->workload->works[index];
	struct coll_schedule *one;

	if (plan_has_file(&work->config))
		one = plan_file_read(b->options->cfg, &work->config, groups->ranks, &c->type, b->err);
	else
		one = create_one(b, work, groups->ranks, coll_elem_bytes(c->type), cause);
	/* Stages hold each other together: what goes forward comes back. */
	if (one != NULL && c->iterations > 1 && work->to_stage == WORK_NO_STAGE)
		one = coll_schedule_close(one, cause);
	return one != NULL ? spread(b, index, groups, one, cause) : NULL;
}

static int
check_counts(const struct plan_builder *b, const struct collective_config *config, const struct coll_schedule *schedule)
{
	uint32_t steps = coll_max_steps(schedule);

	if (steps > IMM_MAX_STEP)
		return cfg_fail(&config->where, "ranks", b->err, "%u steps a rank; an immediate counts to %u", steps,
				IMM_MAX_STEP);
	if ((uint64_t)steps * (uint64_t)config->iterations > PLAN_MAX_SERIAL)
		return cfg_fail(&config->where, "iterations", b->err,
				"%lld times %u steps; notification packets count to %u", (long long)config->iterations,
				steps, PLAN_MAX_SERIAL);
	return 0;
}

static uint32_t
gcd(uint32_t a, uint32_t b)
{
	while (b != 0) {
		uint32_t rest = a % b;

		a = b;
		b = rest;
	}
	return a;
}

int
plan_make_schedule(struct plan_builder *b, uint32_t index)
{
	struct plan_collective *c = &b->plan->collectives[index];
	const struct work_item *work = &b->workload->works[index];
	const struct collective_config *config = &work->config;
	uint32_t ranks = b->workload->jobs[work->job].grid.ranks;
	struct err cause = { .text = "" };
	struct work_groups groups;

	if (ranks > COLL_MAX_RANKS || (ranks < 2 && config->group == NULL))
		return cfg_fail(&b->workload->jobs[work->job].where, "ranks", b->err, "%u ranks; a collective has 2 to %d",
				ranks, COLL_MAX_RANKS);
	if (workload_groups(b->workload, index, &groups) != 0)
		return -ENOMEM;
	if (gcd(groups.ranks, (uint32_t)config->stride) != 1) {
		free(groups.rank_of);
		return cfg_fail(&config->where, "stride", b->err,
				"%lld and %u ranks of a group have a divisor in common, so that it would not come to all; "
				"1 would be right",
				(long long)config->stride, groups.ranks);
	}
	if (groups.ranks == 1)
		c->schedule = compute_alone(b, index, &groups, coll_elem_bytes(c->type), &cause);
	else
		c->schedule = make_groups(b, index, &groups, &cause);
	free(groups.rank_of);
	if (c->schedule == NULL)
		return cfg_fail(&config->where, NULL, b->err, "%s", cause.text);
	c->vector_bytes = (c->schedule->memory_elems * coll_elem_bytes(c->type) + VECTOR_ALIGN - 1) & ~(VECTOR_ALIGN - 1);
	return check_counts(b, config, c->schedule);
}
