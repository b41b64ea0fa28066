/* SPDX-License-Identifier: BSD-3-Clause */
/* Runs a schedule with real data, in an order that chance chooses among those that it allows. */
#pragma once

#include <stdlib.h>
#include <string.h>

#include "collectives/data.h"
#include "common/prng.h"
#include "tests/unit/collectives/schedule_rig.h"

#define EXECUTE_ITERATION 3
#define EXECUTE_STUCK UINT64_MAX

struct execution {
	const struct coll_schedule *schedule;
	enum coll_type type;
	struct prng prng;
	uint8_t **memory;          /* [ranks] */
	uint32_t *rank_of;         /* [steps] */
	uint32_t *flow_before;     /* [steps] step before it of the same rank, peer and channel; COLL_NONE */
	uint32_t *pending;         /* [steps] that it waits for: its dependencies, and flow_before */
	uint32_t *first, *waiters; /* [steps + 1], into those that wait for it */
	uint32_t *ready, nready;   /* may start */
	uint8_t **taken;           /* [steps] what was read when it started; NULL: it is read at the end */
	uint32_t *flying, nflying; /* started, not over */
};

/* The steps that a step waits for. @param put  into the lists of their waiters; else they are counted */
static inline void
execute_await(struct execution *x, uint32_t i, bool put)
{
	const struct coll_schedule *s = x->schedule;
	const struct coll_step step = coll_step_of(s, x->rank_of[i], i);

	for (uint32_t d = 0; d < step.ndeps + (x->flow_before[i] != COLL_NONE); d++) {
		uint32_t on = x->flow_before[i];

		if (d < step.ndeps) {
			struct coll_dep dep =
				coll_step_dep(s, x->rank_of[i], i - s->first_step[x->rank_of[i]] + 1, &step, d);

			on = coll_step_index(s, dep.rank, dep.step);
		}

		if (put)
			x->waiters[x->first[on]++] = i;
		else
			x->first[on + 1]++;
		x->pending[i] += put;
	}
}

static inline void
execute_prepare(struct execution *x)
{
	uint32_t steps = coll_all_steps(x->schedule);

	for (uint32_t i = 0; i < steps; i++)
		execute_await(x, i, false);
	for (uint32_t i = 0; i < steps; i++)
		x->first[i + 1] += x->first[i];
	x->waiters = calloc((size_t)x->first[steps] + 1, sizeof(*x->waiters));
	for (uint32_t i = 0; i < steps; i++)
		execute_await(x, i, true);
	for (uint32_t i = steps; i > 0; i--) /* each has moved to where the next begins */
		x->first[i] = x->first[i - 1];
	x->first[0] = 0;
	for (uint32_t i = 0; i < steps; i++)
		if (x->pending[i] == 0)
			x->ready[x->nready++] = i;
}

/* A network may read what is sent at any time from the start to the arrival: half of the steps do each. */
static inline void
execute_start(struct execution *x, uint32_t at)
{
	uint32_t i = x->ready[at];
	const struct coll_step step = coll_step_of(x->schedule, x->rank_of[i], i);
	size_t elem = coll_elem_bytes(x->type);

	x->ready[at] = x->ready[--x->nready];
	x->flying[x->nflying++] = i;
	if (prng_below(&x->prng, 2) == 0) {
		x->taken[i] = malloc(step.count_elems * elem + 1);
		memcpy(x->taken[i], x->memory[x->rank_of[i]] + step.src_elems * elem, step.count_elems * elem);
	}
}

static inline void
execute_end(struct execution *x, uint32_t at)
{
	uint32_t i = x->flying[at];
	const struct coll_step step = coll_step_of(x->schedule, x->rank_of[i], i);
	size_t elem = coll_elem_bytes(x->type);
	uint8_t *dst = x->memory[step.peer] + step.dst_elems * elem;
	const uint8_t *src = x->taken[i] != NULL ? x->taken[i] : x->memory[x->rank_of[i]] + step.src_elems * elem;

	if (step.reduce)
		coll_data_reduce(dst, src, x->type, step.count_elems);
	else
		memmove(dst, src, step.count_elems * elem);
	x->flying[at] = x->flying[--x->nflying];
	for (uint32_t w = x->first[i]; w < x->first[i + 1]; w++)
		if (--x->pending[x->waiters[w]] == 0)
			x->ready[x->nready++] = x->waiters[w];
}

