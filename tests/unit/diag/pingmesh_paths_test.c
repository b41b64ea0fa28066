/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * R-Pingmesh's analyzer: by which ways a probe may have gone, of a tuple whose way goes to and fro; which observations
 * are of one place.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "common/array.h"
#include "common/units.h"
#include "diag/pingmesh/judge.h"
#include "tests/unit/alloc.h"
#include "tests/unit/unit.h"

#define S PS_PER_S

/* Ways A, B and C of two links each; the third trace of A and B ended early. */
static uint32_t links[] = { 1, 2, 1, 3, 1, 2, 1, 4, 1 };
static struct net_trace traces[] = {
	{ .whole = true, .sent_ps = 10 * S, .first = 0, .count = 2 },  /* A */
	{ .whole = true, .sent_ps = 15 * S, .first = 2, .count = 2 },  /* B */
	{ .whole = true, .sent_ps = 20 * S, .first = 4, .count = 2 },  /* A */
	{ .whole = false, .sent_ps = 24 * S, .first = 8, .count = 1 }, /* in part */
	{ .whole = true, .sent_ps = 100 * S, .first = 6, .count = 2 }, /* C */
	{ .whole = true, .sent_ps = 110 * S, .first = 0, .count = 2 }, /* A */
};
static struct net_tuple tuple = { .first = { 0, 6 }, .count = { 6, 0 } };
static struct net net = { .config = { .period_ps = 20 * S },
			  .tuples = &tuple,
			  .ntuples = 1,
			  .traces = traces,
			  .ntraces = ARRAY_LEN(traces),
			  .links = links };

static void
check(uint64_t time_ps, uint32_t count, uint32_t a, uint32_t b, uint32_t c)
{
	const uint32_t expected[] = { a, b, c };
	uint32_t paths[NET_PATHS];

	assert_int_equal(net_paths_at(&net, 0, false, time_ps, paths), count);
	for (uint32_t i = 0; i < count; i++)
		assert_int_equal(paths[i], expected[i]);
}

static void
a_lost_probe_may_have_gone_by_any_path_of_late(void **state)
{
	uint32_t paths[NET_PATHS];

	(void)state;
	check(5 * S, 1, 0, 0, 0);                                        /* before the first trace: A, as it was then */
	check(12 * S, 2, 0, 1, 0);                                       /* A, and B by the next */
	check(17 * S, 2, 1, 0, 0);                                       /* B, and A as before */
	check(22 * S, 3, 2, 1, 4);                                       /* A, B within the last period, and C, the next */
	check(60 * S, 2, 2, 4, 0);                                       /* B is too long ago */
	check(105 * S, 2, 4, 5, 0);                                      /* C, and A again */
	check(200 * S, 1, 5, 0, 0);                                      /* nothing has changed for a period */
	assert_int_equal(net_paths_at(&net, 0, true, 60 * S, paths), 0); /* back was never traced */
}

/* The path at a time is that of the last whole trace before, else of the next; without one, of the longest so far. */
static void
the_path_of_a_time(void **state)
{
	static struct net_trace all[2][4] = {
		{ { .sent_ps = 10 * S, .count = 2 },
		  { .whole = true, .sent_ps = 20 * S, .count = 2 },
		  { .sent_ps = 30 * S, .count = 3 },
		  { .whole = true, .sent_ps = 40 * S, .count = 2 } },
		{ { .sent_ps = 10 * S, .count = 2 },
		  { .sent_ps = 20 * S, .count = 1 },
		  { .sent_ps = 30 * S, .count = 2 },
		  { .sent_ps = 40 * S, .count = 3 } },
	};
	static const uint32_t expected[2][6] = { { 1, 1, 1, 1, 3, 3 }, { 0, 0, 0, 2, 3, 3 } };

	for (uint32_t whole = 0; whole < 2; whole++) {
		struct net_tuple one = { .count = { ARRAY_LEN(all[0]), 0 } };
		struct net of = { .tuples = &one, .ntuples = 1, .traces = all[whole], .ntraces = ARRAY_LEN(all[0]) };

		net_find_valid(&of, &one, false);
		for (uint32_t t = 0; t < ARRAY_LEN(expected[0]); t++)
			assert_int_equal(net_trace_at(&of, 0, false, (10 * t + 5) * S), expected[whole][t]);
	}
}

static int
prepare(void **state)
{
	net_find_valid(&net, &tuple, false);
	net_find_valid(&net, &tuple, true);
	return 0;
}

/*
 * Of two parallel paths half of the traceroutes are torn where packets are sprayed; where a route changes now and then,
 * few.
 */
static void
torn_traceroutes_show_spraying(void **state)
{
	struct net sprayed = net;
	uint32_t paths[NET_PATHS];

	(void)state;
	sprayed.walked = 40;
	sprayed.torn = 10;
	assert_false(net_is_sprayed(&sprayed));
	assert_int_equal(net_paths_at(&sprayed, 0, false, 22 * S, paths), 3);
	sprayed.torn = 11;
	assert_true(net_is_sprayed(&sprayed));
	assert_int_equal(net_paths_at(&sprayed, 0, false, 22 * S, paths), 1);
	assert_int_equal(paths[0], 2); /* the one before */
	sprayed.walked = sprayed.torn = 0;
	assert_false(net_is_sprayed(&sprayed));
}

