/* SPDX-License-Identifier: BSD-3-Clause */
/* rocelab blame: runs a scenario, or that of a run, again without each suspect. */
#include <argp.h>
#include <errno.h>
#include <jansson.h>
#include <libsmartcols/libsmartcols.h>
#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "cli/command.h"
#include "common/array.h"
#include "common/err.h"
#include "common/hash.h"
#include "common/input_file.h"
#include "common/log.h"
#include "common/program.h"
#include "common/run_files.h"
#include "emulation/outputs/outputs.h"
#include "eval/args.h"
#include "scenario/scenario.h"
#include "twin/rerun/job.h"
#include "twin/rerun/rerun.h"
#include "twin/rerun/suspect.h"
#include "twin/rerun/text.h"
#include "workload/workload.h"

/* The job whose time `rocelab blame` explains. */

/* The job in the headline of a run's verdict. @return its number; UINT32_MAX: there is none */
static uint32_t
job_of_verdict(const char *run)
{
	char path[PATH_MAX + 32];
	json_t *verdict, *job;
	uint32_t number;

	if (run == NULL)
		return UINT32_MAX;
	snprintf(path, sizeof(path), "%s/" RUN_VERDICT, run);
	verdict = input_json(path, 0, NULL);
	job = json_object_get(json_object_get(json_object_get(verdict, "headline"), "of"), "job");
	number = json_is_integer(job) ? (uint32_t)json_integer_value(job) : UINT32_MAX;
	json_decref(verdict);
	return number;
}

/*
 * @param run  folder of a run; NULL: a scenario was given
 * @param of   name of a job; NULL: of a run the one in its verdict's headline, else the first that is enabled
 * @param job  set to its number
 * @return 0 or -EINVAL with err
 */
static int
blame_job_choose(const char *run, const char *of, const struct scenario *scenario, uint32_t *job, struct err *err)
{
	const struct workload *workload = scenario->workload;

	*job = of == NULL ? job_of_verdict(run) : UINT32_MAX;
	if (*job < workload->njobs && workload->jobs[*job].enabled)
		return 0;
	for (*job = 0; *job < workload->njobs; ++*job)
		if (of != NULL ? strcmp(workload->jobs[*job].name, of) == 0 : workload->jobs[*job].enabled)
			break;
	if (*job == workload->njobs && of != NULL)
		return err_set(err, -EINVAL, "--of %s: no job of the scenario has this name", of);
	if (*job == workload->njobs)
		return err_set(err, -EINVAL, "the scenario has no job: there is no time to be regained");
	return workload->jobs[*job].enabled ? 0
					    : err_set(err, -EINVAL, "--of %s: it is not enabled, and takes no time", of);
}

/* Is "all" meant, and no job's name? */
static bool
blame_job_is_all(const char *of, const struct scenario *scenario)
{
	bool all = of != NULL && strcmp(of, "all") == 0;

	for (uint32_t j = 0; j < scenario->workload->njobs; j++)
		all &= strcmp(scenario->workload->jobs[j].name, "all") != 0;
	return all;
}

/* The results of `rocelab blame`, as a table and as JSON. */

struct blame_report {
	const struct rerun_case *c;
	const struct rerun_truth *truth;
	const struct claims *claims;
	const char *job; /* its name */
};

#define NS_PER_MS 1e6

static const char *const columns[] = { "SUSPECT", "KIND",       "ALONE ms", "%",     "SHAPLEY ms",
				       "SHARE",   "CLAIMED ms", "SHARE",    "EFFECT" };
#define NCOLUMNS ARRAY_LEN(columns)
#define TEXT_COLUMNS 2

