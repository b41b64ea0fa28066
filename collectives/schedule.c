/* SPDX-License-Identifier: BSD-3-Clause */
#include "collectives/schedule.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "collectives/algorithm/algorithm.h"
#include "collectives/builder.h"
#include "collectives/op/op.h"
#include "collectives/proof/proof.h"
#include "common/array.h"
#include "common/hash.h"

/* Schedules that files hold (collectives/import/): none is made here. */
const struct coll_algorithm_ops coll_file = { 0 };

#define ALGORITHM(id, value, name, symbol) [id] = &coll_##symbol,
static const struct coll_algorithm_ops *const algorithms[] = { COLL_ALGORITHMS(ALGORITHM) };

static const char *const op_names[] = { COLL_OPS(ENUM_NAME) };
static const char *const algorithm_names[] = { COLL_ALGORITHMS(ENUM_NAME) };

const struct coll_algorithm_ops *
coll_algorithm_ops(enum coll_algorithm algorithm)
{
	assert((size_t)algorithm < ARRAY_LEN(algorithms));
	return algorithms[algorithm];
}

const char *
coll_op_name(enum coll_op op)
{
	assert((size_t)op < ARRAY_LEN(op_names));
	return op_names[op];
}

const char *
coll_algorithm_name(enum coll_algorithm algorithm)
{
	assert((size_t)algorithm < ARRAY_LEN(algorithms));
	return algorithm_names[algorithm];
}

bool
coll_algorithm_has(enum coll_algorithm algorithm, enum coll_op op)
{
	return coll_algorithm_ops(algorithm)->of[op].build != NULL;
}

bool
coll_block_steps(enum coll_algorithm algorithm, enum coll_op op)
{
	return coll_algorithm_ops(algorithm)->of[op].block_steps;
}

void
coll_schedule_destroy(struct coll_schedule *schedule)
{
	if (schedule == NULL)
		return;
	free(schedule->counts);
	free(schedule->pairs);
	free(schedule->member);
	free(schedule->first_step);
	free(schedule->steps);
	free(schedule->deps);
	free(schedule->kinds);
	free(schedule->kind_of);
	free(schedule->src_elems);
	free(schedule);
}

/* ---- Lists of dependencies ---- */

#define FIRST_SLOTS 64

static bool
is_list(const struct coll_lists *lists, uint32_t list, const struct coll_dep *deps, uint32_t count)
{
	return lists->first[list + 1] - lists->first[list] == count &&
	       (count == 0 || memcmp(lists->deps + lists->first[list], deps, count * sizeof(*deps)) == 0);
}

static uint32_t
slot_of(const struct coll_lists *lists, const struct coll_dep *deps, uint32_t count)
{
	uint32_t slot =
		(uint32_t)digest_bytes(digest_u64(DIGEST_INIT, count), deps, count * sizeof(*deps)) & (lists->nslots - 1);

	while (lists->slots[slot] != COLL_NONE && !is_list(lists, lists->slots[slot], deps, count))
		slot = (slot + 1) & (lists->nslots - 1);
	return slot;
}

/* Twice the slots; half of them have a list at most. @return 0 or -ENOMEM */
static int
add_slots(struct coll_lists *lists)
{
	uint32_t nslots = lists->nslots != 0 ? 2 * lists->nslots : FIRST_SLOTS;
	uint32_t *slots = malloc(nslots * sizeof(*slots));

	if (slots == NULL)
		return -ENOMEM;
	free(lists->slots);
	lists->slots = slots;
	lists->nslots = nslots;
	for (uint32_t slot = 0; slot < nslots; slot++)
		slots[slot] = COLL_NONE;
	for (uint32_t i = 0; i < lists->count; i++)
		slots[slot_of(lists, lists->deps + lists->first[i], lists->first[i + 1] - lists->first[i])] = i;
	return 0;
}

/* @return 0 or -ENOMEM */
static int
make_room(uint32_t need, size_t elem_bytes, void **array, uint32_t *cap)
{
	uint32_t more = *cap != 0 ? *cap : FIRST_SLOTS;
	void *larger;

	if (need <= *cap)
		return 0;
	while (more < need)
		more *= 2;
	larger = realloc(*array, more * elem_bytes);
	if (larger == NULL)
		return -ENOMEM;
	*array = larger;
	*cap = more;
	return 0;
}

