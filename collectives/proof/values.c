/* SPDX-License-Identifier: BSD-3-Clause */
/* A cell's value: the element of the ranks' vectors in it, and the set of ranks whose contributions are in it. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "collectives/data.h"
#include "collectives/proof/proof.h"

struct values {
	const struct graph *graph;
	const struct cells *cells;
	uint32_t words;   /* of a set */
	uint64_t *sets;   /* [cells][words] ranks; none: nothing is there */
	uint64_t *origin; /* [cells] element */
};

static uint64_t *
set_of(const struct values *values, uint32_t cell)
{
	return values->sets + (size_t)cell * values->words;
}

static bool
set_empty(const struct values *values, const uint64_t *set)
{
	for (uint32_t i = 0; i < values->words; i++)
		if (set[i] != 0)
			return false;
	return true;
}

static bool
set_has(const uint64_t *set, uint32_t rank)
{
	return (set[rank / 64] >> rank % 64 & 1) != 0;
}

/* @return a rank in both, or COLL_NONE */
static uint32_t
set_common(const struct values *values, const uint64_t *a, const uint64_t *b)
{
	for (uint32_t i = 0; i < values->words; i++)
		if ((a[i] & b[i]) != 0)
			return i * 64 + (uint32_t)__builtin_ctzll(a[i] & b[i]);
	return COLL_NONE;
}

static void
fill(struct values *values, uint32_t rank)
{
	const struct coll_schedule *schedule = values->graph->schedule;
	uint32_t pieces = coll_contents_count(schedule, rank, COLL_IN);

	for (uint32_t i = 0; i < pieces; i++) {
		struct coll_piece piece = coll_contents(schedule, rank, COLL_IN, i);
		struct cell_range range = cells_of(values->cells, rank, piece.at_elems, piece.count_elems);

		for (uint32_t cell = range.first; cell < range.end; cell++) {
			set_of(values, cell)[piece.from / 64] |= 1ULL << piece.from % 64;
			values->origin[cell] = piece.origin_elems + cell_from(values->cells, rank, cell) - piece.at_elems;
		}
	}
}

struct values *
values_create(const struct graph *graph, const struct cells *cells)
{
	uint32_t ranks = graph->schedule->ranks, count = cells->first[ranks];
	struct values *values = calloc(1, sizeof(*values));

	if (values == NULL)
		return NULL;
	values->graph = graph;
	values->cells = cells;
	values->words = (ranks + 63) / 64;
	values->sets = calloc((size_t)count, values->words * sizeof(*values->sets));
	values->origin = calloc(count, sizeof(*values->origin));
	if (values->sets == NULL || values->origin == NULL) {
		values_destroy(values);
		return NULL;
	}
	for (uint32_t rank = 0; rank < ranks; rank++)
		fill(values, rank);
	return values;
}

void
values_destroy(struct values *values)
{
	if (values == NULL)
		return;
	free(values->sets);
	free(values->origin);
	free(values);
}

static int
add(struct values *values, uint32_t step, uint32_t from, uint32_t to, struct err *err)
{
	const struct graph *graph = values->graph;
	uint32_t rank = graph->rank_of[step], number = graph_number(graph, step), peer = graph_step(graph, step).peer;
	uint64_t first = cell_from(values->cells, peer, to), last = cell_last(values->cells, peer, to);
	const uint64_t *src = set_of(values, from);
	uint64_t *dst = set_of(values, to);

	if (set_empty(values, dst))
		return err_set(err, -EINVAL,
			       "rank %" PRIu32 " step %" PRIu32 " adds to elements %" PRIu64 "..%" PRIu64
			       ", of which rank %" PRIu32 " has none",
			       rank, number, first, last, peer);
	if (values->origin[from] != values->origin[to])
		return err_set(err, -EINVAL,
			       "rank %" PRIu32 " step %" PRIu32 " adds elements %" PRIu64 ".. of the ranks' vectors to "
			       "elements %" PRIu64 "..%" PRIu64 " of rank %" PRIu32 ", which hold elements %" PRIu64 "..",
			       rank, number, values->origin[from], first, last, peer, values->origin[to]);
	if (set_common(values, src, dst) != COLL_NONE)
		return err_set(err, -EINVAL,
			       "rank %" PRIu32 " step %" PRIu32 " adds the contribution of rank %" PRIu32
			       " to elements %" PRIu64 "..%" PRIu64 " of rank %" PRIu32 " a second time",
			       rank, number, set_common(values, src, dst), first, last, peer);
	for (uint32_t i = 0; i < values->words; i++)
		dst[i] |= src[i];
	return 0;
}

