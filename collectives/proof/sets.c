/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "collectives/proof/proof.h"

struct sets {
	const struct coll_schedule *schedule;
	const struct segments *segments;
	uint32_t words;  /* of a set */
	uint64_t *bits;  /* [ranks][segments][words] */
	uint32_t *owner; /* [segments] block, hence rank, that a segment is part of */
};

static uint64_t *
set_of(const struct sets *sets, uint32_t rank, uint32_t segment)
{
	return sets->bits + ((size_t)rank * sets->segments->count + segment) * sets->words;
}

static bool
set_empty(const struct sets *sets, const uint64_t *set)
{
	for (uint32_t i = 0; i < sets->words; i++) {
		if (set[i] != 0)
			return false;
	}
	return true;
}

/* @return a rank whose contribution should be in a finished segment but is not; COLL_NONE if it is finished */
static uint32_t
set_missing(const struct sets *sets, const uint64_t *set, uint32_t segment)
{
	if (sets->schedule->op == COLL_ALLGATHER)
		return set_empty(sets, set) ? sets->owner[segment] : COLL_NONE;
	for (uint32_t rank = 0; rank < sets->schedule->ranks; rank++) {
		if ((set[rank / 64] >> rank % 64 & 1) == 0)
			return rank;
	}
	return COLL_NONE;
}

/* @return a rank in both, or COLL_NONE */
static uint32_t
set_common(const struct sets *sets, const uint64_t *a, const uint64_t *b)
{
	for (uint32_t i = 0; i < sets->words; i++) {
		uint64_t both = a[i] & b[i];

		if (both != 0)
			return i * 64 + (uint32_t)__builtin_ctzll(both);
	}
	return COLL_NONE;
}

struct sets *
sets_create(const struct coll_schedule *schedule, const struct segments *segments)
{
	struct sets *sets = calloc(1, sizeof(*sets));
	uint32_t ranks = schedule->ranks, block = 0;

	if (sets == NULL)
		return NULL;
	sets->schedule = schedule;
	sets->segments = segments;
	sets->words = (ranks + 63) / 64;
	sets->bits = calloc((size_t)ranks * segments->count, sets->words * sizeof(*sets->bits));
	sets->owner = malloc(segments->count * sizeof(*sets->owner));
	if (sets->bits == NULL || sets->owner == NULL) {
		sets_destroy(sets);
		return NULL;
	}
	for (uint32_t segment = 0; segment < segments->count; segment++) {
		while (segments->bounds[segment] >= coll_block_start(schedule->count_elems, ranks, block + 1))
			block++;
		sets->owner[segment] = block;
		for (uint32_t rank = 0; rank < ranks; rank++) {
			if (schedule->op != COLL_ALLGATHER || rank == block)
				set_of(sets, rank, segment)[rank / 64] |= 1ULL << rank % 64;
		}
	}
	return sets;
}

void
sets_destroy(struct sets *sets)
{
	if (sets == NULL)
		return;
	free(sets->bits);
	free(sets->owner);
	free(sets);
}

static int
send_segment(struct sets *sets, uint32_t rank, uint32_t step, uint32_t segment, struct err *err)
{
	const struct coll_step *s = coll_step_at(sets->schedule, rank, step);
	uint64_t from = sets->segments->bounds[segment], to = sets->segments->bounds[segment + 1];
	const uint64_t *src = set_of(sets, rank, segment);
	uint64_t *dst = set_of(sets, s->peer, segment);
	uint32_t missing = set_missing(sets, src, segment);

	if (set_empty(sets, src) || (!s->reduce && missing != COLL_NONE))
		return err_set(err, -EINVAL,
			       "rank %" PRIu32 " step %" PRIu32 " sends elements %" PRIu64 "..%" PRIu64
			       " before they are complete: the contribution of rank %" PRIu32 " is missing",
			       rank, step, from, to - 1, missing);
	if (!s->reduce) {
		memcpy(dst, src, sets->words * sizeof(*dst));
		return 0;
	}
	if (set_empty(sets, dst))
		return err_set(err, -EINVAL,
			       "rank %" PRIu32 " step %" PRIu32 " adds to elements %" PRIu64 "..%" PRIu64
			       ", of which rank %" PRIu32 " has none",
			       rank, step, from, to - 1, s->peer);
	if (set_common(sets, src, dst) != COLL_NONE)
		return err_set(err, -EINVAL,
			       "rank %" PRIu32 " step %" PRIu32 " adds the contribution of rank %" PRIu32
			       " to elements %" PRIu64 "..%" PRIu64 " of rank %" PRIu32 " a second time",
			       rank, step, set_common(sets, src, dst), from, to - 1, s->peer);
	for (uint32_t i = 0; i < sets->words; i++)
		dst[i] |= src[i];
	return 0;
}

int
sets_send(struct sets *sets, uint32_t rank, uint32_t step, struct err *err)
{
	struct segment_range range = segments_of(sets->segments, coll_step_at(sets->schedule, rank, step));
	int rc = 0;

	for (uint32_t segment = range.first; segment < range.end && rc == 0; segment++)
		rc = send_segment(sets, rank, step, segment, err);
	return rc;
}

int
sets_complete(const struct sets *sets, struct err *err)
{
	for (uint32_t rank = 0; rank < sets->schedule->ranks; rank++) {
		for (uint32_t segment = 0; segment < sets->segments->count; segment++) {
			uint32_t missing = set_missing(sets, set_of(sets, rank, segment), segment);

			if (missing == COLL_NONE)
				continue;
			if (sets->schedule->op == COLL_REDUCESCATTER && sets->owner[segment] != rank)
				continue;
			return err_set(err, -EINVAL,
				       "rank %" PRIu32 " ends incomplete: the contribution of rank %" PRIu32
				       " to elements %" PRIu64 "..%" PRIu64 " is missing",
				       rank, missing, sets->segments->bounds[segment],
				       sets->segments->bounds[segment + 1] - 1);
		}
	}
	return 0;
}
