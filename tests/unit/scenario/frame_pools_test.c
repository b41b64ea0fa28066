/* SPDX-License-Identifier: BSD-3-Clause */
/* Pools for frames follow the scenario: rate, length of ways, size of frames, number of ports. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmocka.h>

#include "scenario/scenario.h"
#include "tests/unit/unit.h"

static struct scenario *
load(const char *rate, const char *delay, const char *mtu)
{
	char path[] = "/tmp/pools-test-XXXXXX";
	const struct scenario_options options = { .path = path };
	FILE *file = fdopen(mkstemp(path), "w");
	struct err err = { 0 };
	struct scenario *sc;

	assert_non_null(file);
	fprintf(file,
		"topology = { kind = \"explicit\"; rate = \"%s\"; delay = \"%s\"; switches = [ \"s\", \"t\" ]; "
		"hosts = [ \"a\", \"b\", \"c\" ]; links = ( \"a s\", \"s t\", \"t b\", \"t c\" ); };"
		"hosts = ( { kind = \"guest\"; names = [ \"a\", \"b\" ]; } ); host = { mtu = \"%s\"; };"
		"flows = ( { src = \"a\"; dst = \"b\"; sport = 49152; bytes = \"1KB\"; } );",
		rate, delay, mtu);
	fclose(file);
	sc = scenario_load(&options, &err);
	unlink(path);
	if (sc == NULL)
		fail_msg("%s", err.text);
	return sc;
}

static uint32_t
frames(const char *rate, const char *delay, const char *mtu)
{
	struct scenario *sc = load(rate, delay, mtu);
	uint32_t count = frame_pool_frames(sc, topo_find(sc->topo, "a"));

	scenario_destroy(sc);
	return count;
}

static void
fast_and_long_paths_have_more_in_flight(void **state)
{
	(void)state;
	assert_int_equal(frames("40Mbps", "20us", "1024B"), 2047);
	/*
	 * 3 cables of 20.6 us, a window each: 618 KB at 40 Gbps, 7357 of the smallest frames; in switches' buffers and
	 * before a host
	   1.5 MB more, of full ones */
	assert_int_equal(frames("40Gbps", "20us", "4096B"), 16383);
	assert_in_range(frames("10Gbps", "20us", "4096B"), 2047, 8191);
	assert_true(frames("10Gbps", "20us", "4096B") <= frames("10Gbps", "80us", "4096B"));
	assert_int_equal(frames("400Gbps", "80us", "256B"), FRAME_POOL_MOST - 1);
}

static void
the_sum_is_of_all_ports(void **state)
{
	struct scenario *sc = load("40Mbps", "20us", "4096B");
	struct frame_pools sum;

	(void)state;
	assert_int_equal(frame_pools_sum(sc, &sum), 0);
	assert_int_equal(sum.ports, 2);
	assert_int_equal(sum.least, 2047);
	assert_int_equal(sum.most, 2047);
	assert_in_range(sum.room_bytes, sc->largest_frame_bytes, sc->largest_frame_bytes + 63);
	assert_true(sum.bytes >= (2 * 2047 + 1023) * (uint64_t)(sum.room_bytes + 384));
	scenario_destroy(sc);
	sc = load("40Mbps", "20us", "256B");
	assert_int_equal(frame_pool_room(sc), 2048);
	scenario_destroy(sc);
}

UNIT_TEST(frame_pools)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(fast_and_long_paths_have_more_in_flight),
		cmocka_unit_test(the_sum_is_of_all_ports),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
