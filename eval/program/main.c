/* SPDX-License-Identifier: BSD-3-Clause */
/* rocelab eval: the paper's evaluation (IV) and the anomalies it left out. */
#include <argp.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/array.h"
#include "common/log.h"
#include "common/nearest.h"
#include "common/program.h"
#include "common/run_files.h"
#include "eval/args.h"
#include "eval/eval.h"
#include "eval/study.h"
#include "scenario/scenario.h"
#include "twin/rerun/job.h"

struct eval_options {
	struct eval eval; /* all but its store */
	struct shard shard;
	char dir[PATH_MAX]; /* unless another is given */
	bool json;
	bool has_policies;                     /* other than the default */
	char names[VARIANT_MAX][VARIANT_NAME]; /* of policies */
};

static int eval_options_parse(struct eval_options *opts, int argc, char **argv);

/* Reports a policy or key that does not exist before anything runs. */
static int
check_policies(const struct eval *eval, struct err *err)
{
	struct scenario_options scenario = { .path = NULL };
	struct variant_sets sets;
	char path[PATH_MAX];

	snprintf(path, sizeof(path), "%s/fabric.cfg", eval->dir);
	scenario_destroy(case_network(path, &eval->source, err));
	scenario.path = path;
	for (uint32_t p = 0; p < eval->npolicies && err->text[0] == '\0'; p++) {
		if (variant_sets(eval->policies[p], &sets, err) < 0)
			break;
		scenario.nsets = sets.count;
		for (uint32_t i = 0; i < sets.count; i++)
			scenario.sets[i] = sets.text[i];
		scenario_destroy(scenario_load(&scenario, err));
	}
	return err->text[0] == '\0' ? 0 : -EINVAL;
}

/* @return how many runs broke; negative errno: err has the reason, unless it was interrupted */
static int
evaluate(struct eval *eval, struct err *err)
{
	char path[PATH_MAX], with[4096] = "";
	size_t used = 0;
	int ret;

	snprintf(path, sizeof(path), "%s/eval.sqlite", eval->dir);
	if (eval->source.shape != shapes)
		used = (size_t)snprintf(with, sizeof(with), " --shape %s", eval->source.shape->name);
	if (eval->source.picks != CASE_PICKS_ALL)
		used += (size_t)snprintf(with + used, sizeof(with) - used, " --pick %s",
					 (const char *const[]){ "none", "routes", "roots" }[eval->source.picks]);
	for (size_t i = 0; i < eval->source.nsets && used < sizeof(with); i++)
		used += (size_t)snprintf(with + used, sizeof(with) - used, " --set %s", eval->source.sets[i]);
	if (used >= sizeof(with))
		return err_set(err, -EINVAL, "all --set together are longer than %zu characters", sizeof(with) - 1);
	eval->store = store_open(path, eval->source.seed, eval->source.scale, with, err);
	if (eval->store == NULL)
		return -errno;
	ret = runner_run(eval, err);
	if (!shard_is_part(eval->shard) && (ret >= 0 || ret == -EINTR)) {
		int wrote = summary_write_rows(eval, err);

		ret = wrote < 0 ? wrote : ret;
	}
	return ret;
}

/* @param broken  runs @return exit code */
static int
report(const struct eval *eval, bool json, int broken)
{
	uint32_t excluded, made;
	struct err err = { 0 };
	int ret = json ? summary_print_json(eval, stdout, &err) : summary_print_table(eval, stdout, &err);

	if (ret < 0) {
		log_error("%s", err.text);
		return EXIT_FAILED;
	}
	if (broken > 0)
		log_warning("%d runs failed and are not counted; the same command makes them again", broken);
	/* The limit is that of the families in their own cases. */
	if (summary_excluded(eval, &excluded, &made) <= EVAL_MAX_EXCLUDED || eval->source.nsets != 0 ||
	    eval->source.picks != CASE_PICKS_ALL) {
		if (json && excluded > 0) /* the table shows it */
			log_warning("%u of %u cases were wrong by construction and replaced", excluded, made);
		return broken > 0 ? EXIT_FAILED : EXIT_DONE;
	}
	log_error("%u of %u cases were wrong by construction; at most %.0f %% may be", excluded, made,
		  100 * EVAL_MAX_EXCLUDED);
	return EXIT_FAILED;
}

