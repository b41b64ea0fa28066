/* SPDX-License-Identifier: BSD-3-Clause */
#include "cli/start/verdict_file.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include <jansson.h>

#include "common/run_files.h"

int
verdict_print(const char *dir, struct err *err)
{
	char path[PATH_MAX], block[65536];
	size_t n;
	FILE *file;

	snprintf(path, sizeof(path), "%s/" RUN_VERDICT, dir);
	file = fopen(path, "r");
	if (file == NULL)
		return err_set(err, -errno, "%s: %s", path, strerror(errno));
	while ((n = fread(block, 1, sizeof(block), file)) > 0)
		fwrite(block, 1, n, stdout);
	fclose(file);
	return fflush(stdout) == 0 ? 0 : err_set(err, -EIO, "cannot print the verdict");
}

int
verdict_count(const char *dir, struct verdict_counts *counts, struct err *err)
{
	char path[PATH_MAX];
	json_error_t error;
	json_t *root, *collective, *program;
	size_t i;

	*counts = (struct verdict_counts){ 0 };
	snprintf(path, sizeof(path), "%s/" RUN_VERDICT, dir);
	root = json_load_file(path, 0, &error);
	if (root == NULL)
		return err_set(err, -EINVAL, "%s:%d: %s", path, error.line, error.text);
	counts->findings = json_array_size(json_object_get(root, "findings"));
	json_array_foreach(json_object_get(root, "collectives"), i, collective) counts->unfinished +=
		!json_is_true(json_object_get(collective, "complete"));
	json_array_foreach(json_object_get(root, "outside"), i, program)
	{
		if (!json_is_true(json_object_get(program, "left_out")))
			continue;
		counts->left_out++;
		err_set(&counts->why, 0, "diagnoser %s was left out: %s",
			json_string_value(json_object_get(program, "name")),
			json_string_value(json_object_get(program, "why")));
	}
	json_decref(root);
	return 0;
}

/* DIR/run.json. @return NULL where there is none that can be read */
static json_t *
read_run(const char *dir)
{
	char path[PATH_MAX];

	if (snprintf(path, sizeof(path), "%s/" RUN_SUMMARY, dir) >= (int)sizeof(path))
		return NULL;
	return json_load_file(path, 0, NULL);
}

bool
run_analyzer_lacks(const char *dir)
{
	json_t *root = read_run(dir), *export = json_object_get(root, "export");
	bool lacks = json_integer_value(json_object_get(export, "analyzer_lost")) == ETIMEDOUT ||
		     json_integer_value(json_object_get(export, "analyzer_missed_records")) >
			     json_integer_value(json_object_get(export, "recording_missed_records"));

	json_decref(root);
	return lacks;
}
