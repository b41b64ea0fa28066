/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * rocelab bench telemetry: switch, exporter, socket and analyzer as they are in a run, with this process for the analyzer.
 * The load is every port's rows of every epoch; the fabric is small and its epochs are short, so that they count.
 */
#include "bench/bench.h"

#include <errno.h>
#include <jansson.h>
#include <libsmartcols/libsmartcols.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <unistd.h>

#include "common/array.h"
#include "common/child.h"
#include "common/err.h"
#include "common/outfile.h"

struct bench_case {
	const char *policy, *budget; /* as --set has them */
	bool real;
};

/* The first reports nothing: the time of its fabric is not telemetry's. The last is in real time. */
static const struct bench_case cases[] = {
	{ "off", "0", false },
	{ "full-polling", "0", false },
	{ "full-polling", "1250MB", false },
	{ "full-polling", "200MB", false },
	{ "full-polling", "50MB", false },
	{ "full-polling", "10MB", false },
	{ "full-polling", "1MB", false },
	{ "vedrfolnir", "1250MB", false },
	{ "full-polling", "1250MB", true },
};

#define NCASES ARRAY_LEN(cases)
#define BASE 0
#define UNLIMITED 1

struct bench_result {
	struct tap_counts counts;            /* of the last run; in virtual time of any */
	double cpu_s, take_in_s, received_s; /* least: the fabric's process; the analyzer's part; first to last byte */
	double hops, virtual_s, peak_b_s;    /* of the last run */
};

struct bench {
	const char *dir;
	int repeats;
	char dpswitch[PATH_MAX], scenario[PATH_MAX];
	struct bench_result results[NCASES];
	struct bench_volumes volumes;
	struct err *err;
};

static int
write_scenario(const struct bench *bench, const struct bench_case *c)
{
	struct outfile out;

	if (outfile_open_path(&out, bench->scenario, bench->err) < 0)
		return -EIO;
	if (c->real)
		fputs("topology = { kind = \"fat-tree\"; k = 4; rate = \"200Mbps\"; delay = \"50us\"; };\n"
		      "timing = { clock = \"real\"; };\n"
		      "telemetry = { epoch = \"1ms\"; };\n"
		      "collectives = ( { op = \"allgather\"; algorithm = \"ring\"; step_bytes = \"400KB\"; } );\n",
		      out.file);
	else
		fputs("topology = { kind = \"fat-tree\"; k = 4; rate = \"100Gbps\"; delay = \"2us\"; };\n"
		      "telemetry = { epoch = \"20us\"; };\n"
		      "collectives = ( { op = \"allgather\"; algorithm = \"ring\"; step_bytes = \"4MB\"; } );\n"
		      "flows = ( { src = \"h1\"; dst = \"h0\"; sport = 20001; bytes = \"16MB\"; },\n"
		      "          { src = \"h2\"; dst = \"h0\"; sport = 20002; bytes = \"16MB\"; start = \"1ms\"; } );\n",
		      out.file);
	fprintf(out.file, "detection = { policy = \"%s\"; retain = \"0us\"; };\nexporter = { budget = \"%s\"; };\n",
		c->policy, c->budget);
	return outfile_close(&out, 0, bench->err);
}

static double
number(const json_t *object, const char *key)
{
	return json_number_value(json_object_get(object, key));
}

static double
least(double before, double now)
{
	return before == 0 || now < before ? now : before;
}

static int
run_once(const struct bench *bench, struct bench_result *result)
{
	struct bench_tap tap = { 0 };
	json_t *run = NULL, *realtime;
	int ret = bench_tap_run(&tap, bench->scenario, bench->dir, NULL, &run, bench->err);

	if (ret == 0) {
		realtime = json_object_get(run, "realtime");
		ret = bench_tap_count(&tap, (uint64_t)json_integer_value(json_object_get(realtime, "zero_clock_ns")),
				      &result->counts, bench->err);
		result->cpu_s = least(result->cpu_s, number(run, "cpu_s"));
		result->take_in_s = least(result->take_in_s, (double)tap.take_in_ns / 1e9);
		result->received_s =
			least(result->received_s, (double)(tap.portions[tap.nportions - 1].taken_ns - tap.begun_ns) / 1e9);
		result->hops = number(run, "packet_hops");
		result->virtual_s = number(run, "virtual_ns") / 1e9;
		result->peak_b_s = number(json_object_get(run, "export"), "peak_bytes_per_s");
	}
	json_decref(run);
	bench_tap_fini(&tap);
	return ret;
}

/* A policy's reports in virtual time are the same under every budget: a budget changes nothing in the fabric. */
static int
check(const struct bench *bench)
{
	const struct tap_counts *all = &bench->results[UNLIMITED].counts;

	for (size_t i = UNLIMITED; i < NCASES; i++)
		if (cases[i].policy == cases[UNLIMITED].policy && !cases[i].real &&
		    bench->results[i].counts.made != all->made)
			return err_set(bench->err, -EPROTO, "with a budget of %s other records were made than without",
				       cases[i].budget);
	return 0;
}