uint32_t
coll_lists_add(struct coll_lists *lists, const struct coll_dep *deps, uint32_t count)
{
	uint32_t slot, end = lists->count != 0 ? lists->first[lists->count] : 0;

	if (lists->count != 0 && is_list(lists, lists->latest, deps, count))
		return lists->latest;
	if (2 * lists->count >= lists->nslots && add_slots(lists) != 0)
		return COLL_NONE;
	slot = slot_of(lists, deps, count);
	if (lists->slots[slot] == COLL_NONE) {
		if (make_room(end + count, sizeof(*lists->deps), (void **)&lists->deps, &lists->deps_cap) != 0 ||
		    make_room(lists->count + 2, sizeof(*lists->first), (void **)&lists->first, &lists->first_cap) != 0)
			return COLL_NONE;
		if (count != 0)
			memcpy(lists->deps + end, deps, count * sizeof(*deps));
		lists->first[lists->count] = end;
		lists->first[lists->count + 1] = end + count;
		lists->slots[slot] = lists->count++;
	}
	lists->latest = lists->slots[slot];
	return lists->latest;
}

void
coll_lists_keep(struct coll_lists *lists)
{
	free(lists->slots);
	lists->slots = NULL;
	lists->nslots = 0;
}

void
coll_lists_free(struct coll_lists *lists)
{
	free(lists->deps);
	free(lists->first);
	free(lists->slots);
	*lists = (struct coll_lists){ .deps = NULL };
}

struct coll_size
coll_size_of(const struct coll_schedule *schedule, uint32_t elem_bytes)
{
	if (schedule->op == COLL_CUSTOM && schedule->of_file.bytes != 0)
		return schedule->of_file;
	return (struct coll_size){
		.op = schedule->op,
		.ranks = schedule->group_ranks,
		.root = schedule->root,
		.bytes = schedule->op == COLL_CUSTOM ? 0 : schedule->count_elems * elem_bytes,
	};
}

double
coll_busbw_factor(enum coll_op op, uint32_t ranks)
{
	return coll_op_ops(op)->busbw_factor(ranks);
}

/* ---- A closing barrier ---- */

/* Sets of ranks: whose start something depends on. */
struct starts {
	uint32_t words;    /* of a set */
	uint64_t *of_step; /* [steps] a step's end */
	uint64_t *of_end;  /* [ranks] the end of a rank's part */
};

static int find_starts(struct starts *starts, const struct graph *graph);
static bool holds(const struct starts *starts, const struct graph *graph);
static struct coll_schedule *add_barrier(const struct graph *graph, struct err *err);

struct coll_schedule *
coll_schedule_close(struct coll_schedule *schedule, struct err *err)
{
	struct coll_schedule *closed = NULL;
	struct starts starts = { 0 };
	struct graph graph;
	int rc = graph_init(&graph, schedule, err);

	if (rc != 0) {
		coll_schedule_destroy(schedule);
		errno = -rc;
		return NULL;
	}
	rc = find_starts(&starts, &graph);
	if (rc != 0)
		err_set(err, rc, "no memory to see whether a schedule of %u steps may be iterated",
			coll_all_steps(schedule));
	else if (holds(&starts, &graph))
		closed = schedule;
	else
		closed = add_barrier(&graph, err);
	rc = closed == NULL && rc == 0 ? -errno : rc;
	free(starts.of_step);
	free(starts.of_end);
	graph_fini(&graph);
	if (closed != schedule)
		coll_schedule_destroy(schedule);
	if (closed == NULL)
		errno = -rc;
	return closed;
}

static void
unite(const struct starts *starts, uint64_t *into, const uint64_t *from)
{
	for (uint32_t i = 0; i < starts->words; i++)
		into[i] |= from[i];
}

static int
find_starts(struct starts *starts, const struct graph *graph)
{
	const struct coll_schedule *schedule = graph->schedule;
	uint32_t all = coll_all_steps(schedule);

	starts->words = (schedule->ranks + 63) / 64;
	starts->of_step = calloc((size_t)all + 1, starts->words * sizeof(*starts->of_step));
	starts->of_end = calloc(schedule->ranks, starts->words * sizeof(*starts->of_end));
	if (starts->of_step == NULL || starts->of_end == NULL)
		return -ENOMEM;
	for (uint32_t i = 0; i < all; i++) {
		uint32_t step = graph->order[i], rank = graph->rank_of[step], peer = graph_step(graph, step).peer;
		uint64_t *set = starts->of_step + (size_t)step * starts->words;

		set[rank / 64] |= 1ull << rank % 64;
		for (uint32_t p = graph->first_prev[step]; p < graph->first_prev[step + 1]; p++)
			unite(starts, set, starts->of_step + (size_t)graph->prev[p] * starts->words);
		unite(starts, starts->of_end + (size_t)rank * starts->words, set);
		unite(starts, starts->of_end + (size_t)peer * starts->words, set);
	}
	return 0;
}

