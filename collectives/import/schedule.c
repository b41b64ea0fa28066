/* SPDX-License-Identifier: BSD-3-Clause */
/* Makes a schedule from a program: matches sends and receives, orders them, and makes steps. */
#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "collectives/builder.h"
#include "collectives/import/program.h"
#include "common/minmax.h"

/* A dependency of an operation. */
struct link {
	uint32_t on : 31;
	uint32_t start : 1;
};

struct links {
	uint32_t *partner; /* [nops] of a message: the other end's operation; else PROGRAM_NONE */
	uint32_t *channel; /* [nops] of sends and local operations: lanes, numbered from 0 for each peer */
	uint32_t *first;   /* [nops + 1] into waits */
	struct link *waits;
};

/* The operations that a schedule's steps come from. */
struct origins {
	uint32_t *first; /* [ranks] into ops */
	uint32_t *ops;   /* of each rank's steps; PROGRAM_NONE: of none */
};

/* Sends and receives find each other; lanes become channels; dependencies are put in a row. */

/* One end of a message, to be sorted so that the two ends of each stand at the same place of two lists. */
struct end {
	uint32_t from, to;
	uint64_t key; /* tag, or lane */
	uint32_t op;
};

/* Compares by the fields that the two ends of a message share. */
static int
compare_messages(const struct end *x, const struct end *y)
{
	int order = ORDER(x->from, y->from);

	if (order == 0)
		order = ORDER(x->to, y->to);
	return order != 0 ? order : ORDER(x->key, y->key);
}

static int
compare_ends(const void *a, const void *b)
{
	const struct end *x = a, *y = b;

	int order = compare_messages(x, y);

	return order != 0 ? order : ORDER(x->op, y->op);
}

/* All sends, or all receives, by (from, to, tag) and the order of the file. @return how many */
static size_t
collect_ends(const struct program *program, enum program_kind kind, struct end *ends)
{
	size_t count = 0;

	for (uint32_t i = 0; i < program->nops; i++) {
		const struct program_op *op = &program->ops[i];
		bool send = kind == PROGRAM_SEND;

		if (op->kind == kind)
			ends[count++] = (struct end){ send ? op->rank : op->peer, send ? op->peer : op->rank, op->tag, i };
	}
	qsort(ends, count, sizeof(*ends), compare_ends);
	return count;
}

/*
 * Compares the heads of two sorted lists of ends of messages. @return 0: they match; else an error for the end that has
 * no counterpart
 */
static int
unmatched(const struct program *program, const struct end *send, const struct end *receive, struct err *err)
{
	int order = send == NULL ? 1 : receive == NULL ? -1 : compare_messages(send, receive);

	if (order == 0)
		return 0;
	if (order < 0)
		return program_fail(program, send->op, err,
				    "sends to rank %" PRIu32 ", which has no receive of it (from rank %" PRIu32
				    ", tag %" PRIu64 ")",
				    send->to, send->from, send->key);
	return program_fail(program, receive->op, err,
			    "is a receive without a send: rank %" PRIu32 " has no matching send (to rank %" PRIu32
			    ", tag %" PRIu64 ")",
			    receive->from, receive->to, receive->key);
}

static int
check_lengths(const struct program *program, uint32_t send, uint32_t receive, struct err *err)
{
	uint64_t sent = program->ops[send].count_elems, wanted = program->ops[receive].count_elems;
	char place[PROGRAM_PLACE];

	if (sent * program->elem_bytes > COLL_MAX_MESSAGE_BYTES)
		return program_fail(program, send, err, "sends %" PRIu64 " B; a message has 2 GiB at most",
				    sent * program->elem_bytes);
	if (sent == wanted)
		return 0;
	return program_fail(program, send, err, "sends %" PRIu64 " B to one that wants %" PRIu64 ": %s",
			    sent * program->elem_bytes, wanted * program->elem_bytes,
			    program->describe(program, &program->ops[receive].place, place));
}

