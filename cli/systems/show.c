/* SPDX-License-Identifier: BSD-3-Clause */
/* The systems' results, side by side: in DIR/comparison.json, for people, and in the page of the base run. */
#include "cli/systems/plan.h"

#include <errno.h>
#include <jansson.h>
#include <limits.h>
#include <math.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/page/element.h"
#include "cli/start/launch.h"
#include "common/array.h"
#include "common/child.h"
#include "common/clock.h"
#include "common/err.h"
#include "common/input_file.h"
#include "common/log.h"
#include "common/printable.h"
#include "common/program.h"
#include "common/run_files.h"
#include "common/wire/record.h"
#include "diag/report/fmt.h"
#include "diag/report/text.h"
#include "emulation/outputs/outputs.h"
#include "eval/case_result.h"
#include "plugin/account.h"
#include "scenario/scenario.h"
#include "scenario/systems.h"

/* How the steps of one run differ from those of another of the same packets, by their steps.csv. */

struct systems_steps {
	uint64_t steps, changed; /* that both have; that took another time */
	double sum_ns;           /* of all changes: the longer they take, the more */
	double most_ns;          /* the largest change, whatever its sign */
};

static int systems_steps(const char *dir, const char *quiet_dir, struct systems_steps *steps, struct err *err);

#define LINE_BYTES 512
#define NAMING_COLUMNS 11 /* job to bytes: which step it is */

static FILE *
open_steps(const char *dir, struct err *err)
{
	char path[PATH_MAX + 32];
	FILE *file;

	snprintf(path, sizeof(path), "%s/" RUN_STEPS, dir);
	file = input_fopen(path, err);
	return file;
}

/* @param names  set to the bytes that name the step. @return its duration; NAN: it did not end, or is no step */
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

/* @return 0, or -EINVAL with err: one cannot be read, or is of other steps */
static int
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

/* A verdict of each system by itself, from the recording of its run. */

struct systems_verdict {
	json_t *root;    /* DIR/systems/NAME/verdict.json; NULL: there is none */
	uint64_t cpu_ns; /* that the analyzer took for it, times to detection left out */
	struct err why;  /* there is none, or of a plugin diagnoser that was left out not all */
};

#define POLL_NS 5000000ULL
/* An analyzer that does nothing for this long is stopped, or stuck. */
#define IDLE_NS 10000000000ULL

/* @return 0, or -EIO with err */
static int
wait_for(pid_t pid, uint64_t *cpu_ns, struct err *err)
{
	struct child_watch watch = { .pid = pid };
	bool killed = false;
	char text[64];
	int status;

	while (!child_poll_cpu(pid, &status, cpu_ns)) {
		if (!killed && (launch_abandoned() || child_idle_ns(&watch) >= IDLE_NS)) {
			kill(pid, SIGKILL);
			killed = true;
		}
		clock_sleep_until_ns(clock_now_ns() + POLL_NS);
	}
	return status == 0 ? 0 : err_set(err, -EIO, "the analyzer %s", child_text(status, text, sizeof(text)));
}

/* @param times  to detection, too. @return 0 or negative errno with err */
static int
analyze(const struct systems_plan *plan, const char *records, const struct systems_entry *entry, bool times,
	uint64_t *cpu_ns, struct err *err)
{
	struct child_args args = { .argv = { "analyzer", "--read", records, "--out", entry->dir, "--diagnoser",
					     entry->row->diagnoser, "--quiet", "--allow-left-out" },
				   .count = 9 };
	char path[PATH_MAX], plugin[PATH_MAX + 32];
	pid_t pid;

	snprintf(plugin, sizeof(plugin), "%s/" RUN_PLUGIN, plan->dir);
	if (child_find("analyzer", "diag", path, sizeof(path), err) < 0 ||
	    (systems_is_program(entry) && (child_add(&args, "--plugins", err) < 0 || child_add(&args, plugin, err) < 0)) ||
	    (times && child_add(&args, "--detection-times", err) < 0))
		return -ENOENT;
	pid = child_start(path, &args, true, err);
	return pid < 0 ? pid : wait_for(pid, cpu_ns, err);
}

