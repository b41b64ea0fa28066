/* SPDX-License-Identifier: BSD-3-Clause */
/* One outside program, played by this test, at the other end of its control socket. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

#include "plugin/account.h"
#include "plugin/session.h"
#include "tests/unit/unit.h"

static const char finding[] =
	"{\"finding\": {\"type\": \"deep-queue\", \"where\": {\"ports\": [\"6:2\"]}, \"time\": {\"start_ns\": 1, "
	"\"end_ns\": 2}, \"confidence\": 0.5, \"evidence\": \"so it is\"}}\n";

static struct plugin_session
open_session(int *theirs, const struct plugin_driver *driver)
{
	struct plugin_session session = { .program = { .records = -1, .control = -1 },
					  .driver = driver,
					  .real_time = true };
	int fds[2];

	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, fds), 0);
	session.program.control = fds[0];
	session.in = malloc(PLUGIN_LINE_BYTES);
	session.out = malloc(PLUGIN_LINE_BYTES);
	*theirs = fds[1];
	plugin_account_init(&session.account, "./played", NULL, 0);
	session.account.turns = 1;
	return session;
}

struct looked {
	uint32_t count;
	bool nothing_is_there;
};

static int
look(void *ctx, const struct plugin_finding *found, struct err *err)
{
	struct looked *looked = ctx;

	(void)found;
	looked->count++;
	return looked->nothing_is_there ? err_set(err, -EINVAL, "there is no such port") : 0;
}

static void
print_finding(struct plugin_session *session, int theirs)
{
	assert_int_equal(write(theirs, finding, sizeof(finding) - 1), (int)sizeof(finding) - 1);
	session->turn_lines = 0; /* a turn each */
	plugin_session_receive(session, 1);
}

/* What is beyond the last that is taken is refused as such, whatever it says: nobody looks at it. */
static void
test_findings_end(void **state)
{
	struct looked looked = { 0 };
	const struct plugin_driver driver = { .ctx = &looked, .check = look };
	int theirs;
	struct plugin_session session = open_session(&theirs, &driver);

	(void)state;
	for (uint32_t i = 0; i < PLUGIN_FINDINGS; i++)
		print_finding(&session, theirs);
	assert_int_equal(session.account.nfindings, PLUGIN_FINDINGS);
	assert_int_equal(session.account.refused, 0);
	looked.nothing_is_there = true;
	print_finding(&session, theirs);
	assert_int_equal(looked.count, PLUGIN_FINDINGS);
	assert_false(session.account.left_out);
	assert_int_equal(session.account.refused, 1);
	assert_string_equal(session.account.refused_why, "finding: there are a thousand already");
	plugin_session_close(&session);
	plugin_account_fini(&session.account);
	close(theirs);
}

/* Prints a line without waiting. @return false: there is no room for it */
static bool
print(int theirs, const char *line)
{
	return send(theirs, line, strlen(line), MSG_DONTWAIT) == (ssize_t)strlen(line);
}

/* Lines that fill the buffer wait for their turn; they are no line without an end. */
static void
test_lines_before_their_turn(void **state)
{
	const struct plugin_driver driver = { 0 };
	int theirs;
	struct plugin_session session = open_session(&theirs, &driver);
	uint32_t lines = 0;

	(void)state;
	session.real_time = false;
	session.answered = 1;
	while (session.in_bytes < PLUGIN_LINE_BYTES && !session.account.left_out) {
		lines += print(theirs, finding);
		plugin_session_receive(&session, 1);
	}
	for (int i = 0; i < 3; i++)
		plugin_session_receive(&session, 1);
	assert_false(session.account.left_out);
	assert_int_equal(session.account.nfindings, 0);
	session.account.turns = 2;
	while (session.account.nfindings < lines && !session.account.left_out)
		plugin_session_receive(&session, 2);
	assert_false(session.account.left_out);
	assert_true(print(theirs, "{\"done\": 2}\n"));
	plugin_session_wait(&session, 2);
	assert_int_equal(session.answered, 2);
	plugin_session_close(&session);
	plugin_account_fini(&session.account);
	close(theirs);
}

/* In real time a program that was late answers several turns at once: what it may print is of each. */
static void
test_late_answers(void **state)
{
	const struct plugin_driver driver = { 0 };
	int theirs;
	struct plugin_session session = open_session(&theirs, &driver);
	char line[64];

	(void)state;
	session.account.turns = 3;
	for (int turn = 1; turn <= 3; turn++) {
		for (uint32_t i = 0; i < PLUGIN_TURN_LINES - 1; i++) {
			while (!print(theirs, "{\"poll\": {\"port\": \"6:2\"}}\n"))
				plugin_session_receive(&session, 1);
			plugin_session_receive(&session, 1);
		}
		snprintf(line, sizeof(line), "{\"done\": %d}\n", turn);
		assert_true(print(theirs, line));
		plugin_session_receive(&session, 1);
	}
	assert_false(session.account.left_out);
	assert_int_equal(session.answered, 3);
	plugin_session_close(&session);
	plugin_account_fini(&session.account);
	close(theirs);
}

static int
read_report(const char *path, struct err *err)
{
	struct plugin_report report = { 0 };
	int ret;

	errno = ENOENT; /* of whatever was looked for last */
	ret = plugin_report_read(path, &report, err);
	assert_int_equal(report.count, 0);
	plugin_report_fini(&report);
	return ret;
}

/* A file that cannot be read is none that is not there. */
static void
test_damaged_report(void **state)
{
	char path[] = "/tmp/outside-session-XXXXXX";
	int fd = mkstemp(path);
	struct err err = { "" };

	(void)state;
	assert_true(fd >= 0);
	assert_int_equal(write(fd, "{ \"programs\": [", 15), 15);
	close(fd);
	assert_int_equal(read_report(path, &err), -EINVAL);
	assert_non_null(strstr(err.text, path));
	assert_int_equal(unlink(path), 0);
	assert_int_equal(read_report(path, &err), 0);
}

UNIT_TEST(plugin_session)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_findings_end),
		cmocka_unit_test(test_lines_before_their_turn),
		cmocka_unit_test(test_late_answers),
		cmocka_unit_test(test_damaged_report),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
