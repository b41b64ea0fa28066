/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>

#include <libsmartcols/libsmartcols.h>

#include "common/array.h"
#include "common/printable.h"
#include "emulation/outputs/outputs.h"
#include "eval/odd/run.h"

#define BINS 4 /* of stated confidence */

static void
add_line(struct libscols_table *table, const char *name, const uint32_t *counts)
{
	struct libscols_line *line = scols_table_new_line(table, NULL);
	uint32_t all = 0;
	char cell[32];

	scols_line_set_data(line, 0, name);
	for (size_t i = 0; i < ODD_GRADES; i++) {
		snprintf(cell, sizeof(cell), "%u", counts[i]);
		scols_line_set_data(line, 2 + i, cell);
		all += counts[i];
	}
	snprintf(cell, sizeof(cell), "%u", all);
	scols_line_set_data(line, 1, cell);
	snprintf(cell, sizeof(cell), "%.1f %%", all != 0 ? 100.0 * counts[ODD_RIGHT] / all : 0.0);
	scols_line_set_data(line, 2 + ODD_GRADES, cell);
}

static struct libscols_table *
new_table(const char *first, FILE *to)
{
	struct libscols_table *table = scols_new_table();
	const char *const columns[] = { first, "CASES", "RIGHT", "PARTLY", "WRONG", "UNKNOWN", "RIGHT %" };

	for (size_t i = 0; i < ARRAY_LEN(columns); i++)
		scols_table_new_column(table, columns[i], 0, i != 0 ? SCOLS_FL_RIGHT : 0);
	scols_table_set_stream(table, to);
	return table;
}

static void
print_groups(const struct odd_options *options, const struct odd_results *results, FILE *to)
{
	struct libscols_table *table = new_table("GROUP", to);
	uint32_t all[ODD_GRADES] = { 0 };

	for (uint32_t g = 0; g < options->ngroups; g++) {
		uint32_t counts[ODD_GRADES] = { 0 };

		for (uint32_t i = 0; i < results->count; i++)
			counts[results->rows[i].marks.grade] += results->rows[i].group == options->groups[g];
		add_line(table, options->groups[g]->name, counts);
		for (size_t i = 0; i < ODD_GRADES; i++)
			all[i] += counts[i];
	}
	add_line(table, "all", all);
	scols_print_table(table);
	scols_unref_table(table);
}

/* Of a verdict that states none: -1. The last has 1 as well. */
static int
bin_of(double confidence)
{
	int bin = (int)(confidence * BINS);

	return confidence < 0 ? -1 : bin < BINS ? bin : BINS - 1;
}

/* Is what is said surely right more often? */
static void
print_confidence(const struct odd_results *results, FILE *to)
{
	struct libscols_table *table = new_table("CONFIDENCE", to);

	for (int bin = -1; bin < BINS; bin++) {
		uint32_t counts[ODD_GRADES] = { 0 }, all = 0;
		char name[32];

		for (uint32_t i = 0; i < results->count; i++) {
			if (bin_of(results->rows[i].marks.confidence) != bin)
				continue;
			counts[results->rows[i].marks.grade]++;
			all++;
		}
		if (all == 0)
			continue;
		snprintf(name, sizeof(name), "%.2f to %.2f", (double)bin / BINS, (bin + 1.0) / BINS);
		add_line(table, bin < 0 ? "none stated" : name, counts);
	}
	scols_print_table(table);
	scols_unref_table(table);
}

void
odd_print(const struct odd_options *options, const struct odd_results *results, FILE *to)
{
	print_groups(options, results, to);
	fputc('\n', to);
	print_confidence(results, to);
	if (results->broken != 0)
		fprintf(to, "\n%u cases are not counted: a run of theirs broke.\n", results->broken);
	for (uint32_t i = 0; i < results->count; i++) {
		const struct odd_row *row = &results->rows[i];

		if (row->marks.grade != ODD_RIGHT)
			fprintf(to, "\n%s: %s\n  rocelab blame %s/%" PRIu64 "/%s/%03u/case.cfg\n",
				odd_grade_name(row->marks.grade),
				row->marks.why[0] != '\0' ? row->marks.why : "right, but less sure than half",
				plain_line(options->dir).text, row->seed, row->group->name, row->index);
	}
}

int
odd_write(const struct odd_options *options, const struct odd_results *results, struct err *err)
{
	json_t *list = json_array();

	for (uint32_t i = 0; i < results->count; i++) {
		const struct odd_row *row = &results->rows[i];

		json_array_append_new(
			list, json_pack("{s:s, s:I, s:I, s:s, s:s, s:o, s:f, s:f, s:O}", "group", row->group->name, "seed",
					(json_int_t)row->seed, "case", (json_int_t)row->index, "grade",
					odd_grade_name(row->marks.grade), "why", row->marks.why, "confidence",
					row->marks.confidence >= 0 ? json_real(row->marks.confidence) : json_null(),
					"time_ns", row->base_ns, "without_all_ns", row->all_ns, "suspects", row->costs));
	}
	return output_json(list, options->dir, "odd.json", err);
}
