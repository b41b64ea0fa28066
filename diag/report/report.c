/* SPDX-License-Identifier: BSD-3-Clause */
#include "diag/report/report.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/array.h"
#include "common/outfile.h"
#include "common/run_dir.h"
#include "common/run_files.h"
#include "diag/report/dot.h"
#include "diag/report/html.h"
#include "diag/report/json.h"
#include "diag/report/text.h"

/* One report of the directory. @param dir  for reports that name it  @return 0 or negative errno */
struct report {
	const char *name;
	int (*write)(const struct verdict *v, const char *dir, FILE *to);
};

static int
write_json(const struct verdict *v, const char *dir, FILE *to)
{
	return json_write(v, to);
}

static int
write_waiting(const struct verdict *v, const char *dir, FILE *to)
{
	return dot_write_waiting(v, to);
}

static int
write_provenance(const struct verdict *v, const char *dir, FILE *to)
{
	return dot_write_provenance(v, to);
}

static int
write_html(const struct verdict *v, const char *dir, FILE *to)
{
	return html_write(v, to);
}

static const struct report reports[] = {
	{ RUN_VERDICT, write_json },          { RUN_TEXT, text_write }, { RUN_WAITING, write_waiting },
	{ RUN_PROVENANCE, write_provenance }, { RUN_PAGE, write_html },
};

#define REPORTS ARRAY_LEN(reports)

static int
write_report(const struct report *report, const struct verdict *v, const char *dir, struct outfile *out, struct err *err)
{
	int rc = outfile_open(out, dir, report->name, err);

	if (rc < 0)
		return rc;
	rc = report->write(v, dir, out->file);
	return outfile_finish(out, ferror(out->file) ? 0 : rc, err);
}

/* All of one verdict, or, where one cannot be written, none. */
int
report_write(const struct verdict *verdict, const char *dir, struct err *err)
{
	struct outfile *files = calloc(REPORTS, sizeof(*files));
	int rc = files != NULL ? run_dir_make(dir, err) : err_set(err, -ENOMEM, "out of memory");

	rc = rc < 0 ? rc : 0;
	for (size_t i = 0; rc == 0 && i < REPORTS; i++)
		rc = write_report(&reports[i], verdict, dir, &files[i], err);
	for (size_t i = 0; rc == 0 && i < REPORTS; i++)
		rc = outfile_place(&files[i], err);
	for (size_t i = 0; files != NULL && i < REPORTS; i++)
		outfile_drop(&files[i]);
	free(files);
	return rc;
}
