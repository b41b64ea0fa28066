/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Sends and local operations become steps. What a step waits for is a set of steps: own ones, to be over, and others'
 * messages, to have arrived. A receive is over when its message has arrived and its own set is met, so whoever waits for
 * it waits for both; a join is its set. Who waits for the start of another waits for the other's set, and for the step
 * before it on its channel.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "collectives/builder.h"
#include "collectives/import/stages.h"

#define LARGEST_SET 64 /* beyond, a local step of no length stands for the set of a receive or join */

struct set {
	uint32_t first, count; /* into sets */
};

struct work {
	const struct program *program;
	const struct links *links;
	struct coll_builder *builder;
	struct set *of;        /* [nops] what each waits for */
	struct coll_dep *step; /* [nops] of sends and local operations */
	struct coll_dep *sets;
	size_t nsets, set_room;
	struct coll_dep *gather; /* the set under construction */
	bool *implied;
	size_t ngather, gather_room;
	uint64_t copies;               /* that were gathered so far */
	uint32_t *by_step;             /* operation of step (rank, number): rank's from first_step[rank] */
	uint32_t *first_step, *nsteps; /* [ranks] */
	uint32_t *latest;              /* [nops] the step before on the channel: operation; PROGRAM_NONE */
	uint32_t *bundles;             /* [ranks] local steps that stand for sets */
	struct err *err;
};

static int
compare_deps(const void *a, const void *b)
{
	const struct coll_dep *x = a, *y = b;

	if (x->rank != y->rank)
		return x->rank < y->rank ? -1 : 1;
	return x->step < y->step ? -1 : x->step > y->step;
}

/* @param op  that the set is gathered for */
static int
gather_room(struct work *work, uint32_t op, size_t more)
{
	size_t need = work->ngather + more, cap = work->gather_room != 0 ? work->gather_room : 256;
	struct coll_dep *deps;
	bool *implied;

	work->copies += more;
	if (need > work->program->max_sets || work->copies > work->program->max_copies)
		return program_too_many_steps(work->program, op, work->program->max_sets, work->err);
	if (need <= work->gather_room)
		return 0;
	while (cap < need)
		cap *= 2;
	deps = realloc(work->gather, cap * sizeof(*deps));
	if (deps != NULL)
		work->gather = deps;
	implied = realloc(work->implied, cap * sizeof(*implied));
	if (implied != NULL)
		work->implied = implied;
	if (deps == NULL || implied == NULL)
		return -ENOMEM;
	work->gather_room = cap;
	return 0;
}

static int
gather_dep(struct work *work, uint32_t op, struct coll_dep dep)
{
	int rc = gather_room(work, op, 1);

	if (rc == 0)
		work->gather[work->ngather++] = dep;
	return rc;
}

static int
gather_set(struct work *work, uint32_t op, uint32_t on)
{
	struct set set = work->of[on];
	int rc = gather_room(work, op, set.count);

	if (rc == 0 && set.count != 0) {
		memcpy(work->gather + work->ngather, work->sets + set.first, set.count * sizeof(*work->gather));
		work->ngather += set.count;
	}
	return rc;
}

static bool
is_step(const struct program_op *op)
{
	return op->kind == PROGRAM_SEND || op->kind == PROGRAM_LOCAL;
}

/* What "waits" waits for, since it waits for "on". */
static int
gather_wait(struct work *work, uint32_t waits, uint32_t on, bool start)
{
	const struct program_op *op = &work->program->ops[on];
	int rc;

	if (!start && is_step(op))
		return gather_dep(work, waits, work->step[on]);
	rc = gather_set(work, waits, on);
	if (rc == 0 && start && is_step(op) && work->latest[on] != PROGRAM_NONE)
		rc = gather_dep(work, waits, work->step[work->latest[on]]);
	if (rc == 0 && !start && op->kind == PROGRAM_RECV)
		rc = gather_dep(work, waits, work->step[work->links->partner[on]]);
	return rc;
}

static void
imply(struct work *work, struct coll_dep dep)
{
	struct coll_dep *found = bsearch(&dep, work->gather, work->ngather, sizeof(dep), compare_deps);

	if (found != NULL)
		work->implied[found - work->gather] = true;
}