static int
measure(struct bench *bench)
{
	int ret = 0;

	for (size_t i = 0; ret == 0 && i < NCASES; i++) {
		ret = write_scenario(bench, &cases[i]);
		if (isatty(STDERR_FILENO))
			fprintf(stderr, "\r%zu of %zu: %-20s", i + 1, NCASES, cases[i].policy);
		for (int n = 0; ret == 0 && n < bench->repeats; n++)
			ret = run_once(bench, &bench->results[i]);
	}
	if (isatty(STDERR_FILENO))
		fprintf(stderr, "\r%-40s\r", "");
	return ret == 0 ? check(bench) : ret;
}

/* @return the cost of a hop in a fabric that reports nothing, ns */
static double
hop_ns(const struct bench *bench)
{
	return bench->results[BASE].cpu_s * 1e9 / bench->results[BASE].hops;
}

/* Processor time until a record is on the socket, beyond that of the fabric that reports none, ns; in real time unknown. */
static double
send_ns(const struct bench *bench, size_t i)
{
	const struct bench_result *r = &bench->results[i];
	double spent_s = r->cpu_s - r->hops * hop_ns(bench) / 1e9;

	return cases[i].real || spent_s < 0 ? 0 : spent_s * 1e9 / (double)r->counts.made;
}

/* @return the analyzer's processor time per record, until it is with the evidence, ns */
static double
take_in_ns(const struct bench_result *r)
{
	return r->take_in_s * 1e9 / (double)(r->counts.on_time + r->counts.held_back);
}

static double
a_second(const struct bench_result *r)
{
	return (double)(r->counts.on_time + r->counts.held_back) / r->received_s;
}

static double
bytes_a_record(const struct tap_counts *counts)
{
	return (double)counts->bytes / (double)(counts->on_time + counts->held_back);
}

/*
 * Jain's index of the shares of its records that each switch brought to the analyzer: 1 the same, 1/n all of one (Jain,
 * Chiu and Hawe, 1984).
 */
static double
jain(const struct bench *bench, size_t i)
{
	const struct tap_counts *got = &bench->results[i].counts, *all = &bench->results[UNLIMITED].counts;
	double sum = 0, squares = 0;
	uint32_t count = 0;

	for (uint32_t s = 0; s < got->nswitches; s++) {
		double share = all->by_switch[s] != 0 ? (double)got->by_switch[s] / (double)all->by_switch[s] : 0;

		count += all->by_switch[s] != 0;
		sum += share;
		squares += share * share;
	}
	return squares > 0 ? sum * sum / (count * squares) : 1;
}

/* @return whether the case reports the same records as UNLIMITED does: full polling in virtual time */
static bool
has_jain(size_t i)
{
	return cases[i].policy == cases[UNLIMITED].policy && !cases[i].real;
}

enum { COLUMNS = 15 };

static void
fill_line(const struct bench *bench, size_t i, char (*cell)[32])
{
	const struct bench_result *r = &bench->results[i];
	const struct tap_lag *known = cases[i].real ? &r->counts.wall : &r->counts.run;
	double send = send_ns(bench, i);

	snprintf(cell[0], 32, "%s", cases[i].policy);
	snprintf(cell[1], 32, "%s", cases[i].budget[0] == '0' ? "-" : cases[i].budget);
	snprintf(cell[2], 32, "%llu", (unsigned long long)r->counts.made);
	snprintf(cell[3], 32, "%llu", (unsigned long long)r->counts.on_time);
	snprintf(cell[4], 32, "%llu", (unsigned long long)r->counts.held_back);
	snprintf(cell[5], 32, "%llu", (unsigned long long)r->counts.dropped);
	snprintf(cell[6], 32, "%llu", (unsigned long long)r->counts.bytes);
	snprintf(cell[7], 32, "%.1f", bytes_a_record(&r->counts));
	snprintf(cell[8], 32, "%.0f", a_second(r) / 1e3);
	snprintf(cell[9], 32, send > 0 ? "%.0f" : "-", send);
	snprintf(cell[10], 32, "%.0f", take_in_ns(r));
	snprintf(cell[11], 32, "%.1f %.1f %.1f", known->p50_us, known->p99_us, known->max_us);
	snprintf(cell[12], 32, "%s", cases[i].real ? "wall" : "virtual");
	snprintf(cell[13], 32, "%llu", (unsigned long long)r->counts.fullest_bytes);
	snprintf(cell[14], 32, has_jain(i) ? "%.3f" : "-", jain(bench, i));
}

