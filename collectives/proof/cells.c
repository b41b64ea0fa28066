/* SPDX-License-Identifier: BSD-3-Clause */
#include "collectives/proof/proof.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "collectives/data.h"

/* Bounds of one rank while cells are being divided: sorted, each once. */
struct cuts {
	uint64_t *at;
	uint32_t count, cap;
};

struct cutting {
	const struct coll_schedule *schedule;
	struct cuts *cuts;   /* [ranks] */
	struct cuts missing; /* of one side of a step */
	uint64_t added, total, most;
	struct budget *budget;
};

/* A cell's bound, its value with a set of ranks, its latest access and one access. */
static uint64_t
cell_bytes(const struct coll_schedule *schedule)
{
	return 40 + 8 * ((schedule->ranks + 63) / 64);
}

static int first_cuts(struct cutting *cutting);
static int match_step(struct cutting *cutting, uint32_t rank, const struct coll_step *step);
static int finish(struct cells *cells, struct cutting *cutting);

static void
cutting_fini(struct cutting *cutting)
{
	for (uint32_t rank = 0; cutting->cuts != NULL && rank < cutting->schedule->ranks; rank++)
		free(cutting->cuts[rank].at);
	free(cutting->cuts);
	free(cutting->missing.at);
}

/* @param step  whose chunks were looked at last. @return -E2BIG with err */
static int
too_many(const struct cutting *cutting, uint32_t rank, uint32_t step, struct err *err)
{
	return err_set(err, -E2BIG,
		       "rank %" PRIu32 " step %" PRIu32 ": chunks cut the ranks' memory into more than %" PRIu64
		       " parts, or take more than %" PRIu64
		       " comparisons; chunks that begin and end where others do would be right",
		       rank, step - cutting->schedule->first_step[rank] + 1, cutting->most, cutting->budget->all.work);
}

int
cells_init(struct cells *cells, const struct coll_schedule *schedule, const uint32_t *order, struct budget *budget,
	   struct err *err)
{
	uint32_t steps = coll_all_steps(schedule), rank = 0, at = 0;
	uint64_t room = budget->left.bytes / cell_bytes(schedule);
	struct cutting cutting = { .schedule = schedule,
				   .cuts = calloc(schedule->ranks, sizeof(struct cuts)),
				   .most = room < CELLS_MAX ? room : CELLS_MAX,
				   .budget = budget };
	uint32_t *rank_of = malloc((size_t)steps * sizeof(*rank_of));
	bool forward = false;
	int rc = cutting.cuts == NULL || rank_of == NULL ? -ENOMEM : first_cuts(&cutting);

	*cells = (struct cells){ 0 };
	for (uint32_t i = 0; i < steps && rc == 0; i++) {
		while (i == schedule->first_step[rank + 1])
			rank++;
		rank_of[i] = rank;
	}
	/* A bound moves on with the data, or back to its source: one pass in each direction is enough for most. */
	do {
		cutting.added = 0;
		forward = !forward;
		for (uint32_t i = 0; i < steps && rc == 0; i++) {
			at = order[forward ? i : steps - 1 - i];

			const struct coll_step step = coll_step_of(schedule, rank_of[at], at);

			rc = match_step(&cutting, rank_of[at], &step);
		}
	} while (rc == 0 && cutting.added != 0);
	if (rc == 0)
		rc = finish(cells, &cutting);
	if (rc == -E2BIG)
		too_many(&cutting, rank_of[at], at, err);
	free(rank_of);
	cutting_fini(&cutting);
	if (rc != 0)
		cells_fini(cells, schedule->ranks);
	return rc;
}

void
cells_fini(struct cells *cells, uint32_t ranks)
{
	for (uint32_t rank = 0; cells->bounds != NULL && rank < ranks; rank++)
		free(cells->bounds[rank]);
	free(cells->bounds);
	free(cells->first);
	*cells = (struct cells){ 0 };
}

/* @return 0 or -ENOMEM */
static int
append(struct cuts *cuts, uint64_t at)
{
	if (cuts->count == cuts->cap) {
		uint32_t cap = cuts->cap == 0 ? 16 : 2 * cuts->cap;
		uint64_t *larger = realloc(cuts->at, (size_t)cap * sizeof(*larger));

		if (larger == NULL)
			return -ENOMEM;
		cuts->at = larger;
		cuts->cap = cap;
	}
	cuts->at[cuts->count++] = at;
	return 0;
}