int
values_step(struct values *values, uint32_t step, struct err *err)
{
	const struct graph *graph = values->graph;
	const struct coll_step of = graph_step(graph, step), *s = &of;
	uint32_t rank = graph->rank_of[step];
	struct cell_range src = cells_of(values->cells, rank, s->src_elems, s->count_elems);
	struct cell_range dst = cells_of(values->cells, s->peer, s->dst_elems, s->count_elems);
	int rc = 0;

	for (uint32_t i = 0; i < src.end - src.first && rc == 0; i++) {
		uint32_t from = src.first + i, to = dst.first + i;

		if (set_empty(values, set_of(values, from)))
			return err_set(err, -EINVAL,
				       "rank %" PRIu32 " step %" PRIu32 " %s elements %" PRIu64 "..%" PRIu64
				       " before anything is there",
				       rank, graph_number(graph, step), s->peer == rank ? "reads" : "sends",
				       cell_from(values->cells, rank, from), cell_last(values->cells, rank, from));
		if (s->reduce) {
			rc = add(values, step, from, to, err);
			continue;
		}
		memcpy(set_of(values, to), set_of(values, from), values->words * sizeof(*values->sets));
		values->origin[to] = values->origin[from];
	}
	return rc;
}

/* Word i of the set that a piece is to have. */
static uint64_t
promised_word(const struct values *values, const struct coll_piece *piece, uint32_t i)
{
	uint32_t left = values->graph->schedule->ranks - 64 * i;

	if (piece->from == COLL_ALL)
		return left >= 64 ? UINT64_MAX : (1ULL << left) - 1;
	return piece->from / 64 == i ? 1ULL << piece->from % 64 : 0;
}

/* Does a cell hold the promised value: a piece of the right rank, from its element on? */
static int
check_cell(const struct values *values, uint32_t rank, uint32_t cell, const struct coll_piece *piece, struct err *err)
{
	uint64_t first = cell_from(values->cells, rank, cell), last = cell_last(values->cells, rank, cell);
	uint64_t origin = piece->origin_elems + first - piece->at_elems;
	const uint64_t *set = set_of(values, cell);
	bool good = true;

	for (uint32_t i = 0; i < values->words; i++)
		good = good && set[i] == promised_word(values, piece, i);
	for (uint32_t from = 0; from < values->graph->schedule->ranks && !good; from++) {
		bool wanted = piece->from == COLL_ALL || piece->from == from;

		if (wanted && !set_has(set, from))
			return err_set(err, -EINVAL,
				       "rank %" PRIu32 " ends incomplete: the contribution of rank %" PRIu32
				       " to elements %" PRIu64 "..%" PRIu64 " is missing",
				       rank, from, first, last);
		if (!wanted && set_has(set, from))
			return err_set(err, -EINVAL,
				       "rank %" PRIu32 " ends with a contribution of rank %" PRIu32 " in elements %" PRIu64
				       "..%" PRIu64 ", which are to be rank %" PRIu32 "'s alone",
				       rank, from, first, last, piece->from);
	}
	if (values->origin[cell] != origin)
		return err_set(err, -EINVAL,
			       "rank %" PRIu32 " ends with elements %" PRIu64
			       ".. of the ranks' vectors in elements %" PRIu64 "..%" PRIu64 ", where elements %" PRIu64
			       ".. belong",
			       rank, values->origin[cell], first, last, origin);
	return 0;
}

int
values_complete(const struct values *values, struct err *err)
{
	const struct coll_schedule *schedule = values->graph->schedule;
	int rc = 0;

	for (uint32_t rank = 0; rank < schedule->ranks && rc == 0; rank++) {
		uint32_t pieces = coll_contents_count(schedule, rank, COLL_OUT);

		for (uint32_t i = 0; i < pieces && rc == 0; i++) {
			struct coll_piece piece = coll_contents(schedule, rank, COLL_OUT, i);
			struct cell_range range = cells_of(values->cells, rank, piece.at_elems, piece.count_elems);

			for (uint32_t cell = range.first; cell < range.end && rc == 0; cell++)
				rc = check_cell(values, rank, cell, &piece, err);
		}
	}
	return rc;
}
