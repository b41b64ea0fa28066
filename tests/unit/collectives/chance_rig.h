/* SPDX-License-Identifier: BSD-3-Clause */
/* Schedules of chance: some that are sound by the way they are made, and some of anything. */
#pragma once

#include <stdio.h>

#include "common/prng.h"
#include "tests/unit/collectives/schedule_rig.h"

#define CHANCE_RANKS 6
#define CHANCE_PIECES 4

/* Each piece of the vector goes up a tree of its own, down one, or both. */
struct chance_tree {
	uint64_t from, count;
	uint32_t root;
	uint32_t parent[CHANCE_RANKS];
	uint32_t open[CHANCE_RANKS];        /* children that have not sent it up */
	bool up[CHANCE_RANKS];              /* sent to the parent */
	bool down[CHANCE_RANKS];            /* here for good */
	bool copied[CHANCE_RANKS];          /* the scratch is used */
	struct coll_dep here[CHANCE_RANKS]; /* the message by which it came down; step 0: none */
	struct coll_dep sent[CHANCE_RANKS]; /* up */
};

struct chance {
	struct prng *prng;
	struct coll_builder *builder;
	struct coll_params params;
	struct chance_tree trees[CHANCE_PIECES];
	uint32_t ntrees;
	uint32_t steps[CHANCE_RANKS]; /* that each rank has */
};

static inline uint32_t
chance_below(struct chance *c, uint32_t bound)
{
	return (uint32_t)prng_below(c->prng, bound);
}

static inline void
chance_tree(struct chance *c, uint64_t from, uint64_t count)
{
	struct chance_tree *tree = &c->trees[c->ntrees++];
	uint32_t order[CHANCE_RANKS] = { 0 };

	*tree = (struct chance_tree){ .from = from, .count = count };
	for (uint32_t i = 0; i < c->params.ranks; i++) {
		uint32_t at = chance_below(c, i + 1);

		order[i] = order[at];
		order[at] = i;
	}
	for (uint32_t i = 0; i < c->params.ranks && c->params.op != COLL_ALLREDUCE; i++)
		if (order[i] == c->params.root) {
			order[i] = order[0];
			order[0] = c->params.root;
		}
	tree->root = order[0];
	tree->parent[tree->root] = COLL_NONE;
	for (uint32_t i = 1; i < c->params.ranks; i++) {
		tree->parent[order[i]] = order[chance_below(c, i)];
		tree->open[tree->parent[order[i]]] += c->params.op != COLL_BROADCAST;
	}
}

/* Waits for what came up, or down; and for some of the rank's own steps, for nothing. */
static inline void
chance_depend(struct chance *c, const struct chance_tree *tree, struct coll_dep step)
{
	for (uint32_t r = 0; r < c->params.ranks; r++)
		if (tree->parent[r] == step.rank && tree->sent[r].step != 0)
			coll_builder_depend(c->builder, step, tree->sent[r]);
	if (tree->here[step.rank].step != 0)
		coll_builder_depend(c->builder, step, tree->here[step.rank]);
	if (step.step > 1 && chance_below(c, 4) == 0)
		coll_builder_depend(c->builder, step, (struct coll_dep){ step.rank, 1 + chance_below(c, step.step - 1) });
}

/* A piece from a rank to another, mostly out of the vector itself. */
static inline struct coll_dep
chance_send(struct chance *c, struct chance_tree *tree, uint32_t rank, uint32_t peer, bool reduce)
{
	struct coll_chunk chunk = { tree->from, tree->from, tree->count, reduce };
	struct coll_dep step, copy = { rank, 0 };

	if (!tree->copied[rank] && chance_below(c, 4) == 0) {
		struct coll_chunk aside = { tree->from, c->params.count_elems + tree->from, tree->count, false };

		copy = coll_builder_local(c->builder, rank, chance_below(c, 2), &aside, 0);
		chance_depend(c, tree, copy);
		chunk.src_elems = aside.dst_elems;
		tree->copied[rank] = true;
	}
	step = coll_builder_send(c->builder, rank, peer, chance_below(c, 2), &chunk);
	chance_depend(c, tree, step);
	if (copy.step != 0)
		coll_builder_depend(c->builder, step, copy);
	return step;
}

/* One message that can be sent, of a tree and a rank. @return false: it cannot, or has been */
static inline bool
chance_go(struct chance *c, struct chance_tree *tree, uint32_t rank)
{
	uint32_t parent = tree->parent[rank];
	bool up = c->params.op != COLL_BROADCAST, down = c->params.op != COLL_REDUCE;

	if (parent == COLL_NONE) {
		bool was = tree->down[rank];

		tree->down[rank] = tree->open[rank] == 0;
		return tree->down[rank] && !was;
	}
	if (up && !tree->up[rank]) {
		if (tree->open[rank] != 0)
			return false;
		tree->sent[rank] = chance_send(c, tree, rank, parent, true);
		tree->up[rank] = true;
		tree->open[parent]--;
		return true;
	}
	if (!down || tree->down[rank] || !tree->down[parent])
		return false;
	tree->here[rank] = chance_send(c, tree, parent, rank, false);
	tree->down[rank] = true;
	return true;
}

