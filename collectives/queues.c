/* SPDX-License-Identifier: BSD-3-Clause */
#include "collectives/queues.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

/* Which of the rank's own steps first waits for a send that arrives there. */
static void
mark_needs(struct coll_queues *queues, const struct coll_schedule *schedule, uint32_t rank)
{
	struct coll_receive *first = &queues->rsq[queues->rsq_start[rank]];
	uint32_t receives = coll_queues_receives(queues, rank);

	for (uint32_t step = schedule->steps; step >= 1; step--) {
		const struct coll_step *s = coll_step_at(schedule, rank, step);
		uint32_t lo = 0, hi = receives;

		if (s->depends_rank == COLL_NONE)
			continue;
		while (lo < hi) { /* by (step, rank) */
			uint32_t mid = lo + (hi - lo) / 2;
			const struct coll_receive *r = &first[mid];

			if (r->step < s->depends_step || (r->step == s->depends_step && r->rank < s->depends_rank))
				lo = mid + 1;
			else
				hi = mid;
		}
		if (lo < receives && first[lo].rank == s->depends_rank && first[lo].step == s->depends_step)
			first[lo].needed_by = step;
	}
}

static void
fill(struct coll_queues *queues, const struct coll_schedule *schedule, uint32_t *next)
{
	uint32_t ranks = schedule->ranks, steps = schedule->steps;

	for (size_t i = 0; i < (size_t)ranks * steps; i++) {
		queues->ssq[i] = schedule->at[i].peer;
		queues->rsq_start[schedule->at[i].peer + 1]++;
	}
	for (uint32_t rank = 0; rank < ranks; rank++) {
		queues->rsq_start[rank + 1] += queues->rsq_start[rank];
		next[rank] = queues->rsq_start[rank];
	}
	for (uint32_t step = 1; step <= steps; step++) {
		for (uint32_t rank = 0; rank < ranks; rank++) {
			uint32_t peer = coll_step_at(schedule, rank, step)->peer;

			queues->rsq[next[peer]++] = (struct coll_receive){ rank, step, COLL_NONE };
		}
	}
	for (uint32_t rank = 0; rank < ranks; rank++)
		mark_needs(queues, schedule, rank);
}

struct coll_queues *
coll_queues_create(const struct coll_schedule *schedule)
{
	size_t all = (size_t)schedule->ranks * schedule->steps;
	uint32_t *next = malloc(schedule->ranks * sizeof(*next));
	struct coll_queues *queues = calloc(1, sizeof(*queues));

	if (next == NULL || queues == NULL)
		goto no_memory;
	queues->ranks = schedule->ranks;
	queues->steps = schedule->steps;
	queues->ssq = malloc(all * sizeof(*queues->ssq));
	queues->rsq = malloc(all * sizeof(*queues->rsq));
	queues->rsq_start = calloc(schedule->ranks + 1, sizeof(*queues->rsq_start));
	if (queues->ssq == NULL || queues->rsq == NULL || queues->rsq_start == NULL)
		goto no_memory;
	fill(queues, schedule, next);
	free(next);
	return queues;

no_memory:
	free(next);
	coll_queues_destroy(queues);
	errno = ENOMEM;
	return NULL;
}

void
coll_queues_destroy(struct coll_queues *queues)
{
	if (queues == NULL)
		return;
	free(queues->ssq);
	free(queues->rsq);
	free(queues->rsq_start);
	free(queues);
}

char *
coll_step_name(uint32_t rank, uint32_t step, char *buf)
{
	snprintf(buf, 24, "F%" PRIu32 "S%" PRIu32, rank, step);
	return buf;
}