/* Sorts, and leaves out what is twice or what an own step in the set has waited for itself. */
static void
reduce_set(struct work *work, uint32_t rank)
{
	size_t kept = 0;

	if (work->ngather < 2)
		return;
	qsort(work->gather, work->ngather, sizeof(*work->gather), compare_deps);
	for (size_t i = 0; i < work->ngather; i++)
		if (kept == 0 || compare_deps(&work->gather[i], &work->gather[kept - 1]) != 0)
			work->gather[kept++] = work->gather[i];
	work->ngather = kept;
	memset(work->implied, 0, kept * sizeof(*work->implied));
	for (size_t i = 0; i < kept; i++) {
		uint32_t op;

		if (work->gather[i].rank != rank)
			continue;
		op = work->by_step[work->first_step[rank] + work->gather[i].step - 1];
		if (op == PROGRAM_NONE)
			continue;
		work->copies += work->of[op].count;
		for (uint32_t d = 0; d < work->of[op].count; d++)
			imply(work, work->sets[work->of[op].first + d]);
		if (work->latest[op] != PROGRAM_NONE)
			imply(work, work->step[work->latest[op]]);
	}
	kept = 0;
	for (size_t i = 0; i < work->ngather; i++)
		if (!work->implied[i])
			work->gather[kept++] = work->gather[i];
	work->ngather = kept;
}

/* Keeps the gathered set as what op waits for. */
static int
keep_set(struct work *work, uint32_t op)
{
	size_t need = work->nsets + work->ngather, cap = work->set_room != 0 ? work->set_room : 1024;
	struct coll_dep *sets;

	if (need > work->program->max_sets)
		return program_too_many_steps(work->program, op, work->program->max_sets, work->err);
	if (need > work->set_room) {
		while (cap < need)
			cap *= 2;
		sets = realloc(work->sets, cap * sizeof(*sets));
		if (sets == NULL)
			return -ENOMEM;
		work->sets = sets;
		work->set_room = cap;
	}
	work->of[op] = (struct set){ (uint32_t)work->nsets, (uint32_t)work->ngather };
	if (work->ngather != 0)
		memcpy(work->sets + work->nsets, work->gather, work->ngather * sizeof(*sets));
	work->nsets = need;
	return 0;
}

static void
depend_on_gathered(struct work *work, struct coll_dep step)
{
	for (size_t i = 0; i < work->ngather; i++)
		coll_builder_depend(work->builder, step, work->gather[i]);
}

/* A step that is over when the gathered set is met; from now on it is the set. */
static void
bundle(struct work *work, uint32_t rank)
{
	const struct coll_chunk nothing = { 0 };
	struct coll_dep step;

	step = coll_builder_local(work->builder, rank, work->bundles[rank]++, &nothing, 0);
	depend_on_gathered(work, step);
	work->by_step[work->first_step[rank] + work->nsteps[rank]++] = PROGRAM_NONE;
	work->gather[0] = step;
	work->ngather = 1;
}

static void
emit(struct work *work, uint32_t index)
{
	const struct program_op *op = &work->program->ops[index], *at;
	struct coll_chunk chunk = {
		.src_elems = op->src_elems,
		.dst_elems = op->dst_elems,
		.count_elems = op->count_elems,
		.reduce = op->reduce,
	};
	struct coll_dep step;

	if (op->kind == PROGRAM_SEND) {
		at = &work->program->ops[work->links->partner[index]];
		chunk.dst_elems = at->dst_elems;
		chunk.reduce = at->reduce;
		step = coll_builder_send(work->builder, op->rank, op->peer, work->links->channel[index], &chunk);
	} else {
		step = coll_builder_local(work->builder, op->rank, work->links->channel[index], &chunk, op->compute_ps);
	}
	depend_on_gathered(work, step);
	work->step[index] = step;
	work->by_step[work->first_step[op->rank] + work->nsteps[op->rank]++] = index;
}

