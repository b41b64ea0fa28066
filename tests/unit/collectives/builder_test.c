/* SPDX-License-Identifier: BSD-3-Clause */
/* Schedules made step by step: the order that comes out, and everything that is refused. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include <errno.h>
#include <string.h>

#include "common/array.h"
#include "tests/unit/collectives/schedule_rig.h"
#include "tests/unit/unit.h"

static const struct coll_chunk one = { .count_elems = 1 };

static struct coll_schedule *
finish(struct coll_builder *builder, uint32_t ranks)
{
	struct err err = { 0 };
	struct coll_schedule *schedule = finish_allgather(builder, ranks, 4, 6, &err);

	if (schedule == NULL)
		fail_msg("%s", err.text);
	return schedule;
}

/* Ranks may come in any order, have different numbers of steps, or none. */
static void
steps_are_sorted_by_rank(void **state)
{
	struct coll_builder *builder = coll_builder_create(3);
	struct coll_chunk chunk = { .src_elems = 1, .dst_elems = 4, .count_elems = 2, .reduce = true };
	struct coll_dep a = coll_builder_send(builder, 2, 0, 7, &chunk);
	struct coll_dep b = coll_builder_local(builder, 0, 1, &(struct coll_chunk){ 0 }, 5000);
	struct coll_dep c = coll_builder_send(builder, 2, 0, 0, &one);
	struct coll_schedule *schedule = finish(builder, 3);

	assert_int_equal(a.step, 1);
	assert_int_equal(c.step, 2);
	assert_int_equal(coll_steps(schedule, 0), 1);
	assert_int_equal(coll_steps(schedule, 1), 0);
	assert_int_equal(coll_steps(schedule, 2), 2);
	assert_int_equal(coll_max_steps(schedule), 2);
	assert_int_equal(coll_all_steps(schedule), 3);
	assert_int_equal(schedule->count_elems, 4);
	assert_int_equal(schedule->memory_elems, 6);
	assert_int_equal(coll_step_at(schedule, 2, 1)->channel, 7);
	assert_int_equal(coll_step_at(schedule, 2, 1)->src_elems, 1);
	assert_int_equal(coll_step_at(schedule, 2, 1)->dst_elems, 4);
	assert_int_equal(coll_step_at(schedule, 2, 1)->count_elems, 2);
	assert_true(coll_step_at(schedule, 2, 1)->reduce);
	assert_int_equal(coll_step_at(schedule, 0, b.step)->peer, 0);
	assert_int_equal(coll_step_at(schedule, 0, b.step)->compute_ps, 5000);
	coll_schedule_destroy(schedule);
}

/* A dependency may be said before its step is there, and twice; each step's come in the order in which they were. */
static void
dependencies_are_sorted_by_step(void **state)
{
	static const struct coll_dep expected[] = { { 1, 2 }, { 0, 1 }, { 1, 1 } };
	struct coll_builder *builder = coll_builder_create(2);
	struct coll_dep first = coll_builder_send(builder, 0, 1, 0, &one);
	struct coll_dep second = coll_builder_send(builder, 0, 1, 0, &one);
	struct coll_schedule *schedule;

	coll_builder_depend(builder, second, (struct coll_dep){ 1, 2 });
	coll_builder_depend(builder, first, (struct coll_dep){ 1, 1 });
	coll_builder_depend(builder, second, first);
	coll_builder_depend(builder, second, (struct coll_dep){ 1, 2 });
	coll_builder_depend(builder, second, (struct coll_dep){ 1, 1 });
	coll_builder_send(builder, 1, 0, 0, &one);
	coll_builder_send(builder, 1, 0, 0, &one);
	schedule = finish(builder, 2);
	assert_int_equal(coll_step_at(schedule, 0, 1)->ndeps, 1);
	assert_int_equal(schedule->deps[coll_step_at(schedule, 0, 1)->first_dep].rank, 1);
	assert_int_equal(coll_step_at(schedule, 0, 2)->ndeps, ARRAY_LEN(expected));
	for (uint32_t i = 0; i < ARRAY_LEN(expected); i++) {
		const struct coll_dep *dep = &schedule->deps[coll_step_at(schedule, 0, 2)->first_dep + i];

		assert_int_equal(dep->rank, expected[i].rank);
		assert_int_equal(dep->step, expected[i].step);
	}
	assert_int_equal(coll_step_at(schedule, 1, 1)->ndeps, 0);
	coll_schedule_destroy(schedule);
}

static void
bad_steps_are_refused(void **state)
{
	static const struct {
		uint32_t peer;
		struct coll_chunk chunk;
		struct coll_dep on;
		const char *message;
	} cases[] = {
		{ 3, { 0, 0, 1, false }, { 1, 1 }, "rank 0 step 1 sends to rank 3: must be one of the 3 ranks" },
		{ 1, { 0, 0, 0, false }, { 1, 1 }, "rank 0 step 1 sends nothing to rank 1" },
		{ 1, { 6, 0, 1, false }, { 1, 1 }, "moves 1 elements from 6 to 0: a rank's memory has 6" },
		{ 1, { 0, 5, 2, false }, { 1, 1 }, "moves 2 elements from 0 to 5" },
		{ 1, { 1, 0, UINT64_MAX, false }, { 1, 1 }, "moves 18446744073709551615 elements from 1 to 0" },
		{ 1, { 0, 0, 1, false }, { 1, 2 }, "rank 0 step 1 depends on step 2 of rank 1, which does not exist" },
		{ 1, { 0, 0, 1, false }, { 1, 0 }, "rank 0 step 1 depends on step 0 of rank 1, which does not exist" },
		{ 1, { 0, 0, 1, false }, { 3, 1 }, "rank 0 step 1 depends on step 1 of rank 3, which does not exist" },
		{ 1, { 0, 0, 1, false }, { 2, 1 }, "rank 0 step 1 depends on step 1 of rank 2, which is sent to rank 1" },
	};

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct coll_builder *builder = coll_builder_create(3);
		struct coll_dep step = coll_builder_send(builder, 0, cases[i].peer, 0, &cases[i].chunk);
		struct err err = { 0 };

		coll_builder_send(builder, 1, 0, 0, &one);
		coll_builder_send(builder, 2, 1, 0, &one);
		coll_builder_depend(builder, step, cases[i].on);
		assert_null(finish_allgather(builder, 3, 4, 6, &err));
		assert_int_equal(errno, EINVAL);
		if (strstr(err.text, cases[i].message) == NULL)
			fail_msg("case %zu: \"%s\" lacks \"%s\"", i, err.text, cases[i].message);
	}
}

