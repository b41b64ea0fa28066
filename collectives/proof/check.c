/* SPDX-License-Identifier: BSD-3-Clause */
#include "collectives/proof/proof.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

/* One order of sends that the dependencies allow: ranks take turns, each does its next step when it may. */
struct walk {
	const struct coll_schedule *schedule;
	uint32_t *done;  /* [ranks] steps */
	uint32_t *queue; /* [ranks] ring of ranks whose next step may start, each at most once */
	bool *queued;    /* [ranks] */
	uint32_t head, length;
};

static int segments_init(struct segments *segments, const struct coll_schedule *schedule);
static int walk_init(struct walk *walk, const struct coll_schedule *schedule);
static void walk_fini(struct walk *walk);
static bool walk_next(struct walk *walk, uint32_t *rank, uint32_t *step);
static int walk_end(const struct walk *walk, struct err *err);

int
coll_schedule_check(const struct coll_schedule *schedule, struct err *err)
{
	struct segments segments = { 0 };
	struct walk walk = { 0 };
	struct races *races = NULL;
	struct sets *sets = NULL;
	uint32_t rank, step;
	int rc = coll_schedule_check_form(schedule, err);

	if (rc != 0)
		return rc;
	rc = segments_init(&segments, schedule);
	if (rc == 0)
		rc = walk_init(&walk, schedule);
	if (rc != 0)
		goto out;
	races = races_create(schedule, &segments);
	sets = sets_create(schedule, &segments);
	if (races == NULL || sets == NULL)
		rc = -ENOMEM;
	while (rc == 0 && walk_next(&walk, &rank, &step)) {
		rc = races_send(races, rank, step, err);
		if (rc == 0)
			rc = sets_send(sets, rank, step, err);
	}
	if (rc == 0)
		rc = walk_end(&walk, err);
	if (rc == 0)
		rc = sets_complete(sets, err);
out:
	if (rc == -ENOMEM)
		err_set(err, rc, "no memory to check a schedule of %" PRIu32 " ranks", schedule->ranks);
	sets_destroy(sets);
	races_destroy(races);
	walk_fini(&walk);
	free(segments.bounds);
	return rc;
}

static int
compare_u64(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

static int
segments_init(struct segments *segments, const struct coll_schedule *schedule)
{
	size_t all = coll_all_steps(schedule), n = 0, kept = 0;
	uint64_t *bounds = malloc((2 * all + schedule->ranks + 1) * sizeof(*bounds));

	if (bounds == NULL)
		return -ENOMEM;
	for (uint32_t block = 0; block <= schedule->ranks; block++)
		bounds[n++] = coll_block_start(schedule->count_elems, schedule->ranks, block);
	for (size_t i = 0; i < all; i++) {
		bounds[n++] = schedule->steps[i].src_elems;
		bounds[n++] = schedule->steps[i].src_elems + schedule->steps[i].count_elems;
	}
	qsort(bounds, n, sizeof(*bounds), compare_u64);
	for (size_t i = 0; i < n; i++) {
		if (kept == 0 || bounds[i] != bounds[kept - 1])
			bounds[kept++] = bounds[i];
	}
	segments->bounds = bounds;
	segments->count = (uint32_t)kept - 1;
	return 0;
}

static uint32_t
segment_at(const struct segments *segments, uint64_t elem)
{
	uint32_t lo = 0, hi = segments->count;

	while (lo < hi) {
		uint32_t mid = lo + (hi - lo) / 2;

		if (segments->bounds[mid] < elem)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}

struct segment_range
segments_of(const struct segments *segments, const struct coll_step *step)
{
	return (struct segment_range){
		.first = segment_at(segments, step->src_elems),
		.end = segment_at(segments, step->src_elems + step->count_elems),
	};
}

/* Queues the rank if its next step may start. */
static void
walk_offer(struct walk *walk, uint32_t rank)
{
	const struct coll_schedule *schedule = walk->schedule;
	struct coll_dep dep;

	if (walk->queued[rank] || walk->done[rank] == coll_steps(schedule, rank))
		return;
	dep = coll_step_arrival(schedule, rank, walk->done[rank] + 1);
	if (dep.rank != COLL_NONE && walk->done[dep.rank] < dep.step)
		return;
	walk->queued[rank] = true;
	walk->queue[(walk->head + walk->length++) % schedule->ranks] = rank;
}

static int
walk_init(struct walk *walk, const struct coll_schedule *schedule)
{
	walk->schedule = schedule;
	walk->done = calloc(schedule->ranks, sizeof(*walk->done));
	walk->queue = calloc(schedule->ranks, sizeof(*walk->queue));
	walk->queued = calloc(schedule->ranks, sizeof(*walk->queued));
	if (walk->done == NULL || walk->queue == NULL || walk->queued == NULL)
		return -ENOMEM;
	for (uint32_t rank = 0; rank < schedule->ranks; rank++)
		walk_offer(walk, rank);
	return 0;
}

static void
walk_fini(struct walk *walk)
{
	free(walk->done);
	free(walk->queue);
	free(walk->queued);
}

/* @return false when no rank may go on */
static bool
walk_next(struct walk *walk, uint32_t *rank, uint32_t *step)
{
	if (walk->length == 0)
		return false;
	*rank = walk->queue[walk->head];
	walk->head = (walk->head + 1) % walk->schedule->ranks;
	walk->length--;
	walk->queued[*rank] = false;
	*step = ++walk->done[*rank];
	/* Only its sender and its receiver can have waited for a send. */
	walk_offer(walk, *rank);
	walk_offer(walk, coll_step_at(walk->schedule, *rank, *step)->peer);
	return true;
}

/* Are all steps done? If not, follow what a rank waits for until it comes round. */
static int
walk_end(const struct walk *walk, struct err *err)
{
	const struct coll_schedule *schedule = walk->schedule;
	struct coll_dep dep;
	uint32_t rank = 0;

	while (rank < schedule->ranks && walk->done[rank] == coll_steps(schedule, rank))
		rank++;
	if (rank == schedule->ranks)
		return 0;
	for (uint32_t i = 0; i < schedule->ranks; i++) /* after so many hops it is on the cycle */
		rank = coll_step_arrival(schedule, rank, walk->done[rank] + 1).rank;
	dep = coll_step_arrival(schedule, rank, walk->done[rank] + 1);
	return err_set(err, -EINVAL,
		       "rank %" PRIu32 " step %" PRIu32 " waits for itself, through step %" PRIu32 " of rank %" PRIu32,
		       rank, walk->done[rank] + 1, dep.step, dep.rank);
}
