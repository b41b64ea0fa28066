/* SPDX-License-Identifier: BSD-3-Clause */
#include "eval/eval.h"

#include <assert.h>
#include <errno.h>
#include <libsmartcols/libsmartcols.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/array.h"
#include "common/outfile.h"
#include "common/printable.h"
#include "emulation/outputs/outputs.h"

/* Runs of several families, one after another. */
struct rows {
	struct store_run *runs;
	size_t count;
};

static int
add_rows(const struct eval *eval, const struct family *family, const char *policy, struct rows *rows, struct err *err)
{
	struct store_run *runs, *all;
	int64_t count = store_runs(eval->store, family->name, policy, eval_cases(eval, family), &runs, err);

	if (count < 0)
		return (int)count;
	all = realloc(rows->runs, (rows->count + (size_t)count + 1) * sizeof(*all));
	if (all == NULL) {
		free(runs);
		return err_set(err, -ENOMEM, "out of memory");
	}
	memcpy(all + rows->count, runs, (size_t)count * sizeof(*all));
	rows->runs = all;
	rows->count += (size_t)count;
	free(runs);
	return 0;
}

/* @param family  NULL: all */
static int
read_rows(const struct eval *eval, const struct family *family, const char *policy, struct rows *rows, struct err *err)
{
	int ret = 0;

	*rows = (struct rows){ 0 };
	if (family != NULL)
		return add_rows(eval, family, policy, rows, err);
	for (uint32_t f = 0; ret == 0 && f < eval->nfamilies; f++)
		ret = add_rows(eval, eval->families[f], policy, rows, err);
	return ret;
}

static int
compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

/* @param at  offset of a uint64_t of struct store_run */
static int
sum_up(const struct rows *rows, size_t at, struct summary_amount *amount)
{
	double *values = malloc((rows->count + 1) * sizeof(*values)), sum = 0;

	*amount = (struct summary_amount){ 0 };
	if (values == NULL)
		return -ENOMEM;
	for (size_t i = 0; i < rows->count; i++) {
		values[i] = (double)*(const uint64_t *)((const char *)&rows->runs[i] + at);
		sum += values[i];
	}
	qsort(values, rows->count, sizeof(*values), compare);
	if (rows->count != 0) {
		amount->mean = sum / (double)rows->count;
		amount->median = (values[(rows->count - 1) / 2] + values[rows->count / 2]) / 2;
		amount->p95 = values[(rows->count * 95 + 99) / 100 - 1];
	}
	free(values);
	return 0;
}

/*
 * Sums up.
 * @param family  NULL: all of the evaluation's
 * @return 0 or negative errno with err set
 */
static int
summary_of(const struct eval *eval, const struct family *family, const char *policy, struct summary *summary,
	   struct err *err)
{
	struct rows rows;
	int ret = read_rows(eval, family, policy, &rows, err);

	*summary = (struct summary){ .runs = (uint32_t)rows.count };
	for (size_t i = 0; i < rows.count; i++) {
		summary->score.count[rows.runs[i].outcome]++;
		summary->hops += (double)rows.runs[i].hops;
		summary->cpu_s += rows.runs[i].cpu_s;
		summary->wall_s += rows.runs[i].wall_s;
	}
	if (ret == 0 && (sum_up(&rows, offsetof(struct store_run, telemetry_bytes), &summary->telemetry_bytes) < 0 ||
			 sum_up(&rows, offsetof(struct store_run, collected_bytes), &summary->collected_bytes) < 0 ||
			 sum_up(&rows, offsetof(struct store_run, bandwidth_bytes), &summary->bandwidth_bytes) < 0 ||
			 sum_up(&rows, offsetof(struct store_run, polls), &summary->polls) < 0))
		ret = err_set(err, -ENOMEM, "out of memory");
	free(rows.runs);
	return ret;
}

