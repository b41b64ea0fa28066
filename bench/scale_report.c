/* SPDX-License-Identifier: BSD-3-Clause */
/* The model of rocelab bench scale, its check and forecast, and the output of all. */
#include "bench/scale.h"

#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <jansson.h>
#include <libsmartcols/libsmartcols.h>

#include "bench/fabric_cases.h"
#include "common/array.h"
#include "common/outfile.h"
#include "eval/args.h"
#include "twin/rerun/job.h"

#define FITTED_NS 4000     /* delays of cables up to this; with slower ones the model is checked */
#define CROSSING (2.0 / 6) /* of a packet's six cables in a fat-tree, the two between pods */
#define FORECAST_BYTES 1e6 /* that each host sends */

const char *const scale_patterns[SCALE_PATTERNS] = { "ring", "alltoall", "permutation" };

/* ---- the model ---- */

/* @param checked  those that the model is checked with, in place of those it is fitted to. @return how many */
static size_t
samples_of(const struct scale *b, bool checked, const struct scale_row **rows)
{
	size_t count = 0;

	for (uint32_t i = 0; i < b->nrows; i++) {
		const struct scale_row *row = &b->rows[i];
		bool slow = row->delay_ns > FITTED_NS;

		if (row->state == SCALE_DONE && row->lcores == 1 && row->processes == 1 && row->sample.cpu_s > 0 &&
		    (row->part == SCALE_ALONE || row->part == SCALE_CABLE) && slow == checked)
			rows[count++] = row;
	}
	return count;
}

static const struct scale_row *
row_like(const struct scale *b, const struct scale_row *row, enum scale_part part, uint32_t lcores)
{
	for (uint32_t i = 0; i < b->nrows; i++) {
		const struct scale_row *other = &b->rows[i];

		if (other->state == SCALE_DONE && other->part == part && other->pattern == row->pattern &&
		    other->hosts == row->hosts && other->gbps == row->gbps && other->delay_ns == row->delay_ns &&
		    other->lcores == lcores && other->processes == 1)
			return other;
	}
	return NULL;
}

/* Speed of a run, of that of two side by side together; negative: they did not run. */
static double
efficiency_of(const struct scale *b, const struct scale_row *row)
{
	const struct scale_row *first = row_like(b, row, SCALE_FIRST, 1), *second = row_like(b, row, SCALE_SECOND, 1);

	if (first == NULL || second == NULL || row->state != SCALE_DONE || !(row->wall_s > 0))
		return -1;
	return row->sample.hops / row->wall_s / (first->sample.hops / first->wall_s + second->sample.hops / second->wall_s);
}

static int
compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static double
median_of(double *values, size_t count)
{
	qsort(values, count, sizeof(*values), compare);
	return count != 0 ? (values[(count - 1) / 2] + values[count / 2]) / 2 : 0;
}

static void
fit_model(struct scale *b)
{
	const struct scale_row *rows[SCALE_MAX_ROWS];
	struct scale_sample samples[SCALE_MAX_ROWS];
	double efficiencies[SCALE_MAX_ROWS];
	size_t count = samples_of(b, false, rows), measured = 0;

	for (size_t i = 0; i < count; i++)
		samples[i] = rows[i]->sample;
	b->model_there = scale_model_fit(samples, count, &b->model) == 0;
	for (uint32_t i = 0; i < b->nrows; i++)
		if (b->rows[i].part == SCALE_ALONE && b->rows[i].lcores == 2 && efficiency_of(b, &b->rows[i]) > 0)
			efficiencies[measured++] = efficiency_of(b, &b->rows[i]);
	b->efficiency = fmin(1, median_of(efficiencies, measured));
}

struct errors {
	size_t count;
	double median, most; /* of the relative errors, without sign */
};

static struct errors
errors_of(const struct scale *b, bool checked)
{
	const struct scale_row *rows[SCALE_MAX_ROWS];
	double errors[SCALE_MAX_ROWS];
	struct errors result = { .count = samples_of(b, checked, rows) };

	for (size_t i = 0; i < result.count; i++) {
		errors[i] = fabs(scale_model_time(&b->model, &rows[i]->sample) / rows[i]->sample.cpu_s - 1);
		result.most = fmax(result.most, errors[i]);
	}
	result.median = median_of(errors, result.count);
	return result;
}

static const uint32_t forecast_hosts[] = { 16384, 131072 }, forecast_machines[] = { 1, 8, 64, 512 };

/* The largest permutation at the model's rate, of which larger ones are multiples. @return NULL: none has run */
static const struct scale_row *
forecast_base(const struct scale *b)
{
	const struct scale_row *base = NULL;

	for (uint32_t i = 0; i < b->nrows; i++) {
		const struct scale_row *row = &b->rows[i];

		if (row->state == SCALE_DONE && row->part == SCALE_ALONE && row->pattern == SCALE_PERMUTATION &&
		    row->gbps == SCALE_MODEL_GBPS && row->lcores == 1 && row->processes == 1 &&
		    (base == NULL || row->hosts > base->hosts))
			base = row;
	}
	return base;
}

