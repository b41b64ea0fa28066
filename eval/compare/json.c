/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>

#include "common/wire/enum.h"
#include "eval/compare/summary.h"

static json_t *
share_json(struct compare_share share)
{
	double low, high;

	compare_interval(share, &low, &high);
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
			 "found_by_nobody", (json_int_t)summary.nobody, "systems", sums_json(&summary), "faults",
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