double
summary_excluded(const struct eval *eval, uint32_t *excluded, uint32_t *made)
{
	*excluded = *made = 0;
	for (uint32_t f = 0; f < eval->nfamilies; f++) {
		uint32_t cases = eval_cases(eval, eval->families[f]);

		*excluded += store_excluded(eval->store, eval->families[f]->name, cases);
		*made += cases;
	}
	*made += *excluded;
	return *made != 0 ? (double)*excluded / *made : 0;
}

static json_t *
row_json(const struct store_run *run)
{
	return json_pack("{s:s, s:I, s:s, s:s, s:s, s:I, s:I, s:I, s:I, s:I, s:f, s:f}", "family", run->family, "case",
			 (json_int_t)run->index, "policy", run->policy, "outcome", score_name(run->outcome), "why",
			 run->why, "telemetry_bytes", (json_int_t)run->telemetry_bytes, "telemetry_bytes_collected",
			 (json_int_t)run->collected_bytes, "bandwidth_bytes", (json_int_t)run->bandwidth_bytes, "polls",
			 (json_int_t)run->polls, "hops", (json_int_t)run->hops, "cpu_s", run->cpu_s, "wall_s", run->wall_s);
}

/* Quotes a field by RFC 4180: a quote within quotes is doubled. */
static void
quoted_csv(const char *text, FILE *to)
{
	fputc('"', to);
	for (; *text != '\0'; text++)
		fputs(*text == '"' ? "\"\"" : (const char[]){ *text, '\0' }, to);
	fputc('"', to);
}

static void
row_csv(const struct store_run *run, FILE *to)
{
	fprintf(to, "%s,%u,", run->family, run->index);
	quoted_csv(run->policy, to);
	fprintf(to, ",%s,%llu,%llu,%llu,%llu,%llu,%.3f,%.3f,", score_name(run->outcome),
		(unsigned long long)run->telemetry_bytes, (unsigned long long)run->collected_bytes,
		(unsigned long long)run->bandwidth_bytes, (unsigned long long)run->polls, (unsigned long long)run->hops,
		run->cpu_s, run->wall_s);
	quoted_csv(run->why, to);
	fputc('\n', to);
}

struct row_files {
	FILE *csv;
	json_t *list;
};

static void
add_row(void *ctx, const struct store_run *run)
{
	const struct row_files *files = ctx;

	row_csv(run, files->csv);
	json_array_append_new(files->list, row_json(run));
}

int
summary_write_rows(const struct eval *eval, struct err *err)
{
	struct row_files files = { .list = json_array() };
	struct outfile csv;
	int ret = outfile_open(&csv, eval->dir, "runs.csv", err);

	if (ret < 0) {
		json_decref(files.list);
		return ret;
	}
	files.csv = csv.file;
	fputs("family,case,policy,outcome,telemetry_bytes,telemetry_bytes_collected,bandwidth_bytes,polls,hops,cpu_s,wall_"
	      "s,why\n",
	      files.csv);
	ret = store_each_run(eval->store, add_row, &files, err);
	ret = outfile_close(&csv, ret, err);
	if (ret == 0)
		return output_json(files.list, eval->dir, "runs.json", err);
	json_decref(files.list);
	return ret;
}

/* { policy: { precision, recall, ... } } */
static json_t *
policies_json(const struct eval *eval, const struct family *family, struct err *err)
{
	json_t *policies = json_object();

	for (uint32_t p = 0; p < eval->npolicies; p++) {
		struct summary sum;

		if (summary_of(eval, family, eval->policies[p], &sum, err) < 0) {
			json_decref(policies);
			return NULL;
		}
		json_object_set_new(
			policies, eval->policies[p],
			json_pack("{s:f, s:f, s:I, s:I, s:I, s:f, s:f, s:f, s:f}", "precision", score_precision(&sum.score),
				  "recall", score_recall(&sum.score), "tp", (json_int_t)sum.score.count[OUTCOME_TP], "fp",
				  (json_int_t)sum.score.count[OUTCOME_FP], "fn", (json_int_t)sum.score.count[OUTCOME_FN],
				  "telemetry_bytes_median", sum.telemetry_bytes.median, "bandwidth_bytes_median",
				  sum.bandwidth_bytes.median, "polls_median", sum.polls.median, "wall_s", sum.wall_s));
	}
	return policies;
}