static int
match(struct links *links, const struct program *program, struct end *ends, struct err *err)
{
	size_t nsends = collect_ends(program, PROGRAM_SEND, ends);
	struct end *sends = ends, *receives = ends + nsends;
	size_t nreceives = collect_ends(program, PROGRAM_RECV, receives);
	int rc = 0;

	for (size_t i = 0; (i < nsends || i < nreceives) && rc == 0; i++) {
		rc = unmatched(program, i < nsends ? &sends[i] : NULL, i < nreceives ? &receives[i] : NULL, err);
		if (rc == 0)
			rc = check_lengths(program, sends[i].op, receives[i].op, err);
		if (rc == 0) {
			links->partner[sends[i].op] = receives[i].op;
			links->partner[receives[i].op] = sends[i].op;
		}
	}
	return rc;
}

/* Lanes of a pair are numbered in the order of their names; a rank's local ones are those to itself. */
static void
number_channels(struct links *links, const struct program *program, struct end *ends)
{
	size_t count = 0;
	uint32_t lanes = 0;

	for (uint32_t i = 0; i < program->nops; i++) {
		const struct program_op *op = &program->ops[i];

		if (op->kind == PROGRAM_SEND || op->kind == PROGRAM_LOCAL)
			ends[count++] =
				(struct end){ op->rank, op->kind == PROGRAM_SEND ? op->peer : op->rank, op->lane, i };
	}
	qsort(ends, count, sizeof(*ends), compare_ends);
	for (size_t i = 0; i < count; i++) {
		bool same_pair = i > 0 && ends[i].from == ends[i - 1].from && ends[i].to == ends[i - 1].to;

		lanes = !same_pair ? 0 : ends[i].key != ends[i - 1].key ? lanes + 1 : lanes;
		links->channel[ends[i].op] =
			ends[i].from != ends[i].to && program->max_channels != 0 ? lanes % program->max_channels : lanes;
	}
}

static void
sort_waits(struct links *links, const struct program *program)
{
	uint32_t *first = links->first;

	for (size_t i = 0; i < program->nwaits; i++)
		first[program->waits[i].op + 1]++;
	for (size_t i = 0; i < program->nops; i++)
		first[i + 1] += first[i];
	for (size_t i = program->nwaits; i-- > 0;) {
		const struct program_wait *wait = &program->waits[i];
		uint32_t at = --first[wait->op + 1];

		links->waits[at] = (struct link){ .on = wait->on & INT32_MAX, .start = wait->start };
	}
	/* Each first[op + 1] has moved down to the begin of op. */
	memmove(first, first + 1, program->nops * sizeof(*first));
	first[program->nops] = (uint32_t)program->nwaits;
}

/* @return 0; -EINVAL or -ENOMEM with err set */
static int
links_init(struct links *links, const struct program *program, struct err *err)
{
	struct end *ends = malloc((program->nops + 1) * sizeof(*ends));
	int rc = -ENOMEM;

	*links = (struct links){
		.partner = malloc((program->nops + 1) * sizeof(*links->partner)),
		.channel = calloc(program->nops + 1, sizeof(*links->channel)),
		.first = calloc(program->nops + 2, sizeof(*links->first)),
		.waits = malloc((program->nwaits + 1) * sizeof(*links->waits)),
	};
	if (ends == NULL || links->partner == NULL || links->channel == NULL || links->first == NULL ||
	    links->waits == NULL) {
		err_set(err, rc, "out of memory for %zu operations", program->nops);
	} else {
		memset(links->partner, 0xff, program->nops * sizeof(*links->partner)); /* PROGRAM_NONE */
		number_channels(links, program, ends);
		sort_waits(links, program);
		rc = match(links, program, ends, err);
	}
	free(ends);
	return rc;
}

static void
links_fini(struct links *links)
{
	free(links->partner);
	free(links->channel);
	free(links->first);
	free(links->waits);
}

/*
 * Estimated start times of operations in a network that never delays them: every message takes NOMINAL_PS and its
 * length at NOMINAL_PS_ELEM, one after another out of each rank. Only the order is used: that of a channel is then one
 * in which its operations become ready, as a processor or a NIC takes the first that is ready.
 */

#define NOMINAL_PS 1000000ull  /* 1 us */
#define NOMINAL_PS_ELEM 320ull /* 4 B at 100 Gbit/s */
#define LANES 8                /* number of local operations that the estimate distinguishes */

struct ready {
	uint64_t at_ps;
	uint32_t op;
};