/* The cost of all together. */
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
	const char *bound = cost->complete ? ">" : "<";
	bool known = truth->base_complete || cost->complete; /* or bounded */
	char cells[NCOLUMNS][SUSPECT_NAME];
	size_t n = 0, width = sizeof(cells[0]);

	snprintf(cells[n++], width, "%s", suspect->name);
	snprintf(cells[n++], width, "%s", suspect->kind);
	if (known) {
		snprintf(cells[n++], width, "%s%.3f", truth->base_complete && cost->complete ? "" : bound,
			 cost->regained_ns / NS_PER_MS);
		snprintf(cells[n++], width, "%.1f", truth->base_ns > 0 ? 100 * cost->regained_ns / truth->base_ns : 0);
	} else {
		snprintf(cells[n++], width, "-");
		snprintf(cells[n++], width, "-");
	}
	if (truth->has_shapley && i < rerun_causes(report->c)) {
		snprintf(cells[n++], width, "%.3f", cost->shapley_ns / NS_PER_MS);
		snprintf(cells[n++], width, "%.1f %%", 100 * shapley_share(truth, i));
	} else {
		snprintf(cells[n++], width, "-");
		snprintf(cells[n++], width, "-");
	}
	if (i < rerun_causes(report->c)) {
		snprintf(cells[n++], width, "%.3f", report->claims->ns[i] / NS_PER_MS);
		snprintf(cells[n++], width, "%.1f %%", 100 * claims_share(report->claims, &report->c->suspects, i));
	} else {
		snprintf(cells[n++], width, "-");
		snprintf(cells[n++], width, "-");
	}
	snprintf(cells[n++], width, "%s", cost->has_effect ? "yes" : cost->has_none ? "none" : "unknown");
	for (size_t k = 0; k < n; k++)
		scols_line_set_data(line, k, cells[k]);
}

/* "took 16.443 ms" */
static void
print_time(const char *what, double ns, bool complete, FILE *to)
{
	fprintf(to, complete ? "%s %.3f ms" : "%s more than %.3f ms, when the run ended", what, ns / NS_PER_MS);
}

static void
blame_print(const struct blame_report *report, FILE *to)
{
	const struct rerun_truth *truth = report->truth;
	struct libscols_table *table = scols_new_table();

	fprintf(to, "Job %s ", report->job);
	print_time("took", truth->base_ns, truth->base_complete, to);
	if (rerun_causes(report->c) != 0)
		print_time("; without any suspect", truth->all_ns, truth->all_complete, to);
	fprintf(to, ". %llu runs.\n\n", (unsigned long long)report->c->nsets_out);
	for (size_t i = 0; i < NCOLUMNS; i++)
		scols_table_new_column(table, columns[i], 0, i < TEXT_COLUMNS ? 0 : SCOLS_FL_RIGHT);
	scols_table_set_stream(table, to);
	for (size_t i = 0; i < report->c->suspects.count; i++)
		add_line(report, i, table);
	scols_print_table(table);
	scols_unref_table(table);
	fprintf(to,
		"\n"
		"ALONE: time regained without it alone, also in %% of the time taken. SHAPLEY: its share of the cost of "
		"all\n"
		"together%s. CLAIMED: its cost by the verdict, and its share of all claimed costs.\n",
		truth->has_shapley ? "" : " (not of more than 6 suspects; name them by --without)");
}

static json_t *
suspect_json(const struct blame_report *report, size_t i)
{
	const struct suspect *suspect = &report->c->suspects.at[i];
	const struct rerun_truth *truth = report->truth;
	const struct rerun_cost *cost = &truth->costs[i];
	bool has_shapley = truth->has_shapley && i < rerun_causes(report->c);
	json_t *root =
		json_pack("{s:s, s:s, s:s, s:f, s:b, s:f, s:f, s:b, s:b}", "name", suspect->name, "kind", suspect->kind,
			  "set", suspect->set, "without_ns", cost->without_ns, "complete", cost->complete, "regained_ns",
			  cost->regained_ns, "regained_share", truth->base_ns > 0 ? cost->regained_ns / truth->base_ns : 0,
			  "has_effect", cost->has_effect, "has_none", cost->has_none);

	json_object_set_new(root, "shapley_ns", has_shapley ? json_real(cost->shapley_ns) : json_null());
	json_object_set_new(root, "shapley_share", has_shapley ? json_real(shapley_share(truth, i)) : json_null());
	json_object_set_new(root, "claimed_ns", json_real(report->claims->ns[i]));
	json_object_set_new(root, "claimed_share", json_real(claims_share(report->claims, &report->c->suspects, i)));
	json_object_set_new(root, "named", json_boolean(report->claims->named[i]));
	return root;
}