static json_t *
family_json(const struct eval *eval, const struct family *family, const char *name, uint32_t cases, struct err *err)
{
	return json_pack("{s:s, s:s, s:I, s:I, s:f, s:o}", "family", name, "shape", eval->source.shape->name, "cases",
			 (json_int_t)cases, "seed", (json_int_t)eval->source.seed, "scale", eval->source.scale, "policies",
			 policies_json(eval, family, err));
}

int
summary_print_json(const struct eval *eval, FILE *to, struct err *err)
{
	json_t *root, *each = NULL;
	uint32_t cases = 0, all = 0;
	char names[512] = "";
	size_t used = 0;

	while (families[all] != NULL)
		all++;
	for (uint32_t f = 0; f < eval->nfamilies; f++) {
		cases += eval_cases(eval, eval->families[f]);
		used += (size_t)snprintf(names + used, sizeof(names) - used, "%s%s", f != 0 ? "," : "",
					 eval->families[f]->name);
		assert(used < sizeof(names));
	}
	if (eval->nfamilies == 1) {
		root = family_json(eval, eval->families[0], eval->families[0]->name, cases, err);
	} else {
		root = family_json(eval, NULL, eval->nfamilies == all ? "all" : names, cases, err);
		each = json_array();
	}
	for (uint32_t f = 0; each != NULL && f < eval->nfamilies; f++)
		json_array_append_new(each, family_json(eval, eval->families[f], eval->families[f]->name,
							eval_cases(eval, eval->families[f]), err));
	if (root != NULL && each != NULL)
		json_object_set_new(root, "families", each);
	if (root == NULL)
		return err_set(err, -ENOMEM, "out of memory");
	json_dumpf(root, to, JSON_INDENT(2) | JSON_PRESERVE_ORDER);
	fputc('\n', to);
	json_decref(root);
	return 0;
}

/* The evaluation as a table for people. */

static const char *const columns[] = { "FAMILY",    "POLICY", "CASES",      "TP",   "FP",  "FN",
				       "PRECISION", "RECALL", "REPORTS kB", "mean", "p95", "COLLECTED kB",
				       "WIRE kB",   "POLLS",  "MHOPS",      "CPU s" };
#define NCOLUMNS ARRAY_LEN(columns)
#define TEXT_COLUMNS 2

static void
add_line(struct libscols_table *table, const char *family, const char *policy, const struct summary *sum)
{
	struct libscols_line *line = scols_table_new_line(table, NULL);
	char cells[NCOLUMNS][128];
	size_t n = 0;

	snprintf(cells[n++], sizeof(cells[0]), "%s", family);
	snprintf(cells[n++], sizeof(cells[0]), "%s", policy);
	snprintf(cells[n++], sizeof(cells[0]), "%u", sum->runs);
	for (enum outcome outcome = OUTCOME_TP; outcome <= OUTCOME_FN; outcome++)
		snprintf(cells[n++], sizeof(cells[0]), "%u", sum->score.count[outcome]);
	snprintf(cells[n++], sizeof(cells[0]), "%.1f %%", 100 * score_precision(&sum->score));
	snprintf(cells[n++], sizeof(cells[0]), "%.1f %%", 100 * score_recall(&sum->score));
	snprintf(cells[n++], sizeof(cells[0]), "%.1f", sum->telemetry_bytes.median / 1e3);
	snprintf(cells[n++], sizeof(cells[0]), "%.1f", sum->telemetry_bytes.mean / 1e3);
	snprintf(cells[n++], sizeof(cells[0]), "%.1f", sum->telemetry_bytes.p95 / 1e3);
	snprintf(cells[n++], sizeof(cells[0]), "%.1f", sum->collected_bytes.median / 1e3);
	snprintf(cells[n++], sizeof(cells[0]), "%.1f", sum->bandwidth_bytes.median / 1e3);
	snprintf(cells[n++], sizeof(cells[0]), "%.0f", sum->polls.median);
	snprintf(cells[n++], sizeof(cells[0]), "%.0f", sum->hops / 1e6);
	snprintf(cells[n++], sizeof(cells[0]), "%.1f", sum->cpu_s);
	for (size_t c = 0; c < n; c++)
		scols_line_set_data(line, c, cells[c]);
}