/* A permutation of FORECAST_BYTES a host: hops with the hosts, windows as they are. */
static struct scale_sample
forecast_work(const struct scale *b, const struct scale_row *base, uint32_t hosts)
{
	double bytes = FORECAST_BYTES / (double)scale_message_bytes(b, base);

	return (struct scale_sample){ .hops = base->sample.hops * bytes * hosts / base->hosts,
				      .windows = base->sample.windows * bytes,
				      .nodes = base->sample.nodes * hosts / base->hosts,
				      .flows = hosts };
}

static struct scale_forecast
forecast(const struct scale *b, const struct scale_row *base, uint32_t hosts, uint32_t machines)
{
	int cpus[POOL_MAX_JOBS];
	const struct scale_sample work = forecast_work(b, base, hosts);
	const struct scale_cluster cluster = { .machines = machines,
					       .cores = job_cpus(cpus, POOL_MAX_JOBS),
					       .efficiency = b->efficiency > 0 ? b->efficiency : 1,
					       .sync_ns = b->sync_ns,
					       .message_ns = b->message_ns,
					       .crossing = CROSSING };

	return scale_model_forecast(&b->model, &work, &cluster);
}

static double
total_s(const struct scale_forecast *of)
{
	return of->work_s + of->sync_s + of->message_s;
}

/* ---- output ---- */

static struct libscols_table *
new_table(const char *const *columns, size_t count)
{
	struct libscols_table *table = scols_new_table();

	for (size_t i = 0; i < count; i++)
		scols_table_new_column(table, columns[i], 0, i == 0 ? 0 : SCOLS_FL_RIGHT);
	return table;
}

static void __attribute__((format(printf, 3, 4))) set_cell(struct libscols_line *line, size_t column, const char *fmt, ...)
{
	char text[200];
	va_list args;

	va_start(args, fmt);
	vsnprintf(text, sizeof(text), fmt, args);
	va_end(args);
	scols_line_set_data(line, column, text);
}

static void
put_line(const struct scale *b, const struct scale_row *row, struct libscols_table *table)
{
	struct libscols_line *line = scols_table_new_line(table, NULL);
	double efficiency = efficiency_of(b, row);

	set_cell(line, 0, "%s", scale_patterns[row->pattern]);
	set_cell(line, 1, "%u", row->hosts);
	set_cell(line, 2, "%u", row->gbps);
	set_cell(line, 3, "%u", row->lcores);
	set_cell(line, 4, "%u", row->processes);
	if (row->state != SCALE_DONE) {
		set_cell(line, 5, "%s",
			 row->state == SCALE_BROKEN    ? "failed"
			 : row->state == SCALE_REFUSED ? "refused"
						       : "not there");
		return;
	}
	set_cell(line, 5, "%.2f M", row->packets / 1e6);
	set_cell(line, 6, "%.2f M", row->sample.hops / 1e6);
	set_cell(line, 7, "%.0f", row->sample.windows);
	set_cell(line, 8, "%.2f", row->wall_s);
	set_cell(line, 9, "%.2f", row->sample.cpu_s);
	set_cell(line, 10, "%.0f", row->sample.cpu_s * 1e9 / row->sample.hops);
	set_cell(line, 11, "%.0f", row->rss_bytes / 1e6);
	set_cell(line, 12, "%.1f", row->sample.hops / row->wall_s / 1e6);
	if (efficiency >= 0 && row->lcores * row->processes > 1)
		set_cell(line, 13, "%.0f %%", 100 * efficiency);
}

static void
print_rows(const struct scale *b)
{
	static const char *const columns[] = {
		"PATTERN", "HOSTS",  "GBPS",  "LCORES",     "PROCESSES", "PACKETS", "HOPS",
		"WINDOWS", "WALL s", "CPU s", "CPU ns/HOP", "MB",        "MHOPS/s", "OF TWO"
	};
	struct libscols_table *table = new_table(columns, ARRAY_LEN(columns));
	char cpu[192];

	for (uint32_t i = 0; i < b->nrows; i++)
		if (b->rows[i].part == SCALE_ALONE)
			put_line(b, &b->rows[i], table);
	scols_print_table(table);
	scols_unref_table(table);
	printf("\n%s. OF TWO: hops a second of wall time, of those of two runs with an lcore each, side by side.\n",
	       fabric_cpu(cpu, sizeof(cpu)));
	for (uint32_t i = 0; i < b->nrows; i++)
		if (b->rows[i].part == SCALE_ALONE && b->rows[i].state == SCALE_REFUSED)
			printf("refused: %s, %u hosts, %u Gbps: %s\n", scale_patterns[b->rows[i].pattern], b->rows[i].hosts,
			       b->rows[i].gbps, b->rows[i].why);
	if (!b->has_processes)
		printf("not there: processes over MPI, which this build does not have.\n");
}

