/* SPDX-License-Identifier: BSD-3-Clause */
/* Sums over cases, as a table, JSON and CSV. */
#include <errno.h>
#include <inttypes.h>
#include <libsmartcols/libsmartcols.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/array.h"
#include "common/outfile.h"
#include "eval/tradeoff/tradeoff.h"

static const struct tradeoff_result *
result_of(const struct tradeoff *study, size_t of, uint32_t point)
{
	return &study->results[of * tradeoff_points(study) + point];
}

int
tradeoff_sum(const struct tradeoff *study, const struct tradeoff_input *input, uint32_t point, struct tradeoff_sum *sum)
{
	double *values = calloc(study->ncases + 1, sizeof(*values));
	int ret = values != NULL ? 0 : -ENOMEM;

	*sum = (struct tradeoff_sum){ 0 };
	for (int m = 0; ret == 0 && m < TRADEOFF_NMEASURES; m++) {
		size_t count = 0;

		for (size_t i = 0; i < study->ncases; i++) {
			const struct tradeoff_result *result = result_of(study, i, point);

			if (!result->there || (input != NULL && study->cases[i].input != input))
				continue;
			sum->cases += m == 0;
			if (!isnan(result->values[m]))
				values[count++] = result->values[m];
		}
		ret = bootstrap(values, count, tradeoff_measures[m].of, &sum->measures[m]);
	}
	free(values);
	return ret;
}

/* Computes by how much the larger budget is worse than the smaller one, over the cases that have both. */
static int
loss(const struct tradeoff *study, uint32_t less, uint32_t more, enum tradeoff_measure measure, double *values,
     struct bootstrap *of)
{
	double sign = tradeoff_measures[measure].more_is_better ? 1 : -1;
	size_t count = 0;

	for (size_t i = 0; i < study->ncases; i++) {
		const struct tradeoff_result *a = result_of(study, i, less), *b = result_of(study, i, more);

		if (a->there && b->there && !isnan(a->values[measure]) && !isnan(b->values[measure]))
			values[count++] = sign * (a->values[measure] - b->values[measure]);
	}
	return bootstrap(values, count, BOOTSTRAP_MEAN, of);
}

int
tradeoff_reversal(const struct tradeoff *study, uint32_t policy, uint32_t epoch, enum tradeoff_measure measure,
		  struct tradeoff_reversal *reversal)
{
	uint32_t first = (policy * study->nepochs + epoch) * study->nbudgets;
	double *values = calloc(study->ncases + 1, sizeof(*values));
	int ret = values != NULL ? 0 : -ENOMEM;

	*reversal = (struct tradeoff_reversal){ .found = false };
	for (uint32_t a = 0; a < study->nbudgets; a++)
		for (uint32_t b = a + 1; ret == 0 && b < study->nbudgets; b++) {
			struct bootstrap of;

			ret = loss(study, first + a, first + b, measure, values, &of);
			if (ret != 0 || of.count == 0 || of.value <= 1e-9 || of.value <= reversal->loss.value)
				continue;
			*reversal = (struct tradeoff_reversal){
				.found = true, .less = first + a, .more = first + b, .loss = of, .chance = of.low <= 0
			};
		}
	free(values);
	return ret;
}

/* ---- for people ---- */

static const char *
text_of(const struct tradeoff_value *value)
{
	return value->text[0] != '\0' ? value->text : "-";
}

/* "75 (50-100)" in its unit; "-" without cases. */
static void
cell_of(const struct bootstrap *of, enum tradeoff_measure measure, char *cell, size_t size)
{
	double one = tradeoff_measures[measure].one;
	int digits = tradeoff_measures[measure].unit[0] == '%' ? 0
		     : of->value / one < 10                    ? 2
		     : of->value / one < 1000                  ? 1
							       : 0;

	if (of->count == 0)
		snprintf(cell, size, "-");
	else if (of->low == of->high)
		snprintf(cell, size, "%.*f", digits, of->value / one);
	else
		snprintf(cell, size, "%.*f (%.*f-%.*f)", digits, of->value / one, digits, of->low / one, digits,
			 of->high / one);
}