struct clockwork {
	const struct program *program;
	const struct links *links;
	uint64_t *start_ps, *end_ps; /* [nops] */
	uint64_t *nic_ps, *lane_ps;  /* [ranks], [ranks * LANES] busy until */
	uint32_t *missing;           /* [nops] how many it still waits for */
	uint32_t *first, *waiters;   /* operations that wait for each */
	struct ready *heap;
	size_t nready;
};

static bool
before(const struct ready *a, const struct ready *b)
{
	return a->at_ps != b->at_ps ? a->at_ps < b->at_ps : a->op < b->op;
}

static void
heap_push(struct clockwork *clock, struct ready item)
{
	size_t at = clock->nready++;

	for (; at > 0 && before(&item, &clock->heap[(at - 1) / 2]); at = (at - 1) / 2)
		clock->heap[at] = clock->heap[(at - 1) / 2];
	clock->heap[at] = item;
}

static uint32_t
heap_pop(struct clockwork *clock)
{
	struct ready top = clock->heap[0], last = clock->heap[--clock->nready];
	size_t at = 0;

	for (size_t kid = 1; kid < clock->nready; kid = 2 * at + 1) {
		if (kid + 1 < clock->nready && before(&clock->heap[kid + 1], &clock->heap[kid]))
			kid++;
		if (!before(&clock->heap[kid], &last))
			break;
		clock->heap[at] = clock->heap[kid];
		at = kid;
	}
	clock->heap[at] = last;
	return top.op;
}

/* All that it waits for is known: when it starts. */
static void
push_ready(struct clockwork *clock, uint32_t op)
{
	const struct links *links = clock->links;
	uint64_t at_ps = 0;

	for (uint32_t i = links->first[op]; i < links->first[op + 1]; i++) {
		uint32_t on = links->waits[i].on;
		uint64_t known_ps = links->waits[i].start ? clock->start_ps[on] : clock->end_ps[on];

		at_ps = known_ps > at_ps ? known_ps : at_ps;
	}
	clock->start_ps[op] = at_ps;
	heap_push(clock, (struct ready){ at_ps, op });
}

