/* SPDX-License-Identifier: BSD-3-Clause */
#include "cli/verdict_file.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include <jansson.h>

int
verdict_print(const char *dir, struct err *err)
{
	char path[PATH_MAX], block[65536];
	size_t n;
	FILE *file;

	snprintf(path, sizeof(path), "%s/verdict.json", dir);
	file = fopen(path, "r");
	if (file == NULL)
		return err_set(err, -errno, "%s: %s", path, strerror(errno));
	while ((n = fread(block, 1, sizeof(block), file)) > 0)
		fwrite(block, 1, n, stdout);
	fclose(file);
	return fflush(stdout) == 0 ? 0 : err_set(err, -EIO, "cannot print the verdict");
}

int
verdict_findings(const char *dir, struct err *err)
{
	char path[PATH_MAX];
	json_error_t error;
	json_t *root;
	int count;

	snprintf(path, sizeof(path), "%s/verdict.json", dir);
	root = json_load_file(path, 0, &error);
	if (root == NULL)
		return err_set(err, -EINVAL, "%s:%d: %s", path, error.line, error.text);
	count = (int)json_array_size(json_object_get(root, "findings"));
	json_decref(root);
	return count;
}

bool
run_gave_up_analyzer(const char *dir)
{
	char path[PATH_MAX];
	json_t *root;
	bool lost;

	if (snprintf(path, sizeof(path), "%s/run.json", dir) >= (int)sizeof(path))
		return false;
	root = json_load_file(path, 0, NULL);
	lost = json_integer_value(json_object_get(json_object_get(root, "export"), "analyzer_lost")) == ETIMEDOUT;
	json_decref(root);
	return lost;
}
