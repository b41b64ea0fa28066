/* SPDX-License-Identifier: BSD-3-Clause */
#include "collectives/spread.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "collectives/builder.h"

/* One group's copy: the steps of its members, and what they wait for. */
struct copy {
	struct coll_builder *builder;
	const struct coll_schedule *one;
	const uint32_t *rank_of;      /* [one->ranks] */
	const struct coll_dep *heads; /* [ranks] each rank's computation; step 0: none */
};

/* A step of the copy: behind the computation of its rank, if that has one. */
static struct coll_dep
renamed(const struct copy *copy, struct coll_dep dep)
{
	uint32_t rank = copy->rank_of[dep.rank];

	return (struct coll_dep){ rank, dep.step + (copy->heads[rank].step != 0) };
}

static void
copy_step(const struct copy *copy, uint32_t member, uint32_t number)
{
	const struct coll_step *step = coll_step_at(copy->one, member, number);
	struct coll_chunk chunk = { step->src_elems, step->dst_elems, step->count_elems, step->reduce };
	uint32_t rank = copy->rank_of[member];
	struct coll_dep id;
	bool own = false;

	if (step->peer == member)
		id = coll_builder_local(copy->builder, rank, step->channel, &chunk, step->compute_ps);
	else
		id = coll_builder_send(copy->builder, rank, copy->rank_of[step->peer], step->channel, &chunk);
	for (uint32_t d = 0; d < step->ndeps; d++) {
		const struct coll_dep *on = &copy->one->deps[step->first_dep + d];

		own |= on->rank == member;
		coll_builder_depend(copy->builder, id, renamed(copy, *on));
	}
	if (!own && copy->heads[rank].step != 0)
		coll_builder_depend(copy->builder, id, copy->heads[rank]);
}

/* @return NULL: there is nothing, or no memory */
static void *
copy_array(const void *array, size_t count, size_t elem_bytes)
{
	void *copied = array != NULL ? malloc(count * elem_bytes + 1) : NULL;

	return copied != NULL ? memcpy(copied, array, count * elem_bytes) : NULL;
}

/* What the operation promises is promised to each group. @return 0 or -ENOMEM */
static int
keep_groups(struct coll_schedule *all, const struct coll_schedule *one, const struct coll_spread *spread)
{
	all->group_ranks = one->ranks;
	all->counts = copy_array(one->counts, (size_t)one->ranks * one->ranks, sizeof(*one->counts));
	all->pairs = copy_array(one->pairs, one->npairs, sizeof(*one->pairs));
	all->npairs = all->pairs != NULL ? one->npairs : 0;
	all->member = malloc(all->ranks * sizeof(*all->member) + 1);
	if (all->member == NULL || (one->counts != NULL && all->counts == NULL) ||
	    (one->pairs != NULL && all->pairs == NULL))
		return -ENOMEM;
	for (uint32_t rank = 0; rank < all->ranks; rank++)
		all->member[rank] = COLL_NONE;
	for (uint32_t i = 0; i < spread->groups * one->ranks; i++)
		all->member[spread->rank_of[i]] = i % one->ranks;
	return 0;
}

struct coll_schedule *
coll_schedule_compute(const struct coll_params *params, const bool *computes, uint64_t compute_ps, struct err *err)
{
	struct coll_builder *builder = coll_builder_create(params->ranks);
	struct coll_layout layout = { .memory_elems = params->count_elems };
	struct coll_schedule *all;

	for (uint32_t rank = 0; rank < params->ranks; rank++)
		if (computes[rank])
			coll_builder_local(builder, rank, 0, &(struct coll_chunk){ 0 }, compute_ps);
	all = coll_builder_finish(builder, params, &layout, err);
	if (all == NULL)
		return NULL;
	all->group_ranks = 1;
	all->member = malloc(all->ranks * sizeof(*all->member) + 1);
	if (all->member == NULL) {
		coll_schedule_destroy(all);
		errno = -err_set(err, -ENOMEM, "no memory for a schedule of %u ranks", params->ranks);
		return NULL;
	}
	for (uint32_t rank = 0; rank < all->ranks; rank++)
		all->member[rank] = COLL_NONE; /* nothing is promised of their memory */
	return all;
}

struct coll_schedule *
coll_schedule_spread(const struct coll_schedule *one, const struct coll_spread *spread, struct err *err)
{
	struct coll_builder *builder = coll_builder_create(spread->ranks);
	struct coll_dep *heads = calloc(spread->ranks + 1u, sizeof(*heads));
	struct coll_schedule *all = NULL;
	struct coll_params params;
	struct coll_layout layout;

	if (heads == NULL) {
		coll_builder_destroy(builder);
		goto out;
	}
	for (uint32_t i = 0; i < spread->groups * one->ranks; i++) {
		uint32_t rank = spread->rank_of[i];

		if (spread->computes[rank])
			heads[rank] = coll_builder_local(builder, rank, 0, &(struct coll_chunk){ 0 }, spread->compute_ps);
	}
	for (uint32_t g = 0; g < spread->groups; g++) {
		struct copy copy = { builder, one, &spread->rank_of[(size_t)g * one->ranks], heads };

		for (uint32_t member = 0; member < one->ranks; member++)
			for (uint32_t number = 1; number <= coll_steps(one, member); number++)
				copy_step(&copy, member, number);
	}
	params = (struct coll_params){ .op = one->op,
				       .algorithm = one->algorithm,
				       .ranks = spread->ranks,
				       .count_elems = one->count_elems,
				       .root = one->root };
	layout = (struct coll_layout){ .in_elems = one->in_elems,
				       .out_elems = one->out_elems,
				       .memory_elems = one->memory_elems };
	all = coll_builder_finish(builder, &params, &layout, err);
	if (all != NULL && keep_groups(all, one, spread) != 0) {
		coll_schedule_destroy(all);
		all = NULL;
	}
out:
	free(heads);
	if (all == NULL)
		errno = -err_set(err, -ENOMEM, "no memory for a schedule of %u ranks", spread->ranks);
	return all;
}