/* @return false when nothing can continue although steps are left */
static inline bool
execute_all(struct execution *x)
{
	uint32_t left = coll_all_steps(x->schedule);

	while (left > 0) {
		if (x->nready > 0 && (x->nflying == 0 || prng_below(&x->prng, 2) != 0)) {
			execute_start(x, (uint32_t)prng_below(&x->prng, x->nready));
		} else if (x->nflying > 0) {
			execute_end(x, (uint32_t)prng_below(&x->prng, x->nflying));
			left--;
		} else {
			return false;
		}
	}
	return true;
}

static inline void
execute_fini(struct execution *x)
{
	for (uint32_t rank = 0; rank < x->schedule->ranks; rank++)
		free(x->memory[rank]);
	for (uint32_t i = 0; i < coll_all_steps(x->schedule); i++)
		free(x->taken[i]);
	free(x->memory);
	free(x->rank_of);
	free(x->flow_before);
	free(x->pending);
	free(x->first);
	free(x->waiters);
	free(x->ready);
	free(x->taken);
	free(x->flying);
}

/* @return wrong elements over all ranks, EXECUTE_STUCK if steps wait for each other */
static inline uint64_t
execute(const struct coll_schedule *schedule, enum coll_type type, uint64_t seed)
{
	uint32_t steps = coll_all_steps(schedule);
	struct execution x = {
		.schedule = schedule,
		.type = type,
		.memory = calloc(schedule->ranks, sizeof(*x.memory)),
		.rank_of = calloc(steps, sizeof(*x.rank_of)),
		.flow_before = calloc(steps, sizeof(*x.flow_before)),
		.pending = calloc(steps, sizeof(*x.pending)),
		.first = calloc((size_t)steps + 1, sizeof(*x.first)),
		.ready = calloc(steps, sizeof(*x.ready)),
		.taken = calloc(steps, sizeof(*x.taken)),
		.flying = calloc(steps, sizeof(*x.flying)),
	};
	uint64_t wrong = 0;

	prng_init(&x.prng, seed, 0);
	for (uint32_t rank = 0; rank < schedule->ranks; rank++) {
		x.memory[rank] = malloc(schedule->memory_elems * coll_elem_bytes(type));
		coll_data_fill(x.memory[rank], schedule, type, rank, EXECUTE_ITERATION);
		wrong += coll_data_wrong(x.memory[rank], schedule, type, rank, EXECUTE_ITERATION);
		for (uint32_t i = schedule->first_step[rank]; i < schedule->first_step[rank + 1]; i++) {
			const struct coll_step step = coll_step_of(schedule, rank, i);
			uint32_t k = i;

			x.rank_of[i] = rank;
			while (k > schedule->first_step[rank] &&
			       (coll_step_of(schedule, rank, k - 1).peer != step.peer ||
				coll_step_of(schedule, rank, k - 1).channel != step.channel))
				k--;
			x.flow_before[i] = k == schedule->first_step[rank] ? COLL_NONE : k - 1;
		}
	}
	assert_true(wrong != 0 || schedule->op == COLL_CUSTOM); /* nobody has the result already, if one is promised */
	wrong = 0;
	execute_prepare(&x);
	if (!execute_all(&x))
		wrong = EXECUTE_STUCK;
	for (uint32_t rank = 0; rank < schedule->ranks && wrong != EXECUTE_STUCK; rank++)
		wrong += coll_data_wrong(x.memory[rank], schedule, type, rank, EXECUTE_ITERATION);
	execute_fini(&x);
	return wrong;
}
