/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "common/array.h"
#include "common/log.h"
#include "tests/unit/unit.h"

static char logged[2 * LOG_BYTES];

/* Runs part with stderr caught in heard, in a child. @return its status, as of wait() */
static int
is_logged(void (*part)(void))
{
	size_t used = 0;
	ssize_t n;
	int pipes[2], status;
	pid_t pid;

	assert_int_equal(pipe(pipes), 0);
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		dup2(pipes[1], STDERR_FILENO);
		close(pipes[0]);
		close(pipes[1]);
		part();
		unit_exit(0);
	}
	close(pipes[1]);
	while ((n = read(pipes[0], logged + used, sizeof(logged) - 1 - used)) > 0)
		used += (size_t)n;
	logged[used] = '\0';
	close(pipes[0]);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	return status;
}

static void
log_all(void)
{
	assert_int_equal(log_open(), 0);
	log_error("%s", "e");
	log_warning("%d", 2);
	log_info("i");
	log_debug("d");
}

static void
log_hostile(void)
{
	char text[2 * LOG_BYTES];

	log_error("a\033[2Jb\rc");
	memset(text, 'x', sizeof(text) - 1);
	text[sizeof(text) - 1] = '\0';
	log_error("%s", text);
}

static void
open_it(void)
{
	if (log_open() != -EINVAL)
		unit_exit(1);
	log_info("i");
	log_debug("d");
}

static void
end_it(void)
{
	log_fatal("out of memory for %d B", 8);
}

static void
test_levels(void **state)
{
	static const struct {
		const char *level, *text;
	} cases[] = {
		{ "error", "test-common: e\n" },
		{ "warning", "test-common: e\ntest-common: 2\n" },
		{ "info", "test-common: e\ntest-common: 2\ntest-common: i\n" },
		{ "debug", "test-common: e\ntest-common: 2\ntest-common: i\ntest-common: d\n" },
		{ "", "test-common: e\ntest-common: 2\ntest-common: i\n" },
	};

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		setenv("ROCELAB_LOG", cases[i].level, 1);
		assert_int_equal(is_logged(log_all), 0);
		assert_string_equal(logged, cases[i].text);
	}
	unsetenv("ROCELAB_LOG");
	assert_int_equal(is_logged(log_all), 0);
	assert_string_equal(logged, cases[2].text);
}

static void
test_no_such_level(void **state)
{
	setenv("ROCELAB_LOG", "loud", 1);
	assert_int_equal(is_logged(open_it), 0);
	unsetenv("ROCELAB_LOG");
	assert_string_equal(
		logged, "test-common: ROCELAB_LOG=loud: error, warning, info or debug would be right\ntest-common: i\n");
}

static void
test_plain_and_bounded(void **state)
{
	const char *first = "test-common: a?[2Jb?c\n";

	assert_int_equal(is_logged(log_hostile), 0);
	assert_memory_equal(logged, first, strlen(first));
	assert_int_equal(strlen(logged), strlen(first) + strlen("test-common: ") + LOG_BYTES - 1 + 1);
}

static void
test_fatal(void **state)
{
	int status = is_logged(end_it);

	assert_true(WIFSIGNALED(status));
	assert_int_equal(WTERMSIG(status), SIGABRT);
	assert_string_equal(logged, "test-common: out of memory for 8 B\n");
}

UNIT_TEST(log)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_levels),
		cmocka_unit_test(test_no_such_level),
		cmocka_unit_test(test_plain_and_bounded),
		cmocka_unit_test(test_fatal),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
