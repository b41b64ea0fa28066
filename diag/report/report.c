/* SPDX-License-Identifier: BSD-3-Clause */
#include "diag/report/report.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

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
	{ "verdict.json", write_json },         { "report.txt", text_write },  { "waiting.dot", write_waiting },
	{ "provenance.dot", write_provenance }, { "report.html", write_html },
};

static int
write_report(const struct report *report, const struct verdict *v, const char *dir, struct err *err)
{
	char path[PATH_MAX];
	FILE *to;
	int rc;

	if (snprintf(path, sizeof(path), "%s/%s", dir, report->name) >= (int)sizeof(path))
		return err_set(err, -ENAMETOOLONG, "%s: the path is too long", dir);
	to = fopen(path, "w");
	if (to == NULL)
		return err_set(err, -errno, "%s: %s", path, strerror(errno));
	rc = report->write(v, dir, to);
	if (rc == 0 && ferror(to))
		rc = -EIO;
	if (fclose(to) != 0 && rc == 0)
		rc = -errno;
	return rc == 0 ? 0 : err_set(err, rc, "%s: %s", path, strerror(-rc));
}

/* As mkdir -p. @return 0 or negative errno with err */
static int
make_dir(const char *dir, struct err *err)
{
	char path[PATH_MAX];

	if (snprintf(path, sizeof(path), "%s", dir) >= (int)sizeof(path))
		return err_set(err, -ENAMETOOLONG, "%s: the path is too long", dir);
	for (char *p = path + 1; *p != '\0'; p++) {
		if (*p != '/')
			continue;
		*p = '\0';
		if (mkdir(path, 0777) != 0 && errno != EEXIST)
			return err_set(err, -errno, "%s: %s", path, strerror(errno));
		*p = '/';
	}
	if (mkdir(path, 0777) != 0 && errno != EEXIST)
		return err_set(err, -errno, "%s: %s", path, strerror(errno));
	return 0;
}

int
report_write(const struct verdict *verdict, const char *dir, struct err *err)
{
	int rc = make_dir(dir, err);

	for (size_t i = 0; rc == 0 && i < sizeof(reports) / sizeof(reports[0]); i++)
		rc = write_report(&reports[i], verdict, dir, err);
	return rc;
}