static const struct study *const studies[] = { &study_counterfactual, &study_flowpulse, &study_flowtracer,
					       &study_hardware,       &study_odd,       &study_compare,
					       &study_pingmesh };

/* Evaluations without families, a name and its meaning a line. */
static void
eval_list_studies(FILE *to)
{
	for (size_t i = 0; i < ARRAY_LEN(studies); i++)
		fprintf(to, "  %-14s %s\n", studies[i]->name, studies[i]->doc);
}

static void
list_kinds(FILE *to)
{
	for (size_t i = 0; families[i] != NULL; i++)
		fprintf(to, "  %-14s family of cases: %s\n", families[i]->name, families[i]->doc);
	eval_list_studies(to);
}

static int
eval_families(int argc, char **argv)
{
	struct eval_options opts;
	struct err err = { 0 };
	struct run_dir dir;
	int ret;

	log_set_command("rocelab eval");
	if (eval_options_parse(&opts, argc, argv) != 0)
		return EXIT_USAGE;
	ret = run_dir_open(&dir, opts.eval.dir, &err);
	if (ret == 0 && check_policies(&opts.eval, &err) < 0)
		ret = -EINVAL;
	if (ret < 0) {
		log_error("%s", err.text);
		run_dir_close(&dir);
		shard_fini(&opts.shard);
		return exit_code_of_file(ret);
	}
	ret = shard_merge(&opts.shard, opts.eval.dir, NULL, &err);
	if (ret == 0)
		ret = evaluate(&opts.eval, &err);
	if (ret == 0 && shard_is_part(&opts.shard))
		eval_args_part(&opts.shard);
	ret = ret >= 0 && !shard_is_part(&opts.shard) ? report(&opts.eval, opts.json, ret) : eval_args_exit(ret, &err);
	store_close(opts.eval.store);
	run_dir_close(&dir);
	shard_fini(&opts.shard);
	return ret;
}

int
main(int argc, char **argv)
{
	if (program_begin() != EXIT_DONE)
		return EXIT_USAGE;
	if (argc == 2 && strcmp(argv[1], PROGRAM_LIST_KINDS) == 0) {
		list_kinds(stdout);
		return EXIT_DONE;
	}
	for (size_t i = 0; argc > 1 && i < ARRAY_LEN(studies); i++)
		if (strcmp(argv[1], studies[i]->name) == 0)
			return study_main(studies[i], argc - 1, argv + 1);
	return eval_families(argc, argv);
}

/* The options of rocelab eval. */

static const struct argp_option options[] = {
	{ "cases", 'n', "N", 0, "Cases of each family (default: the paper's number, 30 beyond the paper)", 0 },
	{ "seed", 'S', "N", 0, "Seed of the cases (default 1)", 0 },
	{ "shape", 'f', "NAME", 0, "Fabric and collective (default paper)", 0 },
	{ "scale", 'x', "X", 0, "Multiply bytes, starts, durations and the epoch's length by X (default 1)", 0 },
	{ "pick", 'k', "WHAT,...", 0,
	  "Criteria for choosing cases: routes (ranks in order, the collective does not collide with itself), roots "
	  "(backpressure begins at one port), none (default routes,roots)",
	  0 },
	{ "policy", 'p', "P,...", 0,
	  "Detection policies (default vedrfolnir,hawkeye-maxr,hawkeye-minr,full-polling), with keys of "
	  "the scenario where wanted: vedrfolnir+detections=1+exporter.budget=1KB",
	  0 },
	{ "ablation", 'a', "NAME", 0, "The policies that an ablation compares", 0 },
	{ "set", 's', "PATH=VALUE", 0, "Override a key of every case's scenario, e.g. --set host.cc=none", 0 },
	{ "jobs", 'j', "N", 0, "Runs side by side (default: one a CPU)", 0 },
	EVAL_ARGS_SHARDS,
	{ "out", 'o', "DIR", 0, "Keep cases and results in DIR (default out/eval); resume from those that are there", 0 },
	{ "json", 'J', NULL, 0, "Print JSON instead of a table", 0 },
	{ 0 },
};

static void
add_family(struct eval_options *opts, const struct family *family, struct argp_state *state)
{
	for (uint32_t i = 0; i < opts->eval.nfamilies; i++)
		if (opts->eval.families[i] == family)
			args_error(state, "family \"%s\" is named twice", family->name);
	opts->eval.families[opts->eval.nfamilies++] = family;
}

