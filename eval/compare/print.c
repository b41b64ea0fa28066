/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <stdio.h>

#include <libsmartcols/libsmartcols.h>

#include "common/array.h"
#include "eval/compare/summary.h"

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

	compare_interval(share, &low, &high);
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

/* Faults that one system alone found, and those that nobody did: how many cases of which. @param found  one system, or none */
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
	print_alone(study, "Nobody found", 0, to);
	return 0;
}
