/* SPDX-License-Identifier: BSD-3-Clause */
/* R-Pingmesh's analyzer: by which ways a probe may have gone, of a tuple whose way goes to and fro. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "common/array.h"
#include "common/units.h"
#include "diag/pingmesh/net.h"
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
static const struct net net = { .config = { .period_ps = 20 * S },
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

UNIT_TEST(pingmesh_paths)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(torn_traceroutes_show_spraying),
		cmocka_unit_test(a_lost_probe_may_have_gone_by_any_path_of_late),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
