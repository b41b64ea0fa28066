/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * rocelab bench realtime: the cost of a frame from a kernel host's port over 1 or 20 switches to another, beside
 * DPDK's testpmd on the same two drivers in the same run; and how much later than its cables' delay it leaves.
 */
#include "bench/bench.h"

#include <errno.h>
#include <jansson.h>
#include <libsmartcols/libsmartcols.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "bench/testpmd.h"
#include "common/array.h"
#include "common/child.h"
#include "common/err.h"
#include "common/input_file.h"
#include "common/outfile.h"

#define MAX_REPEATS BENCH_MAX_REPEATS
#define FCS_BYTES 4
#define CABLE_US 20.6 /* 20 us and the receiver's 600 ns */

static const uint32_t sizes[] = { 64, 1024, 4096 }; /* with FCS */
static const uint32_t lengths[] = { 1, 20 };        /* switches in the path */

#define NSIZES ARRAY_LEN(sizes)
#define NLENGTHS ARRAY_LEN(lengths)

/* The drivers at both ends. */
enum drivers { DRIVERS_FILES, DRIVERS_RINGS, NDRIVERS };
static const char *const drivers_names[NDRIVERS] = { "pcap, null", "ring, ring" };

/* The measured cases: by rings one switch alone, telemetry on. */
struct rate {
	enum drivers drivers;
	size_t length, size; /* of the tables above */
	bool telemetry;
	double packet_ns; /* median */
};

#define NRATES (NLENGTHS * NSIZES * 2 + NSIZES)

struct late {
	double p50_us, p99_us;
	double late_windows, windows;
};

