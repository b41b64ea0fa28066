/* SPDX-License-Identifier: BSD-3-Clause */
/* Undisturbed runs by hand: rank r sends by port r and receives by port 1100 + r; ports are as fast as each other. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include <stdlib.h>

#include "collectives/builder.h"
#include "tests/unit/unit.h"
#include "workload/fluid.h"

#define RX 1100
#define PORTS 2200

static struct coll_builder *builder;
static struct coll_schedule *schedule;
static struct chains *chains;
static struct fluid_step *steps;
static uint32_t *kind_of;
static uint64_t *takes_ps;
static uint64_t length_ps;
static const struct coll_chunk word = { .count_elems = 1 };

/* A message of so many units: as many bytes, as many picoseconds; it arrives 30 ps behind, the last ACK 50 ps. */
static void
load(uint32_t rank, uint32_t step, uint64_t units)
{
	steps[coll_step_index(schedule, rank, step)] = (struct fluid_step){
		.bytes = units,
		.wire_ps = units,
		.tx_ps = units,
		.rx_ps = units,
		.arrive_ps = 30,
		.ack_ps = 50,
		.tx = rank,
		.rx = RX + coll_step_get(schedule, rank, step).peer,
	};
}

static void
prepare(uint64_t units)
{
	chains = chains_create(schedule);
	steps = calloc(coll_all_steps(schedule), sizeof(*steps));
	kind_of = calloc(coll_all_steps(schedule), sizeof(*kind_of));
	takes_ps = calloc(coll_all_steps(schedule), sizeof(*takes_ps));
	assert_true(chains != NULL && steps != NULL && kind_of != NULL && takes_ps != NULL);
	for (uint32_t i = 0; i < coll_all_steps(schedule); i++)
		kind_of[i] = i;
	for (uint32_t r = 0; r < schedule->ranks; r++)
		for (uint32_t s = 1; s <= coll_steps(schedule, r); s++)
			load(r, s, units);
}

static void
finish(uint32_t ranks, uint64_t units)
{
	struct err err = { .text = "" };

	schedule = coll_builder_finish(
		builder,
		&(struct coll_params){ .op = COLL_ALLGATHER, .algorithm = COLL_RING, .ranks = ranks, .count_elems = 8 },
		&(struct coll_layout){ .memory_elems = 8 }, &err);
	assert_non_null(schedule);
	prepare(units);
}

static void
complete(void *arg, uint32_t step, uint64_t ps)
{
	assert_true(arg == takes_ps && takes_ps[step] == 0);
	takes_ps[step] = ps;
}

static void
run(void)
{
	const struct fluid_steps of = { .kinds = steps, .kind_of = kind_of, .complete = complete, .arg = takes_ps };

	assert_int_equal(fluid_run(chains, &of, PORTS, &length_ps), 0);
}

static uint64_t
takes(uint32_t rank, uint32_t step)
{
	return takes_ps[coll_step_index(schedule, rank, step)];
}

static int
teardown(void **state)
{
	free(steps);
	free(kind_of);
	free(takes_ps);
	chains_destroy(chains);
	coll_schedule_destroy(schedule);
	return 0;
}

/* Nobody shares a NIC: exact sums, also of large numbers. */
static void
ring_is_a_sum(void **state)
{
	const uint64_t units = 30738468000123ull;
	struct err err = { .text = "" };

	schedule = coll_schedule_create(
		&(struct coll_params){ .op = COLL_ALLREDUCE, .algorithm = COLL_RING, .ranks = 8, .count_elems = 64 }, &err);
	prepare(units);
	for (uint32_t i = 0; i < coll_all_steps(schedule); i++)
		kind_of[i] = i - i % 14; /* steps of a rank are alike */
	run();
	for (uint32_t i = 0; i < coll_all_steps(schedule); i++)
		assert_true(takes_ps[i] == units + 50);
	assert_true(length_ps == 14 * (units + 50));
}

/* Linear AllToAll of n: every NIC sends and receives n - 1 messages at once. */
static void
alltoall_shares_alike(void **state)
{
	builder = coll_builder_create(5);
	for (uint32_t r = 0; r < 5; r++)
		for (uint32_t d = 1; d < 5; d++)
			coll_builder_send(builder, r, (r + d) % 5, 0, &word);
	finish(5, 1000);
	run();
	for (uint32_t i = 0; i < 20; i++)
		assert_int_equal(takes_ps[i], 4 * 1000 + 50);
	assert_int_equal(length_ps, 4050);
}

/*
 * Ranks 0, 1 and 2 send to 3, rank 0 to 4 besides: 3 gives a third to each, and what rank 0 cannot use there goes to 4: two
 * thirds (max-min). 900 units to 4 take 1350; then all three have 1350 / 3 = 450 done.
 */
static void
what_one_cannot_use_others_get(void **state)
{
	builder = coll_builder_create(5);
	for (uint32_t r = 0; r < 3; r++)
		coll_builder_send(builder, r, 3, 0, &word);
	coll_builder_send(builder, 0, 4, 0, &word);
	finish(5, 900);
	run();
	assert_int_equal(takes(0, 2), 1350 + 50);
	for (uint32_t r = 0; r < 3; r++)
		assert_int_equal(takes(r, 1), 2700 + 50);
}

