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

#include "common/input_file.h"
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

UNIT_TEST(input_file)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(files_alone_are_opened) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