static void
read_verdict(const struct systems_entry *entry, struct systems_verdict *verdict)
{
	char path[PATH_MAX + 32];
	json_error_t error;
	json_t *program;

	snprintf(path, sizeof(path), "%s/" RUN_VERDICT, entry->dir);
	verdict->root = input_json(path, 0, &error);
	if (verdict->root == NULL)
		err_set(&verdict->why, -EINVAL, "%s:%d: %s", path, error.line, error.text);
	program = json_array_get(json_object_get(verdict->root, "plugins"), 0);
	if (json_is_true(json_object_get(program, "left_out")))
		err_set(&verdict->why, 0, "left out: %s", json_string_value(json_object_get(program, "why")));
}

/* @return 0; -ENOENT: there is no recording; another negative errno: there is, and no verdict */
static int
diagnose(const struct systems_plan *plan, size_t index, struct systems_verdict *verdict)
{
	const struct systems_entry *entry = &plan->systems[index];
	const struct systems_run *run = entry->run != SYSTEMS_NONE ? &plan->runs[entry->run] : NULL;
	char records[PATH_MAX + 32];
	struct run_dir dir;
	uint64_t cpu_ns;
	int ret;

	if (run == NULL)
		return err_set(&verdict->why, -ENOENT, "%s", entry->why.text);
	snprintf(records, sizeof(records), "%s/" RUN_RECORDING, run->dir);
	if (access(records, F_OK) < 0)
		return err_set(&verdict->why, -ENOENT, "%s",
			       run->why.text[0] != '\0' ? run->why.text : "its run left no recording");
	if (run_dir_open(&dir, entry->dir, &verdict->why) < 0)
		return -EIO;
	ret = analyze(plan, records, entry, false, &verdict->cpu_ns, &verdict->why);
	if (ret == 0)
		ret = analyze(plan, records, entry, true, &cpu_ns, &verdict->why);
	if (ret == 0)
		read_verdict(entry, verdict);
	run_files_tidy(entry->dir);
	run_dir_close(&dir);
	return verdict->root != NULL ? 0 : -EIO;
}

/*
 * @param verdicts  [plan->count] to be given back by systems_verdicts_fini()
 * @return EXIT_DONE, or EXIT_FAILED: a recording that is there has no verdict, or a plugin diagnoser was left out
 */
static int
systems_verdicts(const struct systems_plan *plan, struct systems_verdict *verdicts)
{
	int worst = EXIT_DONE;

	for (size_t i = 0; i < plan->count; i++) {
		int ret;

		verdicts[i] = (struct systems_verdict){ 0 };
		ret = launch_abandoned() ? err_set(&verdicts[i].why, -ENOENT, "ended at once")
					 : diagnose(plan, i, &verdicts[i]);
		if ((ret == 0 && verdicts[i].why.text[0] == '\0') || ret == -ENOENT)
			continue;
		if (verdicts[i].root == NULL) /* the user was warned of those that were left out */
			log_error("%s: %s", plan->systems[i].row->name, verdicts[i].why.text);
		worst = EXIT_FAILED;
	}
	return worst;
}

static void
systems_verdicts_fini(const struct systems_plan *plan, struct systems_verdict *verdicts)
{
	for (size_t i = 0; i < plan->count; i++)
		json_decref(verdicts[i].root);
}

/* Parts of comparison.json: the runs, the effect of their systems' own packets, and the injected faults. */

/* @return NULL where there is none that can be read */
static json_t *
load(const char *dir, const char *name)
{
	char path[PATH_MAX + 32];

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	return input_json(path, 0, NULL);
}

static json_t *
took(const json_t *job)
{
	const json_t *start = json_object_get(job, "start_ns"), *end = json_object_get(job, "end_ns");

	return json_is_integer(start) && json_is_integer(end)
		       ? json_integer(json_integer_value(end) - json_integer_value(start))
		       : json_null();
}

/*
 * How long each job took, with and without diagnosers. @param quiet  run.json of the run without, NULL: there is none
 */