/* A flow that its path holds to a fifth leaves the other four fifths of its NIC. */
static void
slow_paths_leave_room(void **state)
{
	builder = coll_builder_create(3);
	coll_builder_send(builder, 0, 1, 0, &word);
	coll_builder_send(builder, 0, 2, 0, &word);
	finish(3, 1000);
	steps[0].wire_ps = 5000;
	run();
	assert_int_equal(takes(0, 1), 5000 + 50);
	assert_int_equal(takes(0, 2), 1250 + 50);
}

/* 500 of rank 0's 1000 units are gone when rank 2 comes after 500 of computation; then both have half. */
static void
a_later_flow_shares_the_rest(void **state)
{
	struct coll_dep compute;

	builder = coll_builder_create(3);
	coll_builder_send(builder, 0, 1, 0, &word);
	compute = coll_builder_local(builder, 2, 0, &(struct coll_chunk){ 0 }, 500);
	coll_builder_depend(builder, coll_builder_send(builder, 2, 1, 0, &word), compute);
	finish(3, 1000);
	steps[coll_step_index(schedule, 2, 1)] =
		(struct fluid_step){ .wire_ps = 500, .tx = FLUID_LOCAL, .rx = FLUID_LOCAL };
	run();
	assert_int_equal(takes(2, 1), 500);
	assert_int_equal(takes(0, 1), 500 + 1000 + 50);
	/* Alone again at 1500, with 500 left. */
	assert_int_equal(takes(2, 2), 1000 + 500 + 50);
	assert_int_equal(length_ps, 500 + 1550);
}

/* What a message lets go starts at its arrival, the sender's next step at the last ACK. */
static void
arrivals_precede_acks(void **state)
{
	struct coll_dep first;

	builder = coll_builder_create(3);
	first = coll_builder_send(builder, 0, 1, 0, &word);
	coll_builder_depend(builder, coll_builder_send(builder, 1, 2, 0, &word), first);
	finish(3, 100);
	run();
	assert_int_equal(length_ps, 100 + 30 + 100 + 50);
	teardown(NULL);

	builder = coll_builder_create(2);
	coll_builder_send(builder, 0, 1, 0, &word);
	coll_builder_send(builder, 0, 1, 0, &word);
	finish(2, 100);
	run();
	assert_int_equal(length_ps, 2 * (100 + 50));
}

/* 16,256 messages at once, each of another length: as many times to share out anew. Takes 0.2 s. */
static void
uneven_alltoall(void **state)
{
	const uint32_t ranks = unit_wide(64, 128, "ranks of an uneven AllToAll");
	uint64_t sent[128] = { 0 }, got[128] = { 0 }, most = 0;

	builder = coll_builder_create(ranks);
	for (uint32_t r = 0; r < ranks; r++)
		for (uint32_t d = 1; d < ranks; d++)
			coll_builder_send(builder, r, (r + d) % ranks, 0, &word);
	finish(ranks, 1);
	for (uint32_t r = 0; r < ranks; r++)
		for (uint32_t s = 1; s < ranks; s++) {
			uint64_t units = 1000000 + (r * 7919 + s * 104729) % 999983;

			load(r, s, units);
			sent[r] += units;
			got[(r + s) % ranks] += units;
		}
	for (uint32_t r = 0; r < ranks; r++) {
		most = sent[r] > most ? sent[r] : most;
		most = got[r] > most ? got[r] : most;
	}
	run();
	/* Nobody is faster than the busiest NIC. */
	assert_true(length_ps >= most + 50 && length_ps < most + most / 4);
}

/* A pairwise AllToAll of 1024 ranks: 1,047,552 steps, one in flight a rank. */
static void
a_million_steps(void **state)
{
	const uint32_t ranks = unit_wide(128, 1024, "ranks of a pairwise AllToAll");

	builder = coll_builder_create(ranks);
	for (uint32_t r = 0; r < ranks; r++) {
		struct coll_dep before = { 0 };

		for (uint32_t d = 1; d < ranks; d++) {
			struct coll_dep step = coll_builder_send(builder, r, (r + d) % ranks, 0, &word);

			if (d > 1)
				coll_builder_depend(builder, step, before);
			before = step;
		}
	}
	finish(ranks, 1000);
	run();
	assert_int_equal(length_ps, (ranks - 1ull) * 1050);
}

#define TEST(name) cmocka_unit_test_teardown(name, teardown)

UNIT_TEST(fluid)
{
	const struct CMUnitTest tests[] = {
		TEST(ring_is_a_sum),
		TEST(alltoall_shares_alike),
		TEST(what_one_cannot_use_others_get),
		TEST(slow_paths_leave_room),
		TEST(a_later_flow_shares_the_rest),
		TEST(arrivals_precede_acks),
		TEST(uneven_alltoall),
		TEST(a_million_steps),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
