/* SPDX-License-Identifier: BSD-3-Clause */
/* The counterfactual evaluation summed up, as a table for people and as JSON. */
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <string.h>

#include <libsmartcols/libsmartcols.h>

#include "common/array.h"
#include "common/printable.h"
#include "common/run_files.h"
#include "eval/counterfactual.h"
#include "eval/disturb.h"

static const char *const columns[] = { "FABRIC",      "CASES",         "WITH COST", "FIRST",
				       "FIRST ALONE", "TAU",           "TAU ALONE", "SHARE ERROR",
				       "INNOCENT",    "OF THEM NAMED", "BLAMELESS", "OF THEM NAMED" };
#define NCOLUMNS ARRAY_LEN(columns)

/* Sums over cases; of tau and shares over those in which something costs time. */
struct sums {
	uint32_t cases, costly, first, first_alone, innocents, named_innocents, blameless, named_blameless;
	double tau, tau_alone, error;
};

static void
add(struct sums *sums, const struct counterfactual_score *score)
{
	sums->cases++;
	sums->innocents += score->innocents;
	sums->named_innocents += score->named_innocents;
	sums->blameless += score->blameless;
	sums->named_blameless += score->named_blameless;
	if (!score->has_cost)
		return;
	sums->costly++;
	sums->first += score->first;
	sums->first_alone += score->first_alone;
	sums->tau += score->tau;
	sums->tau_alone += score->tau_alone;
	sums->error += score->error;
}

/* Of one case: what its reruns and its verdict say. */
struct case_outcome {
	struct rerun_truth truth;
	struct claims claims;
	struct counterfactual_score score;
};

static int
read_case(const struct counterfactual *study, size_t at, struct case_outcome *outcome, struct err *err)
{
	const struct rerun_case *c = &study->reruns[at];
	char path[PATH_MAX];
	json_t *verdict;
	int ret = rerun_truth(study->store, c, &outcome->truth, err);

	if (ret < 0)
		return ret;
	snprintf(path, sizeof(path), "%s/" RERUN_BASE "/" RUN_VERDICT, c->dir);
	verdict = json_load_file(path, 0, NULL);
	if (verdict == NULL)
		return err_set(err, -ENODATA, "%s cannot be read; the same command makes it", path);
	claims_read(verdict, &c->suspects, c->job, &outcome->claims);
	json_decref(verdict);
	counterfactual_score(c, &outcome->truth, &outcome->claims, &outcome->score);
	return 0;
}

/* @param fabric  NULL: all */
static int
sum_up(const struct counterfactual *study, const char *fabric, struct sums *sums, struct err *err)
{
	int ret = 0;

	*sums = (struct sums){ 0 };
	for (size_t i = 0; ret == 0 && i < study->nmade; i++) {
		struct case_outcome outcome;

		if (fabric != NULL && strcmp(study->made[i].fabric, fabric) != 0)
			continue;
		ret = read_case(study, i, &outcome, err);
		if (ret == 0)
			add(sums, &outcome.score);
	}
	return ret;
}

static double
mean(double sum, uint32_t count)
{
	return count != 0 ? sum / count : 0;
}

static void
add_line(struct libscols_table *table, const char *name, const struct sums *sums)
{
	struct libscols_line *line = scols_table_new_line(table, NULL);
	char cells[NCOLUMNS][128];
	size_t n = 0, width = sizeof(cells[0]);

	snprintf(cells[n++], width, "%s", name);
	snprintf(cells[n++], width, "%u", sums->cases);
	snprintf(cells[n++], width, "%u", sums->costly);
	snprintf(cells[n++], width, "%.1f %%", 100 * mean(sums->first, sums->costly));
	snprintf(cells[n++], width, "%.1f %%", 100 * mean(sums->first_alone, sums->costly));
	snprintf(cells[n++], width, "%.2f", mean(sums->tau, sums->costly));
	snprintf(cells[n++], width, "%.2f", mean(sums->tau_alone, sums->costly));
	snprintf(cells[n++], width, "%.1f %%", 100 * mean(sums->error, sums->costly));
	snprintf(cells[n++], width, "%u", sums->innocents);
	snprintf(cells[n++], width, "%u", sums->named_innocents);
	snprintf(cells[n++], width, "%u", sums->blameless);
	snprintf(cells[n++], width, "%u", sums->named_blameless);
	for (size_t c = 0; c < n; c++)
		scols_line_set_data(line, c, cells[c]);
}

/* Cases in which the first blame is wrong, and how to look at one alone. */
static int
print_wrong(const struct counterfactual *study, FILE *to, struct err *err)
{
	int ret = 0;

	for (size_t i = 0; ret == 0 && i < study->nmade; i++) {
		const struct counterfactual_score *score;
		struct case_outcome outcome;

		ret = read_case(study, i, &outcome, err);
		score = &outcome.score;
		if (ret == 0 && ((score->has_cost && !score->first) || score->named_innocents != 0))
			fprintf(to, "%s: rocelab blame %s\n",
				!score->has_cost || score->first ? "an innocent is named"
				: score->named_innocents != 0    ? "first blame is wrong, an innocent is named"
								 : "first blame is wrong",
				plain_line(study->made[i].scenario).text);
	}
	return ret;
}

