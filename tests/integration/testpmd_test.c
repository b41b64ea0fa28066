/* SPDX-License-Identifier: BSD-3-Clause */
/* A dpdk-testpmd that ends at once, says no count, or never ends: each is an error, and none takes the caller with it. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "bench/testpmd.h"
#include "common/clock.h"
#include "tests/unit/unit.h"

#define LONGEST_NS 20000000000ULL

/* Runs of a program that is no forwarder: it need only start in the first. */
static const struct testpmd_times times = { .short_ns = 200000000, .long_ns = 450000000, .end_ns = 1000000000 };

static char dir[] = "/tmp/rocelab-testpmd-XXXXXX";
static char program[64];

/* Puts a dpdk-testpmd before all others. */
static int
make_dir(void **state)
{
	char path[4096];

	(void)state;
	if (mkdtemp(dir) == NULL)
		return -1;
	snprintf(program, sizeof(program), "%s/dpdk-testpmd", dir);
	snprintf(path, sizeof(path), "%s:%s", dir, getenv("PATH"));
	return setenv("PATH", path, 1);
}

static int
remove_dir(void **state)
{
	(void)state;
	unlink(program);
	return rmdir(dir);
}

/* @param frames  commands come to it: it is interactive */
static double
measure(const char *body, bool frames, struct err *err)
{
	struct testpmd_ports ports = { .devices = { "net_null0", "net_null1" }, .frame_bytes = frames ? 60 : 0 };
	FILE *file = fopen(program, "w");

	assert_non_null(file);
	fprintf(file, "#!/bin/sh\n%s\n", body);
	assert_int_equal(fclose(file), 0);
	assert_int_equal(chmod(program, 0700), 0);
	return testpmd_packet_ns("io", dir, &ports, &times, err);
}

static void
one_that_ends_at_once_is_an_error(void **state)
{
	struct err err = { 0 };

	(void)state;
	assert_true(measure("exit 1", true, &err) < 0);
	assert_non_null(strstr(err.text, "dpdk-testpmd --forward-mode=io failed"));
}

static void
one_that_counts_nothing_is_an_error(void **state)
{
	struct err err = { 0 };

	(void)state;
	assert_true(measure("cat > /dev/null; echo nothing", false, &err) < 0);
	assert_non_null(strstr(err.text, "failed"));
}

static void
one_that_does_not_end_is_ended(void **state)
{
	struct err err = { 0 };
	uint64_t begin_ns = clock_now_ns();

	(void)state;
	assert_true(measure("trap '' TERM HUP PIPE; while :; do sleep 1000; done", true, &err) < 0);
	assert_non_null(strstr(err.text, "did not end within"));
	assert_true(clock_now_ns() - begin_ns < LONGEST_NS);
}

static void
what_it_takes_between_two_lengths_is_a_packets(void **state)
{
	/* As long as its input is open it sends, a packet each 10 us; each takes a turn of a loop of processor time. */
	static const char *const body =
		"begin=$(date +%s%N); cat > /dev/null; sent=$((($(date +%s%N) - begin) / 10000))\n"
		"turn=0; while [ $turn -lt $sent ]; do turn=$((turn + 1)); done; echo TX-packets: $sent";
	struct err err = { 0 };
	double packet_ns = measure(body, false, &err);

	(void)state;
	if (packet_ns <= 0)
		fail_msg("%s", err.text);
}

UNIT_TEST(testpmd)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(one_that_ends_at_once_is_an_error),
		cmocka_unit_test(one_that_counts_nothing_is_an_error),
		cmocka_unit_test(one_that_does_not_end_is_ended),
		cmocka_unit_test(what_it_takes_between_two_lengths_is_a_packets),
	};

	return cmocka_run_group_tests(tests, make_dir, remove_dir);
}