static uint64_t
later(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

/* Sums that would wrap stay at the end of time: only the order counts. */
static uint64_t
plus(uint64_t a, uint64_t b)
{
	return a > UINT64_MAX - b ? UINT64_MAX : a + b;
}

static void
run(struct clockwork *clock, uint32_t index)
{
	const struct program_op *op = &clock->program->ops[index];
	uint64_t start_ps = clock->start_ps[index], *busy_ps;

	switch (op->kind) {
	case PROGRAM_SEND:
		busy_ps = &clock->nic_ps[op->rank];
		*busy_ps = plus(later(*busy_ps, start_ps), op->count_elems * NOMINAL_PS_ELEM);
		clock->end_ps[index] = plus(*busy_ps, NOMINAL_PS);
		break;
	case PROGRAM_LOCAL:
		busy_ps = &clock->lane_ps[op->rank * LANES + clock->links->channel[index] % LANES];
		*busy_ps = plus(later(*busy_ps, start_ps), op->compute_ps);
		clock->end_ps[index] = *busy_ps;
		break;
	case PROGRAM_RECV:
		clock->end_ps[index] = later(start_ps, clock->end_ps[clock->links->partner[index]]);
		break;
	case PROGRAM_JOIN:
	default:
		clock->end_ps[index] = start_ps;
		break;
	}
}

/* A receive waits for its message, too. */
static void
index_waiters(struct clockwork *clock)
{
	const struct program *program = clock->program;
	const struct links *links = clock->links;

	for (uint32_t op = 0; op < program->nops; op++) {
		for (uint32_t i = links->first[op]; i < links->first[op + 1]; i++)
			clock->first[links->waits[i].on + 1]++;
		clock->missing[op] = links->first[op + 1] - links->first[op];
		if (program->ops[op].kind == PROGRAM_RECV) {
			clock->first[links->partner[op] + 1]++;
			clock->missing[op]++;
		}
	}
	for (size_t i = 0; i < program->nops; i++)
		clock->first[i + 1] += clock->first[i];
	for (uint32_t op = (uint32_t)program->nops; op-- > 0;) {
		for (uint32_t i = links->first[op + 1]; i-- > links->first[op];)
			clock->waiters[--clock->first[links->waits[i].on + 1]] = op;
		if (program->ops[op].kind == PROGRAM_RECV)
			clock->waiters[--clock->first[links->partner[op] + 1]] = op;
	}
}

/* first[i + 1] is where those of i begin, after index_waiters(). */
static void
release(struct clockwork *clock, uint32_t op, size_t total)
{
	size_t end = op + 2 <= clock->program->nops ? clock->first[op + 2] : total;

	for (size_t i = clock->first[op + 1]; i < end; i++)
		if (--clock->missing[clock->waiters[i]] == 0)
			push_ready(clock, clock->waiters[i]);
}

/* @return an operation that op still waits for */
static uint32_t
unmet(const struct clockwork *clock, uint32_t op)
{
	const struct links *links = clock->links;

	for (uint32_t i = links->first[op]; i < links->first[op + 1]; i++)
		if (clock->missing[links->waits[i].on] != 0)
			return links->waits[i].on;
	return links->partner[op];
}

/* Reports a cycle: the remaining operations wait for each other, so following their dependencies leads round. */
static int
refuse_cycle(const struct clockwork *clock, struct err *err)
{
	const struct program *program = clock->program;
	char place[PROGRAM_PLACE];
	uint32_t op = 0, through;

	while (clock->missing[op] == 0)
		op++;
	for (size_t i = 0; i < program->nops; i++)
		op = unmet(clock, op);
	through = unmet(clock, op);
	if (through == op)
		return program_fail(program, op, err, "waits for itself");
	return program_fail(program, op, err, "waits for itself, through %s",
			    program->describe(program, &program->ops[through].place, place));
}

static int
walk(struct clockwork *clock, uint32_t *order, struct err *err)
{
	const struct program *program = clock->program;
	size_t done = 0, total = program->nwaits;

	for (uint32_t op = 0; op < program->nops; op++)
		total += program->ops[op].kind == PROGRAM_RECV;
	index_waiters(clock);
	for (uint32_t op = 0; op < program->nops; op++)
		if (clock->missing[op] == 0)
			push_ready(clock, op);
	while (clock->nready != 0) {
		uint32_t op = heap_pop(clock);

		run(clock, op);
		order[done++] = op;
		release(clock, op, total);
	}
	return done == program->nops ? 0 : refuse_cycle(clock, err);
}

/*
 * An order in which all operations can start: by the time at which they would in a network without contention.
 * @param order  [nops] filled
 * @return 0; -EINVAL: some wait for each other; -ENOMEM; err set
 */
static int
order_operations(const struct program *program, const struct links *links, uint32_t *order, struct err *err)
{
	size_t n = program->nops + 1;
	struct clockwork clock = {
		.program = program,
		.links = links,
		.start_ps = calloc(n, sizeof(uint64_t)),
		.end_ps = calloc(n, sizeof(uint64_t)),
		.nic_ps = calloc(program->ranks, sizeof(uint64_t)),
		.lane_ps = calloc(program->ranks, LANES * sizeof(uint64_t)),
		.missing = calloc(n, sizeof(uint32_t)),
		.first = calloc(n + 1, sizeof(uint32_t)),
		.waiters = calloc(n + program->nwaits, sizeof(uint32_t)),
		.heap = calloc(n, sizeof(struct ready)),
	};
	int rc;

	if (clock.start_ps == NULL || clock.end_ps == NULL || clock.nic_ps == NULL || clock.lane_ps == NULL ||
	    clock.missing == NULL || clock.first == NULL || clock.waiters == NULL || clock.heap == NULL)
		rc = err_set(err, -ENOMEM, "out of memory for %zu operations", program->nops);
	else
		rc = walk(&clock, order, err);
	free(clock.start_ps);
	free(clock.end_ps);
	free(clock.nic_ps);
	free(clock.lane_ps);
	free(clock.missing);
	free(clock.first);
	free(clock.waiters);
	free(clock.heap);
	return rc;
}

/*
 * Sends and local operations become steps. The dependencies of a step are a set of steps: own ones, to be over, and
 * others' messages, to have arrived. A receive is over when its message has arrived and its own set is done, so a step
 * that waits for it waits for both; a join is its set. A step that waits for the start of another waits for the other's
 * set, and for the step before it on its channel.
 */

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

	return x->rank != y->rank ? ORDER(x->rank, y->rank) : ORDER(x->step, y->step);
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

/* Adds to the dependencies of "waits" the steps that its dependency on "on" implies. */
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

/* Sorts, and removes duplicates and steps that an own step in the set has waited for itself. */
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

/* A step that is over when the gathered set is done; from now on it is the set. */
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
	int order = ORDER(x->from, y->from);

	if (order == 0)
		order = ORDER(x->to, y->to);
	if (order == 0)
		order = ORDER(x->channel, y->channel);
	return order != 0 ? order : ORDER(x->at, y->at);
}

