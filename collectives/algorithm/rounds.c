/* SPDX-License-Identifier: BSD-3-Clause */
#include "collectives/algorithm/rounds.h"

#include <errno.h>
#include <stdlib.h>

/* An arrival that its receiver has not waited for yet. */
struct arrival {
	struct coll_dep on;
	uint32_t rank; /* receiver */
	uint32_t next; /* its next one, COLL_NONE ends */
};

struct rounds {
	struct coll_builder *builder;
	struct coll_dep *own;   /* [ranks] latest send, step 0: none */
	uint32_t *first, *last; /* [ranks] arrivals not waited for, in order */
	struct arrival *arrivals;
	uint32_t count, cap, begin; /* those from begin on are of this round */
};

struct rounds *
rounds_create(struct coll_builder *builder, uint32_t ranks)
{
	struct rounds *rounds = calloc(1, sizeof(*rounds));

	if (rounds == NULL) {
		coll_builder_fail(builder, -ENOMEM);
		return NULL;
	}
	rounds->builder = builder;
	rounds->own = calloc(ranks, sizeof(*rounds->own));
	rounds->first = malloc(ranks * sizeof(*rounds->first));
	rounds->last = malloc(ranks * sizeof(*rounds->last));
	if (rounds->own == NULL || rounds->first == NULL || rounds->last == NULL) {
		coll_builder_fail(builder, -ENOMEM);
		rounds_end(rounds);
		return NULL;
	}
	for (uint32_t rank = 0; rank < ranks; rank++)
		rounds->first[rank] = COLL_NONE;
	return rounds;
}

void
rounds_end(struct rounds *rounds)
{
	if (rounds == NULL)
		return;
	free(rounds->own);
	free(rounds->first);
	free(rounds->last);
	free(rounds->arrivals);
	free(rounds);
}

static void
queue_arrival(struct rounds *rounds, uint32_t peer, struct coll_dep id)
{
	if (rounds->count == rounds->cap) {
		uint32_t cap = rounds->cap == 0 ? 64 : 2 * rounds->cap;
		struct arrival *larger = realloc(rounds->arrivals, (size_t)cap * sizeof(*larger));

		if (larger == NULL) {
			coll_builder_fail(rounds->builder, -ENOMEM);
			return;
		}
		rounds->arrivals = larger;
		rounds->cap = cap;
	}
	rounds->arrivals[rounds->count++] = (struct arrival){ .on = id, .rank = peer, .next = COLL_NONE };
}

struct coll_dep
rounds_send(struct rounds *rounds, uint32_t rank, uint32_t peer, const struct coll_chunk *chunk)
{
	struct coll_dep id = { .rank = rank };

	if (rounds == NULL)
		return id;
	id = coll_builder_send(rounds->builder, rank, peer, 0, chunk);
	if (rounds->own[rank].step != 0)
		coll_builder_depend(rounds->builder, id, rounds->own[rank]);
	for (uint32_t i = rounds->first[rank]; i != COLL_NONE; i = rounds->arrivals[i].next)
		coll_builder_depend(rounds->builder, id, rounds->arrivals[i].on);
	rounds->first[rank] = COLL_NONE;
	rounds->own[rank] = id;
	queue_arrival(rounds, peer, id);
	return id;
}

void
rounds_next(struct rounds *rounds)
{
	for (; rounds != NULL && rounds->begin < rounds->count; rounds->begin++) {
		uint32_t rank = rounds->arrivals[rounds->begin].rank;

		if (rounds->first[rank] == COLL_NONE)
			rounds->first[rank] = rounds->begin;
		else
			rounds->arrivals[rounds->last[rank]].next = rounds->begin;
		rounds->last[rank] = rounds->begin;
	}
}