static const struct {
	const char *head;
	enum tradeoff_measure measure;
} columns[] = {
	{ "RIGHT %", TRADEOFF_ACCURACY },          { "NAMED %", TRADEOFF_RECALL },
	{ "SHARE ERROR %", TRADEOFF_SHARE_ERROR }, { "DETECTED MS", TRADEOFF_DETECTION },
	{ "VERDICT MS", TRADEOFF_VERDICT },        { "KB/S", TRADEOFF_SOCKET },
	{ "LINKS KB/S", TRADEOFF_LINKS },          { "HELD BACK", TRADEOFF_HELD_BACK },
	{ "DROPPED", TRADEOFF_DROPPED },
};

static int
add_line(const struct tradeoff *study, const struct tradeoff_input *input, uint32_t number, struct libscols_table *table)
{
	const struct tradeoff_point point = tradeoff_point(study, number);
	struct tradeoff_sum sum;
	struct libscols_line *line;
	char cell[64];
	int ret = tradeoff_sum(study, input, number, &sum);

	if (ret < 0)
		return ret;
	line = scols_table_new_line(table, NULL);
	scols_line_set_data(line, 0, input != NULL ? input->name : "all");
	scols_line_set_data(line, 1, study->policies[point.policy].name);
	scols_line_set_data(line, 2, text_of(&study->epochs[point.epoch]));
	scols_line_set_data(line, 3, text_of(&study->budgets[point.budget]));
	snprintf(cell, sizeof(cell), "%u", sum.cases);
	scols_line_set_data(line, 4, cell);
	for (size_t i = 0; i < ARRAY_LEN(columns); i++) {
		cell_of(&sum.measures[columns[i].measure], columns[i].measure, cell, sizeof(cell));
		scols_line_set_data(line, 5 + i, cell);
	}
	return 0;
}

static int
print_reversals(const struct tradeoff *study, FILE *to)
{
	static const enum tradeoff_measure of[] = { TRADEOFF_ACCURACY, TRADEOFF_SHARE_ERROR };
	bool any = false;

	for (size_t m = 0; m < ARRAY_LEN(of); m++)
		for (uint32_t p = 0; p < study->npolicies; p++)
			for (uint32_t e = 0; e < study->nepochs; e++) {
				struct tradeoff_reversal r;

				if (tradeoff_reversal(study, p, e, of[m], &r) < 0)
					return -ENOMEM;
				if (!r.found)
					continue;
				any = true;
				fprintf(to,
					"%s, epoch %s, %s: worse at %s than at %s by %.1f points (%.1f to %.1f, %zu "
					"cases): %s.\n",
					study->policies[p].name, text_of(&study->epochs[e]), tradeoff_measures[of[m]].title,
					text_of(&study->budgets[tradeoff_point(study, r.more).budget]),
					text_of(&study->budgets[tradeoff_point(study, r.less).budget]), 100 * r.loss.value,
					100 * r.loss.low, 100 * r.loss.high, r.loss.count,
					r.chance ? "may be chance" : "not chance");
			}
	if (!any && study->nbudgets > 1)
		fprintf(to, "No policy has fewer right verdicts or a larger error of shares with more budget.\n");
	return 0;
}

int
tradeoff_print(const struct tradeoff *study, FILE *to, struct err *err)
{
	static const char *const first[] = { "CASES OF", "POLICY", "EPOCH", "BUDGET/S", "CASES" };
	struct libscols_table *table = scols_new_table();
	uint32_t points = tradeoff_points(study);
	int ret = table != NULL ? 0 : -ENOMEM;

	for (size_t i = 0; ret == 0 && i < ARRAY_LEN(first); i++)
		scols_table_new_column(table, first[i], 0, i == 4 ? SCOLS_FL_RIGHT : 0);
	for (size_t i = 0; ret == 0 && i < ARRAY_LEN(columns); i++)
		scols_table_new_column(table, columns[i].head, 0, SCOLS_FL_RIGHT);
	for (uint32_t point = 0; ret == 0 && point < points; point++) {
		for (uint32_t i = 0; ret == 0 && study->ninputs > 1 && i < study->ninputs; i++)
			ret = add_line(study, &study->inputs[i], point, table);
		if (ret == 0)
			ret = add_line(study, study->ninputs > 1 ? NULL : &study->inputs[0], point, table);
	}
	if (ret == 0) {
		scols_table_set_stream(table, to);
		scols_print_table(table);
		fprintf(to,
			"\nMeans, of times medians; in parentheses the middle 95 %% of %d bootstrap draws of the cases.\n",
			BOOTSTRAP_DRAWS);
		ret = print_reversals(study, to);
	}
	scols_unref_table(table);
	return ret < 0 ? err_set(err, ret, "out of memory for the table") : 0;
}