/* @return NULL: out of memory */
static json_t *
blame_json(const struct blame_report *report)
{
	const struct rerun_truth *truth = report->truth;
	json_t *suspects = json_array();

	for (size_t i = 0; i < report->c->suspects.count; i++)
		json_array_append_new(suspects, suspect_json(report, i));
	return json_pack("{s:i, s:s, s:I, s:f, s:b, s:f, s:b, s:I, s:I, s:f, s:o}", "schema_version", 1, "job", report->job,
			 "number", (json_int_t)report->c->job, "took_ns", truth->base_ns, "complete", truth->base_complete,
			 "without_any_ns", truth->all_ns, "without_any_complete", truth->all_complete, "rtt_ns",
			 (json_int_t)report->c->rtt_ns, "runs", (json_int_t)report->c->nsets_out, "claimed_of_others_ns",
			 report->claims->others_ns, "suspects", suspects);
}

#define STORE_FILE "blame.sqlite"

struct blame {
	struct scenario_options options;
	const char *run; /* folder of a run, NULL: a scenario was given */
	char config[PATH_MAX + 16];
	const char *without[SUSPECT_MAX], *with[SUSPECT_MAX];
	size_t nwithout, nwith;
	const char *of;  /* name of the job whose time counts, "all" */
	json_t *results; /* of --json: one of each job */
	uint32_t jobs;
	struct shard shard;
	const char *out;
	bool json;
};

static const struct argp_option options[] = {
	{ "set", SCENARIO_ARGS_SET, "PATH=VALUE", 0, "Override a key of the scenario in all runs", 0 },
	{ "seed", SCENARIO_ARGS_SEED, "N", 0, "Seed of every random choice", 0 },
	{ "without", 'w', "NAME", 0, "Suspect this one; may be given again (default: all that there are)", 0 },
	{ "with", 'W', "PATH=VALUE", 0,
	  "Try a remedy as well: what would be regained if this key had this value, as --set takes it; may be given again",
	  0 },
	{ "of", 'O', "JOB", 0,
	  "Whose time is to be regained; \"all\": every job's, one after the other (default: of a run's folder the job "
	  "that its "
	  "verdict's headline speaks of, else the first)",
	  0 },
	{ "jobs", 'j', "N", 0, "Runs side by side (default: one a CPU)", 0 },
	EVAL_ARGS_SHARDS,
	{ "out", 'o', "DIR", 0, "Keep results in DIR (default out/blame/NAME); resume from those that are there", 0 },
	{ "json", 'J', NULL, 0, "Print blame.json instead of a table", 0 },
	{ 0 },
};

static error_t
parse(int key, char *arg, struct argp_state *state)
{
	struct blame *blame = state->input;

	switch (key) {
	case EVAL_ARGS_SHARD:
	case EVAL_ARGS_MERGE:
		return eval_args_shard(state, key, arg, &blame->shard);
	case 'w':
		if (blame->nwithout == SUSPECT_MAX)
			args_error(state, "more than %d --without", SUSPECT_MAX);
		blame->without[blame->nwithout++] = arg;
		return 0;
	case 'W':
		if (blame->nwith == SUSPECT_MAX)
			args_error(state, "more than %d --with", SUSPECT_MAX);
		blame->with[blame->nwith++] = arg;
		return 0;
	case 'O':
		blame->of = arg;
		return 0;
	case 'j':
		blame->jobs = (uint32_t)args_number(state, "--jobs", arg, 1, POOL_MAX_JOBS);
		return 0;
	case 'o':
		blame->out = arg;
		return 0;
	case 'J':
		blame->json = true;
		return 0;
	default:
		return scenario_args_parse(&blame->options, key, arg, state);
	}
}

