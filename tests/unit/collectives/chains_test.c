/* SPDX-License-Identifier: BSD-3-Clause */
/* How schedules are cut into chains, what a chain's steps wait for from outside, and how deep steps lie. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include <errno.h>
#include <stdlib.h>

#include "collectives/builder.h"
#include "collectives/chains.h"
#include "tests/unit/unit.h"

static struct coll_builder *builder;
static struct coll_schedule *schedule;
static struct chains *chains;
static const struct coll_chunk word = { .count_elems = 1 };

static void
finish(uint32_t ranks)
{
	struct err err = { .text = "" };

	schedule = coll_builder_finish(
		builder,
		&(struct coll_params){ .op = COLL_ALLGATHER, .algorithm = COLL_RING, .ranks = ranks, .count_elems = 8 },
		&(struct coll_layout){ .memory_elems = 8 }, &err);
	assert_non_null(schedule);
	chains = chains_create(schedule);
	assert_non_null(chains);
}

static void
make(enum coll_op op, enum coll_algorithm algorithm, uint32_t ranks)
{
	struct err err = { .text = "" };

	schedule = coll_schedule_create(
		&(struct coll_params){ .op = op, .algorithm = algorithm, .ranks = ranks, .count_elems = 4ull * ranks },
		&err);
	assert_non_null(schedule);
	chains = chains_create(schedule);
	assert_non_null(chains);
}

static int
teardown(void **state)
{
	chains_destroy(chains);
	coll_schedule_destroy(schedule);
	return 0;
}

static struct coll_dep listed[16];

static uint32_t
awaits(uint32_t rank, uint32_t step, const struct coll_dep **first)
{
	uint32_t count = chains_awaits(chains, rank, step);

	for (uint32_t i = 0; i < count; i++)
		listed[i] = chains_await(chains, rank, step, i);
	*first = listed;
	return count;
}

static uint32_t
waiters(uint32_t rank, uint32_t step, const struct coll_dep **first)
{
	uint32_t count = chains_waiters(chains, rank, step);

	for (uint32_t i = 0; i < count; i++)
		listed[i] = chains_waiter(chains, rank, step, i);
	*first = listed;
	return count;
}

/* One chain, each step of which waits for one arrival (Fig. 4). */
static void
ring_is_one_chain(void **state)
{
	const struct coll_dep *dep;

	make(COLL_ALLREDUCE, COLL_RING, 4);
	for (uint32_t r = 0; r < 4; r++) {
		assert_int_equal(chains_count(chains, r), 1);
		assert_int_equal(chains_length(chains, r, 0), 6);
		for (uint32_t s = 1; s <= 6; s++) {
			assert_int_equal(chains_step(chains, r, 0, s), s);
			assert_int_equal(chains_next(chains, r, s), s % 6 + (s < 6));
			assert_int_equal(awaits(r, s, &dep), s > 1);
			if (s > 1) {
				assert_int_equal(dep->rank, (r + 3) % 4);
				assert_int_equal(dep->step, s - 1);
			}
			assert_int_equal(waiters(r, s, &dep), s < 6);
			if (s < 6) {
				assert_int_equal(dep->rank, (r + 1) % 4);
				assert_int_equal(dep->step, s + 1);
			}
		}
	}
}

/* Peers change, own steps depend on each other: still one chain. */
static void
halving_doubling_is_one_chain(void **state)
{
	make(COLL_ALLREDUCE, COLL_HALVING_DOUBLING, 8);
	for (uint32_t r = 0; r < 8; r++)
		assert_int_equal(chains_count(chains, r), 1);
}

/* Everything at once: a chain of one step for each peer, which waits for nothing. */
static void
linear_alltoall_is_a_chain_a_peer(void **state)
{
	const struct coll_dep *dep;
	uint32_t *depths;

	builder = coll_builder_create(4);
	for (uint32_t r = 0; r < 4; r++)
		for (uint32_t d = 1; d < 4; d++)
			coll_builder_send(builder, r, (r + d) % 4, 0, &word);
	finish(4);
	depths = chains_depths(chains);
	for (uint32_t r = 0; r < 4; r++) {
		assert_int_equal(chains_count(chains, r), 3);
		for (uint32_t s = 1; s <= 3; s++) {
			assert_int_equal(chains_length(chains, r, s - 1), 1);
			assert_int_equal(awaits(r, s, &dep), 0);
			assert_int_equal(depths[coll_step_index(schedule, r, s)], 1);
		}
	}
	free(depths);
}

