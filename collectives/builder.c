/* SPDX-License-Identifier: BSD-3-Clause */
#include "collectives/builder.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "collectives/proof/proof.h"

#define FIRST_CAP 64

struct edge {
	struct coll_dep step, on;
};

struct coll_builder {
	uint32_t ranks;
	uint32_t *counts;        /* [ranks] steps that each has */
	struct coll_step *steps; /* [nsteps] as they were added */
	uint32_t *owners;        /* [nsteps] their ranks */
	struct edge *edges;      /* [nedges] as they were added */
	uint32_t nsteps, steps_cap, nedges, edges_cap;
	bool counting;       /* counts and numbers of steps alone are kept */
	uint64_t more_steps; /* steps of coll_builder_count_all(), which nsteps leaves out */
	int failed;          /* the first error: -ENOMEM or -E2BIG; nothing is added then */
};

struct coll_builder *
coll_builder_create(uint32_t ranks)
{
	struct coll_builder *builder = calloc(1, sizeof(*builder));

	if (builder == NULL)
		return NULL;
	builder->ranks = ranks;
	builder->counts = calloc((size_t)ranks + 1, sizeof(*builder->counts));
	if (builder->counts == NULL)
		builder->failed = -ENOMEM;
	return builder;
}

struct coll_builder *
coll_builder_create_counting(uint32_t ranks)
{
	struct coll_builder *builder = coll_builder_create(ranks);

	if (builder != NULL)
		builder->counting = true;
	return builder;
}

bool
coll_builder_count_all(struct coll_builder *builder, uint32_t each)
{
	if (builder == NULL || !builder->counting)
		return false;
	if (builder->failed != 0)
		return true;
	for (uint32_t rank = 0; rank < builder->ranks; rank++)
		builder->counts[rank] += each;
	builder->more_steps += (uint64_t)builder->ranks * each;
	if (builder->nsteps + builder->more_steps > COLL_MAX_STEPS)
		builder->failed = -E2BIG;
	return true;
}

int
coll_builder_counted(const struct coll_builder *builder, struct coll_step_count *count)
{
	*count = (struct coll_step_count){ 0 };
	if (builder == NULL)
		return -ENOMEM;
	count->all = builder->nsteps + builder->more_steps;
	for (uint32_t rank = 0; builder->counts != NULL && rank < builder->ranks; rank++)
		count->most = builder->counts[rank] > count->most ? builder->counts[rank] : count->most;
	return builder->failed;
}

void
coll_builder_destroy(struct coll_builder *builder)
{
	if (builder == NULL)
		return;
	free(builder->counts);
	free(builder->steps);
	free(builder->owners);
	free(builder->edges);
	free(builder);
}

/* Doubles an array. @return false, with failed set */
static bool
enlarge(struct coll_builder *builder, void **array, uint32_t cap, size_t elem_bytes)
{
	void *larger = realloc(*array, (size_t)cap * elem_bytes);

	if (larger == NULL) {
		builder->failed = -ENOMEM;
		return false;
	}
	*array = larger;
	return true;
}

/* @return the capacity for one more, or 0 with failed set */
static uint32_t
next_cap(struct coll_builder *builder, uint32_t count, uint32_t cap)
{
	if (count == COLL_MAX_STEPS)
		builder->failed = -E2BIG;
	if (builder->failed != 0)
		return 0;
	return count < cap ? cap : cap == 0 ? FIRST_CAP : 2 * cap;
}

static struct coll_dep
append(struct coll_builder *builder, uint32_t rank, const struct coll_step *step)
{
	struct coll_dep id = { .rank = rank, .step = 1 };
	uint32_t cap;

	if (builder == NULL)
		return id;
	assert(rank < builder->ranks);
	cap = next_cap(builder, builder->nsteps, builder->steps_cap);
	if (cap == 0)
		return id;
	if (builder->counting) {
		builder->nsteps++;
		id.step = ++builder->counts[rank];
		return id;
	}
	if (cap != builder->steps_cap) {
		if (!enlarge(builder, (void **)&builder->steps, cap, sizeof(*builder->steps)) ||
		    !enlarge(builder, (void **)&builder->owners, cap, sizeof(*builder->owners)))
			return id;
		builder->steps_cap = cap;
	}
	builder->steps[builder->nsteps] = *step;
	builder->owners[builder->nsteps++] = rank;
	id.step = ++builder->counts[rank];
	return id;
}

