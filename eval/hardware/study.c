/* SPDX-License-Identifier: BSD-3-Clause */
#include "eval/hardware/study.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <libsmartcols/libsmartcols.h>

#include "common/array.h"
#include "common/input_file.h"
#include "common/log.h"
#include "common/outfile.h"
#include "common/run_files.h"
#include "twin/rerun/job.h"

#define SCENARIO "case.cfg"
#define MAX_BROKEN 10 /* a cause that breaks this many runs breaks the others, too: a full disk */

struct run {
	const struct hw_experiment *experiment;
	struct hw_case of;
	struct hw_result *result;
};

struct work {
	struct hw_study *study;
	struct run *runs; /* [count] */
	uint32_t count, next, done, missing;
	uint32_t slots[POOL_MAX_JOBS];
};

static void
path_of(const struct hw_study *study, const struct run *run, const char *name, char path[PATH_MAX + 64])
{
	snprintf(path, PATH_MAX + 64, "%s/%s/%s/%" PRIu64 "%s%s", study->dir, run->experiment->name,
		 run->of.row->transport->name, run->of.seed, name[0] != '\0' ? "/" : "", name);
}

/* ---- the missing runs ---- */

static int
write_case(const struct hw_study *study, const struct run *run, struct err *err)
{
	char dir[PATH_MAX + 64];
	struct outfile out;
	int ret;

	path_of(study, run, "", dir);
	ret = run_dir_make(dir, err);
	if (ret >= 0)
		ret = outfile_open(&out, dir, SCENARIO, err);
	if (ret < 0)
		return ret;
	hw_write(run->experiment, &run->of, out.file);
	return outfile_close(&out, 0, err);
}

/* A run of the same case: not one of another duration in the same folder, or one that was interrupted. */
static bool
is_there(const struct hw_study *study, const struct run *run)
{
	struct err why = { "" };
	char path[PATH_MAX + 64], *text = NULL, have[8192];
	size_t length = 0, read = 0;
	FILE *file = open_memstream(&text, &length), *kept;
	bool same = false;

	path_of(study, run, "", path);
	if (file == NULL || job_check(path, ".", JOB_DONE, &why) < 0) {
		if (file != NULL)
			fclose(file);
		free(text);
		return false;
	}
	hw_write(run->experiment, &run->of, file);
	fclose(file);
	path_of(study, run, SCENARIO, path);
	kept = input_fopen(path, NULL);
	if (kept != NULL) {
		read = fread(have, 1, sizeof(have), kept);
		fclose(kept);
	}
	same = read == length && memcmp(have, text, length) == 0;
	free(text);
	return same;
}

/* Is a run to be made by this program? */
static bool
is_waiting(const struct work *work, uint32_t number)
{
	return shard_has(work->study->shard, number) && !is_there(work->study, &work->runs[number]);
}

static pid_t
start(void *ctx, uint32_t slot, int cpu, struct err *err)
{
	struct work *work = ctx;
	char dir[PATH_MAX + 64], scenario[PATH_MAX + 64];
	int ret;

	while (work->next < work->count && !is_waiting(work, work->next))
		work->next++;
	if (work->next == work->count)
		return 0;
	work->slots[slot] = work->next;
	path_of(work->study, &work->runs[work->next], "", dir);
	path_of(work->study, &work->runs[work->next], SCENARIO, scenario);
	ret = write_case(work->study, &work->runs[work->next++], err);
	if (ret < 0)
		return ret;
	return job_start(
		&(struct job_config){ .scenario = scenario, .fabric = dir, .out = dir, .policy = "off", .cpu = cpu }, err);
}

static int
ended(void *ctx, uint32_t slot, int status, struct err *err)
{
	static const char *const large[] = { RUN_RECORDING, RUN_TRUTH };
	struct work *work = ctx;
	const struct run *run = &work->runs[work->slots[slot]];
	char path[PATH_MAX + 64];

	for (size_t i = 0; status == JOB_DONE && i < ARRAY_LEN(large); i++) {
		path_of(work->study, run, large[i], path);
		unlink(path);
	}
	work->done++;
	progress_line("%u of %u runs", work->done, work->missing);
	if (status == JOB_DONE)
		return 0;
	path_of(work->study, run, RUN_SUMMARY, path);
	unlink(path);
	progress_line("%s", "");
	path_of(work->study, run, "", path);
	log_warning("%s failed; see log.txt there", path);
	if (++work->study->broken < MAX_BROKEN)
		return 0;
	return err_set(err, -EIO, "%u runs failed; fix the cause and repeat the command", work->study->broken);
}

