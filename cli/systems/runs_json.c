/* SPDX-License-Identifier: BSD-3-Clause */
#include "cli/systems/runs_json.h"

#include <stdio.h>
#include <string.h>

#include "cli/systems/steps.h"
#include "common/run_files.h"

/* @return NULL where there is none that can be read */
static json_t *
load(const char *dir, const char *name)
{
	char path[PATH_MAX + 32];

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	return json_load_file(path, 0, NULL);
}

static json_t *
took(const json_t *job)
{
	const json_t *start = json_object_get(job, "start_ns"), *end = json_object_get(job, "end_ns");

	return json_is_integer(start) && json_is_integer(end)
		       ? json_integer(json_integer_value(end) - json_integer_value(start))
		       : json_null();
}

/* How long each job took, and how long where nobody diagnosed. @param quiet  its run.json, NULL: there is none */
static json_t *
jobs(const json_t *run, const json_t *quiet)
{
	json_t *array = json_array(), *job;
	size_t i;

	json_array_foreach(json_object_get(run, "jobs"), i, job)
	{
		json_t *other = json_array_get(json_object_get(quiet, "jobs"), i);

		json_array_append_new(array, json_pack("{s:O, s:o, s:o}", "name", json_object_get(job, "name"), "took_ns",
						       took(job), "quiet_ns", took(other)));
	}
	return array;
}

static json_t *
steps(const char *dir, const char *quiet_dir)
{
	struct systems_steps found;
	struct err err = { "" };

	if (systems_steps(dir, quiet_dir, &found, &err) < 0)
		return json_null();
	return json_pack("{s:I, s:I, s:f, s:f}", "steps", (json_int_t)found.steps, "changed", (json_int_t)found.changed,
			 "sum_ns", found.sum_ns, "most_ns", found.most_ns);
}

static json_int_t
made(const json_t *run, const char *key)
{
	return json_integer_value(json_object_get(json_object_get(run, "made"), key));
}

/* Did diagnosing put no packet into the network, so that it can have changed nothing? */
static bool
sent_nothing(const json_t *run)
{
	return json_integer_value(json_object_get(run, "more_packets")) == 0 &&
	       json_integer_value(json_object_get(run, "more_bytes")) == 0 &&
	       json_integer_value(json_object_get(json_object_get(run, "steps"), "changed")) == 0;
}

/* Against the run in which nobody diagnosed. */
static void
add_changes(const struct systems_plan *plan, size_t index, const json_t *run, json_t *to)
{
	const char *quiet_dir = plan->quiet != SYSTEMS_NONE ? plan->runs[plan->quiet].dir : NULL;
	json_t *quiet = quiet_dir != NULL ? load(quiet_dir, RUN_SUMMARY) : NULL;

	json_object_set_new(to, "jobs", jobs(run, quiet));
	if (quiet != NULL && plan->quiet != index) {
		json_object_set_new(to, "more_packets", json_integer(made(run, "packets") - made(quiet, "packets")));
		json_object_set_new(to, "more_bytes", json_integer(made(run, "bytes") - made(quiet, "bytes")));
		json_object_set_new(to, "steps", steps(plan->runs[index].dir, quiet_dir));
		json_object_set_new(to, "sent_nothing", json_boolean(sent_nothing(to)));
	}
	json_decref(quiet);
}

json_t *
systems_run_json(const struct systems_plan *plan, size_t index, const char *folder)
{
	const struct systems_run *run = &plan->runs[index];
	json_t *root = load(run->dir, RUN_SUMMARY), *names = json_array(), *to;

	for (size_t i = 0; i < plan->count; i++)
		if ((run->at_work >> i & 1) != 0)
			json_array_append_new(names, json_string(plan->systems[i].row->name));
	to = json_pack("{s:s, s:o, s:b, s:s?}", "run", folder, "systems", names, "quiet", index == plan->quiet, "why",
		       run->why.text[0] != '\0' ? run->why.text : NULL);
	if (to != NULL && root != NULL) {
		json_object_set(to, "end_reason", json_object_get(root, "end_reason"));
		json_object_set(to, "virtual_ns", json_object_get(root, "virtual_ns"));
		json_object_set(to, "cpu_s", json_object_get(root, "cpu_s"));
		json_object_set(to, "made", json_object_get(root, "made"));
		add_changes(plan, index, root, to);
	}
	json_decref(root);
	return to;
}

json_t *
systems_truth_json(const struct systems_plan *plan)
{
	json_t *truth = load(plan->dir, RUN_TRUTH), *to;

	if (truth == NULL)
		return json_null();
	to = json_pack("{s:O, s:O}", "faults", json_object_get(truth, "faults"), "background_flows",
		       json_object_get(truth, "background_flows"));
	json_decref(truth);
	return to;
}
