/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Bruck's AllToAll (Bruck, Ho, Kipnis, Upfal, Weathersby: "Efficient algorithms for all-to-all communications in
 * multiport message-passing systems", IEEE TPDS 8(11), 1997, section 3.2): ceil(log2 n) messages a rank, each of about
 * half of its data. A rank first turns its blocks so that the own is in slot 0: slot j has what goes j ranks on. In
 * round k all slots whose number has bit k move 2^k ranks on: packed, sent as one message, and put in the same slots
 * there. At the end slot j has the block of j ranks back. Turning, packing and unpacking are local steps, one for each
 * run of slots.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#include "collectives/algorithm/algorithm.h"

/* Scratch: the slots, room for one packed message, and for what arrives in each round. */
struct bruck {
	struct coll_builder *builder;
	uint32_t ranks, rounds;
	uint64_t block; /* elements */
	uint64_t in, out, slots, packed, arriving;
	struct coll_dep *sends; /* [rounds][ranks] */
};

static uint32_t
rounds_of(uint32_t ranks)
{
	uint32_t rounds = 0;

	while (1u << rounds < ranks)
		rounds++;
	return rounds;
}

static int
check(const struct coll_params *params, struct err *err)
{
	uint64_t ranks = params->ranks;

	if (params->count_elems % ranks == 0)
		return 0;
	return err_set(err, -EINVAL,
		       "bruck moves blocks of one length, and %" PRIu64 " elements are no multiple of %" PRIu64
		       " ranks: use %" PRIu64 " elements, or algorithm pairwise",
		       params->count_elems, ranks, (params->count_elems / ranks + 1) * ranks);
}

static uint64_t
scratch(const struct coll_params *params)
{
	uint32_t n = params->ranks;

	return params->count_elems / n * (n + n / 2 * (1 + rounds_of(n)));
}

/* @return the first slot from j on whose number has the bit, and how many such follow each other from there */
static uint32_t
find_run(const struct bruck *b, uint32_t j, uint32_t bit, uint32_t *length)
{
	if ((j & bit) == 0)
		j = (j | bit) & ~(bit - 1);
	*length = bit - (j & (bit - 1));
	if (j + *length > b->ranks)
		*length = j < b->ranks ? b->ranks - j : 0;
	return j;
}

/* Copies blocks within a rank. */
static struct coll_dep
copy(const struct bruck *b, uint32_t rank, uint64_t from, uint64_t to, uint32_t blocks)
{
	struct coll_chunk chunk = { .src_elems = from, .dst_elems = to, .count_elems = blocks * b->block };

	return coll_builder_local(b->builder, rank, 0, &chunk, 0);
}

static void
turn(const struct bruck *b, uint32_t rank)
{
	copy(b, rank, b->in + rank * b->block, b->slots, b->ranks - rank);
	if (rank != 0)
		copy(b, rank, b->in, b->slots + (b->ranks - rank) * b->block, rank);
}

/* Packs, sends and unpacks. The room for packing is free when the send before is complete. */
static void
add_round(const struct bruck *b, uint32_t rank, uint32_t round)
{
	uint64_t arriving = b->arriving + (uint64_t)round * (b->ranks / 2) * b->block;
	uint32_t bit = 1u << round, packed = 0, length;
	struct coll_chunk chunk = { .src_elems = b->packed, .dst_elems = arriving };
	struct coll_dep step = { 0 };

	for (uint32_t j = find_run(b, 0, bit, &length); length != 0; j = find_run(b, j + length, bit, &length)) {
		step = copy(b, rank, b->slots + j * b->block, b->packed + packed * b->block, length);
		if (packed == 0 && round > 0)
			coll_builder_depend(b->builder, step, b->sends[(size_t)(round - 1) * b->ranks + rank]);
		packed += length;
	}
	chunk.count_elems = packed * b->block;
	b->sends[(size_t)round * b->ranks + rank] = coll_builder_send(b->builder, rank, (rank + bit) % b->ranks, 0, &chunk);
	coll_builder_depend(b->builder, b->sends[(size_t)round * b->ranks + rank], step);
}

static void
unpack(const struct bruck *b, uint32_t rank, uint32_t round)
{
	uint64_t arriving = b->arriving + (uint64_t)round * (b->ranks / 2) * b->block;
	uint32_t bit = 1u << round, unpacked = 0, length;

	for (uint32_t j = find_run(b, 0, bit, &length); length != 0; j = find_run(b, j + length, bit, &length)) {
		struct coll_dep step = copy(b, rank, arriving + unpacked * b->block, b->slots + j * b->block, length);

		if (unpacked == 0)
			coll_builder_depend(b->builder, step,
					    b->sends[(size_t)round * b->ranks + (rank + b->ranks - bit) % b->ranks]);
		unpacked += length;
	}
}

static void
alltoall(struct coll_builder *builder, const struct coll_params *params, const struct coll_layout *layout)
{
	uint32_t n = params->ranks;
	struct bruck b = {
		.builder = builder,
		.ranks = n,
		.rounds = rounds_of(n),
		.block = params->count_elems / n,
		.in = layout->in_elems,
		.out = layout->out_elems,
		.slots = layout->scratch_elems,
	};

	b.packed = b.slots + n * b.block;
	b.arriving = b.packed + n / 2 * b.block;
	b.sends = calloc((size_t)b.rounds * n, sizeof(*b.sends));
	if (b.sends == NULL) {
		coll_builder_fail(builder, -ENOMEM);
		return;
	}
	for (uint32_t rank = 0; rank < n; rank++)
		turn(&b, rank);
	for (uint32_t round = 0; round < b.rounds; round++) {
		for (uint32_t rank = 0; rank < n; rank++)
			add_round(&b, rank, round);
		for (uint32_t rank = 0; rank < n; rank++)
			unpack(&b, rank, round);
	}
	for (uint32_t rank = 0; rank < n; rank++)
		for (uint32_t j = 0; j < n; j++)
			copy(&b, rank, b.slots + j * b.block, b.out + (rank + n - j) % n * b.block, 1);
	free(b.sends);
}

const struct coll_algorithm_ops coll_bruck = {
	.check = check,
	.scratch = scratch,
	.of = {
		[COLL_ALLTOALL] = { .build = alltoall, .split = true },
	},
};