int
counterfactual_print(const struct counterfactual *study, FILE *to, struct err *err)
{
	struct libscols_table *table = scols_new_table();
	struct sums sums;
	int ret = 0;

	for (size_t i = 0; i < NCOLUMNS; i++)
		scols_table_new_column(table, columns[i], 0, i == 0 ? 0 : SCOLS_FL_RIGHT);
	scols_table_set_stream(table, to);
	for (const struct disturb_fabric *fabric = disturb_fabrics; ret == 0 && fabric->name != NULL; fabric++) {
		ret = sum_up(study, fabric->name, &sums, err);
		if (ret == 0 && sums.cases != 0)
			add_line(table, fabric->name, &sums);
	}
	if (ret == 0)
		ret = sum_up(study, NULL, &sums, err);
	if (ret == 0) {
		add_line(table, "all", &sums);
		scols_print_table(table);
		fputc('\n', to);
		ret = print_wrong(study, to, err);
	}
	scols_unref_table(table);
	return ret;
}

static json_t *
sums_json(const char *name, const struct sums *sums)
{
	return json_pack("{s:s, s:i, s:i, s:f, s:f, s:f, s:f, s:f, s:i, s:i, s:i, s:i}", "fabric", name, "cases",
			 (int)sums->cases, "with_cost", (int)sums->costly, "first", mean(sums->first, sums->costly),
			 "first_alone", mean(sums->first_alone, sums->costly), "tau", mean(sums->tau, sums->costly),
			 "tau_alone", mean(sums->tau_alone, sums->costly), "share_error", mean(sums->error, sums->costly),
			 "innocents", (int)sums->innocents, "named_innocents", (int)sums->named_innocents, "blameless",
			 (int)sums->blameless, "named_blameless", (int)sums->named_blameless);
}

/* What each suspect of a case cost, and what was claimed for it; times in ns. */
static json_t *
suspects_json(const struct suspects *suspects, const struct case_outcome *outcome)
{
	json_t *list = json_array();

	for (size_t i = 0; i < suspects->count; i++) {
		const struct rerun_cost *cost = &outcome->truth.costs[i];

		json_array_append_new(list, json_pack("{s:s, s:f, s:f, s:f, s:b, s:b}", "name", suspects->at[i].name,
						      "claimed_ns", outcome->claims.ns[i], "shapley_ns", cost->shapley_ns,
						      "regained_ns", cost->regained_ns, "has_effect", cost->has_effect,
						      "named", outcome->claims.named[i]));
	}
	return list;
}

static json_t *
case_json(const struct counterfactual *study, size_t at, const struct case_outcome *outcome)
{
	const struct counterfactual_score *score = &outcome->score;

	return json_pack("{s:s, s:f, s:f, s:b, s:b, s:b, s:f, s:f, s:f, s:i, s:i, s:o}", "scenario",
			 study->made[at].scenario, "time_ns", outcome->truth.base_ns, "without_all_ns",
			 outcome->truth.all_ns, "has_cost", score->has_cost, "first", score->first, "first_alone",
			 score->first_alone, "tau", score->tau, "tau_alone", score->tau_alone, "share_error", score->error,
			 "innocents", (int)score->innocents, "named_innocents", (int)score->named_innocents, "suspects",
			 suspects_json(&study->reruns[at].suspects, outcome));
}

int
counterfactual_print_json(const struct counterfactual *study, FILE *to, struct err *err)
{
	json_t *fabrics = json_array(), *cases = json_array(), *seeds = json_array(), *root;
	struct sums sums;
	int ret = 0;

	for (const struct disturb_fabric *fabric = disturb_fabrics; ret == 0 && fabric->name != NULL; fabric++) {
		ret = sum_up(study, fabric->name, &sums, err);
		if (ret == 0 && sums.cases != 0)
			json_array_append_new(fabrics, sums_json(fabric->name, &sums));
	}
	for (size_t i = 0; ret == 0 && i < study->nmade; i++) {
		struct case_outcome outcome;

		ret = read_case(study, i, &outcome, err);
		if (ret == 0)
			json_array_append_new(cases, case_json(study, i, &outcome));
	}
	if (ret == 0)
		ret = sum_up(study, NULL, &sums, err);
	if (ret == 0)
		json_array_append_new(fabrics, sums_json("all", &sums));
	for (uint32_t i = 0; i < study->nseeds; i++)
		json_array_append_new(seeds, json_integer((json_int_t)study->seeds[i]));
	root = json_pack("{s:i, s:o, s:i, s:o, s:o}", "schema_version", 1, "seeds", seeds, "cases_of_each",
			 (int)study->cases, "fabrics", fabrics, "cases", cases);
	if (ret == 0)
		json_dumpf(root, to, JSON_INDENT(1) | JSON_PRESERVE_ORDER);
	json_decref(root);
	return ret;
}
