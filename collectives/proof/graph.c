/* SPDX-License-Identifier: BSD-3-Clause */
#include "collectives/proof/proof.h"
#include "common/minmax.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

static int find_prev(struct graph *graph);
static int find_next(struct graph *graph);
static int find_order(struct graph *graph, struct err *err);
static int find_chains(struct graph *graph);

int
graph_init(struct graph *graph, const struct coll_schedule *schedule, struct err *err)
{
	size_t steps = coll_all_steps(schedule);
	int rc;

	*graph = (struct graph){
		.schedule = schedule,
		.rank_of = malloc(steps * sizeof(uint32_t)),
		.first_prev = calloc(steps + 1, sizeof(uint32_t)),
		.first_next = calloc(steps + 2, sizeof(uint32_t)),
		.order = malloc(steps * sizeof(uint32_t)),
		.chain_of = malloc(steps * sizeof(uint32_t)),
		.chain_at = malloc(steps * sizeof(uint32_t)),
	};
	rc = graph->rank_of == NULL || graph->first_prev == NULL || graph->first_next == NULL || graph->order == NULL ||
			     graph->chain_of == NULL || graph->chain_at == NULL
		     ? -ENOMEM
		     : 0;
	for (uint32_t rank = 0; rank < schedule->ranks && rc == 0; rank++)
		for (uint32_t i = schedule->first_step[rank]; i < schedule->first_step[rank + 1]; i++)
			graph->rank_of[i] = rank;
	if (rc == 0)
		rc = find_prev(graph);
	if (rc == 0)
		rc = find_next(graph);
	if (rc == 0)
		rc = find_order(graph, err);
	if (rc == 0)
		rc = find_chains(graph);
	if (rc != 0)
		graph_fini(graph);
	return rc;
}

void
graph_fini(struct graph *graph)
{
	free(graph->rank_of);
	free(graph->first_prev);
	free(graph->prev);
	free(graph->first_next);
	free(graph->next);
	free(graph->order);
	free(graph->chain_of);
	free(graph->chain_at);
	*graph = (struct graph){ 0 };
}

struct flow_step {
	uint32_t peer, channel, step;
};

static int
compare_flow_steps(const void *a, const void *b)
{
	const struct flow_step *x = a, *y = b;

	if (x->peer != y->peer)
		return x->peer < y->peer ? -1 : 1;
	if (x->channel != y->channel)
		return x->channel < y->channel ? -1 : 1;
	return ORDER(x->step, y->step);
}

/* @param before  [steps] becomes the step before each of the same rank, peer and channel; COLL_NONE */
static int
find_before(const struct coll_schedule *schedule, uint32_t *before)
{
	struct flow_step *flows = malloc((size_t)coll_max_steps(schedule) * sizeof(*flows));

	if (flows == NULL)
		return -ENOMEM;
	for (uint32_t rank = 0; rank < schedule->ranks; rank++) {
		uint32_t first = schedule->first_step[rank], count = coll_steps(schedule, rank);

		for (uint32_t i = 0; i < count; i++) {
			const struct coll_step step = coll_step_of(schedule, rank, first + i);

			flows[i] = (struct flow_step){ step.peer, step.channel, first + i };
		}
		qsort(flows, count, sizeof(*flows), compare_flow_steps);
		for (uint32_t i = 0; i < count; i++) {
			bool same = i > 0 && flows[i].peer == flows[i - 1].peer && flows[i].channel == flows[i - 1].channel;

			before[flows[i].step] = same ? flows[i - 1].step : COLL_NONE;
		}
	}
	free(flows);
	return 0;
}

static int
find_prev(struct graph *graph)
{
	const struct coll_schedule *schedule = graph->schedule;
	uint32_t steps = coll_all_steps(schedule), count = 0, deps = 0;
	uint32_t *before = malloc((size_t)steps * sizeof(*before));
	int rc = before == NULL ? -ENOMEM : find_before(schedule, before);

	for (uint32_t i = 0; i < steps; i++)
		deps += graph_step(graph, i).ndeps;
	graph->prev = malloc(((size_t)deps + steps) * sizeof(*graph->prev));
	if (graph->prev == NULL)
		rc = -ENOMEM;
	for (uint32_t i = 0; i < steps && rc == 0; i++) {
		const struct coll_step step = graph_step(graph, i);
		bool known = before[i] == COLL_NONE;

		graph->first_prev[i] = count;
		for (uint32_t d = 0; d < step.ndeps; d++) {
			struct coll_dep dep = coll_step_dep(schedule, graph->rank_of[i], graph_number(graph, i), &step, d);
			uint32_t on = (uint32_t)coll_step_index(schedule, dep.rank, dep.step);

			known = known || on == before[i];
			graph->prev[count++] = on;
		}
		if (!known)
			graph->prev[count++] = before[i];
	}
	graph->first_prev[steps] = count;
	free(before);
	return rc;
}

