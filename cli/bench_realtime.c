/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * rocelab bench realtime: what it costs to take a frame in from an external port, over 1 or 20 switches, and out again,
 * beside DPDK's testpmd on the same two drivers in the same run; and how much later than its cables say it comes out.
 */
#include "cli/bench_realtime.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <jansson.h>
#include <libsmartcols/libsmartcols.h>

#include "cli/bench.h"
#include "cli/testpmd.h"
#include "common/array.h"
#include "common/child.h"
#include "common/outfile.h"

#define MAX_REPEATS BENCH_MAX_REPEATS
#define FCS_BYTES 4
#define CABLE_US 20.6 /* 20 us and the receiver's 600 ns */

static const uint32_t sizes[] = { 64, 1024, 4096 }; /* with FCS */
static const uint32_t lengths[] = { 1, 20 };        /* switches in the path */

#define NSIZES ARRAY_LEN(sizes)
#define NLENGTHS ARRAY_LEN(lengths)

struct late {
	double p50_us, p99_us;
	double late_windows, windows;
};

struct realtime {
	const char *dir;
	int repeats;
	char forwarder[PATH_MAX], scenario[PATH_MAX], frames[PATH_MAX], results[PATH_MAX];
	double packet_ns[NLENGTHS][NSIZES][2];    /* median; [telemetry on] */
	double io_ns[NSIZES], macswap_ns[NSIZES]; /* 0: no testpmd */
	struct late late[NLENGTHS];
	struct err *err;
};

/* A chain of switches with a host at either end. */
static int
write_scenario(const struct realtime *bench, uint32_t switches)
{
	struct outfile out;
	int ret = outfile_open_path(&out, bench->scenario, bench->err);

	if (ret < 0)
		return ret;
	fputs("topology = { kind = \"explicit\"; rate = \"40Gbps\"; delay = \"20us\"; hosts = [ \"a\", \"b\" ]; switches = "
	      "[",
	      out.file);
	for (uint32_t i = 0; i < switches; i++)
		fprintf(out.file, "%s \"s%u\"", i != 0 ? "," : "", i);
	fputs(" ]; links = ( \"a s0\"", out.file);
	for (uint32_t i = 1; i < switches; i++)
		fprintf(out.file, ", \"s%u s%u\"", i - 1, i);
	fprintf(out.file, ", \"s%u b\" ); };\n", switches - 1);
	fputs("flows = ( { src = \"a\"; dst = \"b\"; sport = 49152; bytes = \"1MB\"; } );\nhost = { mtu = \"4096B\"; };\n",
	      out.file);
	return outfile_close(&out, 0, bench->err);
}

static int
forward(const struct realtime *bench, uint32_t size, bool telemetry, bool paced, json_t **results)
{
	struct child_args args = { .argv = { "dpswitch-forward", bench->scenario, "--out", bench->dir }, .count = 4 };
	char bytes[16];
	json_error_t error;
	pid_t pid;

	snprintf(bytes, sizeof(bytes), "%u", size - FCS_BYTES);
	child_add(&args, "--frame-bytes", bench->err);
	child_add(&args, bytes, bench->err);
	child_add(&args, "--set", bench->err);
	child_add(&args, telemetry ? "telemetry.enabled=true" : "telemetry.enabled=false", bench->err);
	child_add(&args, "--seconds", bench->err);
	child_add(&args, paced ? "3" : "0.5", bench->err);
	if (paced)
		child_add(&args, "--paced", bench->err);
	pid = child_start(bench->forwarder, &args, false, bench->err);
	if (pid < 0)
		return pid;
	if (child_wait(pid) != 0)
		return err_set(bench->err, -EIO, "dpswitch-forward failed with frames of %u B", size);
	*results = json_load_file(bench->results, 0, &error);
	return *results != NULL ? 0 : err_set(bench->err, -EINVAL, "%s: %s", bench->results, error.text);
}

static double
number(const json_t *object, const char *key)
{
	return json_number_value(json_object_get(object, key));
}