static void
print_check(const struct scale *b)
{
	static const char *const columns[] = { "PATTERN",    "HOSTS",   "CABLE us", "WINDOWS",
					       "MEASURED s", "MODEL s", "ERROR",    "" };
	const struct scale_row *rows[SCALE_MAX_ROWS];
	struct libscols_table *table = new_table(columns, ARRAY_LEN(columns));

	for (int checked = 0; checked <= 1; checked++) {
		size_t count = samples_of(b, checked, rows);

		for (size_t i = 0; i < count; i++) {
			struct libscols_line *line = scols_table_new_line(table, NULL);
			double time_s = scale_model_time(&b->model, &rows[i]->sample);

			set_cell(line, 0, "%s", scale_patterns[rows[i]->pattern]);
			set_cell(line, 1, "%u", rows[i]->hosts);
			set_cell(line, 2, "%.1f", rows[i]->delay_ns / 1e3);
			set_cell(line, 3, "%.0f", rows[i]->sample.windows);
			set_cell(line, 4, "%.3f", rows[i]->sample.cpu_s);
			set_cell(line, 5, "%.3f", time_s);
			set_cell(line, 6, "%+.0f %%", 100 * (time_s / rows[i]->sample.cpu_s - 1));
			set_cell(line, 7, "%s", checked ? "checked" : "fitted");
		}
	}
	scols_print_table(table);
	scols_unref_table(table);
}

static void
print_forecast(const struct scale *b)
{
	static const char *const columns[] = { "HOSTS", "MACHINES", "s", "WORK", "WINDOWS' ENDS", "MESSAGES", "GAIN" };
	const struct scale_row *base = forecast_base(b);
	struct libscols_table *table;

	if (base == NULL)
		return;
	printf("\nFORECAST, not measured: a permutation of %.0f MB a host at %d Gbps, as multiples of the one between %u "
	       "hosts; "
	       "machines as this one. Taken for granted: load that is even, %.1f us to end a window between machines, %.0f "
	       "ns for a packet "
	       "that "
	       "crosses, %.0f %% of hops between machines, and %s of two lcores.\n",
	       FORECAST_BYTES / 1e6, SCALE_MODEL_GBPS, base->hosts, b->sync_ns / 1e3, b->message_ns, 100 * CROSSING,
	       b->efficiency > 0 ? "the measured efficiency" : "an efficiency of 100 %, which was not measured,");
	table = new_table(columns, ARRAY_LEN(columns));
	for (size_t h = 0; h < ARRAY_LEN(forecast_hosts); h++) {
		const struct scale_forecast one = forecast(b, base, forecast_hosts[h], 1);

		for (size_t m = 0; m < ARRAY_LEN(forecast_machines); m++) {
			const struct scale_forecast of = forecast(b, base, forecast_hosts[h], forecast_machines[m]);
			struct libscols_line *line = scols_table_new_line(table, NULL);

			set_cell(line, 0, "%u", forecast_hosts[h]);
			set_cell(line, 1, "%u", forecast_machines[m]);
			set_cell(line, 2, "%.3g", total_s(&of));
			set_cell(line, 3, "%.3g", of.work_s);
			set_cell(line, 4, "%.3g", of.sync_s);
			set_cell(line, 5, "%.3g", of.message_s);
			set_cell(line, 6, "%.1f", total_s(&one) / total_s(&of));
		}
	}
	scols_print_table(table);
	scols_unref_table(table);
}

static void
print_model(const struct scale *b)
{
	const struct errors fitted = errors_of(b, false), checked = errors_of(b, true);

	printf("\nModel of the processor time on one lcore: %.1f ns a hop, %.2f ns a hop and doubling of nodes, %.2f ns a "
	       "node "
	       "in a window, %.0f ns a node and %.0f ns a flow once. Relative errors, median and most: %.0f and %.0f %% of "
	       "%zu "
	       "runs that it is fitted to, %.0f and %.0f %% of %zu with slower cables, to which it is not.\n\n",
	       b->model.ns[SCALE_HOP], b->model.ns[SCALE_SPREAD], b->model.ns[SCALE_NODE], b->model.ns[SCALE_BUILD],
	       b->model.ns[SCALE_FLOW], 100 * fitted.median, 100 * fitted.most, fitted.count, 100 * checked.median,
	       100 * checked.most, checked.count);
	print_check(b);
	print_forecast(b);
}

