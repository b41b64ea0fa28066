/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What stands for the critical path of generated flows: the slow ones, those that lost most first, so many at most. And
 * which slow steps are looked at first.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include <stdlib.h>

#include "common/array.h"
#include "diag/vedrfolnir/section.h"
#include "diag/vedrfolnir/waiting/wgraph.h"
#include "tests/unit/unit.h"

static void
those_that_lost_most_are_first(void **state)
{
	const struct run_step steps[] = {
		{ .start_ps = 0, .end_ps = 900, .expect_ps = 100, .slow = true }, /* of another iteration */
		{ .start_ps = 10, .end_ps = 310, .expect_ps = 100, .slow = true },
		{ .start_ps = 20, .end_ps = 1000, .expect_ps = 900 },
		{ .start_ps = 30, .end_ps = 830, .expect_ps = 100, .slow = true },
		{ .start_ps = 40, .end_ps = 340, .expect_ps = 100, .slow = true },
		{ .start_ps = 50, .end_ps = 60, .expect_ps = 100, .slow = true, .open = true }, /* stuck */
	};
	uint32_t path[ARRAY_LEN(steps)] = { 2, 4 };
	struct waiting_graph waiting = { .path = path, .npath = 2, .exec_ps = 7 };

	slow_flows_list(steps, 1, 5, &waiting);
	assert_int_equal(waiting.npath, 4);
	assert_int_equal(path[0], 3);
	assert_int_equal(path[1], 1); /* as much as the one after it: in their order */
	assert_int_equal(path[2], 4);
	assert_int_equal(path[3], 5);
	assert_int_equal(waiting.exec_ps, 800 + 300 + 300 + 10);
}

static void
they_are_bounded(void **state)
{
	enum { COUNT = 3 * SLOW_FLOWS_LISTED };
	struct run_step steps[COUNT];
	uint32_t path[COUNT];
	struct waiting_graph waiting = { .path = path };

	for (uint32_t i = 0; i < COUNT; i++)
		steps[i] = (struct run_step){ .end_ps = 1000 + i, .expect_ps = 100, .slow = true };
	slow_flows_list(steps, 0, COUNT, &waiting);
	assert_int_equal(waiting.npath, SLOW_FLOWS_LISTED);
	assert_int_equal(path[0], COUNT - 1);
	assert_int_equal(path[SLOW_FLOWS_LISTED - 1], COUNT - SLOW_FLOWS_LISTED);
}

/* The path first, what is shown of it before the rest; then who lost most, wherever it stands. */
static void
graphs_are_built_of_what_lost_most(void **state)
{
	const struct run_step steps[] = {
		{ .end_ps = 200, .expect_ps = 100, .slow = true },
		{ .end_ps = 900, .expect_ps = 800 },
		{ .end_ps = 900, .expect_ps = 100, .slow = true },
		{ .end_ps = 150, .expect_ps = 100, .slow = true },
		{ .end_ps = 160, .expect_ps = 100, .slow = true },
		{ .end_ps = 170, .expect_ps = 100, .slow = true },
		{ .end_ps = 900, .expect_ps = 100, .slow = true },
		{ .end_ps = 50, .expect_ps = 100, .slow = true, .open = true },
	};
	const struct vedrfolnir_step own[ARRAY_LEN(steps)] = {
		[3] = { .critical = true },
		[4] = { .critical = true, .shown = true },
		[5] = { .critical = true, .shown = true },
		[6] = { .shown = true },
	};
	const uint32_t expected[] = { 5, 4, 3, 2, 6, 0, 7 };
	uint32_t order[ARRAY_LEN(steps)];

	assert_int_equal(graphs_order(steps, own, ARRAY_LEN(steps), order), ARRAY_LEN(expected));
	assert_memory_equal(order, expected, sizeof(expected));
}

/* A generator's flow is known to a round trip: 1 %, and a base RTT beside; a collective's step to 1 % alone. */
static void
a_flow_is_slow_beyond_a_round_trip(void **state)
{
	static struct run_collective collectives[] = { { .op = COLL_FLOWS }, { .op = COLL_ALLGATHER } };
	static const struct run run = { .collectives = collectives, .ncollectives = 2, .config = { .jitter_ps = 5 } };
	struct run_step step = { .expect_ps = 1000, .base_rtt_ps = 10 };

	(void)state;
	assert_int_equal(run_slow_after_ps(&run, &step), 1000 + 10 + 10 + 5);
	step.collective = 1;
	assert_int_equal(run_slow_after_ps(&run, &step), 1000 + 10 + 5);
}

UNIT_TEST(slow_flows)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(those_that_lost_most_are_first),
		cmocka_unit_test(they_are_bounded),
		cmocka_unit_test(graphs_are_built_of_what_lost_most),
		cmocka_unit_test(a_flow_is_slow_beyond_a_round_trip),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