static int
compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static int
measure_rate(const struct realtime *bench, uint32_t size, bool telemetry, double *packet_ns)
{
	double ns[MAX_REPEATS];

	for (int i = 0; i < bench->repeats; i++) {
		json_t *results = NULL;
		int ret = forward(bench, size, telemetry, false, &results);

		if (ret < 0)
			return ret;
		ns[i] = number(results, "cpu_ns") / number(results, "packets");
		json_decref(results);
	}
	qsort(ns, (size_t)bench->repeats, sizeof(ns[0]), compare);
	*packet_ns = ns[bench->repeats / 2];
	return 0;
}

static int
measure_late(const struct realtime *bench, struct late *late)
{
	json_t *results = NULL;
	int ret = forward(bench, sizes[1], true, true, &results);

	if (ret < 0)
		return ret;
	*late = (struct late){
		.p50_us = number(results, "p50_us"),
		.p99_us = number(results, "p99_us"),
		.late_windows = number(results, "late_windows"),
		.windows = number(results, "windows"),
	};
	json_decref(results);
	return 0;
}

static void
show(const char *what)
{
	if (isatty(STDERR_FILENO))
		fprintf(stderr, "\r%-50s", what);
}

static int
measure(struct realtime *bench)
{
	char what[64];
	int ret = 0;

	for (size_t n = 0; ret == 0 && n < NLENGTHS; n++) {
		ret = write_scenario(bench, lengths[n]);
		for (size_t s = 0; ret == 0 && s < NSIZES; s++) {
			snprintf(what, sizeof(what), "%u switches, %u B", lengths[n], sizes[s]);
			show(what);
			ret = measure_rate(bench, sizes[s], true, &bench->packet_ns[n][s][1]);
			if (ret == 0)
				ret = measure_rate(bench, sizes[s], false, &bench->packet_ns[n][s][0]);
			if (ret < 0 || n != 0)
				continue;
			show("testpmd");
			bench->io_ns[s] = testpmd_packet_ns("io", bench->dir, bench->frames, bench->err);
			bench->macswap_ns[s] = testpmd_packet_ns("macswap", bench->dir, bench->frames, bench->err);
			if (bench->io_ns[s] < 0 || bench->macswap_ns[s] < 0)
				ret = -EIO;
		}
		if (ret == 0)
			ret = measure_late(bench, &bench->late[n]);
	}
	show("");
	show("\r");
	return ret;
}

static void
print_table(const struct realtime *bench)
{
	static const char *const columns[] = { "SWITCHES", "FRAME",      "TELEMETRY", "MPPS/CORE",
					       "NS/FRAME", "testpmd io", "macswap",   "OF MACSWAP" };
	const size_t ncolumns = ARRAY_LEN(columns);
	struct libscols_table *table = scols_new_table();

	for (size_t i = 0; i < ncolumns; i++)
		scols_table_new_column(table, columns[i], 0, SCOLS_FL_RIGHT);
	for (size_t row = 0; row < NLENGTHS * NSIZES * 2; row++) {
		size_t n = row / (NSIZES * 2), s = row / 2 % NSIZES;
		bool telemetry = row % 2 == 0;
		double ns = bench->packet_ns[n][s][telemetry];
		struct libscols_line *line = scols_table_new_line(table, NULL);
		char cell[8][32] = { "", "", "", "", "", "-", "-", "-" };

		snprintf(cell[0], sizeof(cell[0]), "%u", lengths[n]);
		snprintf(cell[1], sizeof(cell[1]), "%u B", sizes[s]);
		snprintf(cell[2], sizeof(cell[2]), "%s", telemetry ? "on" : "off");
		snprintf(cell[3], sizeof(cell[3]), "%.2f", 1e3 / ns);
		snprintf(cell[4], sizeof(cell[4]), "%.1f", ns);
		if (bench->macswap_ns[s] > 0) {
			snprintf(cell[5], sizeof(cell[5]), "%.1f ns", bench->io_ns[s]);
			snprintf(cell[6], sizeof(cell[6]), "%.1f ns", bench->macswap_ns[s]);
			snprintf(cell[7], sizeof(cell[7]), "%.2f", bench->macswap_ns[s] / ns);
		}
		for (size_t c = 0; c < ncolumns; c++)
			scols_line_set_data(line, c, cell[c]);
	}
	scols_print_table(table);
	scols_unref_table(table);
}