static void
nothing_is_no_schedule(void **state)
{
	struct err err = { 0 }, alone = { 0 };
	struct coll_builder *builder = coll_builder_create(1);

	assert_null(finish_allgather(coll_builder_create(2), 2, 4, 6, &err));
	assert_non_null(strstr(err.text, "no rank has a step"));
	coll_builder_local(builder, 0, 0, &one, 0);
	assert_null(finish_allgather(builder, 1, 4, 6, &alone));
	assert_non_null(strstr(alone.text, "1 ranks; a collective has 2 to 65536"));
	coll_builder_destroy(coll_builder_create(2));
}

/* Without memory all calls do nothing, and the end gives the reason. */
static void
no_builder_is_no_memory(void **state)
{
	struct err err = { 0 };

	coll_builder_depend(NULL, coll_builder_send(NULL, 0, 1, 0, &one), coll_builder_local(NULL, 0, 0, &one, 0));
	assert_null(finish_allgather(NULL, 2, 4, 6, &err));
	assert_int_equal(errno, ENOMEM);
	assert_non_null(strstr(err.text, "no memory"));
}

#define RANKS 4
#define ROUNDS 64

/*
 * Rounds of a ring, a step of every fourth of which waits for all before, twice, and some of whose dependencies are added
 * at the end. @param more  steps that follow
 */
static struct coll_schedule *
rounds(uint32_t more)
{
	struct coll_builder *builder = coll_builder_create(RANKS);

	for (uint32_t round = 1; round <= ROUNDS; round++)
		for (uint32_t rank = 0; rank < RANKS; rank++) {
			struct coll_chunk chunk = { .src_elems = round % 3,
						    .dst_elems = rank,
						    .count_elems = 1 + rank % 2 };
			struct coll_dep step = coll_builder_send(builder, rank, (rank + 1) % RANKS, 0, &chunk);

			for (uint32_t on = round; on > 1 && (on == round || round % 4 == 0); on--)
				for (int twice = 0; twice < 2; twice++)
					coll_builder_depend(builder, step,
							    (struct coll_dep){ (rank + RANKS - 1) % RANKS, on - 1 });
		}
	for (uint32_t round = ROUNDS; round > 1; round -= 3)
		for (uint32_t rank = 0; rank < RANKS; rank++) {
			coll_builder_depend(builder, (struct coll_dep){ rank, round },
					    (struct coll_dep){ rank, round - 1 });
			coll_builder_depend(builder, (struct coll_dep){ rank, round },
					    (struct coll_dep){ (rank + RANKS - 1) % RANKS, 1 });
		}
	for (uint32_t i = 0; i < more; i++)
		coll_builder_local(builder, i % RANKS, 1, &(struct coll_chunk){ 0 }, i);
	return finish(builder, RANKS);
}

/* The steps of a large schedule are what those of a small one are, which has each by itself. */
static void
many_steps_are_packed(void **state)
{
	struct coll_schedule *few = rounds(1), *many = rounds(COLL_PLAIN_STEPS);

	assert_non_null(few->steps);
	assert_null(many->steps);
	assert_int_equal(coll_all_steps(many), RANKS * ROUNDS + COLL_PLAIN_STEPS);
	assert_int_equal(coll_step_get(few, 0, 4).ndeps, 4); /* steps 3, 2 and 1 of rank 3, and its own, added last */
	assert_int_equal(coll_step_get(few, 0, ROUNDS).ndeps, ROUNDS);
	for (uint32_t rank = 0; rank < RANKS; rank++)
		for (uint32_t number = 1; number <= ROUNDS; number++) {
			struct coll_step a = coll_step_get(few, rank, number), b = coll_step_get(many, rank, number);

			for (uint32_t i = 0; i < a.ndeps; i++) {
				struct coll_dep on = coll_step_dep(few, rank, number, &a, i);
				struct coll_dep other = coll_step_dep(many, rank, number, &b, i);

				assert_memory_equal(&on, &other, sizeof(on));
			}
			a.first_dep = b.first_dep;
			assert_memory_equal(&a, &b, sizeof(a));
		}
	for (uint32_t i = 0; i < COLL_PLAIN_STEPS; i++)
		assert_int_equal(coll_step_get(many, i % RANKS, ROUNDS + 1 + i / RANKS).compute_ps, i);
	coll_schedule_destroy(few);
	coll_schedule_destroy(many);
}

UNIT_TEST(builder)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(steps_are_sorted_by_rank), cmocka_unit_test(dependencies_are_sorted_by_step),
		cmocka_unit_test(bad_steps_are_refused),    cmocka_unit_test(nothing_is_no_schedule),
		cmocka_unit_test(no_builder_is_no_memory),  cmocka_unit_test(many_steps_are_packed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