static void
list_suspects(FILE *to)
{
	fputs("Suspects:\n", to);
	for (const struct suspect_kind *kind = suspect_kinds; kind->name != NULL; kind++)
		fprintf(to, "  %-10s %s\n", kind->name, kind->doc);
}

static char *
help_filter(int key, const char *text, void *input)
{
	(void)input;
	return args_help_list(key, text, list_suspects);
}

static const struct argp argp = {
	.options = options,
	.parser = parse,
	.args_doc = "SCENARIO|DIR",
	.doc = "Runs a scenario, or that of an earlier run's folder, again without each suspect, and reports how much time "
	       "each suspect cost, and how much the diagnosis claimed.\vOf up to 6 suspects every set is left out once, "
	       "which gives each its Shapley share; of more, each alone. Results are in DIR/blame.json, runs that are done "
	       "in DIR/" STORE_FILE ": the same command resumes an interrupted run.",
	.help_filter = help_filter,
};

static int
find_suspects(const struct blame *blame, const struct scenario *scenario, struct rerun_case *c, struct err *err)
{
	int ret = suspects_list(scenario, c->job, &c->suspects, err);

	if (ret == 0 && blame->nwithout != 0)
		ret = suspects_keep(&c->suspects, blame->without, blame->nwithout, err);
	for (size_t i = 0; ret == 0 && i < blame->nwith; i++)
		ret = suspects_add_remedy(&c->suspects, blame->with[i], err);
	c->trials = blame->nwith;
	if (ret == 0 && c->suspects.count == 0)
		ret = err_set(
			err, -EINVAL,
			"%s has no suspects: no flows, generators, faults, stragglers or other jobs; --with tries a remedy",
			blame->options.path);
	return ret;
}

/* Reports a remedy that no scenario takes before anything runs. */
static int
check_remedies(const struct blame *blame, struct err *err)
{
	struct scenario_options with = blame->options;

	for (size_t i = 0; i < blame->nwith; i++) {
		struct scenario *scenario;

		if (with.nsets == SCENARIO_MAX_SETS)
			return err_set(err, -EINVAL, "more than %d --set and --with", SCENARIO_MAX_SETS);
		with.sets[with.nsets] = blame->with[i];
		with.nsets++;
		scenario = scenario_load(&with, err);
		with.nsets--;
		scenario_destroy(scenario);
		if (scenario == NULL)
			return -EINVAL;
	}
	return 0;
}

/* The results that the folder has must be of the same configuration, suspects and job. */
static struct rerun_store *
open_store(const char *dir, const struct rerun_case *c, uint64_t seed, struct err *err)
{
	uint64_t digest = DIGEST_INIT;
	char path[PATH_MAX], identity[96];
	FILE *file = input_fopen(c->scenario, NULL);
	int byte;

	while (file != NULL && (byte = getc(file)) != EOF)
		digest = digest_u64(digest, (uint64_t)byte);
	if (file != NULL)
		fclose(file);
	for (size_t i = 0; i < c->suspects.count; i++)
		for (const char *p = c->suspects.at[i].set; *p != '\0'; p++)
			digest = digest_u64(digest, (uint64_t)*p);
	snprintf(identity, sizeof(identity), " scenario and suspects %016llx, seed %llu", (unsigned long long)digest,
		 (unsigned long long)seed);
	snprintf(path, sizeof(path), "%s/" STORE_FILE, dir);
	return rerun_store_open(path, identity, err);
}

