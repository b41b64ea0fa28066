/* SPDX-License-Identifier: BSD-3-Clause */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/unix_socket.h"
#include "tests/unit/unit.h"

static void
a_listener_is_reached_until_it_is_gone(void **state)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	char dir[] = "/tmp/unix-socket-XXXXXX", byte = 0;
	struct err err = { 0 };
	int listener, ours, theirs;

	(void)state;
	assert_non_null(mkdtemp(dir));
	snprintf(address.sun_path, sizeof(address.sun_path), "%s/s", dir);
	assert_int_equal(unix_connect(address.sun_path, "analyzer", NULL), -ENOENT);
	listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	assert_int_equal(bind(listener, (const struct sockaddr *)&address, sizeof(address)), 0);
	assert_int_equal(listen(listener, 1), 0);
	ours = unix_connect(address.sun_path, "analyzer", &err);
	assert_true(ours >= 0);
	assert_string_equal(err.text, "");
	assert_int_equal(fcntl(ours, F_GETFD) & FD_CLOEXEC, FD_CLOEXEC);
	theirs = accept(listener, NULL, NULL);
	assert_int_equal(write(ours, "x", 1), 1);
	assert_int_equal(read(theirs, &byte, 1), 1);
	assert_int_equal(byte, 'x');
	close(theirs);
	close(ours);
	close(listener);
	assert_int_equal(unix_connect(address.sun_path, "analyzer", &err), -ECONNREFUSED);
	assert_non_null(strstr(err.text, "/s: no analyzer there: "));
	unlink(address.sun_path);
	rmdir(dir);
}

/* What is no socket stays. */
static void
a_path_is_listened_at(void **state)
{
	char dir[] = "/tmp/unix-socket-XXXXXX", path[64], expected[64];
	struct unix_listener listener, again;
	struct err err = { 0 };
	FILE *file;
	int ours;

	(void)state;
	assert_non_null(mkdtemp(dir));
	snprintf(path, sizeof(path), "%s/s", dir);
	assert_int_equal(unix_listen(&listener, path, &err), 0);
	assert_int_equal(fcntl(listener.fd, F_GETFD) & FD_CLOEXEC, FD_CLOEXEC);
	assert_int_equal(fcntl(listener.lock, F_GETFD) & FD_CLOEXEC, FD_CLOEXEC);
	assert_int_equal(unix_listen(&again, path, &err), -EADDRINUSE);
	snprintf(expected, sizeof(expected), "/s: process %d listens there", (int)getpid());
	assert_non_null(strstr(err.text, expected));
	unix_listener_close(&again); /* it is not its own */
	ours = unix_connect(path, "fabric", &err);
	assert_true(ours >= 0);
	close(ours);
	unix_listener_close(&listener);
	unix_listener_close(&listener);
	assert_int_equal(access(path, F_OK), -1);
	err = (struct err){ 0 };
	file = fopen(path, "w");
	assert_non_null(file);
	fclose(file);
	assert_int_equal(unix_listen(&listener, path, &err), -EEXIST);
	assert_non_null(strstr(err.text, "/s: exists and is no socket: "));
	assert_int_equal(unlink(path), 0);
	assert_int_equal(symlink("elsewhere", path), 0);
	assert_int_equal(unix_listen(&listener, path, &err), -EEXIST);
	assert_int_equal(unlink(path), 0);
	assert_int_equal(rmdir(dir), 0); /* no lock is left either */
}

