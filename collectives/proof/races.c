/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What must have happened before what. clock(r, s)[q] is the last step of rank q whose send has surely arrived when
 * rank r starts step s: r's own previous step, the step that it depends on, and all that those two knew.
 * Sends come here in an order that the dependencies allow, so none happens before one that came earlier: two accesses
 * are ordered if and only if the later one's clock holds the earlier one.
 */
#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "collectives/proof/proof.h"

enum access_kind { ACCESS_SEND, ACCESS_ADD, ACCESS_WRITE };

struct access {
	uint32_t next;       /* of the same segment of the same rank; COLL_NONE ends */
	uint32_t rank, step; /* the send */
	enum access_kind kind;
};

struct races {
	const struct coll_schedule *schedule;
	const struct segments *segments;
	uint32_t *clock;     /* [ranks][ranks] at the start of each rank's latest step */
	uint32_t **snapshot; /* [ranks * steps] the same for a step that others still depend on */
	uint32_t *waiting;   /* [ranks * steps] how many */
	uint32_t *head;      /* [ranks][segments] latest access */
	struct access *accesses;
	size_t naccesses;
};

struct races *
races_create(const struct coll_schedule *schedule, const struct segments *segments)
{
	size_t all = coll_all_steps(schedule), touched = 0;
	size_t cells = (size_t)schedule->ranks * segments->count;
	struct races *races = calloc(1, sizeof(*races));

	if (races == NULL)
		return NULL;
	for (size_t i = 0; i < all; i++) {
		struct segment_range range = segments_of(segments, &schedule->steps[i]);

		touched += range.end - range.first;
	}
	races->schedule = schedule;
	races->segments = segments;
	races->clock = calloc((size_t)schedule->ranks * schedule->ranks, sizeof(*races->clock));
	races->snapshot = calloc(all, sizeof(*races->snapshot));
	races->waiting = calloc(all, sizeof(*races->waiting));
	races->head = malloc(cells * sizeof(*races->head));
	races->accesses = touched < COLL_NONE / 2 ? malloc(2 * touched * sizeof(*races->accesses)) : NULL;
	if (races->clock == NULL || races->snapshot == NULL || races->waiting == NULL || races->head == NULL ||
	    races->accesses == NULL) {
		races_destroy(races);
		return NULL;
	}
	memset(races->head, 0xff, cells * sizeof(*races->head)); /* COLL_NONE */
	for (uint32_t rank = 0; rank < schedule->ranks; rank++) {
		for (uint32_t step = 1; step <= coll_steps(schedule, rank); step++) {
			struct coll_dep dep = coll_step_arrival(schedule, rank, step);

			if (dep.rank != COLL_NONE)
				races->waiting[coll_step_index(schedule, dep.rank, dep.step)]++;
		}
	}
	return races;
}

void
races_destroy(struct races *races)
{
	if (races == NULL)
		return;
	for (size_t i = 0; races->snapshot != NULL && i < coll_all_steps(races->schedule); i++)
		free(races->snapshot[i]);
	free(races->snapshot);
	free(races->waiting);
	free(races->clock);
	free(races->head);
	free(races->accesses);
	free(races);
}

/* Brings the rank's clock to the start of the step. @return it, or NULL without memory */
static const uint32_t *
advance_clock(struct races *races, uint32_t rank, uint32_t step)
{
	struct coll_dep arrival = coll_step_arrival(races->schedule, rank, step);
	uint32_t ranks = races->schedule->ranks;
	uint32_t *clock = races->clock + (size_t)rank * ranks;
	size_t self = coll_step_index(races->schedule, rank, step);

	clock[rank] = step - 1;
	if (arrival.rank != COLL_NONE) {
		size_t dep = coll_step_index(races->schedule, arrival.rank, arrival.step);
		const uint32_t *known = races->snapshot[dep];

		assert(known != NULL); /* came earlier, and this step was counted in waiting[] */
		for (uint32_t i = 0; i < ranks; i++)
			clock[i] = clock[i] > known[i] ? clock[i] : known[i];
		if (clock[arrival.rank] < arrival.step)
			clock[arrival.rank] = arrival.step;
		if (--races->waiting[dep] == 0) {
			free(races->snapshot[dep]);
			races->snapshot[dep] = NULL;
		}
	}
	if (races->waiting[self] != 0) {
		races->snapshot[self] = malloc(ranks * sizeof(*clock));
		if (races->snapshot[self] == NULL)
			return NULL;
		memcpy(races->snapshot[self], clock, ranks * sizeof(*clock));
	}
	return clock;
}

static void
describe_race(const struct access *a, const struct access *b, uint32_t at, uint64_t from, uint64_t to, struct err *err)
{
	static const char *const does[] = { "sends", "adds to", "overwrites" };

	err_set(err, -EINVAL,
		"race at rank %" PRIu32 ": rank %" PRIu32 " step %" PRIu32 " %s elements %" PRIu64 "..%" PRIu64
		" while rank %" PRIu32 " step %" PRIu32 " %s them: nothing makes one wait for the other",
		at, b->rank, b->step, does[b->kind], from, to - 1, a->rank, a->step, does[a->kind]);
}

static bool
conflict(enum access_kind a, enum access_kind b)
{
	return a != b || a == ACCESS_WRITE; /* two sends, or two sums, disturb each other in no order */
}

/* Adds one access to one segment of rank at. @return 0 or -EINVAL */
static int
add_access(struct races *races, const uint32_t *clock, uint32_t at, uint32_t segment, struct access access, struct err *err)
{
	uint32_t *head = &races->head[(size_t)at * races->segments->count + segment];

	for (uint32_t i = *head; i != COLL_NONE; i = races->accesses[i].next) {
		const struct access *earlier = &races->accesses[i];

		if (!conflict(earlier->kind, access.kind) || clock[earlier->rank] >= earlier->step)
			continue;
		describe_race(earlier, &access, at, races->segments->bounds[segment], races->segments->bounds[segment + 1],
			      err);
		return -EINVAL;
	}
	access.next = *head;
	*head = (uint32_t)races->naccesses;
	races->accesses[races->naccesses++] = access;
	return 0;
}

int
races_send(struct races *races, uint32_t rank, uint32_t step, struct err *err)
{
	const struct coll_step *s = coll_step_at(races->schedule, rank, step);
	struct segment_range range = segments_of(races->segments, s);
	const uint32_t *clock = advance_clock(races, rank, step);
	struct access send = { .rank = rank, .step = step, .kind = ACCESS_SEND };
	struct access receive = { .rank = rank, .step = step, .kind = s->reduce ? ACCESS_ADD : ACCESS_WRITE };
	int rc = 0;

	if (clock == NULL)
		return -ENOMEM;
	for (uint32_t segment = range.first; segment < range.end && rc == 0; segment++) {
		rc = add_access(races, clock, rank, segment, send, err);
		if (rc == 0)
			rc = add_access(races, clock, s->peer, segment, receive, err);
	}
	return rc;
}
