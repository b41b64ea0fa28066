/* SPDX-License-Identifier: BSD-3-Clause */
/* rocelab bench analyzer: how fast records become a verdict, and how that grows with the fabric. */
#include "bench/bench.h"

#include <jansson.h>
#include <libsmartcols/libsmartcols.h>
#include <malloc.h>
#include <stdbool.h>
#include <stdio.h>
#include <unistd.h>

#include "bench/stream.h"
#include "common/array.h"
#include "common/clock.h"
#include "common/err.h"
#include "diag/collect/stream.h"
#include "diag/registry.h"

#define MAX_RUNS BENCH_MAX_REPEATS
#define SHORT_MS 200.0      /* runs that together take less are repeated, up to MAX_RUNS */
#define PORTION_BYTES 65536 /* bytes of one read() of a socket */

/* The unit of a case's cost. */
enum unit { STEP, REPORT };

struct bench_case {
	const char *name;
	enum unit unit;
	struct bench_shape shape;
};

/*
 * K=4, 8, 16 and 32 fat-trees have 20, 80, 320 and 1280 switches. The costs that a series does not count are small,
 * or grow with it.
 */
static const struct bench_case cases[] = {
	{ "a case of the paper", REPORT, { 8, 7, 20, 60, 7 } }, { "ranks x steps", STEP, { 128, 127, 20, 4, 1 } },
	{ "ranks x steps", STEP, { 256, 255, 20, 4, 1 } },      { "ranks x steps", STEP, { 512, 511, 20, 4, 1 } },
	{ "ranks x steps", STEP, { 1024, 1023, 20, 4, 1 } },    { "more switches", REPORT, { 16, 3, 20, 100, 3 } },
	{ "more switches", REPORT, { 64, 3, 80, 100, 3 } },     { "more switches", REPORT, { 256, 3, 320, 100, 3 } },
	{ "more switches", REPORT, { 1024, 3, 1280, 100, 3 } }, { "more reports", REPORT, { 64, 3, 80, 100, 3 } },
	{ "more reports", REPORT, { 64, 12, 80, 400, 12 } },    { "more reports", REPORT, { 64, 48, 80, 1600, 48 } },
};
#define NCASES ARRAY_LEN(cases)

struct bench_result {
	uint64_t records, bytes;
	double ingest, finish, verdict; /* ms: of each the best run's */
	uint32_t runs, findings;
};

static double
ms_since(uint64_t *mark_ns)
{
	uint64_t before_ns = *mark_ns;

	*mark_ns = clock_cpu_ns();
	return (double)(*mark_ns - before_ns) / 1e6;
}

static double
least(const struct bench_result *result, double before, double now)
{
	return result->runs == 0 || now < before ? now : before;
}

/* @param spent_ms  the run's time is added */
static int
run_once(const struct bench_stream *records, struct bench_result *result, double *spent_ms, struct err *err)
{
	double ingest, finish, verdict_ms;
	struct verdict *verdict = NULL;
	struct evidence evidence;
	struct stream stream;
	uint64_t mark_ns;
	int ret = 0;

	malloc_trim(0); /* an analyzer starts without the memory of an earlier run, too */
	mark_ns = clock_cpu_ns();
	evidence_init(&evidence);
	stream_init(&stream, &evidence);
	for (size_t at = 0; ret == 0 && at < records->used_bytes; at += PORTION_BYTES) {
		size_t left = records->used_bytes - at;

		ret = stream_feed(&stream, records->data + at, left < PORTION_BYTES ? left : PORTION_BYTES, err);
	}
	ingest = ms_since(&mark_ns);
	if (ret == 0)
		ret = stream_finish(&stream, err);
	finish = ms_since(&mark_ns);
	stream_fini(&stream);
	if (ret == 0)
		ret = registry_diagnose(&evidence, &verdict, err);
	verdict_ms = ms_since(&mark_ns);
	result->ingest = least(result, result->ingest, ingest);
	result->finish = least(result, result->finish, finish);
	result->verdict = least(result, result->verdict, verdict_ms);
	result->findings = ret == 0 ? verdict->nfindings : 0;
	result->runs++;
	*spent_ms += ingest + finish + verdict_ms;
	verdict_destroy(verdict);
	evidence_fini(&evidence);
	return ret;
}

static int
run_case(const struct bench_case *c, uint32_t repeats, struct bench_result *result, struct err *err)
{
	struct bench_stream records;
	int ret = bench_stream_make(&records, &c->shape, err);
	double spent_ms = 0;

	*result = (struct bench_result){ .records = records.records, .bytes = records.used_bytes };
	while (ret == 0 && (result->runs < repeats || (result->runs < MAX_RUNS && spent_ms < SHORT_MS)))
		ret = run_once(&records, result, &spent_ms, err);
	bench_stream_fini(&records);
	return ret;
}