struct coll_dep
coll_builder_send(struct coll_builder *builder, uint32_t rank, uint32_t peer, uint32_t channel,
		  const struct coll_chunk *chunk)
{
	return append(builder, rank,
		      &(struct coll_step){
			      .peer = peer,
			      .channel = channel,
			      .reduce = chunk->reduce,
			      .src_elems = chunk->src_elems,
			      .dst_elems = chunk->dst_elems,
			      .count_elems = chunk->count_elems,
		      });
}

struct coll_dep
coll_builder_local(struct coll_builder *builder, uint32_t rank, uint32_t channel, const struct coll_chunk *chunk,
		   uint64_t compute_ps)
{
	return append(builder, rank,
		      &(struct coll_step){
			      .peer = rank,
			      .channel = channel,
			      .reduce = chunk->reduce,
			      .src_elems = chunk->src_elems,
			      .dst_elems = chunk->dst_elems,
			      .count_elems = chunk->count_elems,
			      .compute_ps = compute_ps,
		      });
}

void
coll_builder_depend(struct coll_builder *builder, struct coll_dep step, struct coll_dep on)
{
	uint32_t cap;

	if (builder == NULL || builder->counting)
		return;
	cap = next_cap(builder, builder->nedges, builder->edges_cap);
	if (cap == 0)
		return;
	assert(step.rank < builder->ranks && step.step >= 1 && step.step <= builder->counts[step.rank]);
	if (cap != builder->edges_cap) {
		if (!enlarge(builder, (void **)&builder->edges, cap, sizeof(*builder->edges)))
			return;
		builder->edges_cap = cap;
	}
	builder->edges[builder->nedges++] = (struct edge){ .step = step, .on = on };
}

void
coll_builder_fail(struct coll_builder *builder, int rc)
{
	if (builder != NULL && builder->failed == 0)
		builder->failed = rc;
}

/*
 * Sorts the steps by rank, where they are: a large schedule has no room for all of them twice. The builder has none
 * afterwards. @return 0 or -ENOMEM
 */
static int
place_steps(struct coll_builder *builder, struct coll_schedule *schedule)
{
	uint32_t *place = builder->owners, *next = calloc((size_t)builder->ranks + 1, sizeof(*next));
	struct coll_step *steps = realloc(builder->steps, ((size_t)builder->nsteps + 1) * sizeof(*steps));

	if (steps != NULL)
		builder->steps = steps;
	schedule->first_step = calloc((size_t)builder->ranks + 1, sizeof(*schedule->first_step));
	if (schedule->first_step == NULL || steps == NULL || next == NULL) {
		free(next);
		return -ENOMEM;
	}
	for (uint32_t rank = 0; rank < builder->ranks; rank++) {
		next[rank] = schedule->first_step[rank];
		if (builder->counts[rank] > schedule->max_steps)
			schedule->max_steps = builder->counts[rank];
		schedule->first_step[rank + 1] = schedule->first_step[rank] + builder->counts[rank];
	}
	for (uint32_t i = 0; i < builder->nsteps; i++)
		place[i] = next[builder->owners[i]]++;
	free(next);
	for (uint32_t i = 0; i < builder->nsteps; i++)
		while (place[i] != i) {
			struct coll_step step = steps[place[i]];
			uint32_t to = place[place[i]];

			steps[place[i]] = steps[i];
			place[place[i]] = place[i];
			steps[i] = step;
			place[i] = to;
		}
	schedule->steps = steps;
	builder->steps = NULL;
	free(builder->owners);
	builder->owners = NULL;
	return 0;
}

/*
 * Removes repeated dependencies of a step: the first of each stays. Those on missing steps stay, to be refused later.
 * @return 0 or -ENOMEM
 */
