/* SPDX-License-Identifier: BSD-3-Clause */
/* In which order a rank takes part in the collectives of its job (struct plan_collective.after). */
#include <errno.h>
#include <stdlib.h>

#include "rxe-hosts/steps/rank.h"

static const struct step_ref nothing = { REC_NONE, REC_NONE, 0 };

static uint32_t
find_turn(struct step_engine *engine, uint32_t job, uint32_t rank)
{
	for (uint32_t t = 0; t < engine->nturns; t++)
		if (engine->turns[t].job == job && engine->turns[t].rank == rank)
			return t;
	engine->turns[engine->nturns] = (struct step_turn){ .job = job, .rank = rank };
	return engine->nturns++;
}

/* An iteration is to come; what is after nothing in it begins at its time. */
static void
prepare(struct step_engine *engine, struct step_rank *rank, uint64_t begin_ps)
{
	rank->before = rank_collective(engine, rank)->nafter;
	rank->begun_by = nothing;
	if (rank->before == 0)
		wakes_add(&engine->wakes, (struct wake){ begin_ps, rank->slot, RANK_BEGINS });
}

int
turns_init(struct step_engine *engine)
{
	engine->turns = calloc(engine->nranks + 1u, sizeof(*engine->turns));
	if (engine->turns == NULL)
		return -ENOMEM;
	for (uint32_t i = 0; i < engine->nranks; i++) {
		struct step_rank *rank = &engine->ranks[i];
		struct step_turn *turn;

		rank->turn = find_turn(engine, rank_collective(engine, rank)->job, rank->rank);
		turn = &engine->turns[rank->turn];
		turn->open = ++turn->members;
		prepare(engine, rank, rank_collective(engine, rank)->start_ps);
	}
	return 0;
}

static bool
is_after(const struct plan_collective *c, uint32_t collective)
{
	for (uint32_t i = 0; i < c->nafter; i++)
		if (c->after[i] == collective)
			return true;
	return false;
}

/* All of a job's collectives are complete at a rank: those that are after nothing begin anew. */
static void
next_iteration(struct step_engine *engine, uint32_t index, uint64_t now_ps)
{
	struct step_turn *turn = &engine->turns[index];

	turn->open = turn->members;
	for (uint32_t i = 0; i < engine->nranks; i++) {
		struct step_rank *rank = &engine->ranks[i];

		if (rank->turn == index && rank->state != RANK_DONE)
			prepare(engine, rank, now_ps + rank_collective(engine, rank)->gap_ps);
	}
}

void
turns_completed(struct step_engine *engine, struct step_rank *rank, struct step_ref last, uint64_t now_ps)
{
	uint32_t turn = rank->turn;

	for (uint32_t i = 0; engine->turns[turn].members > 1 && i < engine->nranks; i++) {
		struct step_rank *other = &engine->ranks[i];

		if (other->turn != turn || !is_after(rank_collective(engine, other), rank->collective))
			continue;
		other->begun_by = last;
		if (--other->before == 0)
			step_engine_ready(engine, other, RANK_BEGINS);
	}
	if (--engine->turns[turn].open == 0)
		next_iteration(engine, turn, now_ps);
}
