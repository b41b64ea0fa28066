/* SPDX-License-Identifier: BSD-3-Clause */
#include "cli/systems/steps.h"

#include <errno.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/run_files.h"

#define LINE_BYTES 512
#define NAMING_COLUMNS 11 /* job to bytes: which step it is */

static FILE *
open_steps(const char *dir, struct err *err)
{
	char path[PATH_MAX + 32];
	FILE *file;

	snprintf(path, sizeof(path), "%s/" RUN_STEPS, dir);
	file = fopen(path, "re");
	if (file == NULL)
		err_set(err, -EINVAL, "%s: %s", path, strerror(errno));
	return file;
}

/* @param names  set to the bytes that name the step. @return what it took; NAN: it did not end, or is no step */
static double
duration_ns(const char *line, size_t *names)
{
	const char *at = line;
	char *end;
	double ns;

	*names = 0;
	for (int column = 0; column <= NAMING_COLUMNS; column++) { /* and its start */
		at = strchr(at, ',');
		if (at == NULL)
			return NAN;
		at++;
		if (column == NAMING_COLUMNS - 1)
			*names = (size_t)(at - line);
	}
	ns = strtod(at, &end);
	return end == at || *end != ',' ? NAN : ns;
}

/* Steps are listed in the order of the plan, which both runs have. */
static int
compare(FILE *a, FILE *b, struct systems_steps *steps, struct err *err)
{
	char line[LINE_BYTES], quiet[LINE_BYTES];

	while (fgets(line, sizeof(line), a) != NULL && fgets(quiet, sizeof(quiet), b) != NULL) {
		size_t names, quiet_names;
		double ns = duration_ns(line, &names), quiet_ns = duration_ns(quiet, &quiet_names);

		if (names != quiet_names || memcmp(line, quiet, names) != 0)
			return err_set(err, -EINVAL, "the runs are of other steps");
		if (isnan(ns) || isnan(quiet_ns))
			continue;
		steps->steps++;
		steps->changed += ns < quiet_ns || ns > quiet_ns;
		steps->sum_ns += ns - quiet_ns;
		steps->most_ns = fabs(ns - quiet_ns) > fabs(steps->most_ns) ? ns - quiet_ns : steps->most_ns;
	}
	return 0;
}

int
systems_steps(const char *dir, const char *quiet_dir, struct systems_steps *steps, struct err *err)
{
	FILE *a = open_steps(dir, err), *b = open_steps(quiet_dir, err);
	int ret = a != NULL && b != NULL ? 0 : -EINVAL;

	*steps = (struct systems_steps){ 0 };
	if (ret == 0)
		ret = compare(a, b, steps, err);
	if (a != NULL)
		fclose(a);
	if (b != NULL)
		fclose(b);
	return ret;
}