/* A file, a link or a folder of the user's with the name of a lock is no lock, and stays as it is. */
static void
what_is_no_lock_stays(void **state)
{
	char dir[] = "/tmp/unix-socket-XXXXXX", path[64], lock[72], text[16] = "";
	struct unix_listener listener;
	struct err err = { 0 };
	FILE *file;

	(void)state;
	assert_non_null(mkdtemp(dir));
	snprintf(path, sizeof(path), "%s/s", dir);
	snprintf(lock, sizeof(lock), "%s.lock", path);
	file = fopen(lock, "w");
	assert_non_null(file);
	fputs("12 notes", file);
	fclose(file);
	assert_int_equal(unix_listen(&listener, path, &err), -EEXIST);
	assert_non_null(strstr(err.text, "/s.lock: exists and is no lock: "));
	file = fopen(lock, "r");
	assert_non_null(file);
	assert_non_null(fgets(text, sizeof(text), file));
	fclose(file);
	assert_string_equal(text, "12 notes");
	assert_int_equal(unlink(lock), 0);
	assert_int_equal(symlink("elsewhere", lock), 0);
	err = (struct err){ 0 };
	assert_int_equal(unix_listen(&listener, path, &err), -ELOOP);
	assert_non_null(strstr(err.text, "/s.lock: cannot be a lock: "));
	assert_int_equal(unlink(lock), 0);
	assert_int_equal(mkdir(lock, 0700), 0);
	assert_int_equal(unix_listen(&listener, path, &err), -EISDIR);
	assert_int_equal(rmdir(lock), 0);
	assert_int_equal(rmdir(dir), 0);
}

/* The kernel gives the lock of a program back that was killed; its socket and its lock's file are there still. */
static void
a_dead_owner_is_followed(void **state)
{
	char dir[] = "/tmp/unix-socket-XXXXXX", path[64];
	struct unix_listener listener;
	struct err err = { 0 };
	pid_t pid;

	(void)state;
	assert_non_null(mkdtemp(dir));
	snprintf(path, sizeof(path), "%s/s", dir);
	pid = fork();
	if (pid == 0)
		unit_exit(unix_listen(&listener, path, &err) == 0 ? 0 : 1);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	assert_int_equal(access(path, F_OK), 0);
	assert_int_equal(unix_listen(&listener, path, &err), 0);
	unix_listener_close(&listener);
	assert_int_equal(rmdir(dir), 0);
}

/* A program that takes no locks is not robbed either. */
static void
a_stranger_that_listens_is_left_alone(void **state)
{
	char dir[] = "/tmp/unix-socket-XXXXXX";
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	int stranger = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	struct unix_listener listener;
	struct err err = { 0 };

	(void)state;
	assert_non_null(mkdtemp(dir));
	snprintf(address.sun_path, sizeof(address.sun_path), "%s/s", dir);
	assert_int_equal(bind(stranger, (const struct sockaddr *)&address, sizeof(address)), 0);
	assert_int_equal(listen(stranger, 1), 0);
	assert_int_equal(unix_listen(&listener, address.sun_path, &err), -EADDRINUSE);
	assert_non_null(strstr(err.text, "/s: another program listens there"));
	close(stranger);
	assert_int_equal(unix_listen(&listener, address.sun_path, &err), 0);
	unix_listener_close(&listener);
	assert_int_equal(rmdir(dir), 0);
}

static void
a_path_that_does_not_fit_is_refused(void **state)
{
	char path[sizeof(((struct sockaddr_un *)NULL)->sun_path) + 1];
	struct unix_listener listener;
	struct err err = { 0 };

	(void)state;
	memset(path, 'x', sizeof(path) - 1);
	path[sizeof(path) - 1] = '\0';
	assert_int_equal(unix_connect(path, "fabric", &err), -ENAMETOOLONG);
	assert_non_null(strstr(err.text, "at most 107 characters"));
	err = (struct err){ 0 };
	assert_int_equal(unix_listen(&listener, path, &err), -ENAMETOOLONG);
	assert_non_null(strstr(err.text, "at most 103 characters"));
}

UNIT_TEST(unix_socket)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_listener_is_reached_until_it_is_gone),
		cmocka_unit_test(a_path_is_listened_at),
		cmocka_unit_test(what_is_no_lock_stays),
		cmocka_unit_test(a_dead_owner_is_followed),
		cmocka_unit_test(a_stranger_that_listens_is_left_alone),
		cmocka_unit_test(a_path_that_does_not_fit_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