struct realtime {
	const char *dir;
	int repeats;
	char forwarder[PATH_MAX], scenario[PATH_MAX], frames[PATH_MAX], results[PATH_MAX];
	struct rate rates[NRATES];
	double io_ns[NDRIVERS][NSIZES], macswap_ns[NDRIVERS][NSIZES]; /* 0: no testpmd */
	double ovs_ns[NSIZES];                                        /* by files; 0: not measured, */
	struct err why_no_ovs;                                        /* and why */
	struct late late[NLENGTHS];
	struct bench_lcores lcores;
	struct bench_round rounds[BENCH_ROUND_KINDS];
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

/* @param rate  NULL: in real time, one frame at a time */
static int
forward(const struct realtime *bench, uint32_t size, const struct rate *rate, json_t **results)
{
	struct child_args args = { .argv = { "dpswitch-forward", bench->scenario, "--out", bench->dir }, .count = 4 };
	bool telemetry = rate == NULL || rate->telemetry;
	char bytes[16];
	json_error_t error;
	pid_t pid;

	snprintf(bytes, sizeof(bytes), "%u", size - FCS_BYTES);
	child_add(&args, "--frame-bytes", bench->err);
	child_add(&args, bytes, bench->err);
	child_add(&args, "--set", bench->err);
	child_add(&args, telemetry ? "telemetry.enabled=true" : "telemetry.enabled=false", bench->err);
	child_add(&args, "--seconds", bench->err);
	child_add(&args, rate == NULL ? "3" : "0.5", bench->err);
	if (rate == NULL)
		child_add(&args, "--paced", bench->err);
	else if (rate->drivers == DRIVERS_RINGS)
		child_add(&args, "--round=ring", bench->err);
	pid = child_start(bench->forwarder, &args, false, bench->err);
	if (pid < 0)
		return pid;
	if (child_wait(pid) != 0)
		return err_set(bench->err, -EIO, "dpswitch-forward failed with frames of %u B", size);
	*results = input_json(bench->results, 0, &error);
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
measure_rate(const struct realtime *bench, struct rate *rate)
{
	double ns[MAX_REPEATS];

	for (int i = 0; i < bench->repeats; i++) {
		json_t *results = NULL;
		int ret = forward(bench, sizes[rate->size], rate, &results);

		if (ret < 0)
			return ret;
		ns[i] = number(results, "cpu_ns") / number(results, "packets");
		json_decref(results);
	}
	qsort(ns, (size_t)bench->repeats, sizeof(ns[0]), compare);
	rate->packet_ns = ns[bench->repeats / 2];
	return 0;
}

static int
measure_late(const struct realtime *bench, struct late *late)
{
	json_t *results = NULL;
	int ret = forward(bench, sizes[1], NULL, &results);

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

/* The rows, in the order in which they are shown. */
static void
list_rates(struct realtime *bench)
{
	struct rate *rate = bench->rates;

	for (size_t n = 0; n < NLENGTHS; n++)
		for (size_t i = 0; i < NSIZES * 2; i++)
			*rate++ = (struct rate){ DRIVERS_FILES, n, i / 2, i % 2 == 0, 0 };
	for (size_t i = 0; i < NSIZES; i++)
		*rate++ = (struct rate){ DRIVERS_RINGS, 0, i, true, 0 };
}

/* After a rate: its frames are in the file. */
static int
measure_testpmd(struct realtime *bench, const struct rate *rate)
{
	struct testpmd_ports ports = { .devices = { "net_ring0", "net_ring1" }, .goes_round = true };
	double *io_ns = &bench->io_ns[rate->drivers][rate->size],
	       *macswap_ns = &bench->macswap_ns[rate->drivers][rate->size];

	if (rate->drivers == DRIVERS_FILES) {
		ports = (struct testpmd_ports){ .devices = { "", "net_null0,no-rx=1" } };
		snprintf(ports.devices[0], sizeof(ports.devices[0]), "net_pcap0,rx_pcap=%s,infinite_rx=1", bench->frames);
	}
	show("testpmd");
	*io_ns = testpmd_packet_ns("io", bench->dir, &ports, &testpmd_measurement, bench->err);
	*macswap_ns = testpmd_packet_ns("macswap", bench->dir, &ports, &testpmd_measurement, bench->err);
	return *io_ns < 0 || *macswap_ns < 0 ? -EIO : 0;
}

/* After a rate by files: its frames are in one. A shortfall is printed once. */
static void
measure_ovs(struct realtime *bench, const struct rate *rate)
{
	double ns = -1;

	if (sizes[rate->size] > OVS_MOST_BYTES)
		return;
	show("Open vSwitch");
	if (bench->why_no_ovs.text[0] == '\0')
		ns = ovs_packet_ns(bench->dir, bench->frames, &bench->why_no_ovs);
	bench->ovs_ns[rate->size] = ns > 0 ? ns : 0;
}

static int
measure(struct realtime *bench)
{
	char what[64];
	int ret = 0;

	list_rates(bench);
	for (size_t i = 0; ret == 0 && i < NRATES; i++) {
		struct rate *rate = &bench->rates[i];

		snprintf(what, sizeof(what), "%s: %u switches, %u B", drivers_names[rate->drivers], lengths[rate->length],
			 sizes[rate->size]);
		show(what);
		ret = write_scenario(bench, lengths[rate->length]);
		if (ret == 0)
			ret = measure_rate(bench, rate);
		if (ret == 0 && rate->length == 0 && rate->telemetry)
			ret = measure_testpmd(bench, rate);
		if (ret == 0 && rate->length == 0 && rate->telemetry && rate->drivers == DRIVERS_FILES)
			measure_ovs(bench, rate);
	}
	for (size_t n = 0; ret == 0 && n < NLENGTHS; n++) {
		ret = write_scenario(bench, lengths[n]);
		if (ret == 0)
			ret = measure_late(bench, &bench->late[n]);
	}
	show("two lcores");
	if (ret == 0)
		ret = bench_lcores_measure(bench->forwarder, bench->dir, bench->repeats, &bench->lcores, bench->err);
	show("memif, vhost, af_packet");
	if (ret == 0) /* last: it may leave this process's network */
		ret = bench_round_measure(bench->forwarder, bench->dir, bench->repeats, bench->rounds, bench->err);
	show("");
	show("\r");
	return ret;
}

static void
print_table(const struct realtime *bench)
{
	static const char *const columns[] = { "PORTS",    "SWITCHES",   "FRAME",   "TELEMETRY", "MPPS/CORE",
					       "NS/FRAME", "testpmd io", "macswap", "OF MACSWAP" };
	const size_t ncolumns = ARRAY_LEN(columns);
	struct libscols_table *table = scols_new_table();

	for (size_t i = 0; i < ncolumns; i++)
		scols_table_new_column(table, columns[i], 0, i == 0 ? 0 : SCOLS_FL_RIGHT);
	for (size_t row = 0; row < NRATES; row++) {
		const struct rate *rate = &bench->rates[row];
		double macswap_ns = bench->macswap_ns[rate->drivers][rate->size];
		struct libscols_line *line = scols_table_new_line(table, NULL);
		char cell[9][32] = { "", "", "", "", "", "", "-", "-", "-" };

		snprintf(cell[0], sizeof(cell[0]), "%s", drivers_names[rate->drivers]);
		snprintf(cell[1], sizeof(cell[1]), "%u", lengths[rate->length]);
		snprintf(cell[2], sizeof(cell[2]), "%u B", sizes[rate->size]);
		snprintf(cell[3], sizeof(cell[3]), "%s", rate->telemetry ? "on" : "off");
		snprintf(cell[4], sizeof(cell[4]), "%.2f", 1e3 / rate->packet_ns);
		snprintf(cell[5], sizeof(cell[5]), "%.1f", rate->packet_ns);
		if (macswap_ns > 0) {
			snprintf(cell[6], sizeof(cell[6]), "%.1f ns", bench->io_ns[rate->drivers][rate->size]);
			snprintf(cell[7], sizeof(cell[7]), "%.1f ns", macswap_ns);
			snprintf(cell[8], sizeof(cell[8]), "%.2f", macswap_ns / rate->packet_ns);
		}
		for (size_t c = 0; c < ncolumns; c++)
			scols_line_set_data(line, c, cell[c]);
	}
	scols_print_table(table);
	scols_unref_table(table);
}

/* The delay that the run adds to that of the cables. */
static double
added_us(const struct realtime *bench, size_t n, double us)
{
	return us - CABLE_US * (lengths[n] + 1);
}

static void
print_late(const struct realtime *bench)
{
	printf("\nnet_pcap repeats a frame, net_null takes it; or frames go round over net_ring, moving them back "
	       "included. "
	       "Median of %d runs, processor time of one core.\n",
	       bench->repeats);
	if (bench->macswap_ns[0][0] == 0)
		printf("dpdk-testpmd is not installed (Debian: dpdk-dev): nothing to compare with.\n");
	if (bench->why_no_ovs.text[0] != '\0')
		printf("OVS-DPDK: not measured: %s.\n", bench->why_no_ovs.text);
	else
		printf("OVS-DPDK, net_pcap to net_null by one flow, processor time of all of it: %.1f ns a frame of %u B, "
		       "%.1f of %u B.\n",
		       bench->ovs_ns[0], sizes[0], bench->ovs_ns[1], sizes[1]);
	for (size_t n = 0; n < NLENGTHS; n++)
		printf("In real time, %2u switch%s: a frame leaves after %.1f us (p50), %.1f us (p99); cables: %.1f us; "
		       "added a hop: %.2f us (p50), %.2f us (p99); %.2f %% of windows late\n",
		       lengths[n], lengths[n] == 1 ? "" : "es", bench->late[n].p50_us, bench->late[n].p99_us,
		       CABLE_US * (lengths[n] + 1), added_us(bench, n, bench->late[n].p50_us) / (lengths[n] + 1),
		       added_us(bench, n, bench->late[n].p99_us) / (lengths[n] + 1),
		       100 * bench->late[n].late_windows / bench->late[n].windows);
}

static void
print_json(const struct realtime *bench)
{
	json_t *rates = json_array(), *late = json_array(), *ovs = json_array(), *root;

	for (size_t row = 0; row < NRATES; row++) {
		const struct rate *rate = &bench->rates[row];

		json_array_append_new(rates,
				      json_pack("{s:s, s:i, s:i, s:b, s:f, s:f, s:f}", "ports",
						drivers_names[rate->drivers], "switches", (int)lengths[rate->length],
						"bytes", (int)sizes[rate->size], "telemetry", rate->telemetry, "packet_ns",
						rate->packet_ns, "testpmd_io_ns", bench->io_ns[rate->drivers][rate->size],
						"testpmd_macswap_ns", bench->macswap_ns[rate->drivers][rate->size]));
	}
	for (size_t n = 0; n < NLENGTHS; n++)
		json_array_append_new(late, json_pack("{s:i, s:f, s:f, s:f, s:f}", "switches", (int)lengths[n], "p50_us",
						      bench->late[n].p50_us, "p99_us", bench->late[n].p99_us, "cables_us",
						      CABLE_US * (lengths[n] + 1), "late_window_share",
						      bench->late[n].late_windows / bench->late[n].windows));
	for (size_t i = 0; i < NSIZES && bench->ovs_ns[i] > 0; i++)
		json_array_append_new(ovs, json_pack("{s:i, s:f}", "bytes", (int)sizes[i], "packet_ns", bench->ovs_ns[i]));
	root = json_pack("{s:i, s:o, s:o, s:o, s:s, s:o, s:o}", "repeats", bench->repeats, "rates", rates, "ovs", ovs,
			 "latency", late, "why_no_ovs", bench->why_no_ovs.text, "two_lcores",
			 bench_lcores_json(&bench->lcores), "rounds", bench_round_json(bench->rounds));
	json_dumpf(root, stdout, JSON_INDENT(2) | JSON_PRESERVE_ORDER);
	putchar('\n');
	json_decref(root);
}

int
bench_realtime(const char *dir, const struct bench_options *options, struct err *err)
{
	struct realtime bench = { .dir = dir, .repeats = options->repeats, .err = err };
	int ret = child_find("dpswitch-forward", "dpswitch", bench.forwarder, sizeof(bench.forwarder), err);

	snprintf(bench.scenario, sizeof(bench.scenario), "%s/chain.cfg", dir);
	snprintf(bench.frames, sizeof(bench.frames), "%s/frames.pcap", dir);
	snprintf(bench.results, sizeof(bench.results), "%s/forward.json", dir);
	if (ret == 0)
		ret = measure(&bench);
	if (ret < 0)
		return ret;
	if (options->json) {
		print_json(&bench);
	} else {
		print_table(&bench);
		print_late(&bench);
		bench_lcores_print(&bench.lcores);
		bench_round_print(bench.rounds);
	}
	return 0;
}
