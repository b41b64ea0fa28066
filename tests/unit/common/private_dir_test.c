/* SPDX-License-Identifier: BSD-3-Clause */
/* Private folders: each program's own, gone with it or with the next one's, and nobody else's ever. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/private_dir.h"
#include "tests/unit/unit.h"

#define PROGRAMS 6

static char mine[64];

static bool
there(const char *path)
{
	struct stat status;

	return lstat(path, &status) == 0;
}

static void
put(const char *dir, const char *name)
{
	char path[256];
	int fd;

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	fd = open(path, O_WRONLY | O_CREAT | O_EXCL, 0600);
	assert_true(fd >= 0);
	close(fd);
}

static int
wait_for(pid_t pid)
{
	int status;

	assert_int_equal(waitpid(pid, &status, 0), pid);
	return status;
}

/* Any program that starts meanwhile removes leftovers, too, and may be in the middle of it. @return whether nobody does */
static bool
stays(const char *path)
{
	for (int i = 0; i < 1000 && there(path); i++)
		clock_sleep_until_ns(clock_now_ns() + 1000000);
	return there(path);
}

/* A program that makes a folder, fills it, and is killed. @param path  of its folder */
static void
left_over(char path[64])
{
	struct private_dir dir;
	int ends[2];
	pid_t pid;

	assert_int_equal(pipe(ends), 0);
	pid = fork();
	if (pid == 0) {
		char below[128];

		if (private_dir_create(&dir, NULL) < 0)
			unit_exit(1);
		snprintf(below, sizeof(below), "%s/dpdk", dir.path);
		mkdir(below, 0700);
		put(below, "file");
		snprintf(below, sizeof(below), "%s/link", dir.path);
		if (symlink(mine, below) < 0 || write(ends[1], dir.path, sizeof(dir.path)) < 0)
			unit_exit(1);
		unit_exit(0);
	}
	assert_int_equal(wait_for(pid), 0);
	assert_int_equal(read(ends[0], path, 64), sizeof(dir.path));
	close(ends[0]);
	close(ends[1]);
}

static int
make_mine(void **state)
{
	(void)state;
	strcpy(mine, "/tmp/private-dir-test-XXXXXX");
	assert_non_null(mkdtemp(mine));
	put(mine, "precious");
	return 0;
}

static int
remove_mine(void **state)
{
	char path[128];

	(void)state;
	snprintf(path, sizeof(path), "%s/precious", mine);
	return unlink(path) == 0 ? rmdir(mine) : -1;
}

static void
one_of_a_program_that_was_killed_goes(void **state)
{
	struct private_dir dir;
	char path[64];

	(void)state;
	left_over(path);
	assert_int_equal(private_dir_create(&dir, NULL), 0);
	assert_false(stays(path)); /* remove_mine() looks for what the link led to */
	put(dir.path, "socket");
	strcpy(path, dir.path);
	private_dir_remove(&dir);
	assert_false(there(path));
	private_dir_remove(&dir); /* there is none any more */
}

static void
one_that_is_in_use_stays(void **state)
{
	struct private_dir ours, other;

	(void)state;
	assert_int_equal(private_dir_create(&ours, NULL), 0);
	assert_int_equal(private_dir_create(&other, NULL), 0);
	assert_true(there(ours.path));
	private_dir_remove(&other);
	assert_true(there(ours.path));
	private_dir_remove(&ours);
}

static void
what_only_looks_like_one_stays(void **state)
{
	char own[] = "/tmp/rocelab-run-XXXXXX", path[64], link_path[] = "/tmp/rocelab-run-tes.ln";
	struct private_dir dir;

	(void)state;
	assert_non_null(mkdtemp(own)); /* somebody's, without our lock */
	put(own, "notes");
	unlink(link_path);
	assert_int_equal(symlink(mine, link_path), 0);
	assert_int_equal(private_dir_create(&dir, NULL), 0);
	private_dir_remove(&dir);
	snprintf(path, sizeof(path), "%s/notes", own);
	assert_true(there(path));
	assert_true(there(link_path));
	assert_int_equal(unlink(path), 0);
	assert_int_equal(rmdir(own), 0);
	assert_int_equal(unlink(link_path), 0);
}

/* Each sweeps while the others make theirs: none loses its own. */
static void
many_at_once_keep_theirs(void **state)
{
	const int rounds = (int)unit_wide(20, 100, "private folders that each program makes");
	pid_t pids[PROGRAMS];

	(void)state;
	for (int i = 0; i < PROGRAMS; i++) {
		pids[i] = fork();
		for (int round = 0; pids[i] == 0 && round < rounds; round++) {
			struct private_dir dir;
			char path[64];

			if (private_dir_create(&dir, NULL) < 0)
				unit_exit(1);
			snprintf(path, sizeof(path), "%s/socket", dir.path);
			close(open(path, O_WRONLY | O_CREAT | O_EXCL, 0600));
			if (!there(path))
				unit_exit(2);
			private_dir_remove(&dir);
		}
		if (pids[i] == 0)
			unit_exit(0);
	}
	for (int i = 0; i < PROGRAMS; i++)
		assert_int_equal(wait_for(pids[i]), 0);
}

UNIT_TEST(private_dir)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(one_of_a_program_that_was_killed_goes),
		cmocka_unit_test(one_that_is_in_use_stays),
		cmocka_unit_test(what_only_looks_like_one_stays),
		cmocka_unit_test(many_at_once_keep_theirs),
	};

	return cmocka_run_group_tests(tests, make_mine, remove_mine);
}