/* Time from the last record to the verdict, per step of the ranks, ns. */
static double
ns_a_step(const struct bench_case *c, const struct bench_result *r)
{
	return (r->finish + r->verdict) * 1e6 / ((double)c->shape.ranks * c->shape.steps);
}

static double
ns_a_report(const struct bench_case *c, const struct bench_result *r)
{
	return (r->finish + r->verdict) * 1e6 / ((double)c->shape.switches * c->shape.reports);
}

static double
mrecords_s(const struct bench_result *r)
{
	return r->ingest > 0 ? (double)r->records / r->ingest / 1e3 : 0;
}

static void
print_table(const struct bench_result *results)
{
	static const char *const columns[] = { "CASE",        "RANKS",   "STEPS",      "SWITCHES", "REPORTS",  "RECORDS",
					       "M RECORDS/S", "JOIN MS", "VERDICT MS", "NS/STEP",  "NS/REPORT" };
	struct libscols_table *table = scols_new_table();

	for (size_t i = 0; i < ARRAY_LEN(columns); i++)
		scols_table_new_column(table, columns[i], 0, i == 0 ? 0 : SCOLS_FL_RIGHT);
	for (size_t i = 0; i < NCASES; i++) {
		const struct bench_shape *shape = &cases[i].shape;
		const struct bench_result *r = &results[i];
		struct libscols_line *line = scols_table_new_line(table, NULL);
		char cell[11][48];

		snprintf(cell[0], sizeof(cell[0]), "%s", cases[i].name);
		snprintf(cell[1], sizeof(cell[1]), "%u", shape->ranks);
		snprintf(cell[2], sizeof(cell[2]), "%u", shape->steps);
		snprintf(cell[3], sizeof(cell[3]), "%u", shape->switches);
		snprintf(cell[4], sizeof(cell[4]), "%u", shape->reports);
		snprintf(cell[5], sizeof(cell[5]), "%.3f M", (double)r->records / 1e6);
		snprintf(cell[6], sizeof(cell[6]), "%.2f", mrecords_s(r));
		snprintf(cell[7], sizeof(cell[7]), "%.1f", r->finish);
		snprintf(cell[8], sizeof(cell[8]), "%.1f", r->verdict);
		snprintf(cell[9], sizeof(cell[9]), cases[i].unit == STEP ? "%.0f" : "-", ns_a_step(&cases[i], r));
		snprintf(cell[10], sizeof(cell[10]), cases[i].unit == REPORT ? "%.0f" : "-", ns_a_report(&cases[i], r));
		for (size_t c = 0; c < 11; c++)
			scols_line_set_data(line, c, cell[c]);
	}
	scols_print_table(table);
	scols_unref_table(table);
	puts("\nProcessor time, the best of several runs. REPORTS are those of each switch. From the last record to the "
	     "verdict it\ntakes both times together; NS/STEP and NS/REPORT are that over ranks x steps and over switches x "
	     "reports.");
}

static void
print_json(const struct bench_result *results)
{
	json_t *rows = json_array(), *root;

	for (size_t i = 0; i < NCASES; i++) {
		const struct bench_shape *shape = &cases[i].shape;
		const struct bench_result *r = &results[i];

		json_array_append_new(
			rows,
			json_pack("{s:s, s:i, s:i, s:i, s:i, s:I, s:I, s:i, s:f, s:f, s:f, s:f, s:f, s:i}", "case",
				  cases[i].name, "ranks", (int)shape->ranks, "steps", (int)shape->steps, "switches",
				  (int)shape->switches, "reports", (int)shape->reports, "records", (json_int_t)r->records,
				  "bytes", (json_int_t)r->bytes, "runs", (int)r->runs, "mrecords_s", mrecords_s(r),
				  "join_ms", r->finish, "verdict_ms", r->verdict, "ns_a_step", ns_a_step(&cases[i], r),
				  "ns_a_report", ns_a_report(&cases[i], r), "findings", (int)r->findings));
	}
	root = json_pack("{s:o}", "cases", rows);
	json_dumpf(root, stdout, JSON_INDENT(2) | JSON_PRESERVE_ORDER);
	putchar('\n');
	json_decref(root);
}

int
bench_analyzer(const char *dir, const struct bench_options *options, struct err *err)
{
	struct bench_result results[NCASES];
	int ret = 0;

	(void)dir;
	for (size_t i = 0; ret == 0 && i < NCASES; i++) {
		if (isatty(STDERR_FILENO))
			fprintf(stderr, "\r%zu of %zu: %-20s", i + 1, NCASES, cases[i].name);
		ret = run_case(&cases[i], (uint32_t)options->repeats, &results[i], err);
	}
	if (isatty(STDERR_FILENO))
		fprintf(stderr, "\r%-40s\r", "");
	if (ret < 0)
		return ret;
	if (options->json)
		print_json(results);
	else
		print_table(results);
	return 0;
}
