/* SPDX-License-Identifier: BSD-3-Clause */
#include "eval/compare/score.h"

#include <errno.h>
#include <libsmartcols/libsmartcols.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/array.h"
#include "common/wire/layout.h"
#include "eval/bootstrap.h"
#include "scenario/scenario.h"

#define Z95 1.96

static double
compare_share_of(struct compare_share share)
{
	return share.of != 0 ? (double)share.part / share.of : 0;
}

static void
add(struct compare_share *share, bool part)
{
	share->part += part;
	share->of++;
}

/* ---- medians ---- */

static int
ascending(const void *a, const void *b)
{
	const double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

/* @param values  [count] are sorted */
static struct compare_spread
spread_of(double *values, uint32_t count)
{
	double half = Z95 * sqrt(count) / 2;
	uint32_t low, high;

	if (count == 0)
		return (struct compare_spread){ 0 };
	qsort(values, count, sizeof(*values), ascending);
	low = count / 2.0 - half > 0 ? (uint32_t)(count / 2.0 - half) : 0;
	high = (uint32_t)ceil(count / 2.0 + half);
	return (struct compare_spread){ .count = count,
					.median = (values[(count - 1) / 2] + values[count / 2]) / 2,
					.low = values[low],
					.high = values[high < count ? high : count - 1] };
}

/* ---- sums ---- */

static bool
found(const struct compare_row *row, uint32_t system)
{
	return row->marks[system].best >= COMPARE_PARTLY;
}

static void
add_row(const struct compare_row *row, uint32_t system, struct compare_sum *sum)
{
	const struct compare_marks *marks = &row->marks[system];
	const uint32_t *n = marks->findings;

	sum->precision.part += n[COMPARE_RIGHT] + n[COMPARE_PARTLY];
	sum->precision.of += n[COMPARE_RIGHT] + n[COMPARE_PARTLY] + n[COMPARE_ELSEWHERE] + n[COMPARE_FALSE];
	sum->own += n[COMPARE_OWN];
	if (row->cell.fault->is_clean)
		add(&sum->false_alarms, n[COMPARE_FALSE] != 0);
	else if (row->costs) {
		add(&sum->recall_all, found(row, system));
		if (marks->sees && marks->acted)
			add(&sum->recall, found(row, system));
		if (found(row, system))
			add(&sum->place, marks->best == COMPARE_RIGHT);
	} else if (marks->acted && marks->sees)
		add(&sum->harmless, marks->seen >= COMPARE_PARTLY);
}

static int
add_spreads(const struct compare_study *study, uint32_t system, struct compare_sum *sum, struct err *err)
{
	double *values = calloc((size_t)study->nrows + 1, sizeof(*values));
	uint32_t count = 0;

	if (values == NULL)
		return err_set(err, -ENOMEM, "out of memory for %u cases", study->nrows);
	for (uint32_t i = 0; i < study->nrows; i++)
		if (study->rows[i].costs && found(&study->rows[i], system) && study->rows[i].marks[system].after_ns >= 0)
			values[count++] = study->rows[i].marks[system].after_ns;
	sum->after_ns = spread_of(values, count);
	for (uint32_t i = 0; i < study->nrows; i++)
		values[i] = study->rows[i].marks[system].bytes;
	sum->bytes = spread_of(values, study->nrows);
	count = 0;
	for (uint32_t i = 0; i < study->nrows; i++)
		if (study->rows[i].base_complete && study->rows[i].marks[system].complete)
			values[count++] = study->rows[i].marks[system].job_ns / study->rows[i].base_ns - 1;
	sum->slowdown = spread_of(values, count);
	for (uint32_t i = 0; i < study->nrows; i++)
		values[i] = study->rows[i].marks[system].cpu_s;
	sum->cpu_s = spread_of(values, study->nrows);
	free(values);
	return 0;
}

/* @return a bit for each system that found the fault */
static uint32_t
compare_finders(const struct compare_row *row)
{
	uint32_t bits = 0;

	for (uint32_t s = 0; s < compare_nsystems; s++)
		bits |= (uint32_t)found(row, s) << s;
	return bits;
}

static int
better(const void *a, const void *b)
{
	const struct compare_pair *x = a, *y = b;

	if (x->recall.part != y->recall.part)
		return x->recall.part < y->recall.part ? 1 : -1;
	return x->first != y->first ? (x->first > y->first) - (x->first < y->first)
				    : (x->second > y->second) - (x->second < y->second);
}

static void
pair_up(const struct compare_study *study, struct compare_summary *summary)
{
	for (uint32_t a = 0; a < compare_nsystems; a++)
		for (uint32_t b = a + 1; b < compare_nsystems; b++) {
			struct compare_pair *pair = &summary->pairs[summary->npairs++];

			*pair = (struct compare_pair){ .first = a, .second = b };
			for (uint32_t i = 0; i < study->nrows; i++)
				if (study->rows[i].costs)
					add(&pair->recall, (compare_finders(&study->rows[i]) & (1u << a | 1u << b)) != 0);
		}
	qsort(summary->pairs, summary->npairs, sizeof(summary->pairs[0]), better);
}

int
compare_summarize(const struct compare_study *study, struct compare_summary *summary, struct err *err)
{
	int ret = 0;

	*summary = (struct compare_summary){ .cases = study->nrows };
	for (uint32_t i = 0; i < study->nrows; i++) {
		const struct compare_row *row = &study->rows[i];
		uint32_t who = compare_finders(row);

		summary->clean += row->cell.fault->is_clean;
		summary->costly += row->costs;
		if (!row->cell.fault->is_clean && !row->costs)
			*(row->marks[0].acted ? &summary->harmless : &summary->idle) += 1;
		summary->none_found += row->costs && who == 0;
		for (uint32_t s = 0; s < compare_nsystems; s++) {
			add_row(row, s, &summary->systems[s]);
			summary->systems[s].alone += row->costs && who == 1u << s;
		}
	}
	for (uint32_t s = 0; ret == 0 && s < compare_nsystems; s++)
		ret = add_spreads(study, s, &summary->systems[s], err);
	pair_up(study, summary);
	return ret;
}

struct compare_cells
compare_cells(const struct compare_study *study, uint32_t fault, uint32_t system)
{
	struct compare_cells cells = { 0 };

	for (uint32_t i = 0; i < study->nrows; i++) {
		const struct compare_row *row = &study->rows[i];
		const struct compare_marks *marks = &row->marks[system];

		if (row->cell.fault != &compare_faults[fault])
			continue;
		cells.sees |= marks->sees;
		if (row->costs) {
			add(&cells.found, found(row, system));
			cells.right += marks->best == COMPARE_RIGHT;
		} else if (marks->acted) {
			add(&cells.harmless, marks->seen >= COMPARE_PARTLY);
		}
	}
	return cells;
}

/* The table of rules, as docs/compare-rules.md has it. */

/* Hawkeye and full polling are judged by the rules of the diagnoser that they share with VEDRFOLNIR. */
static bool
has_column(const struct compare_system *system)
{
	return system->program == NULL && strcmp(system->name, compare_row_of(system)->diagnoser) == 0;
}

/* @param system  NULL: is it of none of ours? */
static bool
is_its(const struct compare_system *system, const char *type)
{
	bool is = system == NULL;

	for (uint32_t s = 0; system == NULL && s < compare_nsystems; s++)
		is &= compare_systems[s].program != NULL || !compare_is_its(&compare_systems[s], type);
	return system == NULL ? is : compare_is_its(system, type);
}

/* Types of one system that are worth so much at their place. @return how many */
static uint32_t
list_types(const struct compare_fault *fault, const struct compare_system *system, enum compare_grade grade, FILE *to)
{
	uint32_t count = 0;

	for (const struct compare_rule *rule = fault->rules; rule->type != NULL; rule++)
		if (rule->at == grade && is_its(system, rule->type))
			fprintf(to, "%s`%s`", count++ != 0 ? ", " : "", rule->type);
	return count;
}

static void
print_cell(const struct compare_fault *fault, const struct compare_system *system, FILE *to)
{
	uint32_t count = list_types(fault, system, COMPARE_RIGHT, to);
	bool any = false;

	for (const struct compare_rule *rule = fault->rules; rule->type != NULL; rule++)
		any |= rule->at == COMPARE_PARTLY && is_its(system, rule->type);
	if (any) {
		fputs(count != 0 ? "; partly " : "partly ", to);
		list_types(fault, system, COMPARE_PARTLY, to);
	} else if (count == 0) {
		fputc('-', to);
	}
}

void
compare_print_rules(FILE *to)
{
	fputs("| fault | injected |", to);
	for (uint32_t s = 0; s < compare_nsystems; s++)
		if (has_column(&compare_systems[s]))
			fprintf(to, " %s |", compare_row_of(&compare_systems[s])->title);
	fputs(" others |\n|---|---|", to);
	for (uint32_t s = 0; s < compare_nsystems; s++)
		fputs(has_column(&compare_systems[s]) ? "---|" : "", to);
	fputs("---|\n", to);
	for (const struct compare_fault *fault = compare_faults; fault->group.name != NULL; fault++) {
		fprintf(to, "| %s | %s |", fault->group.name, fault->group.doc);
		for (uint32_t s = 0; s < compare_nsystems; s++) {
			if (!has_column(&compare_systems[s]))
				continue;
			fputc(' ', to);
			print_cell(fault, &compare_systems[s], to);
			fputs(" |", to);
		}
		fputc(' ', to);
		print_cell(fault, NULL, to);
		fputs(" |\n", to);
	}
}

#define CELL 48
#define SHOWN_PAIRS 3

static struct libscols_table *
new_table(const char *const *columns, size_t count, FILE *to)
{
	struct libscols_table *table = scols_new_table();

	for (size_t i = 0; i < count; i++)
		scols_table_new_column(table, columns[i], 0, i != 0 ? SCOLS_FL_RIGHT : 0);
	scols_table_set_stream(table, to);
	return table;
}

static void
end_table(struct libscols_table *table)
{
	scols_print_table(table);
	scols_unref_table(table);
}

/* "12/15 80 (55-93)": in percent, with the interval. */
static void
print_share(struct compare_share share, char *cell)
{
	double low, high;

	wilson_interval(share.part, share.of, &low, &high);
	if (share.of == 0)
		snprintf(cell, CELL, "-");
	else
		snprintf(cell, CELL, "%u/%u %.0f (%.0f-%.0f)", share.part, share.of, 100 * compare_share_of(share),
			 100 * low, 100 * high);
}

/* "1.25 (1.00-1.50)" */
static void
print_spread(struct compare_spread spread, double unit, int decimals, char *cell)
{
	if (spread.count == 0)
		snprintf(cell, CELL, "-");
	else
		snprintf(cell, CELL, "%.*f (%.*f-%.*f)", decimals, spread.median / unit, decimals, spread.low / unit,
			 decimals, spread.high / unit);
}

static void
print_systems(const struct compare_summary *summary, FILE *to)
{
	static const char *const columns[] = { "SYSTEM",      "RECALL %",       "OF ALL %",        "RIGHT PLACE %",
					       "PRECISION %", "FALSE ALARMS %", "HARMLESS SEEN %", "ALONE" };
	struct libscols_table *table = new_table(columns, ARRAY_LEN(columns), to);

	for (uint32_t s = 0; s < compare_nsystems; s++) {
		const struct compare_sum *sum = &summary->systems[s];
		const struct compare_share shares[] = { sum->recall,    sum->recall_all,   sum->place,
							sum->precision, sum->false_alarms, sum->harmless };
		struct libscols_line *line = scols_table_new_line(table, NULL);
		char cell[CELL];

		scols_line_set_data(line, 0, compare_row_of(&compare_systems[s])->title);
		for (size_t i = 0; i < ARRAY_LEN(shares); i++) {
			print_share(shares[i], cell);
			scols_line_set_data(line, 1 + i, cell);
		}
		snprintf(cell, sizeof(cell), "%u", sum->alone);
		scols_line_set_data(line, 1 + ARRAY_LEN(shares), cell);
	}
	end_table(table);
}

static void
print_costs(const struct compare_summary *summary, FILE *to)
{
	static const char *const columns[] = { "SYSTEM", "DETECTED AFTER ms", "kB OF NETWORKS", "ms CPU",
					       "JOB SLOWER BY %" };
	struct libscols_table *table = new_table(columns, ARRAY_LEN(columns), to);

	for (uint32_t s = 0; s < compare_nsystems; s++) {
		const struct compare_sum *sum = &summary->systems[s];
		struct libscols_line *line = scols_table_new_line(table, NULL);
		char cell[CELL];

		scols_line_set_data(line, 0, compare_row_of(&compare_systems[s])->title);
		print_spread(sum->after_ns, 1e6, 2, cell);
		scols_line_set_data(line, 1, cell);
		print_spread(sum->bytes, 1e3, 1, cell);
		scols_line_set_data(line, 2, cell);
		print_spread(sum->cpu_s, 1e-3, 0, cell);
		scols_line_set_data(line, 3, cell);
		print_spread(sum->slowdown, 0.01, 2, cell);
		scols_line_set_data(line, 4, cell);
	}
	end_table(table);
}

/* "3+9/20": right and partly, of cases that cost; "-" where it cannot see it by design. */
static void
print_faults(const struct compare_study *study, FILE *to)
{
	const char *columns[2 + COMPARE_MAX_SYSTEMS] = { "FAULT", "COST" };
	struct libscols_table *table;

	for (uint32_t s = 0; s < compare_nsystems; s++)
		columns[2 + s] = compare_row_of(&compare_systems[s])->title;
	table = new_table(columns, 2 + compare_nsystems, to);
	for (uint32_t f = 0; f < compare_nfaults(); f++) {
		struct libscols_line *line;
		char cell[CELL];

		if (compare_faults[f].is_clean)
			continue;
		line = scols_table_new_line(table, NULL);
		scols_line_set_data(line, 0, compare_faults[f].group.name);
		for (uint32_t s = 0; s < compare_nsystems; s++) {
			struct compare_cells cells = compare_cells(study, f, s);

			snprintf(cell, sizeof(cell), "%u", cells.found.of);
			scols_line_set_data(line, 1, cell);
			snprintf(cell, sizeof(cell), cells.sees ? "%u+%u" : "-", cells.right,
				 cells.found.part - cells.right);
			scols_line_set_data(line, 2 + s, cell);
		}
	}
	end_table(table);
}

static void
print_pairs(const struct compare_summary *summary, FILE *to)
{
	for (uint32_t i = 0; i < summary->npairs && i < SHOWN_PAIRS; i++) {
		char cell[CELL];

		print_share(summary->pairs[i].recall, cell);
		fprintf(to, "%s %s and %s: %s %%\n", i == 0 ? "The best pair:" : "              ",
			compare_row_of(&compare_systems[summary->pairs[i].first])->title,
			compare_row_of(&compare_systems[summary->pairs[i].second])->title, cell);
	}
}

/*
 * Faults that one system alone found, and those that none did: how many cases of which. @param found  one system, or
 * none
 */
static void
print_alone(const struct compare_study *study, const char *who, uint32_t found, FILE *to)
{
	const char *before = " ";

	fprintf(to, "%s:", who);
	for (uint32_t f = 0; f < compare_nfaults(); f++) {
		uint32_t count = 0;

		for (uint32_t i = 0; i < study->nrows; i++)
			count += study->rows[i].costs && study->rows[i].cell.fault == &compare_faults[f] &&
				 compare_finders(&study->rows[i]) == found;
		if (count != 0)
			fprintf(to, "%s%s %u", before, compare_faults[f].group.name, count);
		before = count != 0 ? ", " : before;
	}
	fputs(before[0] == ' ' ? " nothing.\n" : ".\n", to);
}

int
compare_print(const struct compare_study *study, FILE *to, struct err *err)
{
	struct compare_summary summary;
	int ret = compare_summarize(study, &summary, err);

	if (ret < 0)
		return ret;
	fprintf(to,
		"Corpus %d, seed %llu: %u of %u cases. In %u the fault cost the job time, in %u it acted and cost nothing, "
		"in %u "
		"it did "
		"not act; in %u nothing is wrong.\n\n",
		COMPARE_VERSION, (unsigned long long)study->seed, summary.cases, compare_most_cases(), summary.costly,
		summary.harmless, summary.idle, summary.clean);
	print_systems(&summary, to);
	fputc('\n', to);
	print_costs(&summary, to);
	fputs("\nFaults that cost time, found right + partly (-: it cannot see them by design)\n", to);
	print_faults(study, to);
	fputc('\n', to);
	print_pairs(&summary, to);
	fputc('\n', to);
	for (uint32_t s = 0; s < compare_nsystems; s++) {
		char who[64];

		snprintf(who, sizeof(who), "%s alone found", compare_row_of(&compare_systems[s])->title);
		if (summary.systems[s].alone != 0)
			print_alone(study, who, 1u << s, to);
	}
	print_alone(study, "No system found", 0, to);
	return 0;
}

static json_t *
share_json(struct compare_share share)
{
	double low, high;

	wilson_interval(share.part, share.of, &low, &high);
	return json_pack("{s:I, s:I, s:f, s:f, s:f}", "part", (json_int_t)share.part, "of", (json_int_t)share.of, "share",
			 compare_share_of(share), "low", low, "high", high);
}

static json_t *
spread_json(struct compare_spread spread)
{
	return json_pack("{s:I, s:f, s:f, s:f}", "count", (json_int_t)spread.count, "median", spread.median, "low",
			 spread.low, "high", spread.high);
}

static json_t *
sums_json(const struct compare_summary *summary)
{
	json_t *array = json_array();

	for (uint32_t s = 0; s < compare_nsystems; s++) {
		const struct compare_sum *sum = &summary->systems[s];

		json_array_append_new(
			array, json_pack("{s:s, s:o, s:o, s:o, s:o, s:I, s:o, s:o, s:I, s:o, s:o, s:o}", "system",
					 compare_systems[s].name, "recall", share_json(sum->recall), "recall_of_all",
					 share_json(sum->recall_all), "right_place", share_json(sum->place), "precision",
					 share_json(sum->precision), "own_flows", (json_int_t)sum->own, "false_alarms",
					 share_json(sum->false_alarms), "harmless_seen", share_json(sum->harmless), "alone",
					 (json_int_t)sum->alone, "after_ns", spread_json(sum->after_ns), "bytes",
					 spread_json(sum->bytes), "slowdown", spread_json(sum->slowdown)));
	}
	return array;
}

static json_t *
faults_json(const struct compare_study *study)
{
	json_t *array = json_array();

	for (uint32_t f = 0; f < compare_nfaults(); f++) {
		json_t *marked = json_object();
		uint32_t cases = 0;

		for (uint32_t i = 0; i < study->nrows; i++)
			cases += study->rows[i].cell.fault == &compare_faults[f];
		for (uint32_t s = 0; s < compare_nsystems; s++) {
			struct compare_cells cells = compare_cells(study, f, s);

			json_object_set_new(marked, compare_systems[s].name,
					    json_pack("{s:b, s:o, s:I, s:o}", "by_design", cells.sees, "found",
						      share_json(cells.found), "right", (json_int_t)cells.right,
						      "harmless_seen", share_json(cells.harmless)));
		}
		json_array_append_new(array, json_pack("{s:s, s:I, s:o}", "fault", compare_faults[f].group.name, "cases",
						       (json_int_t)cases, "systems", marked));
	}
	return array;
}

static json_t *
pairs_json(const struct compare_summary *summary)
{
	json_t *array = json_array();

	for (uint32_t i = 0; i < summary->npairs; i++)
		json_array_append_new(array,
				      json_pack("{s:s, s:s, s:o}", "first", compare_systems[summary->pairs[i].first].name,
						"second", compare_systems[summary->pairs[i].second].name, "recall_of_all",
						share_json(summary->pairs[i].recall)));
	return array;
}

static json_t *
marks_json(const struct compare_row *row)
{
	json_t *marked = json_object();

	for (uint32_t s = 0; s < compare_nsystems; s++) {
		const struct compare_marks *marks = &row->marks[s];
		json_t *findings = json_object();

		for (enum compare_grade grade = COMPARE_FALSE; grade < COMPARE_NGRADES; grade++)
			json_object_set_new(findings, compare_grade_name(grade), json_integer(marks->findings[grade]));
		json_object_set_new(marked, compare_systems[s].name,
				    json_pack("{s:b, s:b, s:s, s:s, s:s, s:o, s:o, s:f, s:f}", "by_design", marks->sees,
					      "acted", marks->acted, "grade", compare_grade_name(marks->best), "seen",
					      compare_grade_name(marks->seen), "finding", marks->first, "findings",
					      findings, "after_ns",
					      marks->after_ns >= 0 ? json_real(marks->after_ns) : json_null(), "bytes",
					      marks->bytes, "job_ns", marks->job_ns));
	}
	return marked;
}

static json_t *
row_json(const struct compare_row *row)
{
	return json_pack("{s:I, s:s, s:s, s:s, s:s, s:b, s:f, s:b, s:f, s:b, s:f, s:b, s:b, s:o}", "case",
			 (json_int_t)row->number, "fault", row->cell.fault->group.name, "fabric", row->cell.fabric->name,
			 "routing", row->cell.fabric->routing, "workload", row->cell.workload->name, "background",
			 row->cell.has_background, "job_ns", row->base_ns, "complete", row->base_complete,
			 "without_fault_ns", row->without_ns, "without_fault_complete", row->without_complete,
			 "expected_ns", row->expected_ns, "costs", row->costs, "background_costs", row->background_costs,
			 "systems", marks_json(row));
}

json_t *
compare_json(const struct compare_study *study)
{
	struct compare_summary summary;
	struct err err = { 0 };
	json_t *rows = json_array();

	if (compare_summarize(study, &summary, &err) < 0)
		return NULL;
	for (uint32_t i = 0; i < study->nrows; i++)
		json_array_append_new(rows, row_json(&study->rows[i]));
	return json_pack("{s:i, s:I, s:f, s:I, s:I, s:I, s:I, s:I, s:I, s:o, s:o, s:o, s:o}", "version", COMPARE_VERSION,
			 "seed", (json_int_t)study->seed, "scale", study->scale, "cases_of_corpus",
			 (json_int_t)compare_most_cases(), "costly", (json_int_t)summary.costly, "harmless",
			 (json_int_t)summary.harmless, "idle", (json_int_t)summary.idle, "clean", (json_int_t)summary.clean,
			 "found_by_none", (json_int_t)summary.none_found, "systems", sums_json(&summary), "faults",
			 faults_json(study), "pairs", pairs_json(&summary), "cases", rows);
}

json_t *
compare_cpu_json(const struct compare_study *study)
{
	json_t *marked = json_object();
	struct compare_summary summary;
	struct err err = { 0 };

	if (compare_summarize(study, &summary, &err) < 0)
		return NULL;
	for (uint32_t s = 0; s < compare_nsystems; s++)
		json_object_set_new(marked, compare_systems[s].name, spread_json(summary.systems[s].cpu_s));
	return marked;
}
