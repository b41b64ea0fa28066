/* SPDX-License-Identifier: BSD-3-Clause */
#include "diag/report/report.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/array.h"
#include "common/outfile.h"
#include "common/run_files.h"
#include "diag/report/json.h"
#include "diag/report/text.h"

struct place {
	const char *dir;  /* for reports that name it */
	const char *page; /* the page's template */
};

/* One report of the directory. @return 0 or negative errno */
struct report {
	const char *name;
	int (*write)(const struct verdict *v, const struct place *place, FILE *to);
};

static int
write_json(const struct verdict *v, const struct place *place, FILE *to)
{
	return json_write(v, to);
}

static int
write_text(const struct verdict *v, const struct place *place, FILE *to)
{
	return text_write(v, place->dir, to);
}

static int
write_page(const struct verdict *v, const struct place *place, FILE *to)
{
	return page_write(v, place->page, to);
}

static const struct report reports[] = { { RUN_VERDICT, write_json }, { RUN_TEXT, write_text }, { RUN_PAGE, write_page } };
#define REPORTS ARRAY_LEN(reports)

static int
write_report(const struct report *report, const struct verdict *v, const struct place *place, struct outfile *out,
	     struct err *err)
{
	int rc = outfile_open(out, place->dir, report->name, err);

	if (rc < 0)
		return rc;
	rc = report->write(v, place, out->file);
	return outfile_finish(out, ferror(out->file) ? 0 : rc, err);
}

static int
write_own(const struct diagnoser_file *own, const struct verdict *v, const char *dir, struct outfile *out, struct err *err)
{
	int rc = outfile_open(out, dir, own->name, err);

	if (rc < 0)
		return rc;
	rc = own->write(v, out->file);
	return outfile_finish(out, ferror(out->file) ? 0 : rc, err);
}

static size_t
count_files(const struct verdict *v)
{
	size_t count = REPORTS;

	for (uint32_t i = 0; i < v->nsections; i++)
		count += v->sections[i].by->writers.nfiles;
	return count;
}

static int
write_all(const struct verdict *v, const struct place *place, struct outfile *files, struct err *err)
{
	int rc = 0;

	for (size_t i = 0; rc == 0 && i < REPORTS; i++)
		rc = write_report(&reports[i], v, place, files++, err);
	for (uint32_t s = 0; s < v->nsections; s++) {
		const struct diagnoser_writers *writers = &v->sections[s].by->writers;

		for (uint32_t i = 0; rc == 0 && i < writers->nfiles; i++)
			rc = write_own(&writers->files[i], v, place->dir, files++, err);
	}
	return rc;
}

/* All of one verdict, or, where one cannot be written, none. */
int
report_write(const struct verdict *verdict, const char *dir, const char *page, struct err *err)
{
	const struct place place = { dir, page };
	size_t count = count_files(verdict);
	struct outfile *files = calloc(count, sizeof(*files));
	int rc = files != NULL ? run_dir_make(dir, err) : err_set(err, -ENOMEM, "out of memory");

	rc = rc < 0 ? rc : write_all(verdict, &place, files, err);
	for (size_t i = 0; rc == 0 && i < count; i++)
		rc = outfile_place(&files[i], err);
	for (size_t i = 0; files != NULL && i < count; i++)
		outfile_drop(&files[i]);
	free(files);
	return rc;
}