/* Of the network 0 - 1 - 2: a switch of which a link loses, in some period, and a link, in another. */
static const struct pingmesh_problem of_switch = { .kind = PINGMESH_PROBLEM_SWITCH,
						   .node = 1,
						   .unsure = true,
						   .or_node = RUN_NONE,
						   .probes = 100,
						   .bad = 10,
						   .confidence = 0.5 };
static const struct pingmesh_problem of_link = { .kind = PINGMESH_PROBLEM_SWITCH,
						 .node = RUN_NONE,
						 .ports = { 0 },
						 .nports = 1,
						 .alike = 1,
						 .or_node = RUN_NONE,
						 .probes = 30,
						 .bad = 20,
						 .confidence = 0.9 };

/* @param later  periods between them  @return how many problems the two are; the first of them */
static uint32_t
observe(const struct pingmesh_problem *first, const struct pingmesh_problem *second, uint32_t later,
	struct pingmesh_problem *made)
{
	struct run_port ports[4] = { { .node = 0, .peer_node = 1, .peer_port = 1 },
				     { .node = 1, .peer_node = 0, .peer_port = 0 },
				     { .node = 1, .peer_node = 2, .peer_port = 3 },
				     { .node = 2, .peer_node = 1, .peer_port = 2 } };
	struct run run = { .ports = ports, .nports = 4, .end_ps = 1000 * S };
	struct pingmesh own = { 0 };
	struct err err = { 0 };
	struct judging j = { .run = &run, .own = &own, .err = &err, .net.config.period_ps = 20 * S };
	uint32_t count;

	alloc_refuse(1);
	assert_int_equal(problem_add(&j, first), -ENOMEM);
	assert_true(alloc_was_refused());
	assert_string_equal(err.text, "out of memory for problems");
	assert_int_equal(problem_add(&j, first), 0);
	j.period += later;
	assert_int_equal(problem_add(&j, second), 0);
	*made = own.problems[0];
	count = own.nproblems;
	free(own.problems);
	return count;
}

/* Whichever is seen first: the place is the link, and its probes count. */
static void
a_switch_and_its_link_are_one_place(void **state)
{
	(void)state;
	for (int first = 0; first < 2; first++) {
		struct pingmesh_problem made;

		assert_int_equal(observe(first ? &of_link : &of_switch, first ? &of_switch : &of_link, 1, &made), 1);
		assert_int_equal(made.node, RUN_NONE);
		assert_int_equal(made.nports, 1);
		assert_int_equal(made.ports[0], 0);
		assert_int_equal(made.periods, 2);
		assert_int_equal(made.probes, 30);
		assert_int_equal(made.bad, 20);
		assert_false(made.unsure);
		assert_float_equal(made.confidence, 0.9, 1e-9);
	}
}

/* The same link by its other end, or a switch again, is one place; what is not known to be the same is two. */
static void
other_places_are_others(void **state)
{
	struct pingmesh_problem made, back = of_link, far = of_switch, alike = of_link, kind = of_link, sure = of_switch;

	(void)state;
	back.ports[0] = 1;
	assert_int_equal(observe(&of_link, &back, 1, &made), 1);
	assert_true(made.both);
	assert_int_equal(made.probes, 60);
	assert_int_equal(observe(&of_switch, &of_switch, 1, &made), 1);
	assert_int_equal(made.probes, 200);
	far.node = 2;
	alike.alike = 2;
	kind.kind = PINGMESH_PROBLEM_RNIC;
	sure.unsure = false;
	for (int first = 0; first < 2; first++) {
		const struct pingmesh_problem *const others[][2] = {
			{ &far, &of_link }, { &of_switch, &alike }, { &of_switch, &kind }, { &sure, &of_link }
		};

		for (size_t i = 0; i < ARRAY_LEN(others); i++)
			assert_int_equal(observe(others[i][first], others[i][1 - first], 1, &made), 2);
	}
	assert_int_equal(observe(&of_switch, &of_link, JUDGE_RNIC_PERIODS, &made), 1);
	assert_int_equal(observe(&of_switch, &of_link, JUDGE_RNIC_PERIODS + 1, &made), 2); /* too long ago */
}

UNIT_TEST(pingmesh_paths)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(torn_traceroutes_show_spraying),
		cmocka_unit_test(a_lost_probe_may_have_gone_by_any_path_of_late),
		cmocka_unit_test(the_path_of_a_time),
		cmocka_unit_test(a_switch_and_its_link_are_one_place),
		cmocka_unit_test(other_places_are_others),
	};

	return cmocka_run_group_tests(tests, prepare, NULL);
}
