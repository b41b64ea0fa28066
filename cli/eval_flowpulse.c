/* SPDX-License-Identifier: BSD-3-Clause */
/* rocelab eval flowpulse: silent faults found by volumes, at what drop rates, how surely and how near the limit. */
#include <argp.h>
#include <errno.h>
#include <string.h>

#include "cli/command.h"
#include "cli/eval_args.h"
#include "common/args.h"
#include "eval/flowpulse/study.h"

#define MIN_SCALE 0.001
#define MAX_SCALE 10
#define MAX_SEED 1000000000
#define RESULTS "flowpulse.json"

struct options {
	struct fp_study study;
	bool json;
};

static const struct argp_option options[] = {
	{ "only", 'e', "NAME,...", 0, "Experiments (default: all)", 0 },
	{ "points", 'p', "PATTERN", 0,
	  "Rows of these alone: a pattern, as a shell's for files, of FABRIC-SPRAYING-PACKETS, as in \"32x16-adaptive-*\". "
	  "What does "
	  "not match is not run",
	  0 },
	{ "seed", 'S', "N", 0, "Of links that drop, and of the runs (default 1)", 0 },
	{ "trials", 'n', "N", 0, "Of each point (default 100)", 0 },
	{ "scale", 'x', "X", 0, "Multiplies packets a port, and with them the time that runs take (default 1)", 0 },
	EVAL_ARGS_JOBS,
	EVAL_ARGS_OUT("runs and results", "out/flowpulse"),
	EVAL_ARGS_JSON("tables"),
	{ 0 },
};

static void
set_experiments(struct fp_study *study, char *text, struct argp_state *state)
{
	char *save = NULL;

	study->nexperiments = 0;
	for (char *name = strtok_r(text, ",", &save); name != NULL; name = strtok_r(NULL, ",", &save)) {
		const struct fp_experiment *experiment = fp_experiment_find(name);

		if (experiment == NULL)
			argp_error(state, "no experiment \"%s\": rocelab eval flowpulse --help lists them", name);
		for (uint32_t i = 0; i < study->nexperiments; i++)
			if (study->experiments[i] == experiment)
				argp_error(state, "experiment \"%s\" is named twice", name);
		study->experiments[study->nexperiments++] = experiment;
	}
	if (study->nexperiments == 0)
		argp_error(state, "--only: name one");
}

static error_t
parse(int key, char *arg, struct argp_state *state)
{
	struct options *opts = state->input;

	switch (key) {
	case 'e':
		set_experiments(&opts->study, arg, state);
		return 0;
	case 'p':
		opts->study.points = arg;
		return 0;
	case 'S':
		opts->study.seed = args_number(state, "--seed", arg, 0, MAX_SEED);
		return 0;
	case 'n':
		opts->study.trials = (uint32_t)args_number(state, "--trials", arg, 1, 500);
		return 0;
	case 'x':
		opts->study.scale = eval_args_scale(state, arg, MIN_SCALE, MAX_SCALE);
		return 0;
	default:
		return eval_args_parse(
			key, arg, state,
			&(struct eval_args){ .jobs = &opts->study.jobs, .dir = &opts->study.dir, .json = &opts->json });
	}
}

static void
list_experiments(FILE *to)
{
	fputs("Experiments:\n", to);
	for (const struct fp_experiment *experiment = fp_experiments; experiment->name != NULL; experiment++)
		fprintf(to, "  %-11s %s\n", experiment->name, experiment->doc);
}

static char *
help_filter(int key, const char *text, void *input)
{
	(void)input;
	return eval_args_help(key, text, list_experiments);
}

static const struct argp argp = {
	.options = options,
	.parser = parse,
	.doc = "Runs a sprayed ring AllGather without faults and with links that drop, and says what the tests of leaf "
	       "switches find by their counts: the figures of FlowPulse, and how near they come to what any test could "
	       "find.\v"
	       "DIR/NAME/case.cfg is a run, counts.bin beside it what its leaves counted; experiments share runs. "
	       "DIR/" RESULTS " has all rows. What was interrupted goes on where it was.",
	.help_filter = help_filter,
};

/* @return as fp_study_run() */
static int
run(void *options_of, struct err *err)
{
	struct options *opts = options_of;
	struct fp_study *study = &opts->study;
	int ret = fp_study_run(study, err);

	if (ret == 0)
		ret = eval_args_tell(fp_json(study), study->dir, RESULTS, opts->json, err);
	if (ret == 0 && !opts->json)
		fp_print(study, stdout);
	fp_study_fini(study);
	return ret;
}

int
command_eval_flowpulse(int argc, char **argv)
{
	struct options opts = {
		.study = { .seed = 1, .trials = 100, .scale = 1, .jobs = eval_args_jobs(), .dir = "out/flowpulse" }
	};

	argv[0] = "rocelab eval flowpulse";
	while (fp_experiments[opts.study.nexperiments].name != NULL) {
		opts.study.experiments[opts.study.nexperiments] = &fp_experiments[opts.study.nexperiments];
		opts.study.nexperiments++;
	}
	if (args_parse(&argp, argc, argv, 0, &opts) != 0)
		return EXIT_USAGE;
	return eval_args_run(opts.study.dir, run, &opts);
}