/* Does this program reproduce the folder's run from its scenario? @return 0 or -EINVAL with err */
static int
check_same(const char *was, const char *is, struct err *err)
{
	char path[PATH_MAX + 32];
	json_t *runs[2];
	bool same;

	snprintf(path, sizeof(path), "%s/" RUN_SUMMARY, was);
	runs[0] = input_json(path, 0, NULL);
	snprintf(path, sizeof(path), "%s/" RERUN_BASE "/" RUN_SUMMARY, is);
	runs[1] = input_json(path, 0, NULL);
	same = strcmp(json_text(runs[0], "digest"), json_text(runs[1], "digest")) == 0;
	json_decref(runs[0]);
	json_decref(runs[1]);
	return same ? 0
		    : err_set(err, -EINVAL,
			      "%s is not what this program makes of its " RUN_CONFIG
			      ": it was interrupted, or is of another version; run it again, or blame " RUN_CONFIG,
			      was);
}

static int
print_result(struct blame *blame, const struct rerun_case *c, const struct rerun_truth *truth, const char *job,
	     struct err *err)
{
	struct claims claims;
	struct blame_report report = { c, truth, &claims, job };
	char path[PATH_MAX + 32];
	json_t *verdict, *root;
	int ret;

	snprintf(path, sizeof(path), "%s/%s" RUN_VERDICT, blame->run != NULL ? blame->run : c->dir,
		 blame->run != NULL ? "" : RERUN_BASE "/");
	verdict = input_json(path, 0, NULL);
	if (verdict == NULL)
		return err_set(err, -EINVAL, "%s cannot be read: it is no verdict of a run", path);
	claims_read(verdict, &c->suspects, c->job, &claims);
	json_decref(verdict);
	root = blame_json(&report);
	if (blame->results != NULL && root != NULL)
		json_array_append(blame->results, root);
	ret = output_json(root, c->dir, "blame.json", err);
	if (ret == 0 && !blame->json)
		blame_print(&report, stdout);
	return ret;
}

/* @return how many runs broke, or negative errno with err */
static int
rerun(struct blame *blame, const struct rerun_case *c, uint64_t seed, const char *job, struct err *err)
{
	struct rerun_store *store = open_store(c->dir, c, seed, err);
	struct reruns reruns = { store, c, 1, blame->jobs, &blame->shard, false };
	struct rerun_truth truth;
	int ret = store != NULL ? reruns_run(&reruns, err) : -errno;

	if (shard_is_part(&blame->shard)) {
		rerun_store_close(store);
		return ret;
	}
	if (ret == 0 && blame->run != NULL)
		ret = check_same(blame->run, c->dir, err);
	if (ret == 0)
		ret = rerun_truth(store, c, &truth, err);
	if (ret == 0)
		ret = print_result(blame, c, &truth, job, err);
	rerun_store_close(store);
	return ret;
}

/* @param dir  where the job's results go  @return how many runs broke, or negative errno with err */
static int
blame_job(const char *dir, struct blame *blame, const struct scenario *scenario, uint32_t job, struct err *err)
{
	struct rerun_case c = {
		.family = "blame", .scenario = blame->config, .dir = dir, .loaded = scenario, .job = job, .diagnose = true
	};
	int ret = find_suspects(blame, scenario, &c, err);

	if (ret == 0)
		ret = rerun_case_init(&c, err);
	if (ret == 0)
		ret = rerun(blame, &c, (uint64_t)scenario->root.seed, scenario->workload->jobs[job].name, err);
	rerun_case_fini(&c);
	return ret;
}

/* Each job in a folder of its own. @return how many runs broke, or negative errno with err */
static int
blame_all(const char *dir, struct blame *blame, const struct scenario *scenario, struct err *err)
{
	const struct workload *workload = scenario->workload;
	int broken = 0, ret = 0;

	for (uint32_t j = 0; ret >= 0 && j < workload->njobs; j++) {
		char own[PATH_MAX + 32];

		if (!workload->jobs[j].enabled)
			continue;
		snprintf(own, sizeof(own), "%s/job-%u", dir, j);
		if (!blame->json && j != 0 && !shard_is_part(&blame->shard))
			putchar('\n');
		ret = run_dir_make(own, err);
		ret = ret < 0 ? ret : blame_job(own, blame, scenario, j, err);
		broken += ret > 0 ? ret : 0;
	}
	return ret < 0 ? ret : broken;
}

