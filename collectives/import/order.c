/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * When operations would start in a network that is never in the way: every message takes NOMINAL_PS and its length at
 * NOMINAL_PS_ELEM, one after another out of each rank. Only the order is used: that of a channel is then one in which its
 * operations become ready, as a processor or a NIC takes what is ready first.
 */
#include <errno.h>
#include <stdlib.h>

#include "collectives/import/stages.h"

#define NOMINAL_PS 1000000ull  /* 1 us */
#define NOMINAL_PS_ELEM 320ull /* 4 B at 100 Gbit/s */
#define LANES 8                /* of local operations that are told apart in the estimate */

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
	uint32_t *first, *waiters;   /* who waits for each */
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

/* One that op still waits for. */
static uint32_t
unmet(const struct clockwork *clock, uint32_t op)
{
	const struct links *links = clock->links;

	for (uint32_t i = links->first[op]; i < links->first[op + 1]; i++)
		if (clock->missing[links->waits[i].on] != 0)
			return links->waits[i].on;
	return links->partner[op];
}

/* Those that are left wait for each other, or for such: following one leads round. */
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

int
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
