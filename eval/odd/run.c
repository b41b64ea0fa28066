/* SPDX-License-Identifier: BSD-3-Clause */
#include "eval/odd/odd.h"

#include <errno.h>
#include <inttypes.h>
#include <libsmartcols/libsmartcols.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/array.h"
#include "common/input_file.h"
#include "common/minmax.h"
#include "common/printable.h"
#include "common/run_files.h"
#include "common/units.h"
#include "emulation/outputs/outputs.h"
#include "eval/bootstrap.h"
#include "eval/store.h"
#include "eval/truth.h"
#include "scenario/scenario.h"
#include "twin/rerun/rerun.h"
#include "workload/workload.h"

/* A case, and where it is. */
struct place {
	const struct odd_group *group;
	char dir[PATH_MAX], scenario[PATH_MAX + 16];
	double expected_ns;
};

struct batch {
	const struct odd_options *options;
	uint64_t seed;
	struct place *places;     /* [count] */
	struct rerun_case *cases; /* [count] those begun */
	size_t count, begun;
};

static int
make_dir(char *dir, struct err *err)
{
	int ret = run_dir_make(dir, err);

	return ret < 0 ? ret : 0;
}

/*
 * Writes a case. The store's results are of the case that is there: it must be the same. @return 0 or negative errno
 * with err
 */
static int
write_case(struct odd_case *made, const struct batch *batch, const struct place *place, uint32_t index, struct err *err)
{
	uint64_t before = case_file_set_aside(place->scenario);
	int ret = odd_make(made, place->group, batch->seed, index, batch->options->scale, place->scenario, err);

	return ret < 0 ? ret : case_file_check(place->scenario, before, err);
}

/* @param c  of the batch: made, and its suspects known */
static int
begin_case(struct batch *batch, const struct odd_group *group, uint32_t index, struct err *err)
{
	struct place *place = &batch->places[batch->begun];
	struct rerun_case *c = &batch->cases[batch->begun];
	struct scenario_options from = { .path = place->scenario };
	struct odd_case *made = calloc(1, sizeof(*made));
	struct scenario *scenario = NULL;
	char remedy[ODD_REMEDY];
	int ret;

	if (made == NULL)
		return err_set(err, -ENOMEM, "out of memory");
	place->group = group;
	snprintf(place->dir, sizeof(place->dir), "%s/%" PRIu64 "/%s/%03u", batch->options->dir, batch->seed, group->name,
		 index);
	snprintf(place->scenario, sizeof(place->scenario), "%s/case.cfg", place->dir);
	ret = make_dir(place->dir, err);
	if (ret == 0)
		ret = write_case(made, batch, place, index, err);
	place->expected_ns = (double)made->span_ns;
	snprintf(remedy, sizeof(remedy), "%s", made->remedy);
	free(made);
	if (ret < 0)
		return ret;
	scenario = scenario_load(&from, err);
	if (scenario == NULL)
		return -EINVAL;
	*c = (struct rerun_case){ .family = group->name,
				  .index = index,
				  .scenario = place->scenario,
				  .dir = place->dir,
				  .loaded = scenario,
				  .draws = 1,
				  .diagnose = true };
	for (uint32_t i = 0; i < scenario->workload->njobs && i < 1; i++)
		place->expected_ns +=
			(double)scenario->workload->jobs[i].compute_ps / PS_PER_NS * scenario->workload->jobs[i].iterations;
	batch->begun++;
	ret = suspects_list(scenario, 0, &c->suspects, err);
	if (ret == 0 && remedy[0] != '\0')
		ret = suspects_add_remedy(&c->suspects, remedy, err);
	if (ret == 0)
		ret = rerun_case_init(c, err);
	scenario_destroy(scenario);
	return ret;
}

static int
begin(struct batch *batch, struct err *err)
{
	const struct odd_options *options = batch->options;
	int ret = 0;

	batch->count = (size_t)options->ngroups * options->cases;
	batch->places = calloc(batch->count, sizeof(*batch->places));
	batch->cases = calloc(batch->count, sizeof(*batch->cases));
	if (batch->places == NULL || batch->cases == NULL)
		return err_set(err, -ENOMEM, "out of memory for %zu cases", batch->count);
	for (uint32_t index = 0; index < options->cases; index++)
		for (uint32_t g = 0; ret == 0 && g < options->ngroups; g++)
			ret = begin_case(batch, options->groups[g], index, err);
	return ret;
}

static void
end(struct batch *batch)
{
	for (size_t i = 0; i < batch->begun; i++)
		rerun_case_fini(&batch->cases[i]);
	free(batch->cases);
	free(batch->places);
}

