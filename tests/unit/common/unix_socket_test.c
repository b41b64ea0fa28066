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
#include <sys/un.h>
#include <unistd.h>

#include "common/unix_socket.h"

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

/* What an earlier run left is replaced; what is no socket stays. */
static void
a_path_is_listened_at(void **state)
{
	char dir[] = "/tmp/unix-socket-XXXXXX", path[64];
	struct err err = { 0 };
	int listener, again, ours;
	FILE *file;

	(void)state;
	assert_non_null(mkdtemp(dir));
	snprintf(path, sizeof(path), "%s/s", dir);
	listener = unix_listen(path, &err);
	assert_true(listener >= 0);
	assert_int_equal(fcntl(listener, F_GETFD) & FD_CLOEXEC, FD_CLOEXEC);
	again = unix_listen(path, &err);
	assert_true(again >= 0);
	close(listener);
	ours = unix_connect(path, "fabric", &err);
	assert_true(ours >= 0);
	close(ours);
	close(again);
	assert_int_equal(unlink(path), 0);
	file = fopen(path, "w");
	assert_non_null(file);
	fclose(file);
	assert_int_equal(unix_listen(path, &err), -EEXIST);
	assert_non_null(strstr(err.text, "/s: link: "));
	assert_int_equal(unlink(path), 0);
	assert_int_equal(rmdir(dir), 0);
}

static void
a_path_that_does_not_fit_is_refused(void **state)
{
	char path[sizeof(((struct sockaddr_un *)NULL)->sun_path) + 1];
	struct err err = { 0 };

	(void)state;
	memset(path, 'x', sizeof(path) - 1);
	path[sizeof(path) - 1] = '\0';
	assert_int_equal(unix_connect(path, "fabric", &err), -ENAMETOOLONG);
	assert_non_null(strstr(err.text, "at most 107 characters"));
	err = (struct err){ 0 };
	assert_int_equal(unix_listen(path, &err), -ENAMETOOLONG);
	assert_non_null(strstr(err.text, "at most 103 characters"));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_listener_is_reached_until_it_is_gone),
		cmocka_unit_test(a_path_is_listened_at),
		cmocka_unit_test(a_path_that_does_not_fit_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
