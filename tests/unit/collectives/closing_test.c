/* SPDX-License-Identifier: BSD-3-Clause */
/* Which schedules may be iterated as they are, and what becomes of the others. */
#include "collectives/schedule.h"

#include <errno.h>

#include "tests/unit/collectives/schedule_rig.h"
#include "tests/unit/unit.h"

static const struct coll_chunk word = { .count_elems = 1 };

/* Rings and halving-doubling hold their ranks together. */
static void
what_holds_stays_as_it_is(void **state)
{
	for (uint32_t algorithm = COLL_RING; algorithm <= COLL_HALVING_DOUBLING; algorithm++)
		for (uint32_t op = COLL_ALLGATHER; op <= COLL_ALLREDUCE; op++) {
			struct coll_schedule *schedule = make_schedule(op, algorithm, 8, 64);
			struct err err = { .text = "" };

			assert_ptr_equal(coll_schedule_close(schedule, &err), schedule);
			coll_schedule_destroy(schedule);
		}
}

/* Everybody sends to everybody: each has heard from whom it sends to. */
static void
linear_alltoall_holds(void **state)
{
	struct coll_builder *builder = coll_builder_create(4);
	struct coll_schedule *schedule;
	struct err err = { .text = "" };

	for (uint32_t r = 0; r < 4; r++)
		for (uint32_t d = 1; d < 4; d++)
			coll_builder_send(builder, r, (r + d) % 4, 0, &(struct coll_chunk){ r, r, 1, false });
	schedule = finish_allgather(builder, 4, 4, 4, &err);
	assert_non_null(schedule);
	assert_ptr_equal(coll_schedule_close(schedule, &err), schedule);
	coll_schedule_destroy(schedule);
}

/*
 * Rank 0 sends down a chain of five, rank 5 only computes and rank 6 does nothing: the five enter a barrier of three rounds
 * behind all that they have, and then hold.
 */
static void
a_chain_gets_a_barrier(void **state)
{
	struct coll_builder *builder = coll_builder_create(7);
	struct coll_dep before = coll_builder_send(builder, 0, 1, 2, &word);
	struct coll_schedule *schedule;
	struct err err = { .text = "" };

	coll_builder_local(builder, 0, 0, &(struct coll_chunk){ 0 }, 7000);
	coll_builder_local(builder, 5, 0, &(struct coll_chunk){ 0 }, 7000);
	for (uint32_t r = 1; r < 4; r++) {
		struct coll_dep step = coll_builder_send(builder, r, r + 1, 0, &word);

		coll_builder_depend(builder, step, before);
		before = step;
	}
	schedule = coll_schedule_close(finish_allgather(builder, 7, 7, 8, &err), &err);
	assert_non_null(schedule);
	assert_int_equal(coll_steps(schedule, 0), 2 + 3);
	assert_int_equal(coll_steps(schedule, 3), 1 + 3);
	assert_int_equal(coll_steps(schedule, 4), 3);
	assert_int_equal(coll_steps(schedule, 5), 1);
	assert_int_equal(coll_steps(schedule, 6), 0);
	assert_int_equal(schedule->memory_elems, 8 + 3);
	assert_int_equal(coll_step_at(schedule, 0, 1)->channel, 2);
	assert_int_equal(coll_step_at(schedule, 0, 2)->compute_ps, 7000);

	/* Rank 0 enters when its message is sent and its computation done, rank 4 when the message is there. */
	assert_int_equal(coll_step_at(schedule, 0, 3)->ndeps, 2);
	assert_int_equal(coll_step_at(schedule, 0, 3)->peer, 1);
	assert_int_equal(coll_step_at(schedule, 4, 1)->ndeps, 1);
	assert_int_equal(coll_step_at(schedule, 4, 1)->peer, 0);
	assert_int_equal(coll_step_arrival(schedule, 4, 1).rank, 3);
	/* Then it goes to the second next when the one before it has been heard of, and to the fourth. */
	assert_int_equal(coll_step_at(schedule, 4, 2)->peer, 1);
	assert_int_equal(coll_step_arrival(schedule, 4, 2).rank, 3);
	assert_int_equal(coll_step_arrival(schedule, 4, 2).step, 2);
	assert_int_equal(coll_step_at(schedule, 4, 3)->peer, 3);
	assert_int_equal(coll_step_arrival(schedule, 4, 3).rank, 2);
	assert_int_equal(coll_step_at(schedule, 4, 3)->dst_elems, 10);

	assert_ptr_equal(coll_schedule_close(schedule, &err), schedule);
	coll_schedule_destroy(schedule);
}

/* Every pair of operation and algorithm keeps its proof when it is closed, and then holds. */
static void
closed_schedules_are_proved(void **state)
{
	uint32_t proved = 0;

	for (uint32_t algorithm = 0; algorithm < ENUM_COUNT(COLL_ALGORITHMS); algorithm++)
		for (uint32_t op = 0; op < ENUM_COUNT(COLL_OPS); op++) {
			struct coll_params params = { .op = op, .algorithm = algorithm, .ranks = 8, .count_elems = 64 };
			struct err err = { .text = "" };
			struct coll_schedule *schedule, *closed;

			/* Some want to know more. */
			if (!coll_algorithm_has(algorithm, op) || (schedule = coll_schedule_create(&params, &err)) == NULL)
				continue;
			closed = coll_schedule_close(schedule, &err);
			if (closed == NULL || coll_schedule_check(closed, NULL, &err) != 0)
				fail_msg("%s by %s: %s", coll_op_name(op), coll_algorithm_name(algorithm), err.text);
			assert_ptr_equal(coll_schedule_close(closed, &err), closed);
			coll_schedule_destroy(closed);
			proved++;
		}
	assert_true(proved >= 6);
}

static void
cycles_are_refused(void **state)
{
	struct coll_builder *builder = coll_builder_create(2);
	struct coll_dep a = coll_builder_send(builder, 0, 1, 0, &word), b = coll_builder_send(builder, 1, 0, 0, &word);
	struct err err = { .text = "" };

	coll_builder_depend(builder, a, b);
	coll_builder_depend(builder, b, a);
	assert_null(coll_schedule_close(finish_allgather(builder, 2, 2, 2, &err), &err));
	assert_int_equal(errno, EINVAL);
	assert_true(err.text[0] != '\0');
}

UNIT_TEST(closing)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_holds_stays_as_it_is), cmocka_unit_test(linear_alltoall_holds),
		cmocka_unit_test(a_chain_gets_a_barrier),    cmocka_unit_test(closed_schedules_are_proved),
		cmocka_unit_test(cycles_are_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
