/* SPDX-License-Identifier: BSD-3-Clause */
#include "cli/systems/json.h"

#include <string.h>

#include "cli/systems/runs_json.h"
#include "common/array.h"
#include "common/wire/record.h"
#include "eval/telemetry_bytes.h"

/* Of a finding in verdict.json, what stands in the table. */
static json_t *
finding(json_t *of)
{
	static const char *const keys[] = { "type",         "root",           "ports",      "flows",
					    "explained_ns", "without_effect", "confidence", "start_ns",
					    "end_ns",       "undetected_ns",  "detected_ns" };
	json_t *to = json_object();

	for (size_t i = 0; i < ARRAY_LEN(keys); i++)
		json_object_set(to, keys[i], json_object_get(of, keys[i]));
	return to;
}

static json_t *
findings(const json_t *verdict)
{
	json_t *array = json_array(), *of;
	size_t i;

	json_array_foreach(json_object_get(verdict, "findings"), i, of) json_array_append_new(array, finding(of));
	return array;
}

/* When the first of its findings could have been said. */
static json_t *
first_detected(const json_t *verdict)
{
	json_t *of, *first = NULL;
	size_t i;

	json_array_foreach(json_object_get(verdict, "findings"), i, of)
	{
		json_t *at = json_object_get(of, "detected_ns");

		if (first == NULL || json_integer_value(at) < json_integer_value(first))
			first = at;
	}
	return first != NULL ? json_incref(first) : json_null();
}

static json_int_t
overhead(const json_t *verdict, const char *key)
{
	return json_integer_value(json_object_get(json_object_get(verdict, "overhead"), key));
}

/* What it had the network carry: polling packets and notifications, or probes. */
static json_t *
own_packets(const struct system_row *row, const json_t *verdict)
{
	const json_t *pingmesh = json_object_get(verdict, "pingmesh");
	const json_t *plugin = json_array_get(json_object_get(verdict, "outside"), 0);

	if (plugin != NULL)
		return json_pack("{s:O, s:O}", "asked_polls", json_object_get(plugin, "polls"), "asked_probes",
				 json_object_get(plugin, "probes"));
	if (pingmesh != NULL)
		return json_pack(
			"{s:I}", "probes",
			json_integer_value(json_object_get(json_object_get(pingmesh, "cluster"), "rpingmesh.probe_total")) +
				json_integer_value(
					json_object_get(json_object_get(pingmesh, "service"), "rpingmesh.probe_total")));
	if (!row->judges)
		return json_object();
	return json_pack("{s:I, s:I}", "packets",
			 overhead(verdict, "polling_packets") + overhead(verdict, "notification_packets"), "bytes",
			 overhead(verdict, "polling_bytes") + overhead(verdict, "notification_bytes"));
}

/* What it says of the network, where it has a word on it. */
static void
add_word(const struct system_row *row, const json_t *verdict, json_t *to)
{
	const json_t *network = json_object_get(verdict, "network");
	static const char *const keys[] = { "word", "confidence", "lost_ns", "unexplained_ns" };

	for (size_t i = 0; i < ARRAY_LEN(keys); i++) {
		if (row->judges)
			json_object_set(to, keys[i], json_object_get(network, keys[i]));
		else
			json_object_set_new(to, keys[i], json_null());
	}
}

static void
add_verdict(const struct systems_entry *entry, const struct systems_verdict *verdict, json_t *to)
{
	const json_t *root = verdict->root;

	add_word(entry->row, root, to);
	json_object_set_new(to, "findings", findings(root));
	json_object_set_new(to, "first_detected_ns", first_detected(root));
	json_object_set(to, "detection_prefixes", json_object_get(root, "detection_prefixes"));
	json_object_set_new(to, "telemetry_bytes", json_integer(telemetry_bytes(root, entry->row->kinds)));
	json_object_set_new(to, "step_bytes", json_integer(telemetry_bytes(root, UINT64_C(1) << REC_STEP)));
	json_object_set_new(to, "own_packets", own_packets(entry->row, root));
	json_object_set_new(to, "diagnosis_cpu_ns", json_integer((json_int_t)verdict->cpu_ns));
}

/* @return "." for the folder itself */
static const char *
folder(const struct systems_plan *plan, const char *dir)
{
	size_t base = strlen(plan->dir);

	return strncmp(dir, plan->dir, base) == 0 && dir[base] == '/' ? dir + base + 1 : ".";
}

static json_t *
system_json(const struct systems_plan *plan, size_t index, const struct systems_verdict *verdict)
{
	const struct systems_entry *entry = &plan->systems[index];
	bool able = entry->run != SYSTEMS_NONE;
	json_t *to = json_pack("{s:s, s:s, s:s, s:b, s:b, s:s?, s:s?, s:s?}", "name", entry->row->name, "title",
			       entry->row->title, "diagnoser", entry->row->diagnoser, "shares_run", entry->row->passive,
			       "available", able, "run", able ? folder(plan, plan->runs[entry->run].dir) : NULL, "report",
			       verdict->root != NULL ? folder(plan, entry->dir) : NULL, "why",
			       verdict->why.text[0] != '\0' ? verdict->why.text : NULL);

	if (to != NULL && verdict->root != NULL)
		add_verdict(entry, verdict, to);
	return to;
}

json_t *
systems_json(const struct systems_plan *plan, const struct systems_verdict *verdicts)
{
	json_t *all = json_array(), *runs = json_array(), *root;

	for (size_t i = 0; i < plan->count; i++)
		json_array_append_new(all, system_json(plan, i, &verdicts[i]));
	for (size_t i = 0; i < plan->nruns; i++)
		json_array_append_new(runs, systems_run_json(plan, i, folder(plan, plan->runs[i].dir)));
	root = json_pack("{s:i, s:s, s:I, s:s, s:o, s:o, s:o}", "schema_version", SYSTEMS_SCHEMA_VERSION, "name",
			 plan->scenario->name, "seed", (json_int_t)plan->scenario->root.seed, "clock",
			 plan->scenario->timing.clock == CLOCK_REAL ? "real" : "virtual", "systems", all, "runs", runs,
			 "truth", systems_truth_json(plan));
	return root;
}
