/* SPDX-License-Identifier: BSD-3-Clause */
/* What a user names as a file is opened if it is one; nothing that is opened waits. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <errno.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/cfg/cfg.h"
#include "common/input_file.h"
#include "tests/unit/alloc.h"
#include "tests/unit/refused_call.h"
#include "tests/unit/unit.h"

static void
files_alone_are_opened(void **state)
{
	char dir[] = "/tmp/rocelab-input-XXXXXX", fifo[64], path[64], line[8];
	struct err err = { 0 };
	FILE *file;
	int fd;

	(void)state;
	assert_non_null(mkdtemp(dir));
	snprintf(fifo, sizeof(fifo), "%s/fifo", dir);
	snprintf(path, sizeof(path), "%s/file", dir);
	assert_int_equal(mkfifo(fifo, 0600), 0);
	assert_int_equal(input_open(path, &err), -ENOENT);
	assert_non_null(strstr(err.text, "/file: No such file or directory"));
	err.text[0] = '\0';
	assert_int_equal(input_open(fifo, &err), -EINVAL);
	assert_non_null(strstr(err.text, "give a regular file"));
	err.text[0] = '\0';
	assert_int_equal(input_open(dir, &err), -EISDIR);
	assert_non_null(strstr(err.text, "give a regular file"));
	err.text[0] = '\0';
	assert_null(input_fopen(fifo, NULL));
	assert_int_equal(errno, EINVAL);
	assert_null(input_fopen(dir, &err));
	assert_int_equal(errno, EISDIR);
	file = fopen(path, "w");
	assert_non_null(file);
	assert_true(fputs("text", file) >= 0);
	assert_int_equal(fclose(file), 0);
	fd = input_open(path, &err);
	assert_int_equal(read(fd, line, sizeof(line)), 4);
	close(fd);
	file = input_fopen(path, &err);
	assert_non_null(file);
	assert_string_equal(fgets(line, sizeof(line), file), "text");
	assert_int_equal(fclose(file), 0);
	unlink(path);
	unlink(fifo);
	rmdir(dir);
}

struct opening {
	char path[64];
	int fd, fopen_errno, read_errno;
	struct err open_err, fopen_err, read_err;
};

static void
open_all(void *arg)
{
	struct opening *o = arg;
	size_t length;

	o->fd = input_open(o->path, &o->open_err);
	if (o->fd >= 0)
		close(o->fd);
	o->fopen_errno = input_fopen(o->path, &o->fopen_err) != NULL ? 0 : errno;
	o->read_errno = input_read(o->path, 1 << 20, &length, &o->read_err) != NULL ? 0 : errno;
}

/* A file whose kind the system does not report (one on a server that is gone), and one that it does not read. */
static void
files_that_cannot_be_read_are_refused(void **state)
{
	struct opening unknown = { .path = "/tmp/rocelab-input-XXXXXX" }, unread;
	int fd = mkstemp(unknown.path);
	struct err err = { 0 };
	size_t length = 7;
	char *text;

	(void)state;
	assert_int_equal(write(fd, "text", 4), 4);
	close(fd);
	text = input_read(unknown.path, 1 << 20, &length, &err);
	assert_string_equal(text, "text");
	assert_int_equal(length, 4);
	free(text);
	assert_int_equal(truncate(unknown.path, (1 << 20) + 1), 0);
	assert_null(input_read(unknown.path, 1 << 20, &length, &err));
	assert_int_equal(errno, EINVAL);
	assert_non_null(strstr(err.text, " is no regular file of at most 1 MiB"));
	assert_int_equal(truncate(unknown.path, 4), 0);
	unread = unknown;
	WITHOUT_CALL(SYS_OF_FSTAT, ESTALE, open_all, &unknown);
	WITHOUT_CALL(SYS_read, EIO, open_all, &unread);
	unlink(unknown.path);
	assert_int_equal(unknown.fd, -ESTALE);
	assert_int_equal(unknown.fopen_errno, ESTALE);
	assert_int_equal(unknown.read_errno, ESTALE);
	assert_non_null(strstr(unknown.read_err.text, strerror(ESTALE)));
	assert_int_equal(unread.read_errno, EIO);
	assert_non_null(strstr(unread.read_err.text, " cannot be read"));
}

/* Without memory for it no file is left open. */
static void
files_need_memory(void **state)
{
	char path[] = "/tmp/rocelab-input-XXXXXX";
	int fd = mkstemp(path), next;
	struct err err = { 0 };
	size_t length;
	FILE *file;

	(void)state;
	alloc_refuse(1);
	file = input_fopen(path, &err);
	assert_int_equal(errno, ENOMEM);
	assert_true(alloc_was_refused());
	assert_null(file);
	assert_non_null(strstr(err.text, "memory"));
	alloc_refuse(1);
	assert_null(cfg_open_file(path));
	assert_int_equal(errno, ENOMEM);
	alloc_refuse(1);
	assert_null(input_read(path, 1 << 20, &length, &err));
	assert_int_equal(errno, ENOMEM);
	assert_true(alloc_was_refused());
	next = dup(fd);
	assert_int_equal(next, fd + 1);
	close(next);
	close(fd);
	unlink(path);
}

UNIT_TEST(input_file)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(files_alone_are_opened),
		cmocka_unit_test(files_that_cannot_be_read_are_refused),
		cmocka_unit_test(files_need_memory),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