static json_t *
jobs(const json_t *run, const json_t *quiet)
{
	json_t *array = json_array(), *job;
	size_t i;

	json_array_foreach(json_object_get(run, "jobs"), i, job) {
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

/* Against the run without diagnosers. */
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

/* @param folder  as the document names it. @return NULL: out of memory */
static json_t *
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

/* @return the injected faults from truth.json of the base run; null without one. For readers: no diagnoser sees it. */
static json_t *
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

/* comparison.json: the systems' results, side by side (docs/compare.md). */

#define SYSTEMS_SCHEMA_VERSION 1

/* The columns of the table, from a finding in verdict.json. */
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

	json_array_foreach(json_object_get(verdict, "findings"), i, of)
		json_array_append_new(array, finding(of));
	return array;
}

/* The earliest time of the first of its findings. */
static json_t *
first_detected(const json_t *verdict)
{
	json_t *of, *first = NULL;
	size_t i;

	json_array_foreach(json_object_get(verdict, "findings"), i, of) {
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

/* @return a system's load on the network: polling packets and notifications, or probes */
static json_t *
own_packets(const struct system_row *row, const json_t *verdict)
{
	const json_t *pingmesh = json_object_get(verdict, "pingmesh");
	const json_t *plugin = json_array_get(json_object_get(verdict, "plugins"), 0);

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

/* Adds a system's claim about the network, if it makes one. */
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

/* @return the document; NULL: out of memory */
static json_t *
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

/* comparison.json for people. */

#define MOST_FINDINGS 8 /* of a system; its own report has all */
#define NS_PER_MS 1e6
#define NS_PER_US 1e3
#define CELL 128

struct column {
	const char *name;
	bool right;
};

static struct libscols_table *
create(const struct column *columns, size_t count)
{
	const char *names[16];
	bool right[16];

	for (size_t i = 0; i < count; i++) {
		names[i] = columns[i].name;
		right[i] = columns[i].right;
	}
	return table_create(names, right, count);
}

static int
finish(struct libscols_table *table, int rc, FILE *to)
{
	if (rc == 0)
		rc = table_print(table, to);
	table_destroy(table);
	return rc;
}

static const char *
text(const json_t *of, const char *key)
{
	const char *value = json_string_value(json_object_get(of, key));

	return value != NULL ? value : "-";
}

/* Nanoseconds as milliseconds. @return buf; "-": there is no such number */
static const char *
ms(const json_t *of, const char *key, char *buf)
{
	const json_t *value = json_object_get(of, key);

	if (json_is_number(value))
		snprintf(buf, CELL, "%.3f", json_number_value(value) / NS_PER_MS);
	else
		strcpy(buf, "-");
	return buf;
}

static const char *
count(const json_t *of, const char *key, char *buf)
{
	const json_t *value = json_object_get(of, key);

	if (!json_is_integer(value))
		strcpy(buf, "-");
	else
		snprintf(buf, CELL, "%s%s", json_integer_value(value) < 0 ? "-" : "",
			 fmt_count((uint64_t)llabs(json_integer_value(value))).text);
	return buf;
}

/* Prints a system's load on the network. */
static const char *
own_packets_text(const json_t *system, char *buf)
{
	const json_t *own = json_object_get(system, "own_packets");
	const json_t *packets = json_object_get(own, "packets"), *probes = json_object_get(own, "probes");
	json_int_t asked = json_integer_value(json_object_get(own, "asked_polls")) +
			   json_integer_value(json_object_get(own, "asked_probes"));

	if (packets != NULL)
		snprintf(buf, CELL, "%s packets, %s", fmt_count((uint64_t)json_integer_value(packets)).text,
			 fmt_bytes((double)json_integer_value(json_object_get(own, "bytes"))).text);
	else if (probes != NULL)
		snprintf(buf, CELL, "%s probes", fmt_count((uint64_t)json_integer_value(probes)).text);
	else if (asked != 0)
		snprintf(buf, CELL, "%s polls and probes asked for", fmt_count((uint64_t)asked).text);
	else
		strcpy(buf, "none");
	return buf;
}

static int
add_system(struct libscols_table *table, const json_t *system)
{
	char found[CELL], first[CELL], cpu[CELL], own[CELL];
	const char *shared = strcmp(text(system, "run"), ".") == 0 ? "shared" : "its own";

	if (!json_is_string(json_object_get(system, "report")))
		return table_row(table, text(system, "title"),
				 json_is_true(json_object_get(system, "available")) ? "no verdict" : "cannot be had", NULL);
	snprintf(found, sizeof(found), "%zu", json_array_size(json_object_get(system, "findings")));
	return table_row(table, text(system, "title"), shared, found, ms(system, "first_detected_ns", first),
			 text(system, "word"),
			 fmt_bytes((double)json_integer_value(json_object_get(system, "telemetry_bytes"))).text,
			 own_packets_text(system, own), ms(system, "diagnosis_cpu_ns", cpu), NULL);
}

static int
print_systems(const json_t *comparison, FILE *to)
{
	static const struct column columns[] = { { "SYSTEM", false },         { "RUN", false },
						 { "FINDINGS", true },        { "FIRST AT (ms)", true },
						 { "NETWORK", false },        { "TELEMETRY", true },
						 { "IN THE NETWORK", false }, { "CPU OF DIAGNOSIS (ms)", true } };
	struct libscols_table *table = create(columns, ARRAY_LEN(columns));
	const json_t *list = json_object_get(comparison, "systems"), *system;
	int rc = table != NULL ? 0 : -ENOMEM;
	size_t i;

	json_array_foreach(list, i, system)
		rc = rc == 0 ? add_system(table, system) : rc;
	if (table == NULL)
		return -ENOMEM;
	rc = finish(table, rc, to);
	json_array_foreach(list, i, system)
		if (json_is_string(json_object_get(system, "why")))
			fprintf(to, "  %s: %s\n", text(system, "title"), text(system, "why"));
	return rc;
}

/* The time that it explains, where it does. */
static const char *
explained(const json_t *system, const json_t *finding, char *buf)
{
	if (json_integer_value(json_object_get(finding, "explained_ns")) == 0 &&
	    json_is_null(json_object_get(system, "word")))
		return "-";
	if (json_is_true(json_object_get(finding, "without_effect")))
		return "no effect";
	return ms(finding, "explained_ns", buf);
}

static int
add_findings(struct libscols_table *table, const json_t *system)
{
	const json_t *findings = json_object_get(system, "findings"), *finding;
	char cost[CELL], at[CELL], sure[CELL], more[CELL];
	int rc = 0;
	size_t i;

	json_array_foreach(findings, i, finding) {
		if (i == MOST_FINDINGS || rc != 0)
			break;
		snprintf(sure, sizeof(sure), "%.2f", json_number_value(json_object_get(finding, "confidence")));
		rc = table_row(table, i == 0 ? text(system, "title") : "", text(finding, "type"), text(finding, "root"),
			       explained(system, finding, cost), ms(finding, "detected_ns", at), sure, NULL);
	}
	if (json_array_size(findings) == 0)
		return table_row(table, text(system, "title"), "none", NULL);
	if (rc != 0 || json_array_size(findings) <= MOST_FINDINGS)
		return rc;
	snprintf(more, sizeof(more), "... and %zu more", json_array_size(findings) - MOST_FINDINGS);
	return table_row(table, "", more, NULL);
}

static int
print_findings(const json_t *comparison, FILE *to)
{
	static const struct column columns[] = {
		{ "SYSTEM", false },       { "FINDING", false },         { "AT", false },
		{ "EXPLAINS (ms)", true }, { "REPORTED AT (ms)", true }, { "CONFIDENCE", true }
	};
	struct libscols_table *table = create(columns, ARRAY_LEN(columns));
	const json_t *system;
	int rc = 0;
	size_t i;

	if (table == NULL)
		return -ENOMEM;
	fputs("\n"
	      "Findings, and the earliest time at which each could be reported\n",
	      to);
	json_array_foreach(json_object_get(comparison, "systems"), i, system) {
		if (rc == 0 && json_is_string(json_object_get(system, "report")))
			rc = add_findings(table, system);
	}
	return finish(table, rc, to);
}

/* Prints the time of a job, the first if there are several. */
static void
job_times(const json_t *run, char *took, char *change)
{
	const json_t *job = json_array_get(json_object_get(run, "jobs"), 0);
	const json_t *ns = json_object_get(job, "took_ns"), *quiet_ns = json_object_get(job, "quiet_ns");

	ms(job, "took_ns", took);
	if (json_is_integer(ns) && json_is_integer(quiet_ns) && json_integer_value(quiet_ns) != 0)
		snprintf(change, CELL, "%+.4f %%",
			 100 * ((double)json_integer_value(ns) / (double)json_integer_value(quiet_ns) - 1));
	else
		strcpy(change, "-");
}

static void
run_names(const json_t *run, char *buf, size_t cap)
{
	const json_t *name;
	size_t i;

	buf[0] = '\0';
	json_array_foreach(json_object_get(run, "systems"), i, name)
		fmt_append(buf, cap, "%s%s", i != 0 ? ", " : "", json_string_value(name));
	if (i == 0)
		fmt_append(buf, cap, "none");
}

static int
add_run(struct libscols_table *table, const json_t *run)
{
	char names[256], packets[CELL], bytes[CELL], changed[CELL], most[CELL] = "-", took[CELL], change[CELL], cpu[CELL];
	const json_t *steps = json_object_get(run, "steps");

	run_names(run, names, sizeof(names));
	job_times(run, took, change);
	if (json_is_true(json_object_get(run, "quiet")) || json_is_true(json_object_get(run, "sent_nothing")))
		strcpy(change, "-");
	snprintf(cpu, sizeof(cpu), "%.2f", json_number_value(json_object_get(run, "cpu_s")));
	if (json_is_true(json_object_get(run, "sent_nothing")))
		steps = NULL;
	if (json_is_object(steps))
		snprintf(most, sizeof(most), "%.3f", json_number_value(json_object_get(steps, "most_ns")) / NS_PER_US);
	if (!json_is_object(json_object_get(run, "made")))
		return table_row(table, names, "no results", NULL);
	return table_row(table, names, text(run, "end_reason"), count(run, "more_packets", packets),
			 count(run, "more_bytes", bytes), count(steps, "changed", changed), most, took, change, cpu, NULL);
}

static int
print_runs(const json_t *comparison, FILE *to)
{
	static const struct column columns[] = { { "AT WORK", false },       { "ENDED", false },
						 { "PACKETS MORE", true },   { "BYTES MORE", true },
						 { "STEPS CHANGED", true },  { "MOST (us)", true },
						 { "FIRST JOB (ms)", true }, { "CHANGE", true },
						 { "CPU (s)", true } };
	struct libscols_table *table = create(columns, ARRAY_LEN(columns));
	const json_t *run;
	int rc = 0;
	size_t i;

	if (table == NULL)
		return -ENOMEM;
	fputs(strcmp(text(comparison, "clock"), "real") == 0
		      ? "\n"
			"Runs, in real time: no two have the same packets, so the effect of diagnosing is not measured\n"
		      : "\n"
			"Runs of the same packets, and the effect of diagnosing, against a run without diagnosis\n",
	      to);
	json_array_foreach(json_object_get(comparison, "runs"), i, run)
		rc = rc == 0 ? add_run(table, run) : rc;
	rc = finish(table, rc, to);
	json_array_foreach(json_object_get(comparison, "runs"), i, run)
		if (json_is_string(json_object_get(run, "why")))
			fprintf(to, "  %s: %s\n", text(run, "run"), text(run, "why"));
	json_array_foreach(json_object_get(comparison, "runs"), i, run) {
		char names[256];

		if (!json_is_true(json_object_get(run, "sent_nothing")))
			continue;
		run_names(run, names, sizeof(names));
		fprintf(to, "  %s: sent nothing into the network, so that it changes nothing by construction\n", names);
	}
	return rc;
}

static int
print_truth(const json_t *comparison, FILE *to)
{
	static const struct column columns[] = {
		{ "INJECTED", false }, { "AT", false }, { "FROM (ms)", true }, { "FOR (ms)", true }, { "ACTED", false }
	};
	const json_t *truth = json_object_get(comparison, "truth"), *of;
	struct libscols_table *table = create(columns, ARRAY_LEN(columns));
	char from[CELL], lasts[CELL];
	int rc = 0;
	size_t i;

	if (table == NULL)
		return -ENOMEM;
	json_array_foreach(json_object_get(truth, "faults"), i, of)
		rc = rc != 0 ? rc
			     : table_row(table, text(of, "kind"), text(of, "target"), ms(of, "start_ns", from),
					 json_integer_value(json_object_get(of, "duration_ns")) != 0
						 ? ms(of, "duration_ns", lasts)
						 : "to the end",
					 json_is_true(json_object_get(of, "acted")) ? "yes" : "no", NULL);
	json_array_foreach(json_object_get(truth, "background_flows"), i, of)
		rc = rc != 0 ? rc : table_row(table, "flow", text(of, "flow"), ms(of, "start_ns", from), "-", "-", NULL);
	if (json_is_null(truth) || (json_array_size(json_object_get(truth, "faults")) == 0 && i == 0)) {
		table_destroy(table);
		return 0;
	}
	fputs("\nThe truth, which no diagnoser sees\n", to);
	return finish(table, rc, to);
}

/* @param dir  of the base run, as paths begin. @return 0, -ENOMEM or -EIO */
static int
systems_print(const json_t *comparison, const char *dir, FILE *to)
{
	const struct plain_line shown = plain_line(dir);
	int rc;

	fprintf(to, "Systems side by side: %s, seed %lld\n", text(comparison, "name"),
		(long long)json_integer_value(json_object_get(comparison, "seed")));
	rc = print_systems(comparison, to);
	if (rc == 0)
		rc = print_findings(comparison, to);
	if (rc == 0)
		rc = print_runs(comparison, to);
	if (rc == 0)
		rc = print_truth(comparison, to);
	fprintf(to, "\nReports: %s/report.html, and of each system %s/systems/NAME/report.html\n", shown.text, shown.text);
	return rc == 0 && fflush(to) != 0 ? -EIO : rc;
}

static size_t
count_findings(const json_t *comparison)
{
	const json_t *system;
	size_t count = 0, i;

	json_array_foreach(json_object_get(comparison, "systems"), i, system)
		count += json_array_size(json_object_get(system, "findings"));
	return count;
}

/* People read it also where no file could hold it. @return 0 or negative errno with err */
static int
show(const struct systems_plan *plan, json_t *comparison, bool json, struct err *err)
{
	int ret = output_json(json_incref(comparison), plan->dir, RUN_COMPARISON, err), rc = 0;

	if (ret == 0)
		ret = page_element(plan->dir, "comparison", comparison, err);
	if (json)
		rc = json_dumpf(comparison, stdout, JSON_INDENT(1) | JSON_PRESERVE_ORDER) == 0 && putchar('\n') != EOF &&
				     fflush(stdout) == 0
			     ? 0
			     : -EIO;
	else
		rc = systems_print(comparison, plan->dir, stdout);
	if (rc != 0)
		err_set(err, rc, "cannot print the comparison");
	return ret != 0 ? ret : rc;
}

int
systems_show(struct systems_plan *plan, bool json, size_t *findings, struct err *err)
{
	struct systems_verdict verdicts[SYSTEMS_MAX];
	int worst = systems_verdicts(plan, verdicts), ret;
	json_t *comparison = systems_json(plan, verdicts);

	systems_verdicts_fini(plan, verdicts);
	if (comparison == NULL)
		return err_set(err, -ENOMEM, "out of memory for " RUN_COMPARISON);
	*findings = count_findings(comparison);
	ret = show(plan, comparison, json, err);
	json_decref(comparison);
	return ret < 0 ? ret : worst;
}