/* A word that names nothing. Does not return. */
static void
refuse(const char *what, const struct nearest *near, struct argp_state *state)
{
	if (nearest_is_near(near))
		args_error(state, "no %s \"%s\"; did you mean \"%s\"? rocelab eval --help lists them", what, near->word,
			   near->best);
	args_error(state, "no %s \"%s\": rocelab eval --help lists them", what, near->word);
}

static void
add_families(struct eval_options *opts, const char *name, struct argp_state *state)
{
	const struct family *family = family_find(name);
	struct nearest near = { .word = name };
	bool all = strcmp(name, "all") == 0;

	for (size_t i = 0; families[i] != NULL; i++)
		nearest_offer(&near, families[i]->name, NEAREST_MAX_WORD);
	if (family == NULL && !all)
		refuse("family", &near, state);
	if (family != NULL)
		add_family(opts, family, state);
	for (size_t i = 0; all && families[i] != NULL; i++)
		add_family(opts, families[i], state);
}

static void
set_shape(struct eval_options *opts, const char *name, struct argp_state *state)
{
	struct nearest near = { .word = name };

	opts->eval.source.shape = shape_find(name);
	for (const struct shape *shape = shapes; shape->name != NULL; shape++)
		nearest_offer(&near, shape->name, NEAREST_MAX_WORD);
	if (opts->eval.source.shape == NULL)
		refuse("shape", &near, state);
}

/* Families that write out a pod of the paper's fabric need it. */
static void
check_families(const struct eval_options *opts, struct argp_state *state)
{
	const struct shape *shape = opts->eval.source.shape;

	for (uint32_t i = 0; !shape->is_papers && i < opts->eval.nfamilies; i++)
		if (opts->eval.families[i]->needs_paper)
			args_error(state,
				   "family %s needs the paper's fabric and ring, not --shape %s: name other families",
				   opts->eval.families[i]->name, shape->name);
}

static void
set_policies(struct eval_options *opts, const char *text, struct argp_state *state)
{
	opts->eval.npolicies = 0;
	for (const char *name = text; *name != '\0';) {
		size_t len = strcspn(name, ",");
		char *copy = opts->names[opts->eval.npolicies];

		if (opts->eval.npolicies == VARIANT_MAX)
			args_error(state, "--policy: more than %d", VARIANT_MAX);
		if (snprintf(copy, VARIANT_NAME, "%.*s", (int)len, name) >= VARIANT_NAME)
			args_error(state, "--policy %s: at most %d characters each", text, VARIANT_NAME - 1);
		for (uint32_t i = 0; i < opts->eval.npolicies; i++)
			if (strcmp(opts->names[i], copy) == 0)
				args_error(state, "--policy: \"%s\" is named twice", copy);
		opts->eval.policies[opts->eval.npolicies++] = copy;
		name += len + (name[len] == ',');
	}
	if (opts->eval.npolicies == 0)
		args_error(state, "--policy: name one");
}

static void
set_ablation(struct eval_options *opts, const char *name, struct argp_state *state)
{
	const struct ablation *ablation = ablation_find(name);

	if (ablation == NULL)
		args_error(state, "no ablation \"%s\": rocelab eval --help lists them", name);
	opts->eval.npolicies = ablation->list(opts->names);
	for (uint32_t i = 0; i < opts->eval.npolicies; i++)
		opts->eval.policies[i] = opts->names[i];
}

static void
set_picks(struct eval_options *opts, const char *text, struct argp_state *state)
{
	static const struct {
		const char *name;
		unsigned picks;
	} words[] = { { "none", 0 }, { "routes", CASE_PICKS_ROUTES }, { "roots", CASE_PICKS_ROOTS } };

	opts->eval.source.picks = 0;
	for (const char *name = text; *name != '\0';) {
		size_t len = strcspn(name, ","), i = 0;

		while (i < ARRAY_LEN(words) && (strlen(words[i].name) != len || strncmp(words[i].name, name, len) != 0))
			i++;
		if (i == ARRAY_LEN(words))
			args_error(state, "--pick %s: give routes, roots, both or none", text);
		opts->eval.source.picks |= words[i].picks;
		name += len + (name[len] == ',');
	}
}