/* What the run adds to what the cables take. */
static double
added_us(const struct realtime *bench, size_t n, double us)
{
	return us - CABLE_US * (lengths[n] + 1);
}

static void
print_late(const struct realtime *bench)
{
	printf("\nnet_pcap repeats a frame, net_null takes it; median of %d runs, processor time of one core.\n",
	       bench->repeats);
	if (bench->macswap_ns[0] == 0)
		printf("dpdk-testpmd is not installed (Debian: dpdk-dev): nothing to compare with.\n");
	for (size_t n = 0; n < NLENGTHS; n++)
		printf("In real time, %2u switch%s: a frame comes out after %.1f us (p50), %.1f us (p99); cables: %.1f us; "
		       "added a "
		       "hop: %.2f us (p50), %.2f us (p99); %.2f %% of windows late\n",
		       lengths[n], lengths[n] == 1 ? "" : "es", bench->late[n].p50_us, bench->late[n].p99_us,
		       CABLE_US * (lengths[n] + 1), added_us(bench, n, bench->late[n].p50_us) / (lengths[n] + 1),
		       added_us(bench, n, bench->late[n].p99_us) / (lengths[n] + 1),
		       100 * bench->late[n].late_windows / bench->late[n].windows);
}

static void
print_json(const struct realtime *bench)
{
	json_t *rates = json_array(), *late = json_array(), *root;

	for (size_t row = 0; row < NLENGTHS * NSIZES * 2; row++) {
		size_t n = row / (NSIZES * 2), s = row / 2 % NSIZES;
		bool telemetry = row % 2 == 0;

		json_array_append_new(rates, json_pack("{s:i, s:i, s:b, s:f, s:f, s:f}", "switches", (int)lengths[n],
						       "bytes", (int)sizes[s], "telemetry", telemetry, "packet_ns",
						       bench->packet_ns[n][s][telemetry], "testpmd_io_ns", bench->io_ns[s],
						       "testpmd_macswap_ns", bench->macswap_ns[s]));
	}
	for (size_t n = 0; n < NLENGTHS; n++)
		json_array_append_new(late, json_pack("{s:i, s:f, s:f, s:f, s:f}", "switches", (int)lengths[n], "p50_us",
						      bench->late[n].p50_us, "p99_us", bench->late[n].p99_us, "cables_us",
						      CABLE_US * (lengths[n] + 1), "late_window_share",
						      bench->late[n].late_windows / bench->late[n].windows));
	root = json_pack("{s:i, s:o, s:o}", "repeats", bench->repeats, "rates", rates, "latency", late);
	json_dumpf(root, stdout, JSON_INDENT(2) | JSON_PRESERVE_ORDER);
	putchar('\n');
	json_decref(root);
}

int
bench_realtime(const char *dir, int repeats, bool json, struct err *err)
{
	struct realtime bench = { .dir = dir, .repeats = repeats, .err = err };
	int ret = child_find("dpswitch-forward", "dpswitch", bench.forwarder, sizeof(bench.forwarder), err);

	snprintf(bench.scenario, sizeof(bench.scenario), "%s/chain.cfg", dir);
	snprintf(bench.frames, sizeof(bench.frames), "%s/frames.pcap", dir);
	snprintf(bench.results, sizeof(bench.results), "%s/forward.json", dir);
	if (ret == 0)
		ret = measure(&bench);
	if (ret < 0)
		return ret;
	if (json) {
		print_json(&bench);
	} else {
		print_table(&bench);
		print_late(&bench);
	}
	return 0;
}
