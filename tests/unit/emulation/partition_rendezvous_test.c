/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Partitions that meet: one that cannot let another in says so at once, and does not try for as long as limits.connect
 * lasts.
 */
#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "common/array.h"
#include "common/clock.h"
#include "emulation/partition/rendezvous.h"
#include "tests/unit/unit.h"

#define TIMEOUT_NS 20000000000ULL
#define SOON_NS 10000000000ULL

static void
name(void *ctx, uint32_t partition, char buf[160])
{
	(void)ctx;
	snprintf(buf, 160, "partition %u", partition);
}

/* Another process that comes as soon as somebody listens. @return pid */
static pid_t
visitor(const char *address)
{
	pid_t pid = fork();

	if (pid == 0) {
		uint64_t begin_ns = clock_now_ns();
		int fd = -1;

		prctl(PR_SET_PDEATHSIG, SIGKILL);
		while (fd < 0 && clock_now_ns() - begin_ns < TIMEOUT_NS) {
			struct err err = { 0 };

			fd = address_connect(address, &err);
		}
		pause();
		unit_exit(0);
	}
	assert_true(pid > 0);
	return pid;
}

static void
no_descriptor_for_another_partition_is_reported(void **state)
{
	char dir[] = "/tmp/rocelab-meet-XXXXXX", path[64];
	const char *addresses[] = { path, "/nowhere/partition-1" };
	const struct partition_hello hello = { .partitions = 2 };
	const struct rendezvous rendezvous = {
		.partitions = 2, .addresses = addresses, .hello = &hello, .timeout_ns = TIMEOUT_NS, .name = name
	};
	struct channel channels[2];
	struct rlimit before, few;
	struct err err = { 0 };
	uint64_t begin_ns;
	int free_fds[2], ret; /* the listener's, and its lock's */
	pid_t pids[PARTITION_MAX], pid;

	(void)state;
	assert_non_null(mkdtemp(dir));
	snprintf(path, sizeof(path), "%s/partition-0", dir);
	pid = visitor(path);
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
	for (size_t i = 0; i < ARRAY_LEN(free_fds); i++) { /* others may be open between them */
		free_fds[i] = dup(STDERR_FILENO);
		assert_true(free_fds[i] >= 0);
	}
	few = before;
	few.rlim_cur = (rlim_t)free_fds[ARRAY_LEN(free_fds) - 1] + 1;
	for (size_t i = 0; i < ARRAY_LEN(free_fds); i++)
		close(free_fds[i]);
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &few), 0);
	begin_ns = clock_now_ns();
	ret = transport_stream.rendezvous(&rendezvous, channels, pids, &err);
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
	kill(pid, SIGKILL);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	assert_int_equal(ret, -EMFILE);
	assert_non_null(strstr(err.text, "ulimit -n"));
	assert_true(clock_now_ns() - begin_ns < SOON_NS);
	assert_int_equal(rmdir(dir), 0);
}

UNIT_TEST(partition_rendezvous)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(no_descriptor_for_another_partition_is_reported),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