/* Finds the step before each on its channel, and how many steps a rank may get. */
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

/* The schedule of operations in their order. @param origins  filled; both the caller's to free
 * @return NULL with err and errno set */
static struct coll_schedule *
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

/* The stages one after another, and the proof. */

#define NAMED 2 /* steps that a message of the proof is about, at most */

/* "rank 3 step 5": the proof names steps so. @return the text behind it, or NULL: there is no more */
static const char *
next_step(const char *text, uint32_t *rank, uint32_t *step)
{
	for (text = strstr(text, "rank "); text != NULL; text = strstr(text + 1, "rank "))
		if (sscanf(text, "rank %" SCNu32 " step %" SCNu32, rank, step) == 2)
			return text + 1;
	return NULL;
}

/*
 * Proves that the schedule does what its operation promises. @return 0; -EPROTO: it does not, -ENOMEM; with err set, the
 * steps that it names by their places too
 */
static int
prove(const struct program *program, const struct coll_schedule *schedule, const struct origins *origins, struct err *err)
{
	char places[NAMED * (PROGRAM_PLACE + 64)] = "", place[PROGRAM_PLACE];
	const struct coll_check_budget budget = { PROGRAM_LEAST_PROOF + program->file_bytes * PROGRAM_PROOF_A_BYTE,
						  PROGRAM_LEAST_WORK + program->file_bytes * PROGRAM_WORK_A_BYTE };
	struct err cause = { 0 };
	const char *text = cause.text;
	int rc = coll_schedule_check(schedule, &budget, &cause);
	uint32_t rank, step;
	size_t used = 0;

	assert(program->file_bytes != 0);
	if (rc == 0)
		return 0;
	for (int i = 0; i < NAMED && (text = next_step(text, &rank, &step)) != NULL; i++) {
		uint32_t op;

		assert(rank < schedule->ranks && step >= 1 && step <= coll_steps(schedule, rank));
		op = origins->ops[origins->first[rank] + step - 1];
		assert(op != PROGRAM_NONE); /* the proof is of what steps move, and a bundle moves nothing */
		used += (size_t)snprintf(places + used, sizeof(places) - used, "; rank %" PRIu32 " step %" PRIu32 " is %s",
					 rank, step, program->describe(program, &program->ops[op].place, place));
	}
	rc = rc == -EINVAL ? -EPROTO : rc;
	if (rc == -E2BIG)
		return err_set(err, rc, "%s: %s, in a file of %zu B%s", program->files[0], cause.text, program->file_bytes,
			       places);
	if (schedule->op == COLL_CUSTOM)
		return err_set(err, rc, "%s: %s%s", program->files[0], cause.text, places);
	return err_set(err, rc, "%s does no %s: %s%s", program->files[0], coll_op_name(schedule->op), cause.text, places);
}

struct coll_schedule *
program_schedule(const struct program *program, const struct coll_params *params, const struct coll_layout *layout,
		 struct err *err)
{
	uint32_t *order = malloc((program->nops + 1) * sizeof(*order));
	struct coll_schedule *schedule = NULL;
	struct origins origins = { 0 };
	struct links links = { 0 };
	int rc = order != NULL ? links_init(&links, program, err) : err_set(err, -ENOMEM, "out of memory for operations");

	if (rc == 0)
		rc = order_operations(program, &links, order, err);
	if (rc == 0)
		schedule = expand(program, &links, order, params, layout, &origins, err);
	else
		errno = -rc;
	if (schedule != NULL && program->memory && (rc = prove(program, schedule, &origins, err)) != 0) {
		coll_schedule_destroy(schedule);
		schedule = NULL;
		errno = -rc;
	}
	free(origins.first);
	free(origins.ops);
	links_fini(&links);
	free(order);
	return schedule;
}