static int
compare_u64(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

static void
sort(struct cuts *cuts)
{
	uint32_t kept = 0;

	qsort(cuts->at, cuts->count, sizeof(*cuts->at), compare_u64);
	for (uint32_t i = 0; i < cuts->count; i++)
		if (kept == 0 || cuts->at[i] != cuts->at[kept - 1])
			cuts->at[kept++] = cuts->at[i];
	cuts->count = kept;
}

/* Both ends of a run. */
static int
cut_ends(struct cuts *cuts, uint64_t from, uint64_t count)
{
	int rc = append(cuts, from);

	return rc == 0 ? append(cuts, from + count) : rc;
}

static int
first_cuts(struct cutting *cutting)
{
	const struct coll_schedule *schedule = cutting->schedule;
	int rc = 0;

	for (uint32_t rank = 0; rank < schedule->ranks && rc == 0; rank++) {
		struct cuts *cuts = &cutting->cuts[rank];

		rc = cut_ends(cuts, 0, schedule->memory_elems);
		for (int side = COLL_IN; side <= COLL_OUT; side++)
			for (uint32_t i = 0; i < coll_contents_count(schedule, rank, side) && rc == 0; i++) {
				struct coll_piece piece = coll_contents(schedule, rank, side, i);

				rc = cut_ends(cuts, piece.at_elems, piece.count_elems);
			}
		if (rc == 0)
			sort(cuts);
	}
	for (uint32_t rank = 0; rank < schedule->ranks && rc == 0; rank++)
		for (uint32_t i = schedule->first_step[rank]; i < schedule->first_step[rank + 1] && rc == 0; i++) {
			const struct coll_step of = coll_step_of(schedule, rank, i), *step = &of;

			if (step->count_elems == 0)
				continue;
			rc = cut_ends(&cutting->cuts[rank], step->src_elems, step->count_elems);
			if (rc == 0)
				rc = cut_ends(&cutting->cuts[step->peer], step->dst_elems, step->count_elems);
		}
	for (uint32_t rank = 0; rank < schedule->ranks && rc == 0; rank++)
		sort(&cutting->cuts[rank]);
	return rc;
}

/* @return index of the first bound at an element or behind it */
static uint32_t
find_cut(const uint64_t *at, uint32_t count, uint64_t elem)
{
	uint32_t lo = 0, hi = count;

	while (lo < hi) {
		uint32_t mid = lo + (hi - lo) / 2;

		if (at[mid] < elem)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}

/*
 * Divides run "to" of a rank's memory where run "from" of another's (or its own) is divided. @return 0, -ENOMEM or
 * -E2BIG
 */
static int
copy_cuts(struct cutting *cutting, const struct cuts *from, uint64_t from_elem, struct cuts *to, uint64_t to_elem,
	  uint64_t count)
{
	uint32_t i = find_cut(from->at, from->count, from_elem + 1), k = find_cut(to->at, to->count, to_elem + 1);
	struct cuts *missing = &cutting->missing;
	uint32_t have;
	int rc = 0;

	missing->count = 0;
	for (; from->at[i] < from_elem + count && rc == 0; i++) {
		uint64_t at = from->at[i] - from_elem + to_elem;
		uint32_t passed = k;

		while (to->at[k] < at)
			k++;
		if (!budget_take(&cutting->budget->left.work, 1 + k - passed))
			return -E2BIG;
		if (to->at[k] != at)
			rc = append(missing, at);
	}
	if (rc != 0 || missing->count == 0)
		return rc;
	cutting->added += missing->count;
	cutting->total += missing->count;
	if (cutting->total > cutting->most || !budget_take(&cutting->budget->left.work, to->count + missing->count))
		return -E2BIG;
	have = to->count;
	for (i = 0; i < missing->count && rc == 0; i++)
		rc = append(to, 0);
	/* From the end: the larger of both lists' last. */
	for (i = missing->count; i > 0 && rc == 0;) {
		bool old = have > 0 && to->at[have - 1] > missing->at[i - 1];

		to->at[have + i - 1] = old ? to->at[have - 1] : missing->at[i - 1];
		if (old)
			have--;
		else
			i--;
	}
	return rc;
}

static int
match_step(struct cutting *cutting, uint32_t rank, const struct coll_step *step)
{
	struct cuts *src = &cutting->cuts[rank], *dst = &cutting->cuts[step->peer];
	int rc;

	if (step->count_elems == 0)
		return 0;
	rc = copy_cuts(cutting, src, step->src_elems, dst, step->dst_elems, step->count_elems);
	return rc == 0 ? copy_cuts(cutting, dst, step->dst_elems, src, step->src_elems, step->count_elems) : rc;
}

static int
finish(struct cells *cells, struct cutting *cutting)
{
	uint32_t ranks = cutting->schedule->ranks;
	uint64_t total = 0;

	cells->first = calloc((size_t)ranks + 1, sizeof(*cells->first));
	cells->bounds = calloc(ranks, sizeof(*cells->bounds));
	if (cells->first == NULL || cells->bounds == NULL)
		return -ENOMEM;
	for (uint32_t rank = 0; rank < ranks; rank++) {
		cells->first[rank] = (uint32_t)total;
		cells->bounds[rank] = cutting->cuts[rank].at;
		cutting->cuts[rank].at = NULL;
		total += cutting->cuts[rank].count - 1;
		if (total > cutting->most)
			return -E2BIG;
	}
	cells->first[ranks] = (uint32_t)total;
	return budget_take(&cutting->budget->left.bytes, total * cell_bytes(cutting->schedule)) ? 0 : -E2BIG;
}

struct cell_range
cells_of(const struct cells *cells, uint32_t rank, uint64_t from, uint64_t count)
{
	uint32_t first = cells->first[rank], n = cells->first[rank + 1] - first + 1;

	return (struct cell_range){
		.first = first + find_cut(cells->bounds[rank], n, from),
		.end = first + find_cut(cells->bounds[rank], n, from + count),
	};
}
