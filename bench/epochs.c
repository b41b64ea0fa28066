/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * rocelab bench epochs: in real time, how long after an epoch's end its rows are at the analyzer, and in which stage of the
 * path the time goes. The same fabric with embedded hosts, where this process is the analyzer, and with guests, which have
 * a kernel and soft-RoCE of their own and frames on ports, where the analyzer is that of the run and notes what arrived
 * when.
 */
#include <errno.h>
#include <jansson.h>
#include <libsmartcols/libsmartcols.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "bench/bench.h"
#include "common/array.h"
#include "common/child.h"
#include "common/input_file.h"
#include "common/outfile.h"
#include "common/run_files.h"

static const struct {
	bool guests;
	const char *lcores;
} cases[] = { { false, "1" }, { false, "2" }, { true, "1" }, { true, "2" } };
#define NCASES ARRAY_LEN(cases)

/* Stages of the path, in order. */
enum stage { MADE, RELEASED, QUEUED, SENT, RECEIVED, JOINED, STAGES };
static const char *const stage_names[STAGES] = { "made", "released", "queued", "sent", "received", "joined" };

struct case_result {
	bool there;
	struct err why; /* it was not measured */
	uint64_t epochs, frames;
	double stages_us[STAGES];      /* means */
	double p50_us, p99_us, max_us; /* in all */
	double late_share, idle_share; /* of windows; of an lcore's time */
};

struct epochs {
	const char *dir;
	const struct bench_options *options;
	char scenario[PATH_MAX];
	struct case_result results[NCASES];
	struct err *err;
};

static int
write_scenario(const struct epochs *e, bool guests)
{
	struct outfile out;

	if (outfile_open_path(&out, e->scenario, e->err) < 0)
		return -EIO;
	fprintf(out.file,
		"topology = { kind = \"explicit\"; rate = \"40Mbps\"; delay = \"50us\"; switches = [ \"a\", \"b\" ];\n"
		"  hosts = [ \"h0\", \"h1\", \"h2\", \"h3\" ]; links = ( \"h0 a\", \"h1 a\", \"h2 b\", \"h3 b\", \"a b\" "
		"); };\n"
		"%s\nhost = { mtu = 4096; };\ntelemetry = { epoch = \"1ms\"; };\n"
		"limits = { virtual_time = \"600s\"; connect = \"180s\"; stall = \"60s\"; };\n"
		"collectives = ( { op = \"allgather\"; algorithm = \"ring\"; bytes = \"4MB\"; } );\n"
		"detection = { policy = \"full-polling\"; retain = \"0us\"; };\nexporter = { budget = \"1250MB\"; };\n",
		guests ? "hosts = ( { kind = \"guest\"; } );" : "timing = { clock = \"real\"; };");
	return outfile_close(&out, 0, e->err);
}

static double
number(const json_t *object, const char *key)
{
	return json_number_value(json_object_get(object, key));
}

/* Reads the figures that every run's summary has. */
static void
read_run(const json_t *run, struct case_result *result)
{
	const json_t *realtime = json_object_get(run, "realtime"), *frames = json_object_get(realtime, "frames_us"),
		     *analyzer = json_object_get(frames, "analyzer");

	result->stages_us[QUEUED] = number(json_object_get(frames, "queued"), "mean");
	result->stages_us[SENT] = fmax(number(analyzer, "mean") - result->stages_us[QUEUED], 0);
	result->late_share = number(realtime, "late_windows") / number(realtime, "windows");
	result->idle_share = number(realtime, "idle_share");
}

static void
read_counts(const struct tap_counts *counts, struct case_result *result)
{
	double on_socket_us = result->stages_us[QUEUED] + result->stages_us[SENT];

	result->epochs = counts->epochs;
	result->frames = counts->frames;
	result->stages_us[MADE] = counts->made_us;
	result->stages_us[RELEASED] = counts->released_us;
	result->stages_us[RECEIVED] = fmax(counts->received_us - on_socket_us, 0);
	result->stages_us[JOINED] = counts->joined_us;
	result->p50_us = counts->wall.p50_us;
	result->p99_us = counts->wall.p99_us;
	result->max_us = counts->wall.max_us;
}