static bool
has(const uint64_t *set, uint32_t rank)
{
	return (set[rank / 64] >> rank % 64 & 1) != 0;
}

/*
 * @return whether a message of the next iteration can be sent only once its receiver has started that iteration: the
 *         message waits for some rank's start there, hence for that rank's end here, and that end for the receiver's
 *         start. In most cases that rank is the sender.
 */
static bool
waits_for_receiver(const struct starts *starts, const struct graph *graph, uint32_t step)
{
	const uint64_t *set = starts->of_step + (size_t)step * starts->words;
	uint32_t rank = graph->rank_of[step], peer = graph_step(graph, step).peer;
	bool waits = has(starts->of_end + (size_t)rank * starts->words, peer);

	for (uint32_t q = 0; q < graph->schedule->ranks && !waits; q++)
		waits = has(set, q) && has(starts->of_end + (size_t)q * starts->words, peer);
	return waits;
}

static bool
holds(const struct starts *starts, const struct graph *graph)
{
	for (uint32_t i = 0; i < coll_all_steps(graph->schedule); i++)
		if (graph_step(graph, i).peer != graph->rank_of[i] && !waits_for_receiver(starts, graph, i))
			return false;
	return true;
}

/* A barrier while it is being added. */
struct barrier {
	struct coll_builder *builder;
	const struct graph *graph;
	uint32_t *members;     /* [count] ranks that send or receive */
	uint32_t *place;       /* [ranks] where among those, COLL_NONE */
	uint64_t *elems;       /* [ranks] something that each of them has in the end */
	struct coll_dep *sent; /* [count] the messages of the last round */
	struct coll_dep *now;  /* [count] and of this one */
	uint32_t count;
};

static void
copy_steps(const struct barrier *barrier)
{
	const struct coll_schedule *s = barrier->graph->schedule;

	for (uint32_t r = 0; r < s->ranks; r++)
		for (uint32_t step = 1; step <= coll_steps(s, r); step++) {
			const struct coll_step at = coll_step_get(s, r, step);
			struct coll_chunk chunk = { at.src_elems, at.dst_elems, at.count_elems, at.reduce };

			if (at.peer == r)
				coll_builder_local(barrier->builder, r, at.channel, &chunk, at.compute_ps);
			else
				coll_builder_send(barrier->builder, r, at.peer, at.channel, &chunk);
			for (uint32_t i = 0; i < at.ndeps; i++)
				coll_builder_depend(barrier->builder, (struct coll_dep){ r, step },
						    coll_step_dep(s, r, step, &at, i));
		}
}

/* The ranks that take part, and the data that each sends: elements that it has sent or received before. */
static void
find_members(struct barrier *barrier)
{
	const struct coll_schedule *s = barrier->graph->schedule;

	for (uint32_t r = 0; r < s->ranks; r++)
		barrier->elems[r] = UINT64_MAX;
	for (uint32_t i = 0; i < coll_all_steps(s); i++) {
		uint32_t rank = barrier->graph->rank_of[i];
		const struct coll_step at = graph_step(barrier->graph, i);

		if (at.peer == rank)
			continue;
		barrier->elems[rank] = at.src_elems;
		if (barrier->elems[at.peer] == UINT64_MAX)
			barrier->elems[at.peer] = at.dst_elems;
	}
	for (uint32_t r = 0; r < s->ranks; r++) {
		barrier->place[r] = COLL_NONE;
		if (barrier->elems[r] == UINT64_MAX)
			continue;
		barrier->place[r] = barrier->count;
		barrier->members[barrier->count++] = r;
	}
}

/* @return whether some step of a rank waits for a step */
static bool
is_waited_for(const struct graph *graph, uint32_t step, uint32_t rank)
{
	for (uint32_t i = graph->first_next[step]; i < graph->first_next[step + 1]; i++)
		if (graph->rank_of[graph->next[i]] == rank)
			return true;
	return false;
}

