/* SPDX-License-Identifier: BSD-3-Clause */
#include "cli/page/scenario.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>

#include "cli/page/element.h"
#include "common/array.h"
#include "common/run_files.h"

/* @return NULL where there is none that can be read */
static json_t *
load(const char *dir, const char *name)
{
	char path[PATH_MAX + 32];

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	return json_load_file(path, 0, NULL);
}

static void
copy(const json_t *from, const char *key, json_t *to)
{
	json_t *value = json_object_get(from, key);

	if (value != NULL)
		json_object_set(to, key, value);
}

int
page_scenario(const char *run, const char *dir, struct err *err)
{
	static const char *const injected[] = { "faults", "background_flows" };
	json_t *summary = load(run, RUN_SUMMARY), *truth = load(run, RUN_TRUTH), *root = json_object();
	int ret = 0;

	json_object_set_new(root, "overrides", json_array());
	copy(summary, "overrides", root);
	copy(summary, "seed", root);
	for (size_t i = 0; i < ARRAY_LEN(injected); i++)
		copy(truth, injected[i], root);
	if (json_object_get(root, "seed") != NULL)
		ret = page_element(dir, "scenario", root, err);
	json_decref(root);
	json_decref(truth);
	json_decref(summary);
	return ret;
}