static int
expand_op(struct work *work, uint32_t index)
{
	const struct program_op *op = &work->program->ops[index];
	const struct links *links = work->links;
	int rc = 0;

	work->ngather = 0;
	for (uint32_t i = links->first[index]; i < links->first[index + 1] && rc == 0; i++)
		rc = gather_wait(work, index, links->waits[i].on, links->waits[i].start);
	if (rc != 0)
		return rc;
	reduce_set(work, op->rank);
	if (is_step(op))
		emit(work, index);
	else if (work->ngather > LARGEST_SET)
		bundle(work, op->rank);
	return keep_set(work, index);
}

struct lane {
	uint32_t from, to, channel, at, op;
};

static int
compare_lanes(const void *a, const void *b)
{
	const struct lane *x = a, *y = b;
	const uint32_t p[] = { x->from, x->to, x->channel, x->at }, q[] = { y->from, y->to, y->channel, y->at };

	for (size_t i = 0; i < 4; i++)
		if (p[i] != q[i])
			return p[i] < q[i] ? -1 : 1;
	return 0;
}

/* Which step goes before each on its channel; and how many steps a rank may get. */
static int
find_latest(struct work *work, const uint32_t *order)
{
	const struct program *program = work->program;
	struct lane *lanes = malloc((program->nops + 1) * sizeof(*lanes));
	size_t count = 0;

	if (lanes == NULL)
		return -ENOMEM;
	for (uint32_t at = 0; at < program->nops; at++) {
		const struct program_op *op = &program->ops[order[at]];

		work->latest[order[at]] = PROGRAM_NONE;
		work->nsteps[op->rank]++;
		if (is_step(op))
			lanes[count++] = (struct lane){ op->rank, op->kind == PROGRAM_SEND ? op->peer : op->rank,
							work->links->channel[order[at]], at, order[at] };
	}
	qsort(lanes, count, sizeof(*lanes), compare_lanes);
	for (size_t i = 0; i < count; i++) {
		if (lanes[i].from == lanes[i].to)
			work->bundles[lanes[i].from] = lanes[i].channel + 1;
		if (i > 0 && lanes[i].from == lanes[i - 1].from && lanes[i].to == lanes[i - 1].to &&
		    lanes[i].channel == lanes[i - 1].channel)
			work->latest[lanes[i].op] = lanes[i - 1].op;
	}
	free(lanes);
	for (uint32_t rank = 0, first = 0; rank < program->ranks; rank++) {
		work->first_step[rank] = first;
		first += work->nsteps[rank];
		work->nsteps[rank] = 0;
	}
	return 0;
}

struct coll_schedule *
expand(const struct program *program, const struct links *links, const uint32_t *order, const struct coll_params *params,
       const struct coll_layout *layout, struct origins *origins, struct err *err)
{
	size_t n = program->nops + 1;
	struct work work = {
		.program = program,
		.links = links,
		.builder = coll_builder_create(program->ranks),
		.of = calloc(n, sizeof(struct set)),
		.step = calloc(n, sizeof(struct coll_dep)),
		.by_step = malloc(n * sizeof(uint32_t)),
		.first_step = calloc(program->ranks, sizeof(uint32_t)),
		.nsteps = calloc(program->ranks, sizeof(uint32_t)),
		.latest = malloc(n * sizeof(uint32_t)),
		.bundles = calloc(program->ranks, sizeof(uint32_t)),
		.err = err,
	};
	struct coll_schedule *schedule = NULL;
	int rc = -ENOMEM;

	if (work.builder != NULL && work.of != NULL && work.step != NULL && work.by_step != NULL &&
	    work.first_step != NULL && work.nsteps != NULL && work.latest != NULL && work.bundles != NULL)
		rc = find_latest(&work, order);
	for (size_t i = 0; i < program->nops && rc == 0; i++)
		rc = expand_op(&work, order[i]);
	if (rc == 0) {
		schedule = coll_builder_finish(work.builder, params, layout, err);
	} else {
		err_set(err, rc, "out of memory for %zu operations", program->nops);
		coll_builder_destroy(work.builder);
		errno = -rc;
	}
	*origins = (struct origins){ work.first_step, work.by_step };
	free(work.of);
	free(work.step);
	free(work.nsteps);
	free(work.latest);
	free(work.bundles);
	free(work.sets);
	free(work.gather);
	free(work.implied);
	return schedule;
}
