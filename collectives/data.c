/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Rank r contributes (r + 1) * a(i) to element i, with a(i) drawn from i and the iteration. The factor distinguishes
 * ranks, a(i) distinguishes places, and the expected sum over ranks is a(i) * n(n+1)/2 without a loop over them.
 * float: a(i) in 1..31, so that with COLL_MAX_FLOAT_RANKS ranks every partial sum stays below 2^24 and is exact in any
 * order.
 * int32: a(i) any odd number, modulo 2^32: whatever partial sum is missing or double shows.
 */
#include "collectives/data.h"

#define FLOAT_NOTICED (-1.0f) /* no partial sum is negative */

_Static_assert(31ULL * COLL_MAX_FLOAT_RANKS * (COLL_MAX_FLOAT_RANKS + 1) / 2 < 1ULL << 24, "sums must be exact in a float");

/* 32-bit mixer (lowbias32 of C. Wellons' hash-prospector): vectorizes, unlike a 64-bit one. */
static inline uint32_t
mix32(uint32_t x)
{
	x ^= x >> 16;
	x *= 0x7feb352dU;
	x ^= x >> 15;
	x *= 0x846ca68bU;
	return x ^ x >> 16;
}

static inline uint32_t
int_at(uint64_t elem, uint32_t salt, uint32_t factor)
{
	return (mix32((uint32_t)elem ^ salt) | 1) * factor;
}

static inline float
float_at(uint64_t elem, uint32_t salt, uint32_t factor)
{
	return (float)((int32_t)(1 + ((mix32((uint32_t)elem ^ salt) >> 16) * 31 >> 16)) * (int32_t)factor);
}

static uint32_t
salt_of(uint32_t iteration)
{
	return mix32(iteration + 1);
}

enum coll_type
coll_data_type(enum coll_type type, const struct coll_schedule *schedule)
{
	return type == COLL_FLOAT32 && schedule->group_ranks > COLL_MAX_FLOAT_RANKS ? COLL_INT32 : type;
}

static void
fill_piece(void *memory, enum coll_type type, const struct coll_piece *piece, uint32_t salt)
{
	if (type == COLL_FLOAT32) {
		float *v = (float *)memory + piece->at_elems;

		for (uint64_t i = 0; i < piece->count_elems; i++)
			v[i] = float_at(piece->origin_elems + i, salt, piece->from + 1);
	} else {
		uint32_t *v = (uint32_t *)memory + piece->at_elems;

		for (uint64_t i = 0; i < piece->count_elems; i++)
			v[i] = int_at(piece->origin_elems + i, salt, piece->from + 1);
	}
}

/* Fills memory with values that no rank contributes, so that an element that was never written is noticed. */
static void
fill_noticed(void *memory, enum coll_type type, uint64_t count, uint32_t salt)
{
	if (type == COLL_FLOAT32) {
		float *v = memory;

		for (uint64_t i = 0; i < count; i++)
			v[i] = FLOAT_NOTICED;
	} else {
		uint32_t *v = memory;

		for (uint64_t i = 0; i < count; i++)
			v[i] = int_at(i, salt, 0x80000000U); /* an odd number times 2^31: no rank's factor gives it */
	}
}

void
coll_data_fill(void *memory, const struct coll_schedule *schedule, enum coll_type type, uint32_t rank, uint32_t iteration)
{
	uint32_t salt = salt_of(iteration), pieces = coll_contents_count(schedule, rank, COLL_IN);

	fill_noticed(memory, type, schedule->memory_elems, salt);
	for (uint32_t i = 0; i < pieces; i++) {
		struct coll_piece piece = coll_contents(schedule, rank, COLL_IN, i);

		fill_piece(memory, type, &piece, salt);
	}
}

void
coll_data_reduce(void *dst, const void *src, enum coll_type type, size_t count_elems)
{
	if (type == COLL_FLOAT32) {
		float *d = dst;
		const float *s = src;

		for (size_t i = 0; i < count_elems; i++)
			d[i] += s[i];
	} else {
		uint32_t *d = dst; /* wraps, as int32 sums on every machine do */
		const uint32_t *s = src;

		for (size_t i = 0; i < count_elems; i++)
			d[i] += s[i];
	}
}

static uint64_t
wrong_in_piece(const void *memory, enum coll_type type, const struct coll_piece *piece, uint32_t salt, uint32_t factor)
{
	uint64_t wrong = 0;

	if (type == COLL_FLOAT32) {
		const float *v = (const float *)memory + piece->at_elems;

		for (uint64_t i = 0; i < piece->count_elems; i++)
			wrong += !(v[i] == float_at(piece->origin_elems + i, salt, factor));
	} else {
		const uint32_t *v = (const uint32_t *)memory + piece->at_elems;

		for (uint64_t i = 0; i < piece->count_elems; i++)
			wrong += v[i] != int_at(piece->origin_elems + i, salt, factor);
	}
	return wrong;
}

uint64_t
coll_data_wrong(const void *memory, const struct coll_schedule *schedule, enum coll_type type, uint32_t rank,
		uint32_t iteration)
{
	uint32_t ranks = schedule->group_ranks, salt = salt_of(iteration);
	uint32_t pieces = coll_contents_count(schedule, rank, COLL_OUT);
	uint64_t wrong = 0;

	for (uint32_t i = 0; i < pieces; i++) {
		struct coll_piece piece = coll_contents(schedule, rank, COLL_OUT, i);
		uint32_t factor = piece.from == COLL_ALL ? (uint32_t)((uint64_t)ranks * (ranks + 1) / 2) : piece.from + 1;

		wrong += wrong_in_piece(memory, type, &piece, salt, factor);
	}
	return wrong;
}

/* The result of an operation. */

struct coll_params
coll_schedule_params(const struct coll_schedule *schedule)
{
	return (struct coll_params){
		.op = schedule->op,
		.algorithm = schedule->algorithm,
		.ranks = schedule->group_ranks,
		.count_elems = schedule->count_elems,
		.root = schedule->root,
		.counts = schedule->counts,
		.pairs = schedule->pairs,
		.npairs = schedule->npairs,
	};
}

uint32_t
coll_contents_count(const struct coll_schedule *schedule, uint32_t rank, enum coll_side side)
{
	struct coll_params params = coll_schedule_params(schedule);
	uint32_t member = coll_member(schedule, rank);

	return member != COLL_NONE ? coll_op_ops(schedule->op)->pieces(&params, member, side) : 0;
}

struct coll_piece
coll_contents(const struct coll_schedule *schedule, uint32_t rank, enum coll_side side, uint32_t index)
{
	struct coll_params params = coll_schedule_params(schedule);
	bool apart = schedule->in_elems != schedule->out_elems;
	struct coll_piece piece =
		coll_op_ops(schedule->op)->piece(&params, coll_member(schedule, rank), side, apart, index);

	piece.at_elems += side == COLL_IN ? schedule->in_elems : schedule->out_elems;
	return piece;
}