static json_t *
findings_json(const struct odd_marks *marks)
{
	json_t *list = json_array();

	for (uint32_t f = 0; f < marks->nfindings; f++)
		json_array_append_new(list, json_pack("{s:f, s:b}", "confidence", marks->findings[f].confidence, "right",
						      marks->findings[f].right));
	return list;
}

static json_t *
costs_json(const struct rerun_case *c, const struct rerun_truth *truth)
{
	json_t *list = json_array();

	for (size_t s = 0; s < c->suspects.count; s++)
		json_array_append_new(list,
				      json_pack("{s:s, s:f, s:f, s:o}", "name", c->suspects.at[s].name, "regained_ns",
						truth->costs[s].regained_ns, "regained_within_ns",
						truth->limit * truth->costs[s].regained_error_ns, "shapley_ns",
						truth->has_shapley ? json_real(truth->costs[s].shapley_ns) : json_null()));
	return list;
}

/* @param draws  over which the truth is a mean @return 0, or -ENODATA with err: a run broke */
static int
truth_of(const struct batch *batch, size_t i, uint32_t draws, struct rerun_store *store, struct rerun_truth *truth,
	 struct odd_facts *facts, struct err *err)
{
	struct rerun_case c = batch->cases[i];
	int ret;

	c.draws = draws;
	ret = rerun_truth(store, &c, truth, err);
	*facts = (struct odd_facts){ .suspects = &batch->cases[i].suspects,
				     .truth = truth,
				     .job = c.job,
				     .rtt_ns = (double)c.rtt_ns,
				     .expected_ns = batch->places[i].expected_ns };
	return ret;
}

/* One case whose runs are all there. @return 0, or -ENODATA with err: a run broke */
static int
grade_case(const struct batch *batch, size_t i, struct rerun_store *store, struct odd_row *row, struct err *err)
{
	const struct rerun_case *c = &batch->cases[i];
	struct rerun_truth truth, first;
	struct odd_facts facts, of_first;
	char path[PATH_MAX + 32];
	json_t *verdict;
	int ret = truth_of(batch, i, c->draws, store, &truth, &facts, err);

	if (ret == 0)
		ret = truth_of(batch, i, 1, store, &first, &of_first, err);
	if (ret < 0)
		return ret;
	snprintf(path, sizeof(path), "%s/" RERUN_BASE "/" RUN_VERDICT, c->dir);
	verdict = input_json(path, 0, NULL);
	if (verdict == NULL)
		return err_set(err, -ENODATA, "%s cannot be read", path);
	*row = (struct odd_row){ .group = batch->places[i].group,
				 .seed = batch->seed,
				 .index = c->index,
				 .draws = c->draws,
				 .base_ns = truth.base_ns,
				 .all_ns = truth.all_ns,
				 .costs = costs_json(c, &truth) };
	odd_grade(verdict, &facts, &row->marks);
	odd_grade(verdict, &of_first, &row->first);
	json_decref(verdict);
	return 0;
}

static void
grade_all(const struct batch *batch, struct rerun_store *store, struct odd_results *results)
{
	for (size_t i = 0; i < batch->begun; i++) {
		struct err err = { 0 };

		if (grade_case(batch, i, store, &results->rows[results->count], &err) == 0)
			results->count++;
		else
			results->broken++;
	}
}

/*
 * The next number of draws: twice as many, where a suspect is open. The verdict has no part in it.
 * @return whether any case has more than before
 */
static bool
draw_more(const struct batch *batch, struct rerun_store *store)
{
	bool any = false;

	for (size_t i = 0; i < batch->begun; i++) {
		struct rerun_case *c = &batch->cases[i];
		uint32_t draws = c->draws;
		struct rerun_truth truth;
		struct odd_facts facts;
		struct err err = { 0 };

		if (truth_of(batch, i, draws, store, &truth, &facts, &err) == 0 && (draws == 1 || !odd_is_settled(&facts)))
			c->draws = min_u32(2 * draws, batch->options->draws);
		any |= c->draws > draws;
	}
	return any;
}

static int
run_cases(const struct batch *batch, struct rerun_store *store, struct err *err)
{
	const struct reruns reruns = {
		store, batch->cases, batch->begun, batch->options->jobs, batch->options->shard, true
	};
	int ret;

	do
		ret = reruns_run(&reruns, err);
	while (ret >= 0 && draw_more(batch, store));
	return ret;
}