static void
print_table(const struct bench *bench)
{
	static const char *const columns[COLUMNS] = { "POLICY",  "BUDGET/S", "MADE",         "IN TIME",      "HELD BACK",
						      "DROPPED", "BYTES",    "B/RECORD",     "K/S",          "SEND NS",
						      "TAKE NS", "KNOWN US", "IN THIS TIME", "MOST IN 1 MS", "JAIN" };
	struct libscols_table *table = scols_new_table();

	for (size_t i = 0; i < COLUMNS; i++)
		scols_table_new_column(table, columns[i], 0, i == 0 ? 0 : SCOLS_FL_RIGHT);
	for (size_t i = UNLIMITED; i < NCASES; i++) {
		struct libscols_line *line = scols_table_new_line(table, NULL);
		char cell[COLUMNS][32];

		fill_line(bench, i, cell);
		for (size_t c = 0; c < COLUMNS; c++)
			scols_line_set_data(line, c, cell[c]);
	}
	scols_print_table(table);
	scols_unref_table(table);
	printf("\nRecords; MADE = IN TIME + HELD BACK (by the budget, and sent late) + DROPPED. KNOWN: from an epoch's end "
	       "until "
	       "its\nrow was let go, or in real time until the analyzer had taken it in; median, 99 %%, most. SEND: "
	       "processor "
	       "time of a record\nuntil it is on the socket, %.1f hops of this fabric's in the first row (a hop: %.1f ns); "
	       "TAKE: "
	       "the analyzer's, %.1f hops. MOST IN 1 MS: bytes on the socket, at most the budget's, a frame and its gaps. "
	       "JAIN: index of the switches'\nshares of their records that arrived; 1: the same.\nBest of %d runs. Without "
	       "a budget %.1f MB/s would do, the most of a "
	       "millisecond.\n",
	       send_ns(bench, UNLIMITED) / hop_ns(bench), hop_ns(bench),
	       take_in_ns(&bench->results[UNLIMITED]) / hop_ns(bench), bench->repeats,
	       bench->results[UNLIMITED].peak_b_s / 1e6);
}

static json_t *
lag_json(const struct tap_lag *lag)
{
	return json_pack("{s:f, s:f, s:f}", "p50", lag->p50_us, "p99", lag->p99_us, "max", lag->max_us);
}

static void
print_json(const struct bench *bench)
{
	json_t *rows = json_array(), *root;

	for (size_t i = UNLIMITED; i < NCASES; i++) {
		const struct bench_result *r = &bench->results[i];
		const struct tap_counts *n = &r->counts;
		json_t *row = json_pack(
			"{s:s, s:s, s:s, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:f, s:f, s:f, s:f, s:o}", "policy",
			cases[i].policy, "budget", cases[i].budget, "clock", cases[i].real ? "real" : "virtual", "made",
			(json_int_t)n->made, "in_time", (json_int_t)n->on_time, "held_back", (json_int_t)n->held_back,
			"dropped", (json_int_t)n->dropped, "bytes", (json_int_t)n->bytes, "frames", (json_int_t)n->frames,
			"epochs", (json_int_t)n->epochs, "run_s", r->virtual_s, "peak_bytes_s", r->peak_b_s, "records_s",
			a_second(r), "take_ns", take_in_ns(r), "known_run_us", lag_json(&n->run));

		json_object_set_new(row, "fullest_ms_bytes", json_integer((json_int_t)n->fullest_bytes));
		json_object_set_new(row, "jain", has_jain(i) ? json_real(jain(bench, i)) : json_null());
		json_object_set_new(row, "send_ns", cases[i].real ? json_null() : json_real(send_ns(bench, i)));
		json_object_set_new(row, "known_wall_us", cases[i].real ? lag_json(&n->wall) : json_null());
		json_array_append_new(rows, row);
	}
	root = json_pack("{s:i, s:f, s:o, s:o}", "repeats", bench->repeats, "hop_ns", hop_ns(bench), "cases", rows,
			 "volumes", bench_volumes_json(&bench->volumes));
	json_dumpf(root, stdout, JSON_INDENT(2) | JSON_PRESERVE_ORDER);
	putchar('\n');
	json_decref(root);
}

int
bench_telemetry(const char *dir, const struct bench_options *options, struct err *err)
{
	struct bench bench = { .dir = dir, .repeats = options->repeats, .err = err };
	int ret = child_find("dpswitch", "dpswitch", bench.dpswitch, sizeof(bench.dpswitch), err);

	snprintf(bench.scenario, sizeof(bench.scenario), "%s/bench.cfg", dir);
	if (ret == 0)
		ret = measure(&bench);
	if (ret == 0)
		ret = bench_volumes_measure(&bench.volumes, dir, bench.dpswitch, options->repeats, err);
	if (ret < 0)
		return ret;
	if (options->json) {
		print_json(&bench);
	} else {
		print_table(&bench);
		bench_volumes_print(&bench.volumes, options->repeats);
	}
	return 0;
}