static int
find_next(struct graph *graph)
{
	uint32_t steps = coll_all_steps(graph->schedule), edges = graph->first_prev[steps];

	graph->next = malloc(((size_t)edges + 1) * sizeof(*graph->next));
	if (graph->next == NULL)
		return -ENOMEM;
	/* Counted two places on, summed up, and each moves one place on as it is filled in. */
	for (uint32_t e = 0; e < edges; e++)
		graph->first_next[graph->prev[e] + 2]++;
	for (uint32_t i = 2; i <= steps; i++)
		graph->first_next[i] += graph->first_next[i - 1];
	for (uint32_t i = 0; i < steps; i++)
		for (uint32_t e = graph->first_prev[i]; e < graph->first_prev[i + 1]; e++)
			graph->next[graph->first_next[graph->prev[e] + 1]++] = i;
	return 0;
}

/* @param waits  [steps] how many a step still waits for; not 0: it is on a cycle or behind one */
static int
name_cycle(const struct graph *graph, const uint32_t *waits, struct err *err)
{
	uint32_t steps = coll_all_steps(graph->schedule), at = 0, lowest, before = COLL_NONE;

	while (waits[at] == 0)
		at++;
	lowest = COLL_NONE;
	/*
	 * After as many hops back as there are steps it is on the cycle; that many more find the cycle's lowest step,
	 * and the step before it.
	 */
	for (uint64_t hop = 0; hop < 2 * (uint64_t)steps + 1; hop++) {
		uint32_t e = graph->first_prev[at];

		while (waits[graph->prev[e]] == 0)
			e++;
		if (hop >= steps && at <= lowest) {
			lowest = at;
			before = graph->prev[e];
		}
		at = graph->prev[e];
	}
	return err_set(err, -EINVAL,
		       "rank %" PRIu32 " step %" PRIu32 " waits for itself, through step %" PRIu32 " of rank %" PRIu32,
		       graph->rank_of[lowest], graph_number(graph, lowest), graph_number(graph, before),
		       graph->rank_of[before]);
}

static int
find_order(struct graph *graph, struct err *err)
{
	uint32_t steps = coll_all_steps(graph->schedule), ready = 0;
	uint32_t *waits = malloc((size_t)steps * sizeof(*waits));
	int rc = 0;

	if (waits == NULL)
		return -ENOMEM;
	for (uint32_t i = 0; i < steps; i++) {
		waits[i] = graph_nprev(graph, i);
		if (waits[i] == 0)
			graph->order[ready++] = i;
	}
	for (uint32_t done = 0; done < ready; done++) {
		uint32_t i = graph->order[done];

		for (uint32_t e = graph->first_next[i]; e < graph->first_next[i + 1]; e++)
			if (--waits[graph->next[e]] == 0)
				graph->order[ready++] = graph->next[e];
	}
	if (ready < steps)
		rc = name_cycle(graph, waits, err);
	free(waits);
	return rc;
}

static int
find_chains(struct graph *graph)
{
	uint32_t steps = coll_all_steps(graph->schedule);
	bool *last = calloc(steps, sizeof(*last));

	if (last == NULL)
		return -ENOMEM;
	for (uint32_t i = 0; i < steps; i++) {
		uint32_t joins = COLL_NONE;

		for (uint32_t e = graph->first_prev[i]; e < graph->first_prev[i + 1]; e++) {
			uint32_t on = graph->prev[e];

			if (graph->rank_of[on] == graph->rank_of[i] && last[on] && (joins == COLL_NONE || on > joins))
				joins = on;
		}
		graph->chain_of[i] = joins == COLL_NONE ? graph->chains++ : graph->chain_of[joins];
		graph->chain_at[i] = joins == COLL_NONE ? 1 : graph->chain_at[joins] + 1;
		if (joins != COLL_NONE)
			last[joins] = false;
		last[i] = true;
	}
	free(last);
	return 0;
}