static int
run_seed(const struct odd_options *options, uint64_t seed, struct odd_results *results, struct err *err)
{
	struct batch batch = { .options = options, .seed = seed };
	struct rerun_store *store = NULL;
	char path[PATH_MAX], of[64];
	int ret;

	snprintf(path, sizeof(path), "%s/%" PRIu64, options->dir, seed);
	ret = make_dir(path, err);
	if (ret < 0)
		return ret;
	snprintf(path, sizeof(path), "%s/%" PRIu64 "/eval.sqlite", options->dir, seed);
	snprintf(of, sizeof(of), " odd cases of seed %" PRIu64 " at scale %g", seed, options->scale);
	store = rerun_store_open(path, of, err);
	if (store == NULL)
		return -errno;
	ret = begin(&batch, err);
	if (ret == 0)
		ret = run_cases(&batch, store, err);
	if (ret >= 0 && !shard_is_part(options->shard))
		grade_all(&batch, store, results);
	end(&batch);
	rerun_store_close(store);
	return ret < 0 ? ret : 0;
}

int
odd_run(const struct odd_options *options, struct odd_results *results, struct err *err)
{
	int ret = 0;

	*results = (struct odd_results){ .rows = calloc((size_t)options->ngroups * options->cases * options->nseeds + 1,
							sizeof(struct odd_row)) };
	if (results->rows == NULL)
		return err_set(err, -ENOMEM, "out of memory");
	for (uint32_t s = 0; ret == 0 && s < options->nseeds; s++)
		ret = run_seed(options, options->seeds[s], results, err);
	return ret;
}

void
odd_results_fini(struct odd_results *results)
{
	for (uint32_t i = 0; i < results->count; i++)
		json_decref(results->rows[i].costs);
	free(results->rows);
	*results = (struct odd_results){ 0 };
}

#define BINS 4 /* of stated confidence */

/* @param open  of the right ones, those of which truth says nothing: they are counted apart */
static void
add_line(struct libscols_table *table, const char *name, const uint32_t *counts, uint32_t open)
{
	struct libscols_line *line = scols_table_new_line(table, NULL);
	uint32_t all = 0;
	char cell[32];

	scols_line_set_data(line, 0, name);
	for (size_t i = 0; i < ODD_GRADES; i++) {
		snprintf(cell, sizeof(cell), "%u", counts[i] - (i == ODD_RIGHT ? open : 0));
		scols_line_set_data(line, 2 + i, cell);
		all += counts[i];
	}
	snprintf(cell, sizeof(cell), "%u", all);
	scols_line_set_data(line, 1, cell);
	snprintf(cell, sizeof(cell), "%.1f %%", all > open ? 100.0 * (counts[ODD_RIGHT] - open) / (all - open) : 0.0);
	scols_line_set_data(line, 2 + ODD_GRADES, cell);
	if (scols_table_get_ncols(table) == 4 + ODD_GRADES) {
		snprintf(cell, sizeof(cell), "%u", open);
		scols_line_set_data(line, 3 + ODD_GRADES, cell);
	}
}

static struct libscols_table *
new_table(const char *first, bool open, FILE *to)
{
	struct libscols_table *table = scols_new_table();
	const char *const columns[] = { first, "CASES", "RIGHT", "PARTLY", "WRONG", "UNKNOWN", "RIGHT %" };

	for (size_t i = 0; i < ARRAY_LEN(columns); i++)
		scols_table_new_column(table, columns[i], 0, i != 0 ? SCOLS_FL_RIGHT : 0);
	if (open)
		scols_table_new_column(table, "OPEN", 0, SCOLS_FL_RIGHT);
	scols_table_set_stream(table, to);
	return table;
}

