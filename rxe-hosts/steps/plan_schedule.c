/* SPDX-License-Identifier: BSD-3-Clause */
/* From what a job says of a collective to the schedule of all its ranks. */
#include <errno.h>
#include <stdlib.h>

#include "collectives/builder.h"
#include "collectives/closing.h"
#include "collectives/spread.h"
#include "rxe-hosts/steps/imm.h"
#include "rxe-hosts/steps/plan_build.h"
#include "rxe-hosts/steps/plan_file.h"

#define VECTOR_ALIGN 64ull

/* The schedule of one group; of a group of one rank, which has nothing to send, an empty one. */
static struct coll_schedule *
create_one(const struct collective_config *config, uint32_t ranks, uint32_t elem_bytes, struct err *err)
{
	uint64_t elems = config->step_bytes != 0 ? config->step_bytes / elem_bytes * ranks : config->bytes / elem_bytes;
	struct coll_params params = {
		.op = (enum coll_op)config->op,
		.algorithm = (enum coll_algorithm)config->algorithm,
		.ranks = ranks,
		.count_elems = elems,
	};
	struct coll_layout layout = { .memory_elems = elems };

	return ranks > 1 ? coll_schedule_create(&params, err)
			 : coll_builder_finish(coll_builder_create(ranks), &params, &layout, err);
}

/* @return whether some rank computes first; computes: [ranks of the job] */
static bool
find_computing(const struct plan_builder *b, uint32_t index, const struct work_groups *groups, bool *computes)
{
	struct compute compute = workload_compute(b->workload, index);
	bool any = false;

	for (uint32_t i = 0; i < groups->groups * groups->ranks; i++) {
		uint32_t rank = groups->rank_of[i];

		computes[rank] = compute_any(&compute, rank, b->workload->works[index].compute_ps);
		any |= computes[rank];
	}
	return any;
}

/* @param one  the group's; destroyed, or returned */
static struct coll_schedule *
spread(const struct plan_builder *b, uint32_t index, const struct work_groups *groups, struct coll_schedule *one,
       struct err *err)
{
	const struct work_item *work = &b->workload->works[index];
	uint32_t ranks = b->workload->jobs[work->job].grid.ranks;
	bool *computes = calloc(ranks + 1u, sizeof(*computes));
	struct coll_schedule *all = NULL;

	if (computes == NULL) {
		err_set(err, -ENOMEM, "no memory for %u ranks", ranks);
	} else if (!find_computing(b, index, groups, computes) && groups->ranks == ranks) {
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

static int
check_counts(const struct plan_builder *b, const struct collective_config *config, const struct coll_schedule *schedule)
{
	uint32_t steps = coll_max_steps(schedule);

	if (steps == 0)
		return cfg_fail(&config->where, NULL, b->err,
				"groups of one rank, which send nothing, and no compute: there is nothing to do");
	if (steps > IMM_MAX_STEP)
		return cfg_fail(&config->where, "ranks", b->err, "%u steps a rank; an immediate counts to %u", steps,
				IMM_MAX_STEP);
	if ((uint64_t)steps * (uint64_t)config->iterations > PLAN_MAX_SERIAL)
		return cfg_fail(&config->where, "iterations", b->err,
				"%lld times %u steps; notification packets count to %u", (long long)config->iterations,
				steps, PLAN_MAX_SERIAL);
	return 0;
}

int
plan_make_schedule(struct plan_builder *b, uint32_t index)
{
	struct plan_collective *c = &b->plan->collectives[index];
	const struct work_item *work = &b->workload->works[index];
	const struct collective_config *config = &work->config;
	uint32_t ranks = b->workload->jobs[work->job].grid.ranks;
	struct err cause = { .text = "" };
	struct coll_schedule *one;
	struct work_groups groups;

	if (ranks > COLL_MAX_RANKS || (ranks < 2 && config->group == NULL))
		return cfg_fail(&b->workload->jobs[work->job].where, "ranks", b->err, "%u ranks; a collective has 2 to %d",
				ranks, COLL_MAX_RANKS);
	if (workload_groups(b->workload, index, &groups) != 0)
		return -ENOMEM;
	if (plan_has_file(config))
		one = plan_file_read(b->options->cfg, config, groups.ranks, &c->type, b->err);
	else
		one = create_one(config, groups.ranks, coll_elem_bytes(c->type), &cause);
	if (one != NULL && c->iterations > 1)
		one = coll_schedule_close(one, &cause);
	if (one != NULL)
		c->schedule = spread(b, index, &groups, one, &cause);
	free(groups.rank_of);
	if (c->schedule == NULL)
		return cfg_fail(&config->where, NULL, b->err, "%s", cause.text);
	c->vector_bytes = (c->schedule->memory_elems * coll_elem_bytes(c->type) + VECTOR_ALIGN - 1) & ~(VECTOR_ALIGN - 1);
	return check_counts(b, config, c->schedule);
}
