/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The same questions as the proof's (collectives/proof/), answered by brute force: who can reach whom, every pair of
 * steps, every element, and the schedule's execution in orders of chance. And whether both say the same.
 */
#pragma once

#include "tests/unit/collectives/execute_rig.h"

/* What the proof says of a schedule, by its message. */
enum proof_result {
	PROOF_SOUND,
	PROOF_FORM,   /* of a step by itself */
	PROOF_CYCLE,  /* steps that wait for each other, for what never arrives */
	PROOF_RACE,   /* two accesses in no order */
	PROOF_MOVE,   /* a step that moves what it should not, whatever becomes of it */
	PROOF_RESULT, /* a rank that ends without what is promised */
	PROOF_WORDS,
};

static inline enum proof_result
proof_result(const struct coll_schedule *schedule, struct err *err)
{
	static const struct {
		const char *text;
		enum proof_result result;
	} words[] = {
		{ "waits for itself", PROOF_CYCLE },
		{ "race at rank", PROOF_RACE },
		{ "before anything is there", PROOF_MOVE },
		{ "a second time", PROOF_MOVE },
		{ " has none", PROOF_MOVE },
		{ ", which hold elements ", PROOF_MOVE },
		{ " ends incomplete: ", PROOF_RESULT },
		{ " ends with ", PROOF_RESULT },
		{ ": must be one of ", PROOF_FORM },
		{ " sends nothing to ", PROOF_FORM },
		{ " of the same memory: they must not overlap", PROOF_FORM },
		{ ": a rank's memory has ", PROOF_FORM },
		{ ", which does not exist", PROOF_FORM },
		{ ", which is sent to rank ", PROOF_FORM },
	};

	*err = (struct err){ .text = "" };
	if (coll_schedule_check(schedule, NULL, err) == 0)
		return PROOF_SOUND;
	for (size_t i = 0; i < ARRAY_LEN(words); i++)
		if (strstr(err->text, "rank ") != NULL && strstr(err->text, words[i].text) != NULL)
			return words[i].result;
	fail_msg("nobody can do anything with: %s", err->text);
	return PROOF_FORM;
}

/* Steps, and who has to be over before whom. */
struct naive {
	const struct coll_schedule *schedule;
	uint32_t steps;
	uint32_t *rank_of; /* [steps] */
	bool *before;      /* [steps][steps] */
};

static inline bool *
naive_before(const struct naive *naive, uint32_t a, uint32_t b)
{
	return &naive->before[(size_t)a * naive->steps + b];
}

static inline void
naive_init(struct naive *naive, const struct coll_schedule *schedule)
{
	uint32_t steps = coll_all_steps(schedule);

	*naive = (struct naive){ schedule, steps, calloc(steps, sizeof(uint32_t)), calloc((size_t)steps * steps, 1) };
	for (uint32_t rank = 0; rank < schedule->ranks; rank++)
		for (uint32_t i = schedule->first_step[rank]; i < schedule->first_step[rank + 1]; i++) {
			const struct coll_step *step = &schedule->steps[i];

			naive->rank_of[i] = rank;
			for (uint32_t k = schedule->first_step[rank]; k < i; k++)
				if (schedule->steps[k].peer == step->peer && schedule->steps[k].channel == step->channel)
					*naive_before(naive, k, i) = true;
			for (uint32_t d = step->first_dep; d < step->first_dep + step->ndeps; d++)
				*naive_before(
					naive,
					(uint32_t)coll_step_index(schedule, schedule->deps[d].rank, schedule->deps[d].step),
					i) = true;
		}
	for (uint32_t k = 0; k < steps; k++) /* Warshall */
		for (uint32_t a = 0; a < steps; a++) {
			const bool *behind = naive_before(naive, k, 0);
			bool *of = naive_before(naive, a, 0);

			for (uint32_t b = 0; of[k] && b < steps; b++)
				of[b] |= behind[b];
		}
}

static inline void
naive_fini(struct naive *naive)
{
	free(naive->rank_of);
	free(naive->before);
}

static inline bool
naive_overlap(uint32_t rank_a, uint64_t a, uint64_t count_a, uint32_t rank_b, uint64_t b, uint64_t count_b)
{
	return rank_a == rank_b && count_a != 0 && count_b != 0 && a < b + count_b && b < a + count_a;
}

/* Whether the order of two steps makes a difference. */
static inline bool
naive_conflict(const struct naive *naive, uint32_t a, uint32_t b)
{
	const struct coll_step *x = &naive->schedule->steps[a], *y = &naive->schedule->steps[b];
	uint32_t from_x = naive->rank_of[a], from_y = naive->rank_of[b];

	return naive_overlap(from_x, x->src_elems, x->count_elems, y->peer, y->dst_elems, y->count_elems) ||
	       naive_overlap(from_y, y->src_elems, y->count_elems, x->peer, x->dst_elems, x->count_elems) ||
	       ((!x->reduce || !y->reduce) &&
		naive_overlap(x->peer, x->dst_elems, x->count_elems, y->peer, y->dst_elems, y->count_elems));
}

static inline bool
naive_races(const struct naive *naive)
{
	for (uint32_t b = 0; b < naive->steps; b++)
		for (uint32_t a = 0; a < b; a++)
			if (!*naive_before(naive, a, b) && !*naive_before(naive, b, a) && naive_conflict(naive, a, b))
				return true;
	return false;
}

static inline bool
naive_cycle(const struct naive *naive)
{
	for (uint32_t i = 0; i < naive->steps; i++)
		if (*naive_before(naive, i, i))
			return true;
	return false;
}

/* What is wrong with a schedule that has the form of one. */
struct naive_finds {
	bool cycle, race, wrong;
};

static inline struct naive_finds
naive_look(const struct coll_schedule *schedule, uint64_t seed)
{
	struct naive_finds finds;
	struct naive naive;

	naive_init(&naive, schedule);
	finds.cycle = naive_cycle(&naive);
	finds.race = !finds.cycle && naive_races(&naive);
	finds.wrong = false;
	for (uint64_t order = 0; order < 2 && !finds.cycle; order++)
		finds.wrong |= execute(schedule, COLL_INT32, 2 * seed + order) != 0;
	assert_true(!finds.cycle || execute(schedule, COLL_INT32, seed) == EXECUTE_STUCK);
	naive_fini(&naive);
	return finds;
}

/*
 * The proof finds what there is, and nothing else: but for moves, which it refuses even where they do no harm.
 * @return what it says
 */
static inline enum proof_result
must_agree(const struct coll_schedule *schedule, uint64_t seed, const char *name)
{
	struct err err;
	enum proof_result result = proof_result(schedule, &err);
	struct naive_finds is = { 0 };
	bool agree;

	if (result == PROOF_FORM)
		return result;
	is = naive_look(schedule, seed);
	agree = is.cycle == (result == PROOF_CYCLE) && (result != PROOF_SOUND || (!is.race && !is.wrong)) &&
		(result != PROOF_RACE || is.race) && (result != PROOF_RESULT || is.wrong);
	if (!agree)
		fail_msg("%s, seed %llu: has %s%s%sand the proof says: %s", name, (unsigned long long)seed,
			 is.cycle ? "a cycle " : "", is.race ? "a race " : "", is.wrong ? "a wrong result " : "",
			 result == PROOF_SOUND ? "sound" : err.text);
	return result;
}
