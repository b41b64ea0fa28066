/* SPDX-License-Identifier: BSD-3-Clause */
/* The symbolic check of a schedule. */
#include <errno.h>
#include <inttypes.h>

#include "collectives/proof/proof.h"

/* Checks of each step by itself. */

static int
check_dep(const struct coll_schedule *schedule, uint32_t rank, uint32_t step, const struct coll_dep *dep, struct err *err)
{
	uint32_t peer;

	if (dep->rank >= schedule->ranks || dep->step < 1 || dep->step > coll_steps(schedule, dep->rank))
		return err_set(err, -EINVAL,
			       "rank %" PRIu32 " step %" PRIu32 " depends on step %" PRIu32 " of rank %" PRIu32
			       ", which does not exist",
			       rank, step, dep->step, dep->rank);
	peer = coll_step_get(schedule, dep->rank, dep->step).peer;
	if (dep->rank != rank && peer != rank)
		return err_set(err, -EINVAL,
			       "rank %" PRIu32 " step %" PRIu32 " depends on step %" PRIu32 " of rank %" PRIu32
			       ", which is sent to rank %" PRIu32,
			       rank, step, dep->step, dep->rank, peer);
	return 0;
}

static bool
inside(const struct coll_schedule *schedule, uint64_t from, uint64_t count)
{
	return count <= schedule->memory_elems && from <= schedule->memory_elems - count;
}

static int
check_step(const struct coll_schedule *schedule, uint32_t rank, uint32_t step, struct err *err)
{
	const struct coll_step of = coll_step_get(schedule, rank, step), *s = &of;
	int rc = 0;

	if (s->peer >= schedule->ranks)
		return err_set(err, -EINVAL,
			       "rank %" PRIu32 " step %" PRIu32 " sends to rank %" PRIu32 ": must be one of the %" PRIu32
			       " ranks",
			       rank, step, s->peer, schedule->ranks);
	if (s->count_elems == 0 && s->peer != rank)
		return err_set(err, -EINVAL,
			       "rank %" PRIu32 " step %" PRIu32 " sends nothing to rank %" PRIu32
			       ": a message has at least one element",
			       rank, step, s->peer);
	if (s->compute_ps != 0 && s->peer != rank)
		return err_set(err, -EINVAL,
			       "rank %" PRIu32 " step %" PRIu32 " sends and computes: a step does one of both", rank, step);
	if (!inside(schedule, s->src_elems, s->count_elems) || !inside(schedule, s->dst_elems, s->count_elems))
		return err_set(err, -EINVAL,
			       "rank %" PRIu32 " step %" PRIu32 " moves %" PRIu64 " elements from %" PRIu64 " to %" PRIu64
			       ": a rank's memory has %" PRIu64,
			       rank, step, s->count_elems, s->src_elems, s->dst_elems, schedule->memory_elems);
	if (s->peer == rank && s->src_elems < s->dst_elems + s->count_elems && s->dst_elems < s->src_elems + s->count_elems)
		return err_set(err, -EINVAL,
			       "rank %" PRIu32 " step %" PRIu32 " moves %" PRIu64 " elements from %" PRIu64 " to %" PRIu64
			       " of the same memory: they must not overlap",
			       rank, step, s->count_elems, s->src_elems, s->dst_elems);
	for (uint32_t i = 0; i < s->ndeps && rc == 0; i++) {
		struct coll_dep dep = coll_step_dep(schedule, rank, step, s, i);

		rc = check_dep(schedule, rank, step, &dep, err);
	}
	return rc;
}

int
coll_schedule_check_form(const struct coll_schedule *schedule, struct err *err)
{
	int rc = 0;

	if (schedule->ranks < 2 || schedule->ranks > COLL_MAX_RANKS)
		return err_set(err, -EINVAL, "%" PRIu32 " ranks; a collective has 2 to %d", schedule->ranks,
			       COLL_MAX_RANKS);
	if (coll_all_steps(schedule) == 0)
		return err_set(err, -EINVAL, "no rank has a step: no collective");
	for (uint32_t rank = 0; rank < schedule->ranks; rank++)
		for (uint32_t step = 1; step <= coll_steps(schedule, rank) && rc == 0; step++)
			rc = check_step(schedule, rank, step, err);
	return rc;
}

/* The whole check. */

/* Goes through the steps in one order that they allow. What promises nothing has no values, but must not race. */
static int
check_data(const struct graph *graph, const struct cells *cells, struct budget *budget, struct err *err)
{
	bool promises = graph->schedule->op != COLL_CUSTOM;
	struct races *races = races_create(graph, cells, budget);
	struct values *values = promises ? values_create(graph, cells) : NULL;
	int rc = races == NULL || (promises && values == NULL) ? -ENOMEM : 0;

	for (uint32_t i = 0; i < coll_all_steps(graph->schedule) && rc == 0; i++) {
		rc = races_step(races, graph->order[i], err);
		if (rc == 0 && promises)
			rc = values_step(values, graph->order[i], err);
	}
	if (rc == 0 && promises)
		rc = values_complete(values, err);
	values_destroy(values);
	races_destroy(races);
	return rc;
}

int
coll_schedule_check(const struct coll_schedule *schedule, const struct coll_check_budget *allowed, struct err *err)
{
	const struct coll_check_budget all =
		allowed != NULL ? *allowed : (struct coll_check_budget){ UINT64_MAX, UINT64_MAX };
	struct budget budget = { all, all };
	struct graph graph = { 0 };
	struct cells cells = { 0 };
	int rc = coll_schedule_check_form(schedule, err);

	if (rc == 0)
		rc = graph_init(&graph, schedule, err);
	if (rc == 0)
		rc = cells_init(&cells, schedule, graph.order, &budget, err);
	if (rc == 0)
		rc = check_data(&graph, &cells, &budget, err);
	if (rc == -ENOMEM)
		err_set(err, rc, "no memory to check a schedule of %" PRIu32 " ranks", schedule->ranks);
	cells_fini(&cells, schedule->ranks);
	graph_fini(&graph);
	return rc;
}