static error_t
parse(int key, char *arg, struct argp_state *state)
{
	struct eval_options *opts = state->input;

	switch (key) {
	case EVAL_ARGS_SHARD:
	case EVAL_ARGS_MERGE:
		return eval_args_shard(state, key, arg, &opts->shard);
	case 'n':
		opts->eval.cases = (uint32_t)args_number(state, "--cases", arg, 1, 100000);
		return 0;
	case 'S':
		opts->eval.source.seed = args_number(state, "--seed", arg, 0, INT64_MAX);
		return 0;
	case 'f':
		set_shape(opts, arg, state);
		return 0;
	case 'x':
		opts->eval.source.scale = eval_args_scale(state, arg, CASE_MIN_SCALE, 1);
		return 0;
	case 'k':
		set_picks(opts, arg, state);
		return 0;
	case 'p':
	case 'a':
		if (opts->has_policies)
			args_error(state, "give --policy or --ablation, and once");
		opts->has_policies = true;
		(key == 'p' ? set_policies : set_ablation)(opts, arg, state);
		return 0;
	case 's':
		if (opts->eval.source.nsets == CASE_MAX_SETS)
			args_error(state, "more than %d --set", CASE_MAX_SETS);
		opts->eval.source.sets[opts->eval.source.nsets++] = arg;
		return 0;
	case 'j':
		opts->eval.jobs = (uint32_t)args_number(state, "--jobs", arg, 1, EVAL_MAX_JOBS);
		return 0;
	case 'o':
		opts->eval.dir = arg;
		return 0;
	case 'J':
		opts->json = true;
		return 0;
	case ARGP_KEY_ARG:
		add_families(opts, arg, state);
		return 0;
	case ARGP_KEY_END:
		if (opts->eval.nfamilies == 0)
			args_error(state, "which family? \"all\" is all of them");
		check_families(opts, state);
		if (opts->eval.dir == NULL)
			opts->eval.dir = shard_folder(&opts->shard, "out/eval", opts->dir, sizeof(opts->dir));
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static void
list_all(FILE *to)
{
	fputs("Families:\n", to);
	for (size_t i = 0; families[i] != NULL; i++)
		fprintf(to, "  %-13s %2u cases: %s\n", families[i]->name, families[i]->cases, families[i]->doc);
	fputs("Other kinds, each with further options (rocelab eval KIND --help):\n", to);
	eval_list_studies(to);
	fputs("Shapes:\n", to);
	for (const struct shape *shape = shapes; shape->name != NULL; shape++)
		fprintf(to, "  %-16s %s\n", shape->name, shape->doc);
	fputs("Ablations:\n", to);
	for (const struct ablation *ablation = ablations; ablation->name != NULL; ablation++)
		fprintf(to, "  %-13s %s\n", ablation->name, ablation->doc);
}

static char *
help_filter(int key, const char *text, void *input)
{
	(void)input;
	return args_help_list(key, text, list_all);
}

static const struct argp argp = {
	.options = options,
	.parser = parse,
	.args_doc = "FAMILY...|all",
	.doc = "Makes cases with known causes from a seed, runs each under each policy, and scores the verdicts.\vDIR then "
	       "holds FAMILY/NNN/case.cfg, which `rocelab run` replays, case.json with what it is meant to be, "
	       "POLICY/score.json with the truth beside the verdict; runs.csv, runs.json and eval.sqlite with a row a run. "
	       "The same command resumes an interrupted evaluation.",
	.help_filter = help_filter,
};

/*
 * Fills in the given options, and the defaults of the others. Bad input ends the program (argp), with the error on
 * stderr.
 * @param opts  borrows from itself and from argv
 * @return 0 or a positive errno: no memory
 */
static int
eval_options_parse(struct eval_options *opts, int argc, char **argv)
{
	int cpus[EVAL_MAX_JOBS];

	*opts = (struct eval_options){
		.eval = { .policies = { "vedrfolnir", "hawkeye-maxr", "hawkeye-minr", EVAL_OUT_OF_BAND },
			  .npolicies = 4,
			  .source = { .seed = 1, .scale = 1, .shape = shapes, .picks = CASE_PICKS_ALL },
			  .jobs = job_cpus(cpus, EVAL_MAX_JOBS),
			  .shard = &opts->shard }
	};
	return args_parse(&argp, argc, argv, 0, opts);
}