/* @param first  by one rerun */
static void
print_groups(const struct odd_options *options, const struct odd_results *results, bool first, FILE *to)
{
	struct libscols_table *table = new_table("GROUP", !first && options->draws > 1, to);
	uint32_t all[ODD_GRADES] = { 0 }, all_open = 0;

	for (uint32_t g = 0; g < options->ngroups; g++) {
		uint32_t counts[ODD_GRADES] = { 0 }, open = 0;

		for (uint32_t i = 0; i < results->count; i++) {
			const struct odd_row *row = &results->rows[i];
			const struct odd_marks *marks = first ? &row->first : &row->marks;

			counts[marks->grade] += row->group == options->groups[g];
			open += row->group == options->groups[g] && marks->open && marks->grade == ODD_RIGHT;
		}
		add_line(table, options->groups[g]->name, counts, open);
		for (size_t i = 0; i < ODD_GRADES; i++)
			all[i] += counts[i];
		all_open += open;
	}
	add_line(table, "all", all, all_open);
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

/* Are confident claims right more often? */
static void
print_confidence(const struct odd_options *options, const struct odd_results *results, FILE *to)
{
	struct libscols_table *table = new_table("CONFIDENCE", options->draws > 1, to);

	for (int bin = -1; bin < BINS; bin++) {
		uint32_t counts[ODD_GRADES] = { 0 }, all = 0, open = 0;
		char name[32];

		for (uint32_t i = 0; i < results->count; i++) {
			if (bin_of(results->rows[i].marks.confidence) != bin)
				continue;
			counts[results->rows[i].marks.grade]++;
			open += results->rows[i].marks.open && results->rows[i].marks.grade == ODD_RIGHT;
			all++;
		}
		if (all == 0)
			continue;
		snprintf(name, sizeof(name), "%.2f to %.2f", (double)bin / BINS, (bin + 1.0) / BINS);
		add_line(table, bin < 0 ? "none stated" : name, counts, open);
	}
	scols_print_table(table);
	scols_unref_table(table);
}

#define CALIBRATION_BINS 5 /* of findings' confidence */

struct calibrated {
	uint32_t part, of;
};

/*
 * Are root causes right as often as they state? By bin: the mean confidence, the share that is right with Wilson's interval
 * at 95 %, and whether the mean lies in it.
 */
static void
print_calibration(const struct odd_results *results, FILE *to)
{
	static const char *const columns[] = { "ROOT CAUSES", "COUNT", "STATED", "RIGHT", "95 %", "HOLDS" };
	struct libscols_table *table = scols_new_table();
	struct calibrated shares[CALIBRATION_BINS] = { 0 };
	double stated[CALIBRATION_BINS] = { 0 };

	for (size_t i = 0; i < ARRAY_LEN(columns); i++)
		scols_table_new_column(table, columns[i], 0, i != 0 ? SCOLS_FL_RIGHT : 0);
	scols_table_set_stream(table, to);
	for (uint32_t i = 0; i < results->count; i++) {
		const struct odd_marks *marks = &results->rows[i].marks;

		for (uint32_t f = 0; f < marks->nfindings; f++) {
			uint32_t bin =
				(uint32_t)fmin(CALIBRATION_BINS - 1, marks->findings[f].confidence * CALIBRATION_BINS);

			shares[bin].of++;
			shares[bin].part += marks->findings[f].right;
			stated[bin] += marks->findings[f].confidence;
		}
	}
	for (uint32_t b = 0; b < CALIBRATION_BINS; b++) {
		struct libscols_line *line = shares[b].of != 0 ? scols_table_new_line(table, NULL) : NULL;
		double low, high, mean = shares[b].of != 0 ? stated[b] / shares[b].of : 0;
		char cell[48];

		if (line == NULL)
			continue;
		wilson_interval(shares[b].part, shares[b].of, &low, &high);
		snprintf(cell, sizeof(cell), "%.1f to %.1f", (double)b / CALIBRATION_BINS, (b + 1.0) / CALIBRATION_BINS);
		scols_line_set_data(line, 0, cell);
		snprintf(cell, sizeof(cell), "%u", shares[b].of);
		scols_line_set_data(line, 1, cell);
		snprintf(cell, sizeof(cell), "%.1f %%", 100 * mean);
		scols_line_set_data(line, 2, cell);
		snprintf(cell, sizeof(cell), "%.1f %%", 100.0 * shares[b].part / shares[b].of);
		scols_line_set_data(line, 3, cell);
		snprintf(cell, sizeof(cell), "%.1f to %.1f", 100 * low, 100 * high);
		scols_line_set_data(line, 4, cell);
		scols_line_set_data(line, 5, mean >= low && mean <= high ? "yes" : "no");
	}
	scols_print_table(table);
	scols_unref_table(table);
}

/* The two errors that no verdict may have. */
static void
print_errors(const struct odd_results *results, FILE *to)
{
	uint32_t acquitted = 0, faults = 0;

	for (uint32_t i = 0; i < results->count; i++) {
		acquitted += results->rows[i].marks.acquitted;
		faults += results->rows[i].marks.false_fault;
	}
	fprintf(to, "\n%u called innocent where a cause had to be named; %u with a fault where nothing is broken.\n",
		acquitted, faults);
}

void
odd_print(const struct odd_options *options, const struct odd_results *results, FILE *to)
{
	if (options->draws > 1) {
		fputs("By one rerun without each suspect:\n\n", to);
		print_groups(options, results, true, to);
		fprintf(to,
			"\nBy up to %u draws, and what their 95 %% intervals leave open may be named, or not. OPEN: they "
			"leave all\n"
			"suspects of a case open, and no grade is counted:\n\n",
			options->draws);
	}
	print_groups(options, results, false, to);
	fputc('\n', to);
	print_confidence(options, results, to);
	fputc('\n', to);
	print_calibration(results, to);
	print_errors(results, to);
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
			list,
			json_pack("{s:s, s:I, s:I, s:i, s:b, s:s, s:s, s:s, s:o, s:b, s:b, s:o, s:f, s:f, s:O}", "group",
				  row->group->name, "seed", (json_int_t)row->seed, "case", (json_int_t)row->index, "draws",
				  (int)row->draws, "open", row->marks.open, "grade", odd_grade_name(row->marks.grade),
				  "grade_of_one_rerun", odd_grade_name(row->first.grade), "why", row->marks.why,
				  "confidence", row->marks.confidence >= 0 ? json_real(row->marks.confidence) : json_null(),
				  "acquitted", row->marks.acquitted, "false_fault", row->marks.false_fault, "root_causes",
				  findings_json(&row->marks), "time_ns", row->base_ns, "without_all_ns", row->all_ns,
				  "suspects", row->costs));
	}
	return output_json(list, options->dir, "odd.json", err);
}

