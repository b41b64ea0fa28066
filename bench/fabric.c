/* SPDX-License-Identifier: BSD-3-Clause */
/* rocelab bench fabric: hops per second per core, beside the cost of a plain mac-swap hop in the same run. */
#include "bench/bench.h"

#include <errno.h>
#include <jansson.h>
#include <libsmartcols/libsmartcols.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "common/array.h"
#include "common/child.h"
#include "common/err.h"
#include "common/outfile.h"

#define MAX_REPEATS BENCH_MAX_REPEATS

struct bench_case {
	const char *name;
	void (*write)(FILE *to); /* its scenario */
	bool telemetry;
	const char *lcores;
	const char *set; /* NULL, or a key of it */
};

#define HEAD(k)                                                                                                            \
	"topology = { kind = \"fat-tree\"; k = " k "; rate = \"100Gbps\"; delay = \"2us\"; };\n"                           \
	"timing = { pipeline = \"0ns\"; };\ndetection = { policy = \"off\"; };\n"
#define RING(bytes) "collectives = ( { op = \"allgather\"; algorithm = \"ring\"; step_bytes = \"" bytes "\"; } );\n"

#define INCAST_SENDERS 15

static void
write_k4_ring(FILE *to)
{
	fputs(HEAD("4") RING("6MB"), to);
}

static void
write_k4_incast(FILE *to)
{
	fputs(HEAD("4") "flows = (\n", to);
	for (int i = 1; i <= INCAST_SENDERS; i++)
		fprintf(to, "  { src = \"h%d\"; dst = \"h0\"; sport = %d; bytes = \"40MB\"; }%s\n", i, 20000 + i,
			i < INCAST_SENDERS ? "," : "");
	fputs(");\n", to);
}

static void
write_k8_ring(FILE *to)
{
	fputs(HEAD("8") RING("100KB"), to);
}

/* 32 leaves of one host and 16 spines; packets may arrive in any order. */
static void
write_leaf_spine_ring(FILE *to)
{
	fputs("topology = { kind = \"leaf-spine\"; leaves = 32; spines = 16; hosts_per_leaf = 1; rate = \"100Gbps\"; };\n"
	      "detection = { policy = \"off\"; };\nhost = { transport = \"selective\"; };\n" RING("1MB"),
	      to);
}

#define BALANCED(kind)                                                                                                     \
	{                                                                                                                  \
		"32x16 ring, " kind, write_leaf_spine_ring, true, "1", "load_balancing.kind=" kind                         \
	}

static const struct bench_case cases[] = {
	{ "K=4 ring", write_k4_ring, true, "1", NULL },
	{ "K=4 ring", write_k4_ring, false, "1", NULL },
	{ "K=4 ring", write_k4_ring, true, "2", NULL },
	{ "K=4 incast 15->1", write_k4_incast, true, "1", NULL },
	{ "K=4 incast 15->1", write_k4_incast, false, "1", NULL },
	{ "K=4 incast 15->1", write_k4_incast, true, "2", NULL },
	{ "K=8 ring", write_k8_ring, true, "1", NULL },
	{ "K=8 ring", write_k8_ring, false, "1", NULL },
	{ "K=8 ring", write_k8_ring, true, "2", NULL },
	BALANCED("ecmp"),
	BALANCED("random"),
	BALANCED("round-robin"),
	BALANCED("adaptive"),
};

#define NCASES ARRAY_LEN(cases)

struct bench_result {
	double mhops[MAX_REPEATS]; /* per core, sorted ascending in the end */
	double hops, fast_share, cpus;
	double buffer_kib;
};

struct bench {
	int repeats;
	const char *dir;
	char dpswitch[PATH_MAX];
	double calibration_ns;
	struct bench_result results[NCASES];
	struct err *err;
};

static int
run_once(struct bench *bench, const struct bench_case *c, const char *scenario, json_t **run)
{
	struct child_args args = { .argv = { "dpswitch", scenario, "--out", bench->dir, "--lcores", c->lcores, "--quiet" },
				   .count = 7 };
	char path[128];
	json_error_t error;
	pid_t pid;

	if (!c->telemetry) {
		child_add(&args, "--set", bench->err);
		child_add(&args, "telemetry.enabled=false", bench->err);
	}
	if (c->set != NULL) {
		child_add(&args, "--set", bench->err);
		child_add(&args, c->set, bench->err);
	}
	pid = child_start(bench->dpswitch, &args, false, bench->err);
	if (pid < 0)
		return pid;
	if (child_wait(pid) != 0)
		return err_set(bench->err, -EIO, "%s: dpswitch failed", c->name);
	snprintf(path, sizeof(path), "%s/run.json", bench->dir);
	*run = json_load_file(path, 0, &error);
	return *run != NULL ? 0 : err_set(bench->err, -EINVAL, "%s: %s", path, error.text);
}

static int
compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static double
number(const json_t *object, const char *key)
{
	return json_number_value(json_object_get(object, key));
}

static int
run_case(struct bench *bench, const struct bench_case *c, struct bench_result *result)
{
	char path[128];
	struct outfile out;

	snprintf(path, sizeof(path), "%s/bench.cfg", bench->dir);
	if (outfile_open_path(&out, path, bench->err) < 0)
		return -EIO;
	c->write(out.file);
	if (outfile_close(&out, 0, bench->err) < 0)
		return -EIO;
	for (int i = 0; i < bench->repeats; i++) {
		json_t *run = NULL;
		int ret = run_once(bench, c, path, &run);

		if (ret < 0)
			return ret;
		result->mhops[i] = number(run, "hops_per_cpu_s") / 1e6;
		result->hops = number(run, "packet_hops");
		result->fast_share = number(run, "fast_path_share");
		result->buffer_kib = number(run, "switch_buffer_bytes") / 1024;
		json_decref(run);
	}
	qsort(result->mhops, (size_t)bench->repeats, sizeof(double), compare);
	return 0;
}