/* Two rings by two channels to one peer: two chains, though all goes to the same rank. */
static void
channels_are_chains(void **state)
{
	builder = coll_builder_create(2);
	for (uint32_t r = 0; r < 2; r++)
		for (uint32_t i = 0; i < 6; i++)
			coll_builder_send(builder, r, 1 - r, i % 2, &word);
	finish(2);
	assert_int_equal(chains_count(chains, 0), 2);
	assert_int_equal(chains_length(chains, 0, 1), 3);
	assert_int_equal(chains_step(chains, 0, 0, 2), 3);
	assert_int_equal(chains_step(chains, 0, 1, 2), 4);
	assert_int_equal(chains_before(chains, 0, 5), 3);
	assert_int_equal(chains_before(chains, 0, 2), 0);
	assert_int_equal(chains_behind(chains, 0, 3), 5);
	assert_int_equal(chains_behind(chains, 0, 6), 0);
}

/*
 * Rank 0: 1 sends to 1; 2 computes after 1; 3 sends to 1 (its flow is that of 1, whose chain 2 has taken on: a chain of
 * its own, which waits for 1); 4 sends to 2 after 2, 3 and an arrival from 2: it joins the latest of its own, 3.
 */
static void
latest_own_dependency_is_joined(void **state)
{
	struct coll_dep one, two, three, four, arrival;
	const struct coll_dep *dep;
	uint32_t *depths;

	builder = coll_builder_create(3);
	one = coll_builder_send(builder, 0, 1, 0, &word);
	two = coll_builder_local(builder, 0, 0, &(struct coll_chunk){ 0 }, 500);
	three = coll_builder_send(builder, 0, 1, 0, &word);
	four = coll_builder_send(builder, 0, 2, 0, &word);
	arrival = coll_builder_send(builder, 2, 0, 0, &word);
	coll_builder_depend(builder, two, one);
	coll_builder_depend(builder, four, two);
	coll_builder_depend(builder, four, three);
	coll_builder_depend(builder, four, arrival);
	finish(3);

	assert_int_equal(chains_count(chains, 0), 2);
	assert_int_equal(chains_length(chains, 0, 0), 2);
	assert_int_equal(chains_step(chains, 0, 0, 2), 2);
	assert_int_equal(chains_step(chains, 0, 1, 1), 3);
	assert_int_equal(chains_step(chains, 0, 1, 2), 4);
	assert_int_equal(awaits(0, 2, &dep), 0);
	assert_int_equal(awaits(0, 3, &dep), 1);
	assert_int_equal(dep[0].rank, 0);
	assert_int_equal(dep[0].step, 1);
	assert_int_equal(awaits(0, 4, &dep), 2);
	assert_int_equal(dep[0].rank, 0);
	assert_int_equal(dep[0].step, 2);
	assert_int_equal(dep[1].rank, 2);
	assert_int_equal(waiters(2, 1, &dep), 1);
	assert_int_equal(dep->rank, 0);
	assert_int_equal(dep->step, 4);
	assert_int_equal(chains_count(chains, 1), 0); /* it only receives */

	depths = chains_depths(chains);
	assert_int_equal(depths[0], 1);
	assert_int_equal(depths[1], 2);
	assert_int_equal(depths[2], 2);
	assert_int_equal(depths[3], 3);
	free(depths);
}

/* A message that two steps need is one message, and both wait for it. */
static void
one_arrival_lets_two_go(void **state)
{
	const struct coll_dep *dep;
	struct coll_dep arrival;

	builder = coll_builder_create(3);
	arrival = coll_builder_send(builder, 0, 1, 0, &word);
	coll_builder_depend(builder, coll_builder_send(builder, 1, 2, 0, &word), arrival);
	coll_builder_depend(builder, coll_builder_send(builder, 1, 0, 0, &word), arrival);
	finish(3);
	assert_int_equal(waiters(0, 1, &dep), 2);
	assert_int_equal(dep[0].step, 1);
	assert_int_equal(dep[1].step, 2);
	assert_int_equal(chains_count(chains, 1), 2);
}

static void
waiting_for_each_other_has_no_depth(void **state)
{
	struct coll_dep a, b;

	builder = coll_builder_create(2);
	a = coll_builder_send(builder, 0, 1, 0, &word);
	b = coll_builder_send(builder, 1, 0, 0, &word);
	coll_builder_depend(builder, a, b);
	coll_builder_depend(builder, b, a);
	finish(2);
	errno = 0;
	assert_null(chains_depths(chains));
	assert_int_equal(errno, EINVAL);
}

#define TEST(name) cmocka_unit_test_teardown(name, teardown)

UNIT_TEST(chains)
{
	const struct CMUnitTest tests[] = {
		TEST(ring_is_one_chain),
		TEST(halving_doubling_is_one_chain),
		TEST(linear_alltoall_is_a_chain_a_peer),
		TEST(channels_are_chains),
		TEST(latest_own_dependency_is_joined),
		TEST(one_arrival_lets_two_go),
		TEST(waiting_for_each_other_has_no_depth),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
