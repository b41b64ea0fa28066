/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Every schedule of every algorithm, and some of chance, with damage of chance: the proof finds all that does harm, before
 * anything runs, and names the rank.
 */
#include <errno.h>
#include <stdio.h>

#include "tests/unit/collectives/chance_rig.h"
#include "tests/unit/collectives/naive_rig.h"
#include "tests/unit/unit.h"

static struct coll_step *
any_step(struct coll_schedule *s, struct prng *prng)
{
	return &s->steps[prng_below(prng, coll_all_steps(s))];
}

/* Kinds of damage. @return false: there is nothing to damage so */
static bool
drop_dependency(struct coll_schedule *s, struct prng *prng)
{
	struct coll_step *step = any_step(s, prng);
	uint32_t at = step->ndeps == 0 ? 0 : (uint32_t)prng_below(prng, step->ndeps);

	if (step->ndeps == 0)
		return false;
	s->deps[step->first_dep + at] = s->deps[step->first_dep + --step->ndeps];
	return true;
}

static uint64_t
moved(uint64_t elem, struct prng *prng)
{
	return prng_below(prng, 2) == 0 ? elem + 1 + prng_below(prng, 4)
					: elem - (elem != 0) - prng_below(prng, elem / 2 + 1);
}

static bool
move_source(struct coll_schedule *s, struct prng *prng)
{
	struct coll_step *step = any_step(s, prng);

	step->src_elems = moved(step->src_elems, prng);
	return true;
}

static bool
move_destination(struct coll_schedule *s, struct prng *prng)
{
	struct coll_step *step = any_step(s, prng);

	step->dst_elems = moved(step->dst_elems, prng);
	return true;
}

static bool
swap_offsets(struct coll_schedule *s, struct prng *prng)
{
	struct coll_step *a = any_step(s, prng), *b = any_step(s, prng);
	uint64_t elem = a->src_elems;

	a->src_elems = b->src_elems;
	b->src_elems = elem;
	return true;
}

static bool
send_part(struct coll_schedule *s, struct prng *prng)
{
	struct coll_step *step = any_step(s, prng);

	step->count_elems -= step->count_elems != 0;
	return true;
}

static bool
change_peer(struct coll_schedule *s, struct prng *prng)
{
	any_step(s, prng)->peer = (uint32_t)prng_below(prng, s->ranks + 1);
	return true;
}

/* The message goes to another, and the one who waited for it does so no more. */
static bool
divert_message(struct coll_schedule *s, struct prng *prng)
{
	uint32_t index = (uint32_t)prng_below(prng, coll_all_steps(s)), rank = 0;

	while (s->first_step[rank + 1] <= index)
		rank++;
	s->steps[index].peer = (uint32_t)prng_below(prng, s->ranks);
	for (uint32_t i = 0; i < coll_all_steps(s); i++)
		for (uint32_t d = 0; d < s->steps[i].ndeps; d++) {
			struct coll_dep *deps = &s->deps[s->steps[i].first_dep];

			if (deps[d].rank == rank && deps[d].step == index - s->first_step[rank] + 1)
				deps[d--] = deps[--s->steps[i].ndeps];
		}
	return true;
}

/* A receive that never arrives: the sender has no such message. */
static bool
wait_for_nothing(struct coll_schedule *s, struct prng *prng)
{
	struct coll_step *step = any_step(s, prng);

	if (step->ndeps == 0)
		return false;
	s->deps[step->first_dep].step = coll_steps(s, s->deps[step->first_dep].rank) + (uint32_t)prng_below(prng, 2);
	return true;
}

/* Waits for another step of the same sender: one too early, or one that comes of this one. */
static bool
wait_for_another(struct coll_schedule *s, struct prng *prng)
{
	struct coll_step *step = any_step(s, prng);
	struct coll_dep *dep = &s->deps[step->first_dep];

	if (step->ndeps == 0)
		return false;
	dep += prng_below(prng, step->ndeps);
	dep->step = 1 + (uint32_t)prng_below(prng, coll_steps(s, dep->rank));
	return true;
}

/* Two messages to one rank into the same elements. */
static bool
write_twice(struct coll_schedule *s, struct prng *prng)
{
	struct coll_step *a = any_step(s, prng), *b = any_step(s, prng);

	if (a == b || a->peer != b->peer || a->count_elems != b->count_elems)
		return false;
	a->dst_elems = b->dst_elems;
	return true;
}

static bool
add_or_not(struct coll_schedule *s, struct prng *prng)
{
	struct coll_step *step = any_step(s, prng);

	step->reduce = !step->reduce;
	return true;
}

/* Two steps of a rank in the other order: those of one flow go in the order of the list. */
static bool
swap_steps(struct coll_schedule *s, struct prng *prng)
{
	struct coll_step *a = any_step(s, prng), was = *a;

	if (a + 1 == s->steps + coll_all_steps(s) || a[1].peer != a->peer)
		return false;
	a[0] = a[1];
	a[1] = was;
	return true;
}

static const struct {
	const char *name;
	bool (*damage)(struct coll_schedule *s, struct prng *prng);
} damages[] = {
	{ "a dependency dropped", drop_dependency },
	{ "a source moved", move_source },
	{ "a destination moved", move_destination },
	{ "two sources swapped", swap_offsets },
	{ "a part sent", send_part },
	{ "another peer", change_peer },
	{ "a message diverted", divert_message },
	{ "a receive without a send", wait_for_nothing },
	{ "another receive", wait_for_another },
	{ "two writers", write_twice },
	{ "added or not", add_or_not },
	{ "two steps swapped", swap_steps },
};