/* A word as a shell takes it. */
static void
print_word(const char *word, FILE *to)
{
	const struct plain_line shown = plain_line(word);
	bool plain = word[strspn(word, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-./=+:,%@")] == '\0';

	if (!plain)
		fputc('\'', to);
	for (const char *p = shown.text; *p != '\0'; p++)
		fputs(*p == '\'' ? "'\\''" : (const char[]){ *p, '\0' }, to);
	if (!plain)
		fputc('\'', to);
}

/* rocelab run DIR/case.cfg --set detection.policy=... */
static void
print_replay(const struct eval *eval, const char *dir, const char *policy, FILE *to)
{
	char path[PATH_MAX + sizeof("/case.cfg")];
	struct err err = { 0 };
	struct variant_sets sets;

	snprintf(path, sizeof(path), "%s/case.cfg", dir);
	fputs("rocelab run ", to);
	print_word(path, to);
	if (variant_sets(policy, &sets, &err) < 0)
		return;
	for (size_t i = 0; i < eval->source.nsets; i++) {
		fputs(" --set ", to);
		print_word(eval->source.sets[i], to);
	}
	for (uint32_t i = 0; i < sets.count; i++) {
		fputs(" --set ", to);
		print_word(sets.text[i], to);
	}
}

/* Cases that are no true positives, their errors, and how to look at one alone. */
static int
print_failed(const struct eval *eval, const struct family *family, const char *policy, FILE *to, struct err *err)
{
	struct store_run *runs;
	int64_t count = store_runs(eval->store, family->name, policy, eval_cases(eval, family), &runs, err);

	for (int64_t i = 0; i < count; i++) {
		char dir[PATH_MAX];

		if (runs[i].outcome == OUTCOME_TP)
			continue;
		eval_case_dir(eval, family, runs[i].index, NULL, dir, sizeof(dir));
		fprintf(to, "\n%s/%03u under %s is a %s: %s\n  ", family->name, runs[i].index, policy,
			runs[i].outcome == OUTCOME_FP ? "false positive" : "false negative", runs[i].why);
		print_replay(eval, dir, policy, to);
		fprintf(to, "   truth: %s/%s/score.json\n", plain_line(dir).text, policy);
	}
	free(runs);
	return count < 0 ? (int)count : 0;
}

int
summary_print_table(const struct eval *eval, FILE *to, struct err *err)
{
	struct libscols_table *table = scols_new_table();
	uint32_t excluded, made;
	int ret = 0;

	for (size_t i = 0; i < NCOLUMNS; i++)
		scols_table_new_column(table, columns[i], 0, i < TEXT_COLUMNS ? 0 : SCOLS_FL_RIGHT);
	scols_table_set_stream(table, to);
	for (uint32_t f = 0; f < eval->nfamilies; f++) {
		for (uint32_t p = 0; ret == 0 && p < eval->npolicies; p++) {
			struct summary sum;

			ret = summary_of(eval, eval->families[f], eval->policies[p], &sum, err);
			if (ret == 0)
				add_line(table, eval->families[f]->name, eval->policies[p], &sum);
		}
	}
	if (ret == 0)
		scols_print_table(table);
	scols_unref_table(table);
	summary_excluded(eval, &excluded, &made);
	fprintf(to, "\n%u of %u cases made were wrong by construction and replaced.\n", excluded, made);
	for (uint32_t f = 0; f < eval->nfamilies; f++)
		for (uint32_t p = 0; ret == 0 && p < eval->npolicies; p++)
			ret = print_failed(eval, eval->families[f], eval->policies[p], to, err);
	return ret;
}