static json_t *
row_json(const struct scale *b, const struct scale_row *row)
{
	static const char *const states[] = { "missing", "done", "refused", "not there", "failed" };
	static const char *const parts[] = { "alone", "side by side", "side by side", "cable" };
	double efficiency = efficiency_of(b, row);

	return json_pack("{s:s, s:i, s:i, s:i, s:i, s:i, s:s, s:s, s:s, s:f, s:f, s:f, s:f, s:f, s:f, s:f, s:o}", "pattern",
			 scale_patterns[row->pattern], "hosts", (int)row->hosts, "gbps", (int)row->gbps, "lcores",
			 (int)row->lcores, "processes", (int)row->processes, "cable_ns", (int)row->delay_ns, "part",
			 parts[row->part], "state", states[row->state], "why", row->why, "nodes", row->sample.nodes,
			 "packets", row->packets, "hops", row->sample.hops, "windows", row->sample.windows, "wall_s",
			 row->wall_s, "cpu_s", row->sample.cpu_s, "rss_bytes", row->rss_bytes, "of_two",
			 efficiency >= 0 ? json_real(efficiency) : json_null());
}

static json_t *
errors_json(const struct errors errors)
{
	return json_pack("{s:i, s:f, s:f}", "runs", (int)errors.count, "median", errors.median, "most", errors.most);
}

static json_t *
model_json(const struct scale *b)
{
	json_t *forecasts = json_array();
	const struct scale_row *base = forecast_base(b);

	for (size_t h = 0; base != NULL && h < ARRAY_LEN(forecast_hosts); h++)
		for (size_t m = 0; m < ARRAY_LEN(forecast_machines); m++) {
			const struct scale_forecast of = forecast(b, base, forecast_hosts[h], forecast_machines[m]);

			json_array_append_new(forecasts,
					      json_pack("{s:i, s:i, s:f, s:f, s:f}", "hosts", (int)forecast_hosts[h],
							"machines", (int)forecast_machines[m], "work_s", of.work_s,
							"sync_s", of.sync_s, "message_s", of.message_s));
		}
	return json_pack("{s:f, s:f, s:f, s:f, s:f, s:o, s:o, s:f, s:f, s:f, s:f, s:o}", "hop_ns", b->model.ns[SCALE_HOP],
			 "spread_ns", b->model.ns[SCALE_SPREAD], "node_ns", b->model.ns[SCALE_NODE], "build_ns",
			 b->model.ns[SCALE_BUILD], "flow_ns", b->model.ns[SCALE_FLOW], "fitted",
			 errors_json(errors_of(b, false)), "checked", errors_json(errors_of(b, true)), "efficiency",
			 b->efficiency, "assumed_sync_ns", b->sync_ns, "assumed_message_ns", b->message_ns,
			 "assumed_crossing", CROSSING, "forecast", forecasts);
}

static json_t *
results(const struct scale *b)
{
	json_t *rows = json_array();
	char cpu[192];

	for (uint32_t i = 0; i < b->nrows; i++)
		json_array_append_new(rows, row_json(b, &b->rows[i]));
	return json_pack("{s:i, s:s, s:i, s:o, s:o}", "schema_version", 1, "cpu", fabric_cpu(cpu, sizeof(cpu)), "mhops",
			 (int)b->mhops, "rows", rows, "model", b->model_there ? model_json(b) : json_null());
}

/* Writes the same rows as CSV: a line each, and a column a key. */
static int
write_csv(const struct scale *b, const json_t *root, struct err *err)
{
	json_t *row, *value;
	struct outfile out;
	const char *key;
	size_t i;
	int ret = outfile_open(&out, b->args.dir, SCALE_TABLE, err);

	if (ret < 0)
		return ret;
	json_array_foreach(json_object_get(root, "rows"), i, row) {
		const char *between = "";

		if (i == 0) {
			json_object_foreach(row, key, value) {
				fprintf(out.file, "%s%s", between, key);
				between = ",";
			}
			fputc('\n', out.file);
		}
		between = "";
		json_object_foreach(row, key, value) {
			fputs(between, out.file);
			between = ",";
			if (json_is_string(value))
				fprintf(out.file, "\"%s\"", json_string_value(value));
			else if (json_is_number(value))
				fprintf(out.file, "%.9g", json_number_value(value));
		}
		fputc('\n', out.file);
	}
	return outfile_close(&out, 0, err);
}

int
scale_report(struct scale *b, struct err *err)
{
	json_t *root;
	int ret;

	fit_model(b);
	root = results(b);
	ret = write_csv(b, root, err);
	if (ret == 0)
		ret = eval_args_report(json_incref(root), b->args.dir, SCALE_RESULTS, b->args.json, err);
	json_decref(root);
	if (ret < 0 || b->args.json)
		return ret;
	print_rows(b);
	if (b->model_there)
		print_model(b);
	return 0;
}