/* The possible subjects of a type of finding. */
static const struct fit {
	const char *type;
	bool flows;           /* those of a suspect are its culprits; else its root is the suspect's place */
	const char *kinds[3]; /* of faults and stragglers: those of this kind */
	const char *near[3];  /* and kinds that it is confused with in the right place: a part of the truth */
	bool path;            /* its root is a flow: the path of that flow is place enough */
	const char *setting;  /* remedies of this key, wherever it is; NULL: none */
} fits[] = {
	{ .type = "flow-contention", .flows = true },
	{ .type = "strict-priority", .flows = true },
	{ .type = "incast", .flows = true },
	{ .type = "pfc-backpressure", .flows = true },
	{ .type = "load-imbalance", .flows = true },
	{ .type = "tail-drop", .flows = true },
	{ .type = "pfc-storm", .kinds = { "pfc-storm" }, .near = { "slow-receiver", "pcie-downgrade", "dma-detour" } },
	{ .type = "pfc-deadlock", .kinds = { "pfc-storm" } },
	{ .type = "pfc-watchdog", .kinds = { "pfc-storm" } },
	{ .type = "host-limited", .kinds = { "pcie-downgrade", "dma-detour", "slow-receiver" } },
	{ .type = "packet-loss",
	  .kinds = { "loss", "corruption", "fib-corruption" },
	  .near = { "blackhole", "link-down" } },
	{ .type = "corruption", .kinds = { "corruption" }, .near = { "loss" } },
	{ .type = "link-down", .kinds = { "link-down" }, .near = { "blackhole", "loss" } },
	{ .type = "blackhole", .kinds = { "blackhole", "fib-corruption" }, .near = { "loss", "link-down" } },
	{ .type = "path-delay", .kinds = { "delay" }, .path = true },
	{ .type = "link-rate", .kinds = { "link-rate" } },
	{ .type = "slow-host", .kinds = { "slow-host", "straggler" } },
	{ .type = "timer-too-short", .setting = "host.timeout" },
};

/* A verdict's names, by suspect. */
struct named {
	bool it[SUSPECT_MAX], near[SUSPECT_MAX];
	bool own;      /* flows of the job itself */
	bool broken;   /* a fault where there is none */
	char odd[128]; /* the first that fits nothing */
};

static bool
is_kind(const struct suspect *suspect, const char *const kinds[3])
{
	for (size_t i = 0; i < 3 && kinds[i] != NULL; i++) {
		size_t length = strlen(kinds[i]);

		if (strncmp(suspect->name, kinds[i], length) == 0 && suspect->name[length] == '@')
			return true;
	}
	return false;
}

/* Is a port, or a node, where a suspect is? */
static bool
is_at(const struct suspect *suspect, const char *root)
{
	const json_t *node;
	size_t i;

	if (json_lists(suspect->ports, root) || json_lists(suspect->nodes, root))
		return true;
	json_array_foreach(suspect->nodes, i, node) {
		size_t length = strlen(json_string_value(node));

		if (strncmp(json_string_value(node), root, length) == 0 && root[length] == ':')
			return true;
	}
	return false;
}

static bool
has_flow_of(const json_t *finding, const struct suspect *suspect)
{
	const json_t *flow;
	size_t i;

	json_array_foreach(json_object_get(finding, "flows"), i, flow)
		if (json_lists(suspect->flows, json_string_value(flow)))
			return true;
	return false;
}