/* clock_now_ns() at the run's time 0. */
static uint64_t
zero_ns_of(const json_t *run)
{
	return (uint64_t)json_integer_value(json_object_get(json_object_get(run, "realtime"), "zero_clock_ns"));
}

static int
run_embedded(const struct epochs *e, const char *lcores, struct case_result *result)
{
	static struct tap_counts counts;
	struct bench_tap tap = { 0 };
	json_t *run = NULL;
	int ret = bench_tap_run(&tap, e->scenario, e->dir, lcores, &run, e->err);

	if (ret == 0)
		ret = bench_tap_count(&tap, zero_ns_of(run), &counts, e->err);
	if (ret == 0) {
		read_run(run, result);
		read_counts(&counts, result);
	}
	json_decref(run);
	bench_tap_fini(&tap);
	return ret;
}

/* `rocelab run` boots the guests. @return 0; -ENOTSUP with result->why: it does not run here; other negative errno */
static int
run_guests(const struct epochs *e, const char *lcores, struct case_result *result)
{
	const struct child_args args = { .argv = { "rocelab", "run", e->scenario, "--out", e->dir, "--lcores", lcores,
						   "--json", "--arrivals" },
					 .count = 9 };
	static struct tap_counts counts;
	char path[PATH_MAX], text[64];
	json_t *run;
	FILE *from;
	pid_t pid;
	int ret = child_find("rocelab", "cli", path, sizeof(path), e->err), status;

	if (ret < 0)
		return ret;
	from = child_read(path, &args, &pid, e->err);
	if (from == NULL)
		return -EIO;
	while (fgetc(from) != EOF)
		;
	fclose(from);
	status = child_wait(pid);
	snprintf(path, sizeof(path), "%s/" RUN_SUMMARY, e->dir);
	run = status == 0 ? input_json(path, 0, NULL) : NULL;
	if (run == NULL) {
		err_set(&result->why, -ENOTSUP, "rocelab run: %s", child_text(status, text, sizeof(text)));
		return -ENOTSUP;
	}
	ret = bench_tap_recording(e->dir, zero_ns_of(run), &counts, e->err);
	if (ret == 0) {
		read_run(run, result);
		read_counts(&counts, result);
	}
	json_decref(run);
	return ret;
}

/* The run with the least median. */
static int
measure_case(struct epochs *e, size_t which)
{
	struct case_result *best = &e->results[which];
	int ret = write_scenario(e, cases[which].guests);

	for (int n = 0; ret == 0 && n < e->options->repeats; n++) {
		struct case_result result = { .there = true };

		ret = cases[which].guests ? run_guests(e, cases[which].lcores, &result)
					  : run_embedded(e, cases[which].lcores, &result);
		if (ret == 0 && (!best->there || result.p50_us < best->p50_us))
			*best = result;
		if (ret == -ENOTSUP)
			best->why = result.why;
	}
	return ret == -ENOTSUP ? 0 : ret;
}

/* ---- for people and machines ---- */

static const char *
hosts_of(size_t which)
{
	return cases[which].guests ? "guests" : "embedded";
}

static void
fill_line(const struct epochs *e, size_t which, char (*cell)[48])
{
	const struct case_result *r = &e->results[which];

	snprintf(cell[0], 48, "%s", hosts_of(which));
	snprintf(cell[1], 48, "%s", cases[which].lcores);
	for (size_t i = 0; i < STAGES; i++)
		snprintf(cell[2 + i], 48, r->there ? "%.2f" : "-", r->stages_us[i] / 1e3);
	snprintf(cell[2 + STAGES], 48, r->there ? "%.2f %.2f %.2f" : "-", r->p50_us / 1e3, r->p99_us / 1e3,
		 r->max_us / 1e3);
	snprintf(cell[3 + STAGES], 48, r->there ? "%.0f" : "-", 100 * r->late_share);
}