/* ---- for machines ---- */

static json_t *
bootstrap_json(const struct bootstrap *of)
{
	return json_pack("{s:I, s:f, s:f, s:f}", "cases", (json_int_t)of->count, "value", of->value, "low", of->low, "high",
			 of->high);
}

static json_t *
point_json(const struct tradeoff *study, const struct tradeoff_input *input, uint32_t number)
{
	const struct tradeoff_point point = tradeoff_point(study, number);
	struct tradeoff_sum sum;
	json_t *root;

	if (tradeoff_sum(study, input, number, &sum) < 0)
		return NULL;
	root = json_pack("{s:s, s:s, s:s, s:s, s:I, s:i}", "cases_of", input != NULL ? input->name : "all", "policy",
			 study->policies[point.policy].name, "epoch", text_of(&study->epochs[point.epoch]), "budget",
			 text_of(&study->budgets[point.budget]), "budget_bytes_s",
			 (json_int_t)study->budgets[point.budget].value, "cases", (int)sum.cases);
	for (int m = 0; m < TRADEOFF_NMEASURES; m++)
		json_object_set_new(root, tradeoff_measures[m].name,
				    sum.measures[m].count != 0 ? bootstrap_json(&sum.measures[m]) : json_null());
	return root;
}

static json_t *
reversals_json(const struct tradeoff *study)
{
	json_t *list = json_array();

	for (int m = 0; m <= TRADEOFF_SHARE_ERROR; m++)
		for (uint32_t curve = 0; curve < study->npolicies * study->nepochs; curve++) {
			struct tradeoff_reversal r;

			if (tradeoff_reversal(study, curve / study->nepochs, curve % study->nepochs,
					      (enum tradeoff_measure)m, &r) < 0 ||
			    !r.found)
				continue;
			json_array_append_new(
				list, json_pack("{s:s, s:s, s:s, s:s, s:s, s:o, s:b}", "measure", tradeoff_measures[m].name,
						"policy", study->policies[curve / study->nepochs].name, "epoch",
						text_of(&study->epochs[curve % study->nepochs]), "less",
						text_of(&study->budgets[tradeoff_point(study, r.less).budget]), "more",
						text_of(&study->budgets[tradeoff_point(study, r.more).budget]), "loss",
						bootstrap_json(&r.loss), "chance", (int)r.chance));
		}
	return list;
}

static json_t *
run_json(const struct tradeoff *study, size_t of, uint32_t number)
{
	const struct tradeoff_result *result = result_of(study, of, number);
	const struct tradeoff_point point = tradeoff_point(study, number);
	json_t *root = json_pack("{s:s, s:I, s:s, s:s, s:s, s:s, s:s}", "cases_of", study->cases[of].input->name, "seed",
				 (json_int_t)study->cases[of].seed, "policy", study->policies[point.policy].name, "epoch",
				 text_of(&study->epochs[point.epoch]), "budget", text_of(&study->budgets[point.budget]),
				 "outcome", result->outcome, "why", result->why);

	for (int m = 0; m < TRADEOFF_NMEASURES; m++)
		json_object_set_new(root, tradeoff_measures[m].name,
				    isnan(result->values[m]) ? json_null() : json_real(result->values[m]));
	return root;
}

json_t *
tradeoff_json(const struct tradeoff *study)
{
	json_t *points = json_array(), *runs = json_array();
	uint32_t count = tradeoff_points(study);

	for (uint32_t point = 0; point < count; point++) {
		for (uint32_t i = 0; study->ninputs > 1 && i < study->ninputs; i++)
			json_array_append_new(points, point_json(study, &study->inputs[i], point));
		json_array_append_new(points, point_json(study, study->ninputs > 1 ? NULL : &study->inputs[0], point));
	}
	for (size_t i = 0; i < study->ncases; i++)
		for (uint32_t point = 0; point < count; point++)
			if (result_of(study, i, point)->there)
				json_array_append_new(runs, run_json(study, i, point));
	return json_pack("{s:i, s:i, s:o, s:o, s:o}", "schema_version", 1, "bootstrap_draws", BOOTSTRAP_DRAWS, "points",
			 points, "reversals", reversals_json(study), "runs", runs);
}