static int
blame_in(const char *dir, struct blame *blame, struct err *err)
{
	struct scenario *scenario = scenario_load(&blame->options, err);
	uint32_t job = 0;
	bool all;
	int ret;

	if (scenario == NULL)
		return -EINVAL;
	all = blame_job_is_all(blame->of, scenario);
	ret = all ? 0 : blame_job_choose(blame->run, blame->of, scenario, &job, err);
	if (ret == 0)
		ret = check_remedies(blame, err);
	if (ret == 0)
		ret = shard_merge(&blame->shard, dir, NULL, err);
	if (ret == 0)
		ret = output_config(scenario, dir, err);
	if (ret == 0)
		ret = all ? blame_all(dir, blame, scenario, err) : blame_job(dir, blame, scenario, job, err);
	scenario_destroy(scenario);
	if (ret == 0 && shard_is_part(&blame->shard))
		eval_args_part(&blame->shard);
	else if (blame->results != NULL && ret >= 0)
		json_dumpf(all ? blame->results : json_array_get(blame->results, 0), stdout,
			   JSON_INDENT(1) | JSON_PRESERVE_ORDER);
	return ret;
}

/* A folder has the scenario of its run, and the verdict on it. @return 0 or -EINVAL with err */
static int
find_scenario(struct blame *blame, char *buf, size_t cap, struct err *err)
{
	static const char *const files[] = { RUN_CONFIG, RUN_SUMMARY, RUN_VERDICT };
	struct stat st;

	if (stat(blame->options.path, &st) < 0 || !S_ISDIR(st.st_mode))
		return 0;
	blame->run = blame->options.path;
	for (size_t i = 0; i < ARRAY_LEN(files); i++) {
		snprintf(buf, cap, "%s/%s", blame->run, files[i]);
		if (stat(buf, &st) < 0)
			return err_set(err, -EINVAL, "%s is no folder of a run that was diagnosed: it has no %s",
				       blame->run, files[i]);
	}
	snprintf(buf, cap, "%s/" RUN_CONFIG, blame->run);
	blame->options.path = buf;
	return 0;
}

int
command_blame(int argc, char **argv)
{
	int cpus[POOL_MAX_JOBS];
	struct blame blame = { .jobs = job_cpus(cpus, POOL_MAX_JOBS) };
	char out[PATH_MAX], name[PATH_MAX - 64], scenario[PATH_MAX];
	struct err err = { 0 };
	struct run_dir dir;
	int ret;

	argv[0] = "rocelab blame";
	if (args_parse(&argp, argc, argv, 0, &blame) != 0)
		return EXIT_USAGE;
	run_dir_default("out/blame", blame.options.path, name, sizeof(name));
	shard_folder(&blame.shard, name, out, sizeof(out));
	ret = find_scenario(&blame, scenario, sizeof(scenario), &err) == 0 ? 0 : -EINVAL;
	if (ret == 0)
		ret = run_dir_open(&dir, blame.out != NULL ? blame.out : out, &err);
	if (ret < 0) {
		shard_fini(&blame.shard);
		log_error("%s", err.text);
		return exit_code_of_file(ret);
	}
	snprintf(blame.config, sizeof(blame.config), "%s/" RUN_CONFIG, dir.path);
	blame.results = blame.json ? json_array() : NULL;
	ret = blame_in(dir.path, &blame, &err);
	json_decref(blame.results);
	run_dir_close(&dir);
	shard_fini(&blame.shard);
	return eval_args_exit(ret, &err);
}