/* How often what was said of each kind of damage. */
struct votes {
	uint32_t of[ARRAY_LEN(damages)][PROOF_WORDS];
};

/* @param schedule  sound, and destroyed */
static void
damage_one(struct coll_schedule *schedule, uint64_t seed, const char *name, struct votes *votes)
{
	struct prng prng;
	size_t kind = seed % ARRAY_LEN(damages);
	char what[160];

	prng_init(&prng, seed, 0);
	snprintf(what, sizeof(what), "%s, %s", name, damages[kind].name);
	if (damages[kind].damage(schedule, &prng))
		votes->of[kind][must_agree(schedule, seed, what)]++;
	coll_schedule_destroy(schedule);
}

/* @param least  harm of each kind that there is, so that its finding is a test */
static void
all_harm_is_found(const struct votes *votes, uint32_t least)
{
	for (size_t i = 0; i < ARRAY_LEN(damages); i++) {
		uint32_t harm = 0;

		for (uint32_t result = PROOF_SOUND + 1; result < PROOF_WORDS; result++)
			harm += votes->of[i][result];
		print_message("%-28s harmless %4u; form %4u, cycle %4u, race %4u, move %4u, result %4u\n", damages[i].name,
			      votes->of[i][PROOF_SOUND], votes->of[i][PROOF_FORM], votes->of[i][PROOF_CYCLE],
			      votes->of[i][PROOF_RACE], votes->of[i][PROOF_MOVE], votes->of[i][PROOF_RESULT]);
		assert_true(harm >= least);
	}
}

static void
damage_to_algorithms_is_found(void **state)
{
	static const uint32_t ranks[] = { 2, 4, 3, 5, 6 };
	static struct rig_try try;
	struct votes votes = { 0 };
	uint32_t each = unit_wide(84, 600, "damage to each algorithm");
	uint64_t seed = 0;

	for (uint32_t algorithm = 0; algorithm < ENUM_COUNT(COLL_ALGORITHMS); algorithm++)
		for (uint32_t op = 0; op < ENUM_COUNT(COLL_OPS); op++)
			for (uint32_t i = 0; i < each; i++, seed++) {
				struct err err = { .text = "" };
				struct coll_schedule *schedule;
				char name[96];

				if (!rig_try(&try, op, algorithm, ranks[seed / ARRAY_LEN(damages) % ARRAY_LEN(ranks)],
					     i / 12))
					continue;
				snprintf(name, sizeof(name), "%s by %s, %u ranks", coll_op_name(op),
					 coll_algorithm_name(algorithm), try.params.ranks);
				schedule = coll_schedule_create(&try.params, &err);
				if (schedule == NULL)
					fail_msg("%s: %s", name, err.text);
				damage_one(schedule, seed, name, &votes);
			}
	all_harm_is_found(&votes, 20);
}

static void
schedules_of_chance_are_proved_and_damage_is_found(void **state)
{
	const uint32_t seeds = unit_wide(3000, 6000, "sound schedules of chance, and damage to them");
	struct votes votes = { 0 };

	for (uint64_t seed = 0; seed < seeds; seed++) {
		struct err err = { .text = "" };
		struct coll_schedule *schedule;
		struct prng prng;

		prng_init(&prng, seed, 1);
		schedule = chance_sound(&prng, &err);
		if (schedule == NULL || must_agree(schedule, seed, "a schedule of trees") != PROOF_SOUND)
			fail_msg("seed %llu: %s", (unsigned long long)seed, err.text);
		damage_one(schedule, seed, "a schedule of trees", &votes);
	}
	all_harm_is_found(&votes, seeds / 300);
}

static void
whatever_is_built_is_judged(void **state)
{
	const uint32_t seeds = unit_wide(600, 20000, "schedules of chance");
	uint32_t refused = 0, of[PROOF_WORDS] = { 0 };

	for (uint64_t seed = 0; seed < seeds; seed++) {
		struct err err = { .text = "" };
		struct coll_schedule *schedule;
		struct prng prng;

		prng_init(&prng, seed, 2);
		schedule = chance_any(&prng, &err);
		if (schedule != NULL) {
			of[must_agree(schedule, seed, "a schedule of chance")]++;
			coll_schedule_destroy(schedule);
			continue;
		}
		assert_int_equal(errno, EINVAL);
		assert_non_null(strstr(err.text, "rank "));
		refused++;
	}
	print_message("refused %u; sound %u, cycle %u, race %u, move %u, result %u\n", refused, of[PROOF_SOUND],
		      of[PROOF_CYCLE], of[PROOF_RACE], of[PROOF_MOVE], of[PROOF_RESULT]);
	assert_int_equal(of[PROOF_FORM], 0); /* it was not built */
	assert_true(refused > seeds / 20 && of[PROOF_SOUND] > seeds / 20 && of[PROOF_CYCLE] > seeds / 20 &&
		    of[PROOF_RACE] > seeds / 20);
}

UNIT_TEST(mutation)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(damage_to_algorithms_is_found),
		cmocka_unit_test(schedules_of_chance_are_proved_and_damage_is_found),
		cmocka_unit_test(whatever_is_built_is_judged),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
