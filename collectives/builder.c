/* SPDX-License-Identifier: BSD-3-Clause */
#include "collectives/builder.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "collectives/proof/proof.h"
#include "common/array.h"
#include "common/minmax.h"

#define FIRST_CAP 64
#define FEW_DEPS 16 /* of a step: each is compared with each */

/* A dependency that was added when other steps had been added behind its own. */
struct edge {
	struct coll_dep step, on;
	size_t at; /* of the step in all, and its place among edges: what they are sorted by */
	uint32_t number;
};

/*
 * Steps are packed as they are added (struct coll_schedule), but for the last, whose dependencies mostly follow it.
 */
struct coll_builder {
	uint32_t ranks;
	uint32_t *counts;    /* [ranks] steps that each has */
	uint32_t *kind_of;   /* [nsteps] in kinds */
	uint64_t *src_elems; /* [nsteps] */
	uint32_t *owners;    /* [nsteps] their ranks */
	struct kinds kinds;  /* of struct coll_step */
	struct coll_lists lists;
	struct coll_step last; /* while open: the step that was added last, */
	struct coll_dep last_id;
	struct coll_dep *last_deps; /* [last_ndeps] and what it waits for */
	struct edge *edges;         /* [nedges] as they were added */
	uint32_t nsteps, steps_cap, ndeps, last_ndeps, last_cap, nedges, edges_cap;
	bool open;
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
	builder->kinds.bytes = sizeof(struct coll_step);
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
	free(builder->kind_of);
	free(builder->src_elems);
	free(builder->owners);
	kinds_free(&builder->kinds);
	coll_lists_free(&builder->lists);
	free(builder->last_deps);
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

/* Makes room for one more. @return false, with failed set */
static bool
make_room(struct coll_builder *builder, void **array, uint32_t count, uint32_t *cap, size_t elem_bytes)
{
	uint32_t more = *cap == 0 ? FIRST_CAP : 2 * *cap;

	if (count < *cap)
		return true;
	if (!enlarge(builder, array, more, elem_bytes))
		return false;
	*cap = more;
	return true;
}

static int
compare_deps(const void *a, const void *b)
{
	const struct edge *x = a, *y = b;

	if (x->on.rank != y->on.rank)
		return x->on.rank < y->on.rank ? -1 : 1;
	if (x->on.step != y->on.step)
		return x->on.step < y->on.step ? -1 : 1;
	return ORDER(x->number, y->number);
}

static int
compare_numbers(const void *a, const void *b)
{
	const struct edge *x = a, *y = b;

	return ORDER(x->number, y->number);
}

/* Of many dependencies those that are there already go. @return how many stay; COLL_NONE: no memory */
static uint32_t
drop_of_many(struct coll_dep *deps, uint32_t count)
{
	struct edge *sorted = malloc(count * sizeof(*sorted));
	uint32_t kept = 0;

	if (sorted == NULL)
		return COLL_NONE;
	for (uint32_t i = 0; i < count; i++)
		sorted[i] = (struct edge){ .on = deps[i], .number = i };
	qsort(sorted, count, sizeof(*sorted), compare_deps);
	for (uint32_t i = 0; i < count; i++)
		if (i == 0 || sorted[i].on.rank != sorted[kept - 1].on.rank ||
		    sorted[i].on.step != sorted[kept - 1].on.step)
			sorted[kept++] = sorted[i];
	qsort(sorted, kept, sizeof(*sorted), compare_numbers);
	for (uint32_t i = 0; i < kept; i++)
		deps[i] = sorted[i].on;
	free(sorted);
	return kept;
}

/* Removes repeated dependencies of a step: the first of each stays. @return how many stay; COLL_NONE: no memory */
static uint32_t
drop_twice(struct coll_dep *deps, uint32_t count)
{
	uint32_t kept = 0;

	if (count > FEW_DEPS)
		return drop_of_many(deps, count);
	for (uint32_t i = 0; i < count; i++) {
		bool known = false;

		for (uint32_t k = 0; k < kept && !known; k++)
			known = deps[k].rank == deps[i].rank && deps[k].step == deps[i].step;
		if (!known)
			deps[kept++] = deps[i];
	}
	return kept;
}

/*
 * @param step  of whose kind its own peer and elements say
 * @param deps  [count] of it; changed
 * @return its kind; COLL_NONE: no memory
 */
static uint32_t
pack(struct coll_builder *builder, struct coll_dep id, struct coll_step step, struct coll_dep *deps, uint32_t count)
{
	uint32_t kept = drop_twice(deps, count), list;

	if (kept == COLL_NONE)
		return COLL_NONE;
	for (uint32_t i = 0; i < kept; i++)
		deps[i] = (struct coll_dep){ deps[i].rank - id.rank, deps[i].step - id.step };
	list = coll_lists_add(&builder->lists, deps, kept);
	if (list == COLL_NONE)
		return COLL_NONE;
	step.first_dep = builder->lists.first[list];
	step.ndeps = kept;
	step.peer -= id.rank;
	step.dst_elems -= step.src_elems;
	step.src_elems = 0;
	return kinds_of(&builder->kinds, &step);
}

/* The last step gets no more dependencies, but as edges. */
static void
seal(struct coll_builder *builder)
{
	uint32_t kind;

	if (!builder->open || builder->failed != 0)
		return;
	kind = pack(builder, builder->last_id, builder->last, builder->last_deps, builder->last_ndeps);
	if (kind == COLL_NONE)
		builder->failed = -ENOMEM;
	builder->kind_of[builder->nsteps - 1] = kind;
	builder->src_elems[builder->nsteps - 1] = builder->last.src_elems;
	builder->open = false;
	builder->last_ndeps = 0;
}

/* @return false, with failed set */
static bool
make_step_room(struct coll_builder *builder)
{
	uint32_t cap = builder->steps_cap == 0 ? FIRST_CAP : 2 * builder->steps_cap;

	if (builder->nsteps < builder->steps_cap)
		return true;
	if (!enlarge(builder, (void **)&builder->kind_of, cap, sizeof(*builder->kind_of)) ||
	    !enlarge(builder, (void **)&builder->src_elems, cap, sizeof(*builder->src_elems)) ||
	    !enlarge(builder, (void **)&builder->owners, cap, sizeof(*builder->owners)))
		return false;
	builder->steps_cap = cap;
	return true;
}

static struct coll_dep
append(struct coll_builder *builder, uint32_t rank, const struct coll_step *step)
{
	struct coll_dep id = { .rank = rank, .step = 1 };

	if (builder == NULL)
		return id;
	assert(rank < builder->ranks);
	seal(builder);
	if (builder->failed == 0 && builder->nsteps == COLL_MAX_STEPS)
		builder->failed = -E2BIG;
	if (builder->failed != 0 || (!builder->counting && !make_step_room(builder)))
		return id;
	id.step = ++builder->counts[rank];
	if (!builder->counting) {
		builder->owners[builder->nsteps] = rank;
		builder->last = *step;
		builder->last_id = id;
		builder->open = true;
	}
	builder->nsteps++;
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
	if (builder == NULL || builder->counting)
		return;
	if (builder->failed == 0 && builder->ndeps == COLL_MAX_STEPS)
		builder->failed = -E2BIG;
	if (builder->failed != 0)
		return;
	assert(step.rank < builder->ranks && step.step >= 1 && step.step <= builder->counts[step.rank]);
	builder->ndeps++;
	if (builder->open && step.rank == builder->last_id.rank && step.step == builder->last_id.step) {
		if (make_room(builder, (void **)&builder->last_deps, builder->last_ndeps, &builder->last_cap, sizeof(on)))
			builder->last_deps[builder->last_ndeps++] = on;
	} else if (make_room(builder, (void **)&builder->edges, builder->nedges, &builder->edges_cap,
			     sizeof(*builder->edges))) {
		builder->edges[builder->nedges] = (struct edge){ .step = step, .on = on, .number = builder->nedges };
		builder->nedges++;
	}
}

void
coll_builder_fail(struct coll_builder *builder, int rc)
{
	if (builder != NULL && builder->failed == 0)
		builder->failed = rc;
}

/* Steps by rank, where they are: a large schedule has no room for all of them twice. @param place  [nsteps] gone then */
static void
sort_by_rank(struct coll_builder *builder, uint32_t *place)
{
	for (uint32_t i = 0; i < builder->nsteps; i++)
		while (place[i] != i) {
			uint32_t to = place[i], kind = builder->kind_of[to];
			uint64_t src_elems = builder->src_elems[to];

			builder->kind_of[to] = builder->kind_of[i];
			builder->src_elems[to] = builder->src_elems[i];
			builder->kind_of[i] = kind;
			builder->src_elems[i] = src_elems;
			place[i] = place[to];
			place[to] = to;
		}
}

/* Sorts the steps by rank, and counts those of each. @return 0 or -ENOMEM */
static int
place_steps(struct coll_builder *builder, struct coll_schedule *schedule)
{
	uint32_t *next = calloc((size_t)builder->ranks + 1, sizeof(*next));

	schedule->first_step = calloc((size_t)builder->ranks + 1, sizeof(*schedule->first_step));
	if (schedule->first_step == NULL || next == NULL) {
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
		builder->owners[i] = next[builder->owners[i]]++;
	free(next);
	sort_by_rank(builder, builder->owners);
	free(builder->owners);
	builder->owners = NULL;
	return 0;
}

static int
compare_edges(const void *a, const void *b)
{
	const struct edge *x = a, *y = b;

	return x->at != y->at ? ORDER(x->at, y->at) : ORDER(x->number, y->number);
}

/* One step's edges. @param deps  has room for what it waits for already, and for them. @return 0 or -ENOMEM */
static int
add_edges(struct coll_builder *builder, const struct edge *edges, uint32_t count, struct coll_dep *deps)
{
	struct coll_dep id = edges->step;
	struct coll_step step = ((const struct coll_step *)builder->kinds.items)[builder->kind_of[edges->at]];
	uint32_t had = step.ndeps;

	for (uint32_t i = 0; i < had; i++) {
		struct coll_dep dep = builder->lists.deps[step.first_dep + i];

		deps[i] = (struct coll_dep){ dep.rank + id.rank, dep.step + id.step };
	}
	for (uint32_t i = 0; i < count; i++)
		deps[had + i] = edges[i].on;
	step.peer += id.rank; /* its elements are right for pack(), whatever the source's place */
	builder->kind_of[edges->at] = pack(builder, id, step, deps, had + count);
	return builder->kind_of[edges->at] != COLL_NONE ? 0 : -ENOMEM;
}

/* Dependencies that were added late, behind the others of their steps. @return 0 or -ENOMEM */
static int
place_edges(struct coll_builder *builder, const struct coll_schedule *schedule)
{
	struct coll_dep *deps = NULL;
	int rc = 0;

	for (uint32_t i = 0; i < builder->nedges; i++)
		builder->edges[i].at = coll_step_index(schedule, builder->edges[i].step.rank, builder->edges[i].step.step);
	if (builder->nedges > 1)
		qsort(builder->edges, builder->nedges, sizeof(*builder->edges), compare_edges);
	for (uint32_t i = 0, count; i < builder->nedges && rc == 0; i += count) {
		const struct edge *first = &builder->edges[i];
		const struct coll_step *kind = (const struct coll_step *)builder->kinds.items + builder->kind_of[first->at];
		struct coll_dep *room;

		for (count = 1; i + count < builder->nedges && first[count].at == first->at;)
			count++;
		room = realloc(deps, ((size_t)kind->ndeps + count) * sizeof(*deps));
		deps = room != NULL ? room : deps;
		rc = room != NULL ? add_edges(builder, first, count, deps) : -ENOMEM;
	}
	free(deps);
	return rc;
}

/* Few steps, each by itself. @return 0 or -ENOMEM */
static int
unpack(struct coll_builder *builder, struct coll_schedule *schedule)
{
	const struct coll_step *kinds = builder->kinds.items;
	size_t ndeps = 0;

	for (uint32_t i = 0; i < builder->nsteps; i++)
		ndeps += kinds[builder->kind_of[i]].ndeps;
	schedule->steps = calloc((size_t)builder->nsteps + 1, sizeof(*schedule->steps));
	schedule->deps = calloc(ndeps + 1, sizeof(*schedule->deps));
	if (schedule->steps == NULL || schedule->deps == NULL)
		return -ENOMEM;
	ndeps = 0;
	for (uint32_t rank = 0, i = 0; rank < schedule->ranks; rank++)
		for (uint32_t number = 1; number <= builder->counts[rank]; number++, i++) {
			struct coll_step *step = &schedule->steps[i];

			*step = kinds[builder->kind_of[i]];
			step->peer += rank;
			step->src_elems = builder->src_elems[i];
			step->dst_elems += step->src_elems;
			for (uint32_t d = 0; d < step->ndeps; d++) {
				struct coll_dep dep = builder->lists.deps[step->first_dep + d];

				schedule->deps[ndeps + d] = (struct coll_dep){ dep.rank + rank, dep.step + number };
			}
			step->first_dep = (uint32_t)ndeps;
			ndeps += step->ndeps;
		}
	return 0;
}

/* @return an array that is as long as it has to be, or as it was */
static void *
shrink(void *array, size_t count, size_t elem_bytes)
{
	void *shorter = realloc(array, (count + 1) * elem_bytes);

	return shorter != NULL ? shorter : array;
}

/* The schedule gets the steps of the builder. @return 0 or -ENOMEM */
static int
hand_over(struct coll_builder *builder, struct coll_schedule *schedule)
{
	if (builder->nsteps <= COLL_PLAIN_STEPS)
		return unpack(builder, schedule);
	schedule->kind_of = shrink(builder->kind_of, builder->nsteps, sizeof(*builder->kind_of));
	schedule->src_elems = shrink(builder->src_elems, builder->nsteps, sizeof(*builder->src_elems));
	schedule->kinds = shrink(builder->kinds.items, builder->kinds.count, sizeof(*schedule->kinds));
	schedule->deps = builder->lists.deps;
	builder->kind_of = NULL;
	builder->src_elems = NULL;
	builder->kinds.items = NULL;
	builder->lists.deps = NULL;
	return 0;
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
	int rc = builder == NULL || schedule == NULL ? -ENOMEM : 0;

	if (rc == 0) {
		seal(builder);
		rc = builder->failed;
	}
	assert(builder == NULL || (params->ranks == builder->ranks && !builder->counting));
	if (rc == 0)
		rc = copy_params(params, layout, schedule);
	if (rc == 0)
		rc = place_steps(builder, schedule);
	if (rc == 0)
		rc = place_edges(builder, schedule);
	if (rc == 0)
		rc = hand_over(builder, schedule);
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
