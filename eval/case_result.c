/* SPDX-License-Identifier: BSD-3-Clause */
#include "eval/case_result.h"

#include <errno.h>
#include <jansson.h>
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "common/array.h"
#include "common/input_file.h"
#include "common/record/kinds.h"
#include "common/wire/probe.h"
#include "emulation/outputs/outputs.h"
#include "eval/eval.h"
#include "eval/store.h"
#include "twin/rerun/job.h"

int64_t
telemetry_bytes(const json_t *verdict, uint64_t kinds)
{
	int64_t bytes = 0;
	const json_t *of;
	size_t i;

	json_array_foreach(json_object_get(json_object_get(verdict, "overhead"), "kinds"), i, of) {
		const char *name = json_string_value(json_object_get(of, "kind"));

		for (uint32_t kind = 0; name != NULL && kind < RECORD_KINDS; kind++)
			if ((kinds >> kind & 1) != 0 && record_kinds[kind].title != NULL &&
			    strcmp(record_kinds[kind].title, name) == 0)
				bytes += json_integer_value(json_object_get(of, "bytes"));
	}
	return bytes;
}

static double
number(const json_t *object, const char *key)
{
	return json_number_value(json_object_get(object, key));
}

double
poll_bytes(const json_t *verdict)
{
	const json_t *overhead = json_object_get(verdict, "overhead");

	return number(overhead, "polling_bytes") + number(overhead, "notification_bytes");
}

double
probe_bytes(const json_t *verdict)
{
	const json_t *own = json_object_get(verdict, "pingmesh");

	return PROBE_DATAGRAMS * PROBE_LINK_BYTES *
	       (number(json_object_get(own, "cluster"), "rpingmesh.probe_total") +
		number(json_object_get(own, "service"), "rpingmesh.probe_total"));
}

static json_t *
load(const char *dir, const char *folder, const char *name)
{
	char path[PATH_MAX];

	snprintf(path, sizeof(path), "%s/%s/%s", dir, folder, name);
	return input_json(path, 0, NULL);
}

static uint64_t
count_of(const json_t *object, const char *key)
{
	return (uint64_t)json_number_value(json_object_get(object, key));
}

static void
read_costs(const json_t *verdict, const json_t *fabric, struct store_run *run)
{
	const json_t *overhead = json_object_get(verdict, "overhead");

	run->telemetry_bytes = count_of(overhead, "telemetry_bytes");
	run->collected_bytes = count_of(overhead, "telemetry_bytes_collected");
	run->bandwidth_bytes = count_of(overhead, "bandwidth_bytes");
	run->polls = count_of(overhead, "polls");
	run->hops = count_of(fabric, "packet_hops");
	run->cpu_s = json_number_value(json_object_get(fabric, "cpu_s"));
}

/* The truth beside the verdict, for people. */
static int
write_score(const char *dir, const struct store_run *run, const struct truth *truth, struct err *err)
{
	json_t *root = json_pack("{s:s, s:s, s:O, s:O}", "outcome", score_name(run->outcome), "why", run->why, "anomalies",
				 truth->anomalies, "truth", truth->fabric);
	char folder[PATH_MAX];

	snprintf(folder, sizeof(folder), "%s/%s", dir, run->policy);
	return output_json(root, folder, "score.json", err);
}

int
case_result(const char *dir, const char *fabric, struct store_run *run, struct err *err)
{
	json_t *verdict = load(dir, run->policy, "verdict.json");
	json_t *costs = load(dir, fabric, "run.json");
	struct err why = { 0 };
	struct truth truth;
	/*
	 * Where steps overlap by a hair, detection packets decide which flows share a queue: a verdict is about its
	 * own run.
	 */
	int ret = verdict != NULL ? truth_load(&truth, dir, fabric, err)
				  : err_set(err, -ENODATA, "verdict.json cannot be read");

	if (ret == 0) {
		run->outcome = score_verdict(&truth, verdict, &why);
		snprintf(run->why, sizeof(run->why), "%.*s", (int)sizeof(run->why) - 1, why.text);
		read_costs(verdict, costs, run);
		if (strcmp(fabric, run->policy) != 0) /* a job of its own */
			run->wall_s += json_number_value(json_object_get(costs, "wall_s"));
		ret = write_score(dir, run, &truth, err);
		truth_fini(&truth);
	}
	json_decref(verdict);
	json_decref(costs);
	return ret;
}

void
case_result_forget_truth(const char *dir)
{
	static const char *const names[] = { "truth.json", "run.json", JOB_RECORDS };
	char path[PATH_MAX];

	for (size_t i = 0; i < ARRAY_LEN(names); i++) {
		snprintf(path, sizeof(path), "%s/" EVAL_TRUTH "/%s", dir, names[i]);
		unlink(path);
	}
}

void
case_result_tidy(const char *dir, const char *folder, bool keep)
{
	static const char *const always[] = { "effective.cfg", "steps.csv" };
	static const char *const unless_kept[] = { JOB_RECORDS,      "report.html", "waiting.dot",
						   "provenance.dot", "log.txt",     "report.txt" };
	bool is_truth = strcmp(folder, EVAL_TRUTH) == 0;
	char path[PATH_MAX];

	for (size_t i = 0; i < ARRAY_LEN(always); i++) {
		snprintf(path, sizeof(path), "%s/%s/%s", dir, folder, always[i]);
		unlink(path);
	}
	for (size_t i = 0; !keep && i < ARRAY_LEN(unless_kept); i++) {
		snprintf(path, sizeof(path), "%s/%s/%s", dir, folder, unless_kept[i]);
		unlink(path);
	}
	if (!is_truth) {
		snprintf(path, sizeof(path), "%s/%s/truth.json", dir, folder);
		unlink(path); /* score.json has it */
	}
}
