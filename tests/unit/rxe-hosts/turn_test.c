/* SPDX-License-Identifier: BSD-3-Clause */
/* In which order ranks take part in the collectives of their job, and who is woken first. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "common/units.h"
#include "tests/unit/rxe-hosts/graph_rig.h"
#include "tests/unit/unit.h"

#define US PS_PER_US

static struct steps_rig rig;
static const struct coll_chunk word = { .count_elems = 1 };

static int
teardown(void **state)
{
	steps_rig_fini(&rig);
	return 0;
}

/* Host 2 is slow. */
static uint64_t
uneven(uint32_t host, uint32_t flow, uint32_t imm, uint64_t bytes)
{
	return host == 2 ? 500 * US : 100 * US;
}

/* Two ranks exchange a message; the others have no part. */
static struct coll_builder *
exchange(uint32_t ranks, uint32_t a, uint32_t b)
{
	struct coll_builder *builder = coll_builder_create(ranks);

	coll_builder_send(builder, a, b, 0, &word);
	coll_builder_send(builder, b, a, 0, &word);
	return builder;
}

static uint64_t
start_ps(uint32_t host, uint32_t collective, uint32_t iteration)
{
	for (size_t i = 0; i < step_engine_rows(rig.engine[host]); i++) {
		struct step_row row = step_engine_row(rig.engine[host], i);

		if (row.collective == collective && row.iteration == iteration && row.step == 1)
			return row.start_ps;
	}
	fail_msg("host %u has no part in iteration %u of collective %u", host, iteration, collective);
	return 0;
}

/* 0 and 1 exchange, then 1 and 2: rank 1 begins when its own part of the first is over, rank 2 at once. */
static void
one_after_another(void **state)
{
	struct graph graphs[2] = { { .builder = exchange(3, 0, 1) },
				   { .builder = exchange(3, 1, 2), .after = { 0 }, .nafter = 1 } };
	struct step_row row;

	graph_rig_init(&rig, 3, REC_POLICY_OFF, graphs, 2, NULL);
	steps_rig_run(&rig, uneven);
	assert_int_equal(start_ps(0, 0, 0), 0);
	assert_int_equal(start_ps(1, 1, 0), 104 * US);
	assert_int_equal(start_ps(2, 1, 0), 0);
	row = step_engine_row(rig.engine[1], 1);
	/* It sent and received at 100 and 104 us: its own last ACK was the later. */
	assert_int_equal(row.collective, 1);
	assert_int_equal(row.waited_for.collective, 0);
	assert_int_equal(row.waited_for.rank, 1);
	assert_int_equal(row.waited_for.step, 1);
	for (uint32_t h = 0; h < 3; h++)
		assert_int_equal(step_engine_state(rig.engine[h]), STEP_ENGINE_DONE);
	assert_true(step_engines_result(rig.engine, 3, 0, 0).complete);
	assert_true(step_engines_result(rig.engine, 3, 1, 0).complete);
}

/* The next iteration begins at a rank when its part of all collectives is over, a gap later. */
static void
iterations_wait_for_all_collectives(void **state)
{
	struct graph graphs[3] = {
		{ .builder = exchange(3, 0, 1), .iterations = 3, .gap_ps = 10 * US },
		{ .builder = exchange(3, 1, 2), .iterations = 3, .gap_ps = 10 * US },
		{ .builder = exchange(3, 0, 1), .iterations = 3, .gap_ps = 10 * US, .after = { 0, 1 }, .nafter = 2 },
	};

	graph_rig_init(&rig, 3, REC_POLICY_OFF, graphs, 3, NULL);
	steps_rig_run(&rig, uneven);
	/* Rank 1 hears of rank 2 at 500 us; then it exchanges with rank 0 again, which has waited for it since 104 us. */
	assert_int_equal(start_ps(0, 2, 0), 104 * US);
	assert_int_equal(start_ps(1, 2, 0), 500 * US);
	assert_int_equal(start_ps(0, 0, 1), 610 * US);
	assert_int_equal(start_ps(1, 0, 1), 614 * US);
	assert_int_equal(start_ps(1, 1, 1), 614 * US);
	/* Rank 2 has part in one only. */
	assert_int_equal(start_ps(2, 1, 1), 514 * US);
	for (uint32_t c = 0; c < 3; c++)
		for (uint32_t it = 0; it < 3; it++)
			assert_true(step_engines_result(rig.engine, 3, c, it).complete);
	for (uint32_t h = 0; h < 3; h++) {
		assert_int_equal(step_engine_state(rig.engine[h]), STEP_ENGINE_DONE);
		assert_int_equal(step_engine_unexpected(rig.engine[h]), 0);
	}
}

/* Jobs know nothing of each other. */
static void
two_jobs_at_their_own_pace(void **state)
{
	struct graph graphs[2] = { { .builder = exchange(3, 0, 1), .iterations = 2, .job = 0 },
				   { .builder = exchange(3, 1, 2), .iterations = 2, .job = 1 } };

	graph_rig_init(&rig, 3, REC_POLICY_OFF, graphs, 2, NULL);
	steps_rig_run(&rig, uneven);
	assert_int_equal(start_ps(1, 0, 1), 104 * US);
	assert_int_equal(start_ps(1, 1, 1), 500 * US);
}

/* A rank that has no part in anything still goes through its iterations, in no time. */
static void
no_part_is_no_time(void **state)
{
	struct graph graphs[2] = {
		{ .builder = exchange(3, 0, 1), .iterations = 2 },
		{ .builder = exchange(3, 0, 1), .iterations = 2, .after = { 0 }, .nafter = 1 },
	};

	graph_rig_init(&rig, 3, REC_POLICY_OFF, graphs, 2, NULL);
	steps_rig_timers(&rig, 0);
	assert_int_equal(step_engine_state(rig.engine[2]), STEP_ENGINE_DONE);
	assert_int_equal(step_engine_state(rig.engine[1]), STEP_ENGINE_WORKING);
	steps_rig_run(&rig, uneven);
	assert_int_equal(step_engine_rows(rig.engine[2]), 0);
	assert_int_equal(step_engine_rows(rig.engine[1]), 4);
}

static void
wakes_are_in_order(void **state)
{
	struct wakes wakes;
	struct wake last = { 0 };

	assert_int_equal(wakes_init(&wakes, 100), 0);
	assert_int_equal(wakes_next_ps(&wakes), TIME_NEVER);
	for (uint32_t i = 0; i < 100; i++)
		wakes_add(&wakes, (struct wake){ i * 37 % 10, i * 53 % 7, i });
	for (uint32_t i = 0; i < 100; i++) {
		uint64_t next_ps = wakes_next_ps(&wakes);
		struct wake wake = wakes_take(&wakes);

		assert_int_equal(wake.time_ps, next_ps);
		assert_true(wake.time_ps > last.time_ps ||
			    (wake.time_ps == last.time_ps &&
			     (wake.slot > last.slot || (wake.slot == last.slot && wake.chain >= last.chain))));
		last = wake;
	}
	assert_int_equal(wakes.count, 0);
	wakes_fini(&wakes);
}

#define TEST(name) cmocka_unit_test_teardown(name, teardown)

UNIT_TEST(turn)
{
	const struct CMUnitTest tests[] = {
		TEST(one_after_another),  TEST(iterations_wait_for_all_collectives), TEST(two_jobs_at_their_own_pace),
		TEST(no_part_is_no_time), cmocka_unit_test(wakes_are_in_order),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
