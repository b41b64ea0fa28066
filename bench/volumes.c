/* SPDX-License-Identifier: BSD-3-Clause */
/* The cost of FlowPulse's monitors to a sprayed fabric: a part of rocelab bench telemetry. */
#include "bench/bench.h"

#include <errno.h>
#include <inttypes.h>
#include <jansson.h>
#include <libsmartcols/libsmartcols.h>
#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>

#include "common/array.h"
#include "common/child.h"
#include "common/err.h"
#include "common/input_file.h"
#include "common/outfile.h"
#include "common/run_files.h"
#include "scenario/scenario.h"

#define SPINES 8
#define HOPS_A_COUNTED 8 /* host, leaf, spine, leaf, host, and back for the ACK: the third of them is counted */

/* The first has none: the time of its fabric is not the monitors'. */
static const struct {
	const char *name, *more;
} cases[BENCH_VOLUMES_CASES] = {
	{ "off", "" },
	{ "alarms", "flowpulse = { enabled = true; };\n" },
	{ "counts", "flowpulse = { enabled = true; export = \"counts\"; };\n" },
};

static int
write_scenario(const char *path, size_t i, struct err *err)
{
	struct outfile out;

	if (outfile_open_path(&out, path, err) < 0)
		return -EIO;
	fprintf(out.file,
		"topology = { kind = \"leaf-spine\"; leaves = 16; spines = %u; hosts_per_leaf = 1; rate = \"100Gbps\"; "
		"delay = \"1us\"; };\n"
		"load_balancing = { kind = \"adaptive\"; };\nhost = { transport = \"selective\"; };\n"
		"detection = { policy = \"off\"; };\n"
		"collectives = ( { op = \"allgather\"; algorithm = \"ring\"; bytes = \"32MB\"; iterations = 4; measured = "
		"true; } );\n"
		"faults = ( { kind = \"loss\"; port = \"l2:3\"; rate = 0.02; silent = true; } );\n%s",
		SPINES, cases[i].more);
	return outfile_close(&out, 0, err);
}

/* Reads the memory of a monitor that has as many ports as a leaf of this scenario has to spines. */
static int
read_memory(struct bench_volumes *bench, const char *path, struct err *err)
{
	struct scenario_options options = { .path = path };
	struct scenario *sc = scenario_load(&options, err);
	struct judge_config judge;

	if (sc == NULL)
		return -errno;
	judge = volumes_judge_config(&sc->volumes, SPINES);
	bench->port_bytes = judge_bytes(&judge) / SPINES;
	scenario_destroy(sc);
	return 0;
}

static int
run_once(struct bench_volumes *bench, size_t i, const char *dir, const char *dpswitch, struct err *err)
{
	char scenario[PATH_MAX], path[PATH_MAX];
	const struct child_args args = { .argv = { "dpswitch", scenario, "--out", dir, "--quiet" }, .count = 5 };
	json_error_t error;
	double hops, hop_ns;
	json_t *run;
	pid_t pid;
	int ret;

	snprintf(scenario, sizeof(scenario), "%s/volumes.cfg", dir);
	snprintf(path, sizeof(path), "%s/" RUN_SUMMARY, dir);
	ret = write_scenario(scenario, i, err);
	if (ret == 0 && bench->port_bytes == 0 && i != 0)
		ret = read_memory(bench, scenario, err);
	pid = ret = ret == 0 ? child_start(dpswitch, &args, false, err) : ret;
	if (pid < 0)
		return ret;
	ret = child_wait(pid);
	if (ret != 0)
		return err_set(err, -EIO, "dpswitch ended with status %d", ret);
	run = input_json(path, 0, &error);
	if (run == NULL)
		return err_set(err, -EINVAL, "%s: %s", path, error.text);
	hops = json_number_value(json_object_get(run, "packet_hops"));
	hop_ns = json_number_value(json_object_get(run, "cpu_s")) * 1e9 / (hops > 0 ? hops : 1);
	bench->hop_ns[i] = bench->hop_ns[i] == 0 || hop_ns < bench->hop_ns[i] ? hop_ns : bench->hop_ns[i];
	bench->sent_bytes[i] = (uint64_t)json_integer_value(json_object_get(json_object_get(run, "export"), "sent_bytes"));
	json_decref(run);
	return 0;
}