/* ---- their results ---- */

static int
compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static int
keep(struct hw_result *result, const double *values, uint32_t count, struct err *err)
{
	double *all = realloc(result->values, (result->count + count) * sizeof(*all));

	if (all == NULL)
		return err_set(err, -ENOMEM, "out of memory for results");
	result->values = all;
	memcpy(all + result->count, values, count * sizeof(*all));
	result->count += count;
	result->runs++;
	return 0;
}

static int
read_run(const struct hw_study *study, const struct run *run, struct err *err)
{
	char dir[PATH_MAX + 64], path[PATH_MAX + 64];
	double values[HW_MAX_VALUES];
	int count;

	path_of(study, run, "", dir);
	path_of(study, run, RUN_SUMMARY, path);
	if (access(path, R_OK) != 0)
		return 0; /* it failed, and was reported */
	count = run->experiment->measure(&run->of, dir, values, err);
	return count < 0 ? count : keep(run->result, values, (uint32_t)count, err);
}

static void
settle(struct hw_result *result)
{
	if (result->count == 0)
		return;
	qsort(result->values, result->count, sizeof(*result->values), compare);
	for (uint32_t i = 0; i < result->count; i++)
		result->mean += result->values[i] / result->count;
}

static int
list_runs(struct hw_study *study, struct work *work, struct err *err)
{
	work->runs = calloc((size_t)HW_MAX_EXPERIMENTS * HW_MAX_ROWS * study->seeds, sizeof(*work->runs));
	if (work->runs == NULL)
		return err_set(err, -ENOMEM, "out of memory for %u seeds", study->seeds);
	/* Seed by seed: one that is interrupted has all rows. */
	for (uint32_t s = 0; s < study->seeds; s++)
		for (uint32_t e = 0; e < hw_nexperiments; e++)
			for (uint32_t r = 0; study->asked[e] && r < hw_experiments[e].nrows; r++)
				work->runs[work->count++] = (struct run){
					.experiment = &hw_experiments[e],
					.of = { &hw_experiments[e].rows[r], study->first + s, study->duration_us },
					.result = &study->results[e][r],
				};
	return 0;
}

int
hw_study_run(struct hw_study *study, struct err *err)
{
	const struct pool_ops ops = { start, ended };
	struct work work = { .study = study };
	int ret = list_runs(study, &work, err);

	for (uint32_t i = 0; i < work.count; i++)
		work.missing += is_waiting(&work, i);
	if (ret == 0)
		ret = shard_check(study->shard, work.missing, err);
	if (ret == 0)
		ret = pool_run(study->jobs, &ops, &work, err);
	progress_line("%s", "");
	for (uint32_t i = 0; ret == 0 && i < work.count; i++)
		ret = read_run(study, &work.runs[i], err);
	for (uint32_t e = 0; e < hw_nexperiments; e++)
		for (uint32_t r = 0; r < hw_experiments[e].nrows; r++)
			settle(&study->results[e][r]);
	free(work.runs);
	return ret;
}

void
hw_study_fini(struct hw_study *study)
{
	for (uint32_t e = 0; e < HW_MAX_EXPERIMENTS; e++)
		for (uint32_t r = 0; r < HW_MAX_ROWS; r++)
			free(study->results[e][r].values);
}

/* ---- output ---- */

static const struct {
	const char *name;
	int flags;
} columns[] = {
	{ "senders", 0 },
	{ "published", SCOLS_FL_WRAP },
	{ "least", SCOLS_FL_RIGHT },
	{ "median", SCOLS_FL_RIGHT },
	{ "most", SCOLS_FL_RIGHT },
	{ "mean", SCOLS_FL_RIGHT },
	{ "", 0 },
};

