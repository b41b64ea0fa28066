/* SPDX-License-Identifier: BSD-3-Clause */
#include "cli/blame/report.h"

#include <libsmartcols/libsmartcols.h>

#include "common/array.h"

#define NS_PER_MS 1e6

static const char *const columns[] = { "SUSPECT", "KIND",       "ALONE ms", "%",     "SHAPLEY ms",
				       "SHARE",   "CLAIMED ms", "SHARE",    "EFFECT" };
#define NCOLUMNS ARRAY_LEN(columns)
#define TEXT_COLUMNS 2

/* Of what all together cost. */
static double
shapley_share(const struct rerun_truth *truth, size_t suspect)
{
	double together_ns = truth->base_ns - truth->all_ns;

	return together_ns > 0 ? truth->costs[suspect].shapley_ns / together_ns : 0;
}

static void
add_line(const struct blame_report *report, size_t i, struct libscols_table *table)
{
	struct libscols_line *line = scols_table_new_line(table, NULL);
	const struct suspect *suspect = &report->c->suspects.at[i];
	const struct rerun_truth *truth = report->truth;
	const struct rerun_cost *cost = &truth->costs[i];
	const char *bound = !cost->complete ? "<" : truth->base_complete ? "" : ">";
	char cells[NCOLUMNS][SUSPECT_NAME];
	size_t n = 0, width = sizeof(cells[0]);

	snprintf(cells[n++], width, "%s", suspect->name);
	snprintf(cells[n++], width, "%s", suspect->kind);
	snprintf(cells[n++], width, "%s%.3f", bound, cost->regained_ns / NS_PER_MS);
	snprintf(cells[n++], width, "%.1f", truth->base_ns > 0 ? 100 * cost->regained_ns / truth->base_ns : 0);
	if (truth->has_shapley) {
		snprintf(cells[n++], width, "%.3f", cost->shapley_ns / NS_PER_MS);
		snprintf(cells[n++], width, "%.1f %%", 100 * shapley_share(truth, i));
	} else {
		snprintf(cells[n++], width, "-");
		snprintf(cells[n++], width, "-");
	}
	snprintf(cells[n++], width, "%.3f", report->claims->ns[i] / NS_PER_MS);
	snprintf(cells[n++], width, "%.1f %%", 100 * claims_share(report->claims, &report->c->suspects, i));
	snprintf(cells[n++], width, "%s", cost->has_effect ? "yes" : "none");
	for (size_t k = 0; k < n; k++)
		scols_line_set_data(line, k, cells[k]);
}

/* "took 16.443 ms" */
static void
print_time(const char *what, double ns, bool complete, FILE *to)
{
	fprintf(to, complete ? "%s %.3f ms" : "%s more than %.3f ms, when the run ended", what, ns / NS_PER_MS);
}

void
blame_print(const struct blame_report *report, FILE *to)
{
	const struct rerun_truth *truth = report->truth;
	struct libscols_table *table = scols_new_table();

	fprintf(to, "Job %s ", report->job);
	print_time("took", truth->base_ns, truth->base_complete, to);
	print_time("; without any suspect", truth->all_ns, truth->all_complete, to);
	fprintf(to, ". %llu runs.\n\n", (unsigned long long)rerun_sets(report->c));
	for (size_t i = 0; i < NCOLUMNS; i++)
		scols_table_new_column(table, columns[i], 0, i < TEXT_COLUMNS ? 0 : SCOLS_FL_RIGHT);
	scols_table_set_stream(table, to);
	for (size_t i = 0; i < report->c->suspects.count; i++)
		add_line(report, i, table);
	scols_print_table(table);
	scols_unref_table(table);
	fprintf(to,
		"\nALONE: time regained by leaving it out alone, and that in %% of the time taken. SHAPLEY: its share of "
		"what "
		"all cost\ntogether%s. CLAIMED: what the verdict says that it cost; its share of what all are said to.\n",
		truth->has_shapley ? "" : " (not of more than 6 suspects; name them by --without)");
}

static json_t *
suspect_json(const struct blame_report *report, size_t i)
{
	const struct suspect *suspect = &report->c->suspects.at[i];
	const struct rerun_truth *truth = report->truth;
	const struct rerun_cost *cost = &truth->costs[i];
	json_t *root =
		json_pack("{s:s, s:s, s:s, s:f, s:b, s:f, s:f, s:b}", "name", suspect->name, "kind", suspect->kind, "set",
			  suspect->set, "without_ns", cost->without_ns, "complete", cost->complete, "regained_ns",
			  cost->regained_ns, "regained_share", truth->base_ns > 0 ? cost->regained_ns / truth->base_ns : 0,
			  "has_effect", cost->has_effect);

	json_object_set_new(root, "shapley_ns", truth->has_shapley ? json_real(cost->shapley_ns) : json_null());
	json_object_set_new(root, "shapley_share", truth->has_shapley ? json_real(shapley_share(truth, i)) : json_null());
	json_object_set_new(root, "claimed_ns", json_real(report->claims->ns[i]));
	json_object_set_new(root, "claimed_share", json_real(claims_share(report->claims, &report->c->suspects, i)));
	json_object_set_new(root, "named", json_boolean(report->claims->named[i]));
	return root;
}

json_t *
blame_json(const struct blame_report *report)
{
	const struct rerun_truth *truth = report->truth;
	json_t *suspects = json_array();

	for (size_t i = 0; i < report->c->suspects.count; i++)
		json_array_append_new(suspects, suspect_json(report, i));
	return json_pack("{s:i, s:s, s:I, s:f, s:b, s:f, s:b, s:I, s:I, s:f, s:o}", "schema_version", 1, "job", report->job,
			 "number", (json_int_t)report->c->job, "took_ns", truth->base_ns, "complete", truth->base_complete,
			 "without_any_ns", truth->all_ns, "without_any_complete", truth->all_complete, "rtt_ns",
			 (json_int_t)report->c->rtt_ns, "runs", (json_int_t)rerun_sets(report->c), "claimed_of_others_ns",
			 report->claims->others_ns, "suspects", suspects);
}