/* All that ends a rank's part precedes its first message. */
static void
depend_on_ends(const struct barrier *barrier)
{
	const struct graph *graph = barrier->graph;

	for (uint32_t i = 0; i < coll_all_steps(graph->schedule); i++) {
		uint32_t rank = graph->rank_of[i], peer = graph_step(graph, i).peer;
		struct coll_dep end = { rank, graph_number(graph, i) };

		if (barrier->place[rank] != COLL_NONE && !is_waited_for(graph, i, rank))
			coll_builder_depend(barrier->builder, barrier->sent[barrier->place[rank]], end);
		if (peer != rank && !is_waited_for(graph, i, peer))
			coll_builder_depend(barrier->builder, barrier->sent[barrier->place[peer]], end);
	}
}

/*
 * Adds a round: each member sends to the one at this distance behind it, after it got the message of the previous
 * round, from the one at half the distance before it.
 */
static void
add_round(const struct barrier *barrier, uint32_t distance, uint64_t elem)
{
	for (uint32_t m = 0; m < barrier->count; m++) {
		uint32_t rank = barrier->members[m], to = barrier->members[(m + distance) % barrier->count];
		struct coll_chunk chunk = { .src_elems = barrier->elems[rank], .dst_elems = elem, .count_elems = 1 };

		barrier->now[m] = coll_builder_send(barrier->builder, rank, to, 0, &chunk);
		if (distance == 1)
			continue;
		coll_builder_depend(barrier->builder, barrier->now[m], barrier->sent[m]);
		coll_builder_depend(barrier->builder, barrier->now[m],
				    barrier->sent[(m + barrier->count - distance / 2) % barrier->count]);
	}
	memcpy(barrier->sent, barrier->now, barrier->count * sizeof(*barrier->sent));
	if (distance == 1)
		depend_on_ends(barrier);
}

static struct coll_schedule *
finish(const struct barrier *barrier, uint64_t memory_elems, struct err *err)
{
	const struct coll_schedule *s = barrier->graph->schedule;
	struct coll_params params = {
		.op = s->op,
		.algorithm = s->algorithm,
		.ranks = s->ranks,
		.count_elems = s->count_elems,
		.root = s->root,
		.counts = s->counts,
		.pairs = s->pairs,
		.npairs = s->npairs,
	};
	struct coll_layout layout = { .in_elems = s->in_elems, .out_elems = s->out_elems, .memory_elems = memory_elems };

	return coll_builder_finish(barrier->builder, &params, &layout, err);
}

static struct coll_schedule *
add_barrier(const struct graph *graph, struct err *err)
{
	uint32_t ranks = graph->schedule->ranks;
	uint64_t elem = graph->schedule->memory_elems;
	struct barrier barrier = {
		.graph = graph,
		.members = calloc(ranks, sizeof(*barrier.members)),
		.place = calloc(ranks, sizeof(*barrier.place)),
		.elems = calloc(ranks, sizeof(*barrier.elems)),
		.sent = calloc(ranks, sizeof(*barrier.sent)),
		.now = calloc(ranks, sizeof(*barrier.now)),
	};
	struct coll_schedule *closed = NULL;

	if (barrier.members == NULL || barrier.place == NULL || barrier.elems == NULL || barrier.sent == NULL ||
	    barrier.now == NULL) {
		err_set(err, -ENOMEM, "no memory for a barrier of %u ranks", ranks);
		errno = ENOMEM;
	} else {
		barrier.builder = coll_builder_create(ranks);
		find_members(&barrier);
		copy_steps(&barrier);
		for (uint32_t distance = 1; distance < barrier.count; distance *= 2)
			add_round(&barrier, distance, elem++);
		closed = finish(&barrier, elem, err);
	}
	free(barrier.members);
	free(barrier.place);
	free(barrier.elems);
	free(barrier.sent);
	free(barrier.now);
	return closed;
}

/* ---- From one group to a whole job ---- */

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
	const struct coll_step step = coll_step_get(copy->one, member, number);
	struct coll_chunk chunk = { step.src_elems, step.dst_elems, step.count_elems, step.reduce };
	uint32_t rank = copy->rank_of[member];
	struct coll_dep id;
	bool own = false;

	if (step.peer == member)
		id = coll_builder_local(copy->builder, rank, step.channel, &chunk, step.compute_ps);
	else
		id = coll_builder_send(copy->builder, rank, copy->rank_of[step.peer], step.channel, &chunk);
	for (uint32_t d = 0; d < step.ndeps; d++) {
		struct coll_dep on = coll_step_dep(copy->one, member, number, &step, d);

		own |= on.rank == member;
		coll_builder_depend(copy->builder, id, renamed(copy, on));
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

/*
 * Copies to the whole schedule what its groups share: counts, pairs, and each rank's place in its group.
 * @return 0 or -ENOMEM
 */
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