static const struct fit *
fit_of(const json_t *finding)
{
	for (size_t i = 0; i < ARRAY_LEN(fits); i++)
		if (strcmp(json_text(finding, "type"), fits[i].type) == 0)
			return &fits[i];
	return NULL;
}

/* A finding without a place, but a flow that it is about: right in kind alone. */
static bool
is_nowhere(const struct fit *fit, const json_t *finding)
{
	return !fit->path && fit->setting == NULL && strstr(json_text(finding, "root"), "->") != NULL;
}

/* Is it the setting that a finding is about? */
static bool
is_setting(const struct fit *fit, const struct suspect *suspect)
{
	size_t length = fit->setting != NULL ? strlen(fit->setting) : 0;

	return length != 0 && strncmp(suspect->name, fit->setting, length) == 0 && suspect->name[length] == '=';
}

/* Is the root of a finding where a suspect is? */
static bool
is_placed(const struct fit *fit, const struct suspect *suspect, const char *root)
{
	return is_at(suspect, root) || (fit->path && json_lists(suspect->late, root));
}

/* Flows of the job itself are of no suspect. */
static bool
is_own(const json_t *finding, const struct suspects *suspects)
{
	for (size_t s = 0; s < suspects->count; s++)
		if (has_flow_of(finding, &suspects->at[s]))
			return false;
	return true;
}

static bool
fits_in_part(const struct fit *fit, const struct suspect *suspect, const json_t *finding)
{
	return !fit->flows && ((is_kind(suspect, fit->near) && is_at(suspect, json_text(finding, "root"))) ||
			       (is_kind(suspect, fit->kinds) && is_nowhere(fit, finding)));
}

static bool
fits_well(const struct fit *fit, const struct suspect *suspect, const json_t *finding)
{
	return fit->flows ? has_flow_of(finding, suspect)
			  : is_setting(fit, suspect) ||
				    (is_kind(suspect, fit->kinds) && is_placed(fit, suspect, json_text(finding, "root")));
}

/* Of several suspects of one kind at one place it names those that may be, if there are some. */
static bool
fits_better(const struct fit *fit, const struct suspects *suspects, const json_t *finding, const bool *may)
{
	for (size_t s = 0; !fit->flows && s < suspects->count; s++)
		if (may[s] && fits_well(fit, &suspects->at[s], finding))
			return true;
	return false;
}

/* @param may  [suspects->count] which may be named */
static void
add_finding(const json_t *finding, const struct suspects *suspects, const bool *may, struct named *named)
{
	const struct fit *fit = fit_of(finding);
	bool better = fit != NULL && fits_better(fit, suspects, finding, may), fitted = false;

	if (fit != NULL && fit->flows && is_own(finding, suspects)) {
		named->own = true;
		return;
	}
	for (size_t s = 0; fit != NULL && s < suspects->count; s++) {
		bool is = fits_well(fit, &suspects->at[s], finding) && (may[s] || !better);
		bool near = fits_in_part(fit, &suspects->at[s], finding);

		named->it[s] |= is;
		named->near[s] |= near;
		fitted |= is || near;
	}
	named->broken |= !fitted && json_is_true(json_object_get(finding, "fault"));
	if (!fitted && named->odd[0] == '\0')
		snprintf(named->odd, sizeof(named->odd), "%s at %s", json_text(finding, "type"),
			 json_text(finding, "root"));
}

/* The finding that a verdict gives as the cause of another one names its suspect, too. */
static void
add_cause(const json_t *findings, const json_t *finding, const struct suspects *suspects, const bool *may,
	  struct named *named)
{
	const json_t *index = json_object_get(finding, "consequence_of");
	struct named cause = { 0 };

	if (!json_is_integer(index))
		return;
	add_finding(json_array_get(findings, (size_t)json_integer_value(index)), suspects, may, &cause);
	for (size_t s = 0; s < suspects->count; s++)
		named->it[s] |= cause.it[s];
}

/* Root causes are findings that explain some of the job's lost time. */
static bool
counts(const json_t *finding, const struct odd_facts *facts)
{
	const json_t *iteration;
	bool hits = false;
	double ns = 0;
	size_t i;

	json_array_foreach(json_object_get(finding, "iterations"), i, iteration) {
		if (json_integer_value(json_object_get(iteration, "job")) != (json_int_t)facts->job)
			continue;
		hits = true;
		ns += json_number_value(json_object_get(iteration, "explained_ns"));
	}
	return hits && !json_is_true(json_object_get(finding, "without_effect")) &&
	       (ns >= RERUN_MIN_SHARE * facts->truth->base_ns || ns >= facts->rtt_ns);
}

