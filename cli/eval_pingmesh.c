/* SPDX-License-Identifier: BSD-3-Clause */
/* rocelab eval pingmesh: problems of known kinds and places, and what R-Pingmesh's analyzer says of them. */
#include <argp.h>
#include <errno.h>

#include "cli/command.h"
#include "cli/eval_args.h"
#include "common/args.h"
#include "eval/pingmesh/study.h"

#define MAX_CASES 1000
#define RESULTS "pingmesh.json"

struct options {
	struct pm_study study;
	bool json;
};

static const struct argp_option options[] = {
	{ "seeds", 'S', "N,A-B,...", 0, "Seeds, each with cases of its own (default 1)", 0 },
	{ "baseline", 'b', NULL, 0, "Judge each recording by the paper's Algorithm 1, too, and print both side by side",
	  0 },
	{ "cases", 'n', "N", 0, "Cases of each seed (default 240)", 0 },
	EVAL_ARGS_JOBS,
	EVAL_ARGS_OUT("cases and verdicts", "out/pingmesh"),
	EVAL_ARGS_JSON("tables"),
	{ 0 },
};

static error_t
parse(int key, char *arg, struct argp_state *state)
{
	struct options *opts = state->input;

	switch (key) {
	case 'S':
		opts->study.nseeds = eval_args_seeds(state, arg, opts->study.seeds, PM_MAX_SEEDS);
		return 0;
	case 'b':
		opts->study.baseline = true;
		return 0;
	case 'n':
		opts->study.cases = (uint32_t)args_number(state, "--cases", arg, 1, MAX_CASES);
		return 0;
	default:
		return eval_args_parse(
			key, arg, state,
			&(struct eval_args){ .jobs = &opts->study.jobs, .dir = &opts->study.dir, .json = &opts->json });
	}
}

static void
list_kinds(FILE *to)
{
	fputs("Problems:\n", to);
	for (const struct pm_kind *kind = pm_kinds; kind->name != NULL; kind++)
		fprintf(to, "  %-16s %s\n", kind->name, kind->doc);
}

static char *
help_filter(int key, const char *text, void *input)
{
	(void)input;
	return eval_args_help(key, text, list_kinds);
}

static const struct argp argp = {
	.options = options,
	.parser = parse,
	.doc = "Puts problems of switches, RNICs and CPUs into fabrics of two and three tiers with one and two RNICs a "
	       "host, and "
	       "holds what R-Pingmesh's analyzer reports against what was put in.\v"
	       "DIR/SEED/NNN/case.cfg is a case, report.txt beside it what is said of it, paper/report.txt what "
	       "Algorithm 1 says. DIR/" RESULTS " has all of them. What was interrupted goes on where it was.",
	.help_filter = help_filter,
};

/* @return how many runs broke, or negative errno with err set */
static int
run(void *options_of, struct err *err)
{
	struct options *opts = options_of;
	struct pm_study *study = &opts->study;
	int ret = pm_study_run(study, err);

	if (ret == 0)
		ret = eval_args_tell(pm_json(study), study->dir, RESULTS, opts->json, err);
	if (ret == 0 && !opts->json)
		pm_print(study, stdout);
	if (ret == 0)
		ret = (int)study->broken;
	pm_study_fini(study);
	return ret;
}

int
command_eval_pingmesh(int argc, char **argv)
{
	struct options opts = {
		.study = { .seeds = { 1 }, .nseeds = 1, .cases = PM_CASES, .jobs = eval_args_jobs(), .dir = "out/pingmesh" }
	};

	argv[0] = "rocelab eval pingmesh";
	if (args_parse(&argp, argc, argv, 0, &opts) != 0)
		return EXIT_USAGE;
	return eval_args_run(opts.study.dir, run, &opts);
}