static void
print_table(const struct epochs *e)
{
	static const char *const columns[] = { "HOSTS", "LCORES",   "MADE",   "RELEASED", "QUEUED",
					       "SENT",  "RECEIVED", "JOINED", "KNOWN MS", "LATE %" };
	struct libscols_table *table = scols_new_table();

	for (size_t i = 0; i < ARRAY_LEN(columns); i++)
		scols_table_new_column(table, columns[i], 0, i == 0 ? 0 : SCOLS_FL_RIGHT);
	for (size_t i = 0; i < NCASES; i++) {
		struct libscols_line *line = scols_table_new_line(table, NULL);
		char cell[ARRAY_LEN(columns)][48];

		fill_line(e, i, cell);
		for (size_t c = 0; c < ARRAY_LEN(columns); c++)
			scols_line_set_data(line, c, cell[c]);
	}
	scols_print_table(table);
	scols_unref_table(table);
	puts("\nReal time, two switches and four hosts at 40 Mbps, every port's rows every 1 ms; means, ms. MADE: from an "
	     "epoch's end to its\nrow. RELEASED: until the budget lets it go. QUEUED: until its frame is in the output's "
	     "buffer, behind windows that are late.\nSENT: until it is on the socket. RECEIVED: until the analyzer has "
	     "read it. JOINED: until it is in the evidence. KNOWN: all of\nit; median, 99 %, most. LATE: windows that "
	     "began late.");
	printf("Of %d runs that with the least median.\n", e->options->repeats);
	for (size_t i = 0; i < NCASES; i++)
		if (!e->results[i].there)
			printf("Not measured: %s, %s lcores: %s.\n", hosts_of(i), cases[i].lcores, e->results[i].why.text);
}

static json_t *
case_json(const struct epochs *e, size_t which)
{
	const struct case_result *r = &e->results[which];
	json_t *stages = json_object();

	for (size_t i = 0; i < STAGES; i++)
		json_object_set_new(stages, stage_names[i], r->there ? json_real(r->stages_us[i]) : json_null());
	return json_pack("{s:s, s:s, s:b, s:s, s:I, s:I, s:o, s:f, s:f, s:f, s:f, s:f}", "hosts", hosts_of(which), "lcores",
			 cases[which].lcores, "measured", r->there, "why_not", r->why.text, "epochs", (json_int_t)r->epochs,
			 "frames", (json_int_t)r->frames, "stages_us", stages, "known_p50_us", r->p50_us, "known_p99_us",
			 r->p99_us, "known_max_us", r->max_us, "late_window_share", r->late_share, "idle_share",
			 r->idle_share);
}

static void
print_json(const struct epochs *e)
{
	json_t *rows = json_array(), *root;

	for (size_t i = 0; i < NCASES; i++)
		json_array_append_new(rows, case_json(e, i));
	root = json_pack("{s:i, s:o}", "repeats", e->options->repeats, "cases", rows);
	json_dumpf(root, stdout, JSON_INDENT(2) | JSON_PRESERVE_ORDER);
	putchar('\n');
	json_decref(root);
}

int
bench_epochs(const char *dir, const struct bench_options *options, struct err *err)
{
	static struct epochs e;
	int ret = 0;

	e = (struct epochs){ .dir = dir, .options = options, .err = err };
	snprintf(e.scenario, sizeof(e.scenario), "%s/epochs.cfg", dir);
	for (size_t i = 0; ret == 0 && i < NCASES; i++)
		ret = measure_case(&e, i);
	if (ret == 0 && options->json)
		print_json(&e);
	else if (ret == 0)
		print_table(&e);
	return ret;
}