int
bench_volumes_measure(struct bench_volumes *bench, const char *dir, const char *dpswitch, int repeats, struct err *err)
{
	int ret = 0;

	for (int n = 0; ret == 0 && n < repeats; n++)
		for (size_t i = 0; ret == 0 && i < BENCH_VOLUMES_CASES; i++)
			ret = run_once(bench, i, dir, dpswitch, err);
	for (size_t i = BENCH_VOLUMES_CASES; ret == 0 && i-- > 0;)
		bench->sent_bytes[i] -= bench->sent_bytes[0];
	return ret;
}

/* The monitors' time for each packet that they count: one of HOPS_A_COUNTED hops is one of its. */
static double
counted_ns(const struct bench_volumes *bench, size_t i)
{
	return (bench->hop_ns[i] - bench->hop_ns[0]) * HOPS_A_COUNTED;
}

void
bench_volumes_print(const struct bench_volumes *bench, int repeats)
{
	static const char *const columns[] = { "MONITORS REPORT", "HOP NS", "RATIO", "NS/COUNTED", "B/PORT", "SENT BYTES" };
	struct libscols_table *table = scols_new_table();

	for (size_t i = 0; i < ARRAY_LEN(columns); i++)
		scols_table_new_column(table, columns[i], 0, i == 0 ? 0 : SCOLS_FL_RIGHT);
	for (size_t i = 0; i < BENCH_VOLUMES_CASES; i++) {
		struct libscols_line *line = scols_table_new_line(table, NULL);
		char cell[ARRAY_LEN(columns)][32];

		snprintf(cell[0], 32, "%s", i == 0 ? "(off)" : cases[i].name);
		snprintf(cell[1], 32, "%.1f", bench->hop_ns[i]);
		snprintf(cell[2], 32, "%.3f", bench->hop_ns[i] / bench->hop_ns[0]);
		snprintf(cell[3], 32, "%.1f", counted_ns(bench, i));
		snprintf(cell[4], 32, "%" PRIu64, i == 0 ? 0 : bench->port_bytes);
		snprintf(cell[5], 32, "%" PRIu64, bench->sent_bytes[i]);
		for (size_t c = 0; c < ARRAY_LEN(columns); c++)
			scols_line_set_data(line, c, cell[c]);
	}
	putchar('\n');
	scols_print_table(table);
	scols_unref_table(table);
	printf("\nFlowPulse's monitors in 16 leaves below %u spines, four iterations of a ring, packets sprayed, a link "
	       "that "
	       "loses 2 %%.\nHOP: processor time of a packet at a node; every fourth of data is at a monitor, "
	       "which\ncounts it: what that takes is NS/COUNTED. Best of %d "
	       "runs, in turn.\n",
	       SPINES, repeats);
}

json_t *
bench_volumes_json(const struct bench_volumes *bench)
{
	json_t *rows = json_array();

	for (size_t i = 0; i < BENCH_VOLUMES_CASES; i++)
		json_array_append_new(rows, json_pack("{s:s, s:f, s:f, s:f, s:I, s:I}", "export", cases[i].name, "hop_ns",
						      bench->hop_ns[i], "ratio", bench->hop_ns[i] / bench->hop_ns[0],
						      "counted_ns", counted_ns(bench, i), "port_bytes",
						      i == 0 ? (json_int_t)0 : (json_int_t)bench->port_bytes, "sent_bytes",
						      (json_int_t)bench->sent_bytes[i]));
	return rows;
}