/* @return the median's place in the published range, if there is one */
static const char *
agrees(const struct hw_row *row, const struct hw_result *result)
{
	double median = result->values[(result->count - 1) / 2];

	if (row->high == 0)
		return "";
	return median < row->low ? "below" : median > row->high ? "above" : "within";
}

static void
put_row(struct libscols_table *table, const struct hw_row *row, const struct hw_result *result)
{
	const double numbers[] = { result->count != 0 ? result->values[0] : 0,
				   result->count != 0 ? result->values[(result->count - 1) / 2] : 0,
				   result->count != 0 ? result->values[result->count - 1] : 0, result->mean };
	struct libscols_line *line = scols_table_new_line(table, NULL);
	char text[32];

	if (line == NULL)
		return;
	scols_line_set_data(line, 0, row->transport->doc);
	scols_line_set_data(line, 1, row->published);
	for (size_t i = 0; result->count != 0 && i < ARRAY_LEN(numbers); i++) {
		snprintf(text, sizeof(text), "%.0f", numbers[i]);
		scols_line_set_data(line, 2 + i, text);
	}
	if (result->count != 0)
		scols_line_set_data(line, 6, agrees(row, result));
}

static void
print_experiment(const struct hw_study *study, uint32_t index, FILE *to)
{
	const struct hw_experiment *experiment = &hw_experiments[index];
	struct libscols_table *table = scols_new_table();

	fprintf(to, "%s: %s, in %s\nPublished: %s\n", experiment->name, experiment->doc, experiment->unit,
		experiment->source);
	if (experiment->note != NULL)
		fprintf(to, "Not published, and assumed: %s\n", experiment->note);
	fputc('\n', to);
	if (table == NULL)
		return;
	scols_table_set_stream(table, to);
	scols_table_enable_noencoding(table, true);
	for (size_t i = 0; i < ARRAY_LEN(columns); i++)
		scols_table_new_column(table, columns[i].name, 0, columns[i].flags);
	for (uint32_t r = 0; r < experiment->nrows; r++)
		put_row(table, &experiment->rows[r], &study->results[index][r]);
	scols_print_table(table);
	scols_unref_table(table);
	fputc('\n', to);
}

void
hw_print(const struct hw_study *study, FILE *to)
{
	for (uint32_t e = 0; e < hw_nexperiments; e++)
		if (study->asked[e])
			print_experiment(study, e, to);
	fprintf(to, "Seeds %" PRIu64 " to %" PRIu64 ", %u ms each. Values of a row: of all its runs.\n", study->first,
		study->first + study->seeds - 1, study->duration_us / 1000);
}

static json_t *
row_json(const struct hw_row *row, const struct hw_result *result)
{
	json_t *values = json_array();

	for (uint32_t i = 0; i < result->count; i++)
		json_array_append_new(values, json_real(result->values[i]));
	return json_pack("{s:s, s:s, s:s, s:o, s:i, s:o}", "senders", row->transport->name, "text", row->transport->doc,
			 "published", row->published, "published_range",
			 row->high != 0 ? json_pack("[f, f]", row->low, row->high) : json_null(), "runs", (int)result->runs,
			 "values", values);
}

json_t *
hw_json(const struct hw_study *study)
{
	json_t *list = json_array();

	for (uint32_t e = 0; e < hw_nexperiments; e++) {
		const struct hw_experiment *experiment = &hw_experiments[e];
		json_t *rows = json_array();

		for (uint32_t r = 0; study->asked[e] && r < experiment->nrows; r++)
			json_array_append_new(rows, row_json(&experiment->rows[r], &study->results[e][r]));
		if (study->asked[e])
			json_array_append_new(list, json_pack("{s:s, s:s, s:s, s:s, s:o}", "name", experiment->name, "text",
							      experiment->doc, "source", experiment->source, "unit",
							      experiment->unit, "rows", rows));
		else
			json_decref(rows);
	}
	return json_pack("{s:I, s:i, s:i, s:o}", "first_seed", (json_int_t)study->first, "seeds", (int)study->seeds,
			 "duration_us", (int)study->duration_us, "experiments", list);
}