/* Sound: an AllReduce, Broadcast or Reduce by trees, whose steps come in an order of chance. */
static inline struct coll_schedule *
chance_sound(struct prng *prng, struct err *err)
{
	static const enum coll_op ops[] = { COLL_ALLREDUCE, COLL_BROADCAST, COLL_REDUCE };
	struct chance c = { .prng = prng };
	uint32_t directions, unsent; /* messages, and a root's turn from up to down a tree, that are still to go */
	uint64_t from = 0;

	c.params = (struct coll_params){ .op = ops[chance_below(&c, ARRAY_LEN(ops))],
					 .algorithm = COLL_FILE,
					 .ranks = 2 + chance_below(&c, CHANCE_RANKS - 1),
					 .count_elems = 4 + chance_below(&c, 13) };
	c.params.root = c.params.op == COLL_ALLREDUCE ? 0 : chance_below(&c, c.params.ranks);
	c.builder = coll_builder_create(c.params.ranks);
	while (from < c.params.count_elems) {
		uint64_t left = c.params.count_elems - from;
		uint64_t count = c.ntrees + 1 == CHANCE_PIECES ? left : 1 + chance_below(&c, (uint32_t)left);

		chance_tree(&c, from, count);
		from += count;
	}
	directions = c.params.op == COLL_ALLREDUCE ? 2 : 1;
	unsent = c.ntrees * (directions * (c.params.ranks - 1) + 1);
	for (uint32_t idle = 0; unsent > 0 && idle < 2000; idle++)
		if (chance_go(&c, &c.trees[chance_below(&c, c.ntrees)], chance_below(&c, c.params.ranks))) {
			idle = 0;
			unsent--;
		}
	assert_int_equal(unsent, 0);
	return coll_builder_finish(
		c.builder, &c.params,
		&(struct coll_layout){ .scratch_elems = c.params.count_elems, .memory_elems = 2 * c.params.count_elems },
		err);
}

/* Anything: now and then what no schedule may have. */
static inline struct coll_schedule *
chance_any(struct prng *prng, struct err *err)
{
	static const enum coll_op ops[] = { COLL_CUSTOM, COLL_CUSTOM, COLL_ALLREDUCE, COLL_BROADCAST };
	struct chance c = { .prng = prng };
	struct coll_dep ids[24];
	uint32_t peers[ARRAY_LEN(ids)], steps = 1 + chance_below(&c, ARRAY_LEN(ids)), memory = 4 + chance_below(&c, 60);

	c.params = (struct coll_params){ .op = ops[chance_below(&c, ARRAY_LEN(ops))],
					 .algorithm = COLL_FILE,
					 .ranks = 2 + chance_below(&c, 3),
					 .count_elems = 4 };
	c.builder = coll_builder_create(c.params.ranks);
	for (uint32_t i = 0; i < steps; i++) {
		uint32_t rank = chance_below(&c, c.params.ranks), longest = memory / 4 + chance_below(&c, 40) / 39;
		struct coll_chunk chunk = { .count_elems = chance_below(&c, longest) + (chance_below(&c, 40) != 0),
					    .reduce = chance_below(&c, 2) == 0 };

		peers[i] = chance_below(&c, 100) == 0 ? c.params.ranks : chance_below(&c, c.params.ranks);
		chunk.src_elems = chance_below(&c, memory - longest + 1);
		chunk.dst_elems = chance_below(&c, memory - longest + 1);
		if (peers[i] == rank && chance_below(&c, 20) != 0)
			chunk.count_elems = 0; /* what is not moved does not overlap */
		ids[i] = peers[i] == rank ? coll_builder_local(c.builder, rank, chance_below(&c, 2), &chunk, 0)
					  : coll_builder_send(c.builder, rank, peers[i], chance_below(&c, 2), &chunk);
	}
	for (uint32_t i = 0; i < 2 * steps; i++) {
		uint32_t step = chance_below(&c, steps), on = chance_below(&c, steps);
		bool can = ids[on].rank == ids[step].rank || peers[on] == ids[step].rank;

		if ((can && (on < step || chance_below(&c, 20) == 0)) || chance_below(&c, 400) == 0)
			coll_builder_depend(c.builder, ids[step], ids[on]);
	}
	return coll_builder_finish(c.builder, &c.params, &(struct coll_layout){ .memory_elems = memory }, err);
}