static int
drop_twice(const struct coll_builder *builder, struct coll_schedule *schedule)
{
	uint32_t *waiter =
		calloc((size_t)builder->nsteps + 1, sizeof(*waiter)); /* of each step, the last that waits for it, from 1 */
	uint32_t kept = 0;

	if (waiter == NULL)
		return -ENOMEM;
	for (uint32_t i = 0; i < builder->nsteps; i++) {
		struct coll_step *step = &schedule->steps[i];
		const struct coll_dep *from = &schedule->deps[step->first_dep];
		uint32_t count = step->ndeps;

		step->first_dep = kept;
		for (uint32_t d = 0; d < count; d++) {
			bool there = from[d].rank < builder->ranks && from[d].step >= 1 &&
				     from[d].step <= builder->counts[from[d].rank];
			size_t on = there ? coll_step_index(schedule, from[d].rank, from[d].step) : 0;

			if (there && waiter[on] == i + 1)
				continue;
			if (there)
				waiter[on] = i + 1;
			schedule->deps[kept++] = from[d];
		}
		step->ndeps = kept - step->first_dep;
	}
	free(waiter);
	return 0;
}

/* Sorts the dependencies by the steps that wait, and drops those that are there already. @return 0 or -ENOMEM */
static int
place_deps(const struct coll_builder *builder, struct coll_schedule *schedule)
{
	uint32_t *waiters = calloc((size_t)builder->nedges + 1, sizeof(*waiters));
	uint32_t first = 0;

	schedule->deps = calloc((size_t)builder->nedges + 1, sizeof(*schedule->deps));
	if (waiters == NULL || schedule->deps == NULL) {
		free(waiters);
		return -ENOMEM;
	}
	for (uint32_t i = 0; i < builder->nedges; i++) {
		waiters[i] = (uint32_t)coll_step_index(schedule, builder->edges[i].step.rank, builder->edges[i].step.step);
		schedule->steps[waiters[i]].ndeps++;
	}
	for (uint32_t i = 0; i < builder->nsteps; i++) {
		schedule->steps[i].first_dep = first;
		first += schedule->steps[i].ndeps;
		schedule->steps[i].ndeps = 0;
	}
	for (uint32_t i = 0; i < builder->nedges; i++) {
		struct coll_step *waiter = &schedule->steps[waiters[i]];

		schedule->deps[waiter->first_dep + waiter->ndeps++] = builder->edges[i].on;
	}
	free(waiters);
	return drop_twice(builder, schedule);
}

/* @return a copy of an array, NULL of nothing or without memory */
static void *
copy_of(const void *array, size_t count, size_t elem_bytes)
{
	void *copy = array == NULL ? NULL : calloc(count + 1, elem_bytes);

	if (copy != NULL)
		memcpy(copy, array, count * elem_bytes);
	return copy;
}

/* @return 0 or -ENOMEM */
static int
copy_params(const struct coll_params *params, const struct coll_layout *layout, struct coll_schedule *schedule)
{
	size_t ranks = params->ranks;

	*schedule = (struct coll_schedule){
		.ranks = params->ranks,
		.group_ranks = params->ranks,
		.op = params->op,
		.algorithm = params->algorithm,
		.root = params->root,
		.count_elems = params->count_elems,
		.counts = copy_of(params->counts, ranks * ranks, sizeof(*params->counts)),
		.pairs = copy_of(params->pairs, params->npairs, sizeof(*params->pairs)),
		.npairs = params->npairs,
		.in_elems = layout->in_elems,
		.out_elems = layout->out_elems,
		.memory_elems = layout->memory_elems,
	};
	if ((params->counts != NULL && schedule->counts == NULL) || (params->pairs != NULL && schedule->pairs == NULL))
		return -ENOMEM;
	return 0;
}

struct coll_schedule *
coll_builder_finish(struct coll_builder *builder, const struct coll_params *params, const struct coll_layout *layout,
		    struct err *err)
{
	struct coll_schedule *schedule = calloc(1, sizeof(*schedule));
	int rc = builder == NULL || schedule == NULL ? -ENOMEM : builder->failed;

	assert(builder == NULL || (params->ranks == builder->ranks && !builder->counting));
	if (rc == 0)
		rc = copy_params(params, layout, schedule);
	if (rc == 0)
		rc = place_steps(builder, schedule);
	if (rc == 0)
		rc = place_deps(builder, schedule);
	coll_builder_destroy(builder);
	if (rc == 0)
		rc = coll_schedule_check_form(schedule, err);
	else if (rc == -E2BIG)
		err_set(err, rc, "more than %u steps or dependencies", COLL_MAX_STEPS);
	else
		err_set(err, rc, "no memory for a schedule");
	if (rc == 0)
		return schedule;
	coll_schedule_destroy(schedule);
	errno = -rc;
	return NULL;
}