static bool
worth_all(const struct odd_facts *facts, double ns)
{
	return ns >= RERUN_MIN_SHARE * facts->truth->base_ns && ns >= facts->rtt_ns;
}

static bool
worth_any(const struct odd_facts *facts, double ns)
{
	return ns >= RERUN_MIN_SHARE * facts->truth->base_ns || ns >= facts->rtt_ns;
}

/* The right, missing and surplus findings. */
struct held {
	uint32_t needed, right, near;
	char missing[128], extra[128];
};

static void
note(char *first, const char *name)
{
	if (first[0] == '\0')
		snprintf(first, 128, "%.127s", name);
}

/* What may be named, by the time regained. */
struct allowed {
	bool together;          /* none alone has to be, all together have */
	bool own;               /* the job's own flows: it is slower than it should be without any suspect */
	bool must[SUSPECT_MAX]; /* has to be */
	bool may[SUSPECT_MAX];
};

/* The ends of a 95 % interval over draws; of one draw, both are what it regains. */
static double
surely_ns(const struct rerun_truth *truth, double mean_ns, double error_ns)
{
	return mean_ns - truth->limit * error_ns;
}

static double
perhaps_ns(const struct rerun_truth *truth, double mean_ns, double error_ns)
{
	return mean_ns + truth->limit * error_ns;
}

/* Has it to be named, by itself? */
static bool
must_be(const struct odd_facts *facts, size_t suspect)
{
	const struct rerun_cost *cost = &facts->truth->costs[suspect];

	return worth_all(facts, surely_ns(facts->truth, cost->regained_ns, cost->regained_error_ns));
}

static bool
may_be(const struct odd_facts *facts, size_t suspect)
{
	const struct rerun_truth *truth = facts->truth;
	const struct rerun_cost *cost = &truth->costs[suspect];
	double share_ns = truth->has_shapley ? perhaps_ns(truth, cost->shapley_ns, cost->error_ns) : 0;

	return worth_any(facts, fmax(perhaps_ns(truth, cost->regained_ns, cost->regained_error_ns), share_ns));
}

/* Do draws differ so much that it may have to be named, and may be without effect? */
static bool
is_open(const struct odd_facts *facts, size_t suspect)
{
	const struct rerun_cost *cost = &facts->truth->costs[suspect];

	return fmax(cost->regained_error_ns, cost->error_ns) > 0 && may_be(facts, suspect) && !must_be(facts, suspect);
}

bool
odd_is_settled(const struct odd_facts *facts)
{
	for (size_t s = 0; s < facts->suspects->count; s++)
		if (is_open(facts, s))
			return false;
	return true;
}

/* Is nothing known of any suspect? Then a verdict is hardly wrong, and right by no merit. */
static bool
is_all_open(const struct odd_facts *facts)
{
	for (size_t s = 0; s < facts->suspects->count; s++)
		if (!is_open(facts, s))
			return false;
	return facts->suspects->count != 0;
}

static void
allow(const struct odd_facts *facts, struct allowed *allowed)
{
	const struct rerun_truth *truth = facts->truth;
	double together_ns = surely_ns(truth, truth->base_ns - truth->all_ns, truth->all_error_ns), alone_ns = 0;
	bool more;

	*allowed = (struct allowed){ .together = worth_all(facts, together_ns),
				     .own = worth_any(facts, truth->all_ns - facts->expected_ns) };
	for (size_t s = 0; s < facts->suspects->count; s++) {
		allowed->must[s] = must_be(facts, s);
		allowed->together &= !allowed->must[s];
		alone_ns += fmax(0, truth->costs[s].regained_ns);
	}
	more = allowed->together || worth_all(facts, truth->base_ns - truth->all_ns - alone_ns);
	for (size_t s = 0; s < facts->suspects->count; s++)
		allowed->may[s] = more || allowed->must[s] || may_be(facts, s);
}

static void
hold(const struct odd_facts *facts, const struct allowed *allowed, const struct named *named, struct held *held)
{
	bool together = allowed->together, any = false;

	*held = (struct held){ 0 };
	for (size_t s = 0; s < facts->suspects->count; s++) {
		bool must = allowed->must[s], may = allowed->may[s], is = named->it[s], near = named->near[s];

		held->needed += must;
		held->right += is && (must || together);
		held->near += near && !is && (must || together);
		any |= is && together;
		if (must && !is)
			note(held->missing, facts->suspects->at[s].name);
		if ((is || near) && !may)
			note(held->extra, facts->suspects->at[s].name);
	}
	held->needed += together;
	if (together && !any)
		note(held->missing, "what all regain together");
	if (named->own && held->right == 0 && !allowed->own)
		note(held->extra, "the collective's own flows");
	if (named->odd[0] != '\0')
		note(held->extra, named->odd);
}