static int
measure_calibration(struct bench *bench)
{
	struct child_args args = { .argv = { "dpswitch", "--yardstick", bench->dir }, .count = 3 };
	pid_t pid = child_start(bench->dpswitch, &args, false, bench->err);
	char path[128];
	json_error_t error;
	json_t *root;

	if (pid < 0)
		return pid;
	if (child_wait(pid) != 0)
		return err_set(bench->err, -EIO, "the yardstick failed");
	snprintf(path, sizeof(path), "%s/yardstick.json", bench->dir);
	root = json_load_file(path, 0, &error);
	if (root == NULL)
		return err_set(bench->err, -EINVAL, "%s: %s", path, error.text);
	bench->calibration_ns = number(root, "macswap_ns");
	json_decref(root);
	return 0;
}

static void
print_table(const struct bench *bench)
{
	struct libscols_table *table = scols_new_table();
	static const char *const columns[] = { "CASE", "LCORES", "TELEMETRY", "HOPS",      "MHOPS/S/CORE",
					       "BEST", "NS/HOP", "x MACSWAP", "FAST PATH", "BUFFER" };

	for (size_t i = 0; i < ARRAY_LEN(columns); i++)
		scols_table_new_column(table, columns[i], 0, i == 0 ? 0 : SCOLS_FL_RIGHT);
	for (size_t i = 0; i < NCASES; i++) {
		const struct bench_result *r = &bench->results[i];
		double median = r->mhops[bench->repeats / 2], best = r->mhops[bench->repeats - 1];
		struct libscols_line *line = scols_table_new_line(table, NULL);
		char cell[10][48];

		snprintf(cell[0], sizeof(cell[0]), "%s", cases[i].name);
		snprintf(cell[1], sizeof(cell[1]), "%s", cases[i].lcores);
		snprintf(cell[2], sizeof(cell[2]), "%s", cases[i].telemetry ? "on" : "off");
		snprintf(cell[3], sizeof(cell[3]), "%.1f M", r->hops / 1e6);
		snprintf(cell[4], sizeof(cell[4]), "%.1f", median);
		snprintf(cell[5], sizeof(cell[5]), "%.1f", best);
		snprintf(cell[6], sizeof(cell[6]), "%.1f", 1e3 / median);
		snprintf(cell[7], sizeof(cell[7]), "%.1f", 1e3 / median / bench->calibration_ns);
		snprintf(cell[8], sizeof(cell[8]), "%.0f %%", r->fast_share * 100);
		snprintf(cell[9], sizeof(cell[9]), "%.0f KiB", r->buffer_kib);
		for (size_t c = 0; c < 10; c++)
			scols_line_set_data(line, c, cell[c]);
	}
	scols_print_table(table);
	scols_unref_table(table);
	printf("\nmac-swap hop through a DPDK net_ring port in the same run: %.1f ns (%.1f Mhops/s)\n",
	       bench->calibration_ns, 1e3 / bench->calibration_ns);
	printf("Median and best of %d runs; CPU time of all lcores, barriers and start-up of the run included.\n",
	       bench->repeats);
}

static void
print_json(const struct bench *bench)
{
	json_t *rows = json_array(), *root;

	for (size_t i = 0; i < NCASES; i++) {
		const struct bench_result *r = &bench->results[i];

		json_array_append_new(rows,
				      json_pack("{s:s, s:i, s:b, s:f, s:f, s:f, s:f, s:f}", "case", cases[i].name, "lcores",
						atoi(cases[i].lcores), "telemetry", cases[i].telemetry, "hops", r->hops,
						"mhops_per_core_median", r->mhops[bench->repeats / 2],
						"mhops_per_core_best", r->mhops[bench->repeats - 1], "fast_path_share",
						r->fast_share, "switch_buffer_kib", r->buffer_kib));
	}
	root = json_pack("{s:f, s:i, s:o}", "macswap_ns", bench->calibration_ns, "repeats", bench->repeats, "cases", rows);
	json_dumpf(root, stdout, JSON_INDENT(2) | JSON_PRESERVE_ORDER);
	putchar('\n');
	json_decref(root);
}

static int
run_all(struct bench *bench)
{
	int ret = child_find("dpswitch", "dpswitch", bench->dpswitch, sizeof(bench->dpswitch), bench->err);

	if (ret == 0)
		ret = measure_calibration(bench);
	for (size_t i = 0; ret == 0 && i < NCASES; i++) {
		if (isatty(STDERR_FILENO))
			fprintf(stderr, "\r%zu of %zu: %-24s", i + 1, NCASES, cases[i].name);
		ret = run_case(bench, &cases[i], &bench->results[i]);
	}
	if (isatty(STDERR_FILENO))
		fprintf(stderr, "\r%-40s\r", "");
	return ret;
}

int
bench_fabric(const char *dir, int repeats, bool json, struct err *err)
{
	struct bench bench = { .repeats = repeats, .dir = dir, .err = err };
	int ret = run_all(&bench);

	if (ret < 0)
		return ret;
	if (json)
		print_json(&bench);
	else
		print_table(&bench);
	return 0;
}
