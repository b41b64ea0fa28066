/* SPDX-License-Identifier: BSD-3-Clause */
/* The evaluation as a table for people. */
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <libsmartcols/libsmartcols.h>

#include "common/array.h"
#include "common/printable.h"
#include "eval/summary.h"

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

/* Cases that are no true positives, what is wrong with them, and how to look at one alone. */
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