/* Is a root cause by itself right: of a suspect that may be named, in kind and place? */
static bool
is_right(const json_t *findings, const json_t *finding, const struct odd_facts *facts, const struct allowed *allowed,
	 const struct held *held)
{
	struct named alone = { 0 };

	add_finding(finding, facts->suspects, allowed->may, &alone);
	add_cause(findings, finding, facts->suspects, allowed->may, &alone);
	for (size_t s = 0; s < facts->suspects->count; s++)
		if (alone.it[s] && allowed->may[s])
			return true;
	return alone.own && (held->right != 0 || allowed->own);
}

/* How sure each root cause is, and whether it is right. */
static void
mark_findings(const json_t *verdict, const struct odd_facts *facts, const struct allowed *allowed, const struct held *held,
	      struct odd_marks *marks)
{
	const json_t *findings = json_object_get(verdict, "findings"), *finding;
	size_t i;

	json_array_foreach(findings, i, finding) {
		struct odd_finding *mark = &marks->findings[marks->nfindings];

		if (marks->nfindings == ODD_MAX_FINDINGS || !counts(finding, facts))
			continue;
		mark->confidence = json_number_value(json_object_get(finding, "confidence"));
		mark->right = is_right(findings, finding, facts, allowed, held);
		marks->nfindings++;
	}
}

/* The verdict's claim about itself. */
static bool
does_not_know(const json_t *verdict)
{
	const json_t *network = json_object_get(verdict, "network");

	return strcmp(json_text(network, "word"), "unknown") == 0;
}

static bool
is_innocent(const json_t *verdict)
{
	return json_is_true(json_object_get(json_object_get(verdict, "network"), "innocent"));
}

static double
confidence_of(const json_t *verdict)
{
	const json_t *stated = json_object_get(json_object_get(verdict, "network"), "confidence"), *finding;
	double most = json_is_number(stated) ? json_number_value(stated) : -1;
	size_t i;

	if (most >= 0)
		return most;
	json_array_foreach(json_object_get(verdict, "findings"), i, finding) {
		stated = json_object_get(finding, "confidence");
		most = json_is_number(stated) ? fmax(most, json_number_value(stated)) : most;
	}
	return most;
}

const char *
odd_grade_name(enum odd_grade grade)
{
	static const char *const names[] = { "right", "partly", "wrong", "unknown" };

	return names[grade];
}

void
odd_grade(const json_t *verdict, const struct odd_facts *facts, struct odd_marks *marks)
{
	struct named named = { 0 };
	const json_t *finding;
	struct allowed allowed;
	struct held held;
	bool names = false;
	size_t i;

	allow(facts, &allowed);
	json_array_foreach(json_object_get(verdict, "findings"), i, finding) {
		if (!counts(finding, facts))
			continue;
		add_finding(finding, facts->suspects, allowed.may, &named);
		add_cause(json_object_get(verdict, "findings"), finding, facts->suspects, allowed.may, &named);
		names = true;
	}
	hold(facts, &allowed, &named, &held);
	*marks = (struct odd_marks){ .grade = ODD_WRONG,
				     .open = is_all_open(facts),
				     .confidence = confidence_of(verdict),
				     .acquitted = held.needed != 0 && held.right == 0 && is_innocent(verdict),
				     .false_fault = named.broken };
	mark_findings(verdict, facts, &allowed, &held, marks);
	if (held.missing[0] == '\0' && held.extra[0] == '\0')
		marks->grade = marks->confidence >= 0 && marks->confidence < 0.5 ? ODD_UNKNOWN : ODD_RIGHT;
	else if (held.right + held.near > 0)
		marks->grade = ODD_PARTLY;
	else if (!names && does_not_know(verdict))
		marks->grade = ODD_UNKNOWN;
	if (held.missing[0] == '\0' && held.extra[0] == '\0')
		return;
	snprintf(marks->why, sizeof(marks->why), "%s%s%s%s%s", held.missing[0] != '\0' ? "not named: " : "", held.missing,
		 held.missing[0] != '\0' && held.extra[0] != '\0' ? "; " : "", held.extra[0] != '\0' ? "named: " : "",
		 held.extra);
}
