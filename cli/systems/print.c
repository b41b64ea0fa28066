/* SPDX-License-Identifier: BSD-3-Clause */
#include "cli/systems/print.h"

#include <errno.h>
#include <string.h>

#include "common/array.h"
#include "common/printable.h"
#include "diag/report/fmt.h"
#include "diag/report/table.h"

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

/* What it had the network carry. */
static const char *
own_packets(const json_t *system, char *buf)
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
			 own_packets(system, own), ms(system, "diagnosis_cpu_ns", cpu), NULL);
}

static int
print_systems(const json_t *comparison, FILE *to)
{
	static const struct column columns[] = { { "SYSTEM", false },         { "RUN", false },
						 { "FINDINGS", true },        { "FIRST AT (ms)", true },
						 { "NETWORK", false },        { "TELEMETRY", true },
						 { "IN THE NETWORK", false }, { "CPU OF DIAGNOSIS (ms)", true } };
	struct libscols_table *table = create(columns, ARRAY_LEN(columns));
	const json_t *systems = json_object_get(comparison, "systems"), *system;
	int rc = table != NULL ? 0 : -ENOMEM;
	size_t i;

	json_array_foreach(systems, i, system) rc = rc == 0 ? add_system(table, system) : rc;
	if (table == NULL)
		return -ENOMEM;
	rc = finish(table, rc, to);
	json_array_foreach(systems, i, system) if (json_is_string(json_object_get(system, "why")))
		fprintf(to, "  %s: %s\n", text(system, "title"), text(system, "why"));
	return rc;
}

/* What it explains, where it speaks of time. */
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

	json_array_foreach(findings, i, finding)
	{
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
		{ "SYSTEM", false },       { "FINDING", false },     { "AT", false },
		{ "EXPLAINS (ms)", true }, { "SAID AT (ms)", true }, { "CONFIDENCE", true }
	};
	struct libscols_table *table = create(columns, ARRAY_LEN(columns));
	const json_t *system;
	int rc = 0;
	size_t i;

	if (table == NULL)
		return -ENOMEM;
	fputs("\nFindings, and when each could first have been said\n", to);
	json_array_foreach(json_object_get(comparison, "systems"), i, system)
	{
		if (rc == 0 && json_is_string(json_object_get(system, "report")))
			rc = add_findings(table, system);
	}
	return finish(table, rc, to);
}

/* Of one job: of several the first. */
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
		fmt_append(buf, cap, "nobody");
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
		      ? "\nRuns, in real time: no two have the same packets, so that nothing is said of what diagnosing "
			"changed\n"
		      : "\nRuns of the same packets, and what diagnosing changed against the one in which nobody does\n",
	      to);
	json_array_foreach(json_object_get(comparison, "runs"), i, run) rc = rc == 0 ? add_run(table, run) : rc;
	rc = finish(table, rc, to);
	json_array_foreach(json_object_get(comparison, "runs"), i, run) if (json_is_string(json_object_get(run, "why")))
		fprintf(to, "  %s: %s\n", text(run, "run"), text(run, "why"));
	json_array_foreach(json_object_get(comparison, "runs"), i, run)
	{
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
	json_array_foreach(json_object_get(truth, "faults"), i, of) rc =
		rc != 0 ? rc
			: table_row(table, text(of, "kind"), text(of, "target"), ms(of, "start_ns", from),
				    json_integer_value(json_object_get(of, "duration_ns")) != 0
					    ? ms(of, "duration_ns", lasts)
					    : "to the end",
				    json_is_true(json_object_get(of, "acted")) ? "yes" : "no", NULL);
	json_array_foreach(json_object_get(truth, "background_flows"), i, of) rc =
		rc != 0 ? rc : table_row(table, "flow", text(of, "flow"), ms(of, "start_ns", from), "-", "-", NULL);
	if (json_is_null(truth) || (json_array_size(json_object_get(truth, "faults")) == 0 && i == 0)) {
		table_destroy(table);
		return 0;
	}
	fputs("\nThe truth, which no diagnoser sees\n", to);
	return finish(table, rc, to);
}

int
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
