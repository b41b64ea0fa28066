/* SPDX-License-Identifier: BSD-3-Clause */
#include "tests/unit/diag/report_files.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "diag/report/report.h"

const char *const report_file_names[REPORT_FILES] = { "verdict.json", "report.txt", "waiting.dot", "provenance.dot",
						      "report.html" };

struct files
report_files_write(struct verdict *v)
{
	struct files files = { .v = v };
	struct err err = { 0 };

	strcpy(files.dir, "/tmp/report_test.XXXXXX");
	assert_non_null(mkdtemp(files.dir));
	strcat(files.dir, "/a/b"); /* made when absent */
	if (report_write(v, files.dir, REPORT_FILES_PAGE, &err) != 0)
		fail_msg("%s", err.text);
	return files;
}

char *
report_files_read(const struct files *files, const char *name)
{
	char path[128], *text;
	long size;
	FILE *file;

	snprintf(path, sizeof(path), "%s/%s", files->dir, name);
	file = fopen(path, "r");
	assert_non_null(file);
	fseek(file, 0, SEEK_END);
	size = ftell(file);
	rewind(file);
	text = malloc((size_t)size + 1);
	assert_non_null(text);
	assert_int_equal(fread(text, 1, (size_t)size, file), size);
	text[size] = '\0';
	fclose(file);
	return text;
}

void
report_files_remove(struct files *files)
{
	char path[128];

	for (size_t i = 0; i < REPORT_FILES; i++) {
		snprintf(path, sizeof(path), "%s/%s", files->dir, report_file_names[i]);
		assert_int_equal(unlink(path), 0);
	}
	for (int up = 0; up < 3; up++) {
		assert_int_equal(rmdir(files->dir), 0);
		*strrchr(files->dir, '/') = '\0';
	}
	verdict_destroy(files->v);
}
