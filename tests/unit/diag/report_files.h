/* SPDX-License-Identifier: BSD-3-Clause */
/* Reports of a verdict in a directory of their own, for tests to look at. What goes wrong fails the test. */
#pragma once

#include "diag/report/report.h"

#define REPORT_FILES 5
/* What stands around the data in the page. */
#define REPORT_FILES_HEAD "<head>"
#define REPORT_FILES_TAIL "<tail>\n"
#define REPORT_FILES_PAGE REPORT_FILES_HEAD PAGE_DATA_MARK REPORT_FILES_TAIL

struct files {
	char dir[64];
	struct verdict *v;
};

extern const char *const report_file_names[REPORT_FILES];

/* Takes the verdict over. */
struct files report_files_write(struct verdict *v);
/* @return the file's text, the caller's to free */
char *report_files_read(const struct files *files, const char *name);
/* Fails if anything but the reports lies in the directory. */
void report_files_remove(struct files *files);
