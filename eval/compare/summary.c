/* SPDX-License-Identifier: BSD-3-Clause */
#include "eval/compare/summary.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#define Z95 1.96

double
compare_share_of(struct compare_share share)
{
	return share.of != 0 ? (double)share.part / share.of : 0;
}

void
compare_interval(struct compare_share share, double *low, double *high)
{
	double n = share.of, p = compare_share_of(share), z2 = Z95 * Z95;
	double middle, half;

	*low = 0;
	*high = 1;
	if (share.of == 0)
		return;
	middle = (p + z2 / (2 * n)) / (1 + z2 / n);
	half = Z95 * sqrt(p * (1 - p) / n + z2 / (4 * n * n)) / (1 + z2 / n);
	*low = fmax(0, middle - half);
	*high = fmin(1, middle + half);
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

uint32_t
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
		summary->nobody += row->costs && who == 0;
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
