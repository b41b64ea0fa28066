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

#include "bench/fabric_cases.h"
#include "common/array.h"
#include "common/child.h"
#include "common/err.h"

struct bench_result {
	double mhops[BENCH_MAX_REPEATS]; /* per core, sorted ascending in the end */
	struct fabric_run last;
};

struct bench {
	const struct bench_options *options;
	const char *dir;
	struct fabric_program program;
	double calibration_ns;
	struct bench_result results[FABRIC_CASES];
	struct err *err;
};

static int
compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static int
run_case(struct bench *bench, const struct fabric_case *c, struct bench_result *result)
{
	for (int i = 0; i < bench->options->repeats; i++) {
		int ret =
			fabric_case_run(c, bench->options->percent, &bench->program, bench->dir, &result->last, bench->err);

		if (ret < 0)
			return ret;
		result->mhops[i] = result->last.mhops;
	}
	qsort(result->mhops, (size_t)bench->options->repeats, sizeof(double), compare);
	return 0;
}

static void
set_cells(struct libscols_line *line, const struct bench *bench, size_t at)
{
	const struct fabric_case *c = &fabric_cases[at];
	const struct bench_result *r = &bench->results[at];
	double median = r->mhops[bench->options->repeats / 2], best = r->mhops[bench->options->repeats - 1];
	char cell[10][48];

	snprintf(cell[0], sizeof(cell[0]), "%s", c->name);
	snprintf(cell[1], sizeof(cell[1]), "%s", c->lcores);
	snprintf(cell[2], sizeof(cell[2]), "%s", c->telemetry ? "on" : "off");
	snprintf(cell[3], sizeof(cell[3]), "%.1f M", r->last.hops / 1e6);
	snprintf(cell[4], sizeof(cell[4]), "%.1f", median);
	snprintf(cell[5], sizeof(cell[5]), "%.1f", best);
	snprintf(cell[6], sizeof(cell[6]), "%.1f", 1e3 / median);
	snprintf(cell[7], sizeof(cell[7]), "%.1f", 1e3 / median / bench->calibration_ns);
	snprintf(cell[8], sizeof(cell[8]), "%.0f %%", r->last.fast_share * 100);
	snprintf(cell[9], sizeof(cell[9]), "%.0f KiB", r->last.buffer_kib);
	for (size_t i = 0; i < ARRAY_LEN(cell); i++)
		scols_line_set_data(line, i, cell[i]);
}

static void
print_table(const struct bench *bench)
{
	struct libscols_table *table = scols_new_table();
	char cpu[192];
	static const char *const columns[] = { "CASE", "LCORES", "TELEMETRY", "HOPS",      "MHOPS/S/CORE",
					       "BEST", "NS/HOP", "x MACSWAP", "FAST PATH", "BUFFER" };

	for (size_t i = 0; i < ARRAY_LEN(columns); i++)
		scols_table_new_column(table, columns[i], 0, i == 0 ? 0 : SCOLS_FL_RIGHT);
	for (size_t i = 0; i < FABRIC_CASES; i++)
		if (fabric_case_is_meant(&fabric_cases[i], bench->options->only))
			set_cells(scols_table_new_line(table, NULL), bench, i);
	scols_print_table(table);
	scols_unref_table(table);
	printf("\n%s\n", fabric_cpu(cpu, sizeof(cpu)));
	printf("mac-swap hop through a DPDK net_ring port in the same run: %.1f ns (%.1f Mhops/s)\n", bench->calibration_ns,
	       1e3 / bench->calibration_ns);
	printf("Median and best of %d runs; CPU time of all lcores, barriers and start-up of the run included.\n",
	       bench->options->repeats);
}

static void
print_json(const struct bench *bench)
{
	json_t *rows = json_array(), *root;
	char cpu[192];

	for (size_t i = 0; i < FABRIC_CASES; i++) {
		const struct bench_result *r = &bench->results[i];

		if (!fabric_case_is_meant(&fabric_cases[i], bench->options->only))
			continue;
		json_array_append_new(rows,
				      json_pack("{s:s, s:i, s:b, s:f, s:f, s:f, s:f, s:f, s:f}", "case",
						fabric_cases[i].name, "lcores", atoi(fabric_cases[i].lcores), "telemetry",
						fabric_cases[i].telemetry, "hops", r->last.hops, "mhops_per_core_median",
						r->mhops[bench->options->repeats / 2], "mhops_per_core_best",
						r->mhops[bench->options->repeats - 1], "fast_path_share",
						r->last.fast_share, "switch_buffer_kib", r->last.buffer_kib, "x_macswap",
						1e3 / r->mhops[bench->options->repeats / 2] / bench->calibration_ns));
	}
	root = json_pack("{s:s, s:f, s:i, s:o}", "cpu", fabric_cpu(cpu, sizeof(cpu)), "macswap_ns", bench->calibration_ns,
			 "repeats", bench->options->repeats, "cases", rows);
	json_dumpf(root, stdout, JSON_INDENT(2) | JSON_PRESERVE_ORDER);
	putchar('\n');
	json_decref(root);
}

static int
run_all(struct bench *bench)
{
	int ret = child_find("dpswitch", "dpswitch", bench->program.path, sizeof(bench->program.path), bench->err);

	ret = ret == 0 ? fabric_program_probe(&bench->program, bench->dir, bench->err) : ret;
	if (ret == 0) {
		bench->calibration_ns = fabric_macswap_ns(bench->program.path, bench->dir, bench->err);
		ret = bench->calibration_ns < 0 ? -EIO : 0;
	}
	for (size_t i = 0; ret == 0 && i < FABRIC_CASES; i++) {
		if (!fabric_case_is_meant(&fabric_cases[i], bench->options->only))
			continue;
		if (isatty(STDERR_FILENO))
			fprintf(stderr, "\r%zu of %d: %-24s", i + 1, FABRIC_CASES, fabric_cases[i].name);
		ret = run_case(bench, &fabric_cases[i], &bench->results[i]);
	}
	if (isatty(STDERR_FILENO))
		fprintf(stderr, "\r%-40s\r", "");
	return ret;
}

int
bench_fabric(const char *dir, const struct bench_options *options, struct err *err)
{
	struct bench bench = { .options = options, .dir = dir, .err = err };
	int ret = run_all(&bench);

	if (ret < 0)
		return ret;
	if (options->json)
		print_json(&bench);
	else
		print_table(&bench);
	return 0;
}