static void
head_csv(FILE *to, const char *before, bool intervals)
{
	fputs(before, to);
	for (int m = 0; m < TRADEOFF_NMEASURES; m++)
		if (intervals)
			fprintf(to, ",%s,%s_low,%s_high", tradeoff_measures[m].name, tradeoff_measures[m].name,
				tradeoff_measures[m].name);
		else
			fprintf(to, ",%s", tradeoff_measures[m].name);
	fputc('\n', to);
}

static void
run_csv(const struct tradeoff *study, size_t of, uint32_t number, FILE *to)
{
	const struct tradeoff_result *result = result_of(study, of, number);
	const struct tradeoff_point point = tradeoff_point(study, number);

	fprintf(to, "%s,%" PRIu64 ",%s,%s,%s,%s", study->cases[of].input->name, study->cases[of].seed,
		study->policies[point.policy].name, text_of(&study->epochs[point.epoch]),
		text_of(&study->budgets[point.budget]), result->outcome);
	for (int m = 0; m < TRADEOFF_NMEASURES; m++)
		if (isnan(result->values[m]))
			fputc(',', to);
		else
			fprintf(to, ",%.9g", result->values[m]);
	fputc('\n', to);
}

static int
point_csv(const struct tradeoff *study, const struct tradeoff_input *input, uint32_t number, FILE *to)
{
	const struct tradeoff_point point = tradeoff_point(study, number);
	struct tradeoff_sum sum;

	if (tradeoff_sum(study, input, number, &sum) < 0)
		return -ENOMEM;
	fprintf(to, "%s,%s,%s,%s,%u", input != NULL ? input->name : "all", study->policies[point.policy].name,
		text_of(&study->epochs[point.epoch]), text_of(&study->budgets[point.budget]), sum.cases);
	for (int m = 0; m < TRADEOFF_NMEASURES; m++)
		if (sum.measures[m].count == 0)
			fputs(",,,", to);
		else
			fprintf(to, ",%.9g,%.9g,%.9g", sum.measures[m].value, sum.measures[m].low, sum.measures[m].high);
	fputc('\n', to);
	return 0;
}

static int
write_csv(const struct tradeoff *study, struct err *err)
{
	uint32_t points = tradeoff_points(study);
	struct outfile out;
	int ret = outfile_open(&out, study->dir, "runs.csv", err);

	if (ret < 0)
		return ret;
	head_csv(out.file, "cases_of,seed,policy,epoch,budget,outcome", false);
	for (size_t i = 0; i < study->ncases; i++)
		for (uint32_t point = 0; point < points; point++)
			if (result_of(study, i, point)->there)
				run_csv(study, i, point, out.file);
	ret = outfile_close(&out, 0, err);
	if (ret == 0)
		ret = outfile_open(&out, study->dir, "points.csv", err);
	if (ret < 0)
		return ret;
	head_csv(out.file, "cases_of,policy,epoch,budget,cases", true);
	for (uint32_t point = 0; ret == 0 && point < points; point++) {
		for (uint32_t i = 0; ret == 0 && study->ninputs > 1 && i < study->ninputs; i++)
			ret = point_csv(study, &study->inputs[i], point, out.file);
		if (ret == 0)
			ret = point_csv(study, study->ninputs > 1 ? NULL : &study->inputs[0], point, out.file);
	}
	return outfile_close(&out, ret, err);
}

int
tradeoff_write(const struct tradeoff *study, struct err *err)
{
	static const enum tradeoff_measure drawn[] = { TRADEOFF_ACCURACY, TRADEOFF_SHARE_ERROR, TRADEOFF_DETECTION,
						       TRADEOFF_VERDICT };
	static const char *const files[] = { "accuracy.svg", "share-error.svg", "detection.svg", "verdict.svg" };
	int ret = write_csv(study, err);

	for (size_t i = 0; ret == 0 && i < ARRAY_LEN(drawn); i++) {
		struct outfile out;

		ret = outfile_open(&out, study->dir, files[i], err);
		if (ret == 0)
			ret = outfile_close(&out, tradeoff_figure(study, drawn[i], out.file), err);
	}
	return ret;
}
