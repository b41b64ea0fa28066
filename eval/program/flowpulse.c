/* SPDX-License-Identifier: BSD-3-Clause */
/* rocelab eval flowpulse: silent faults found by volumes, at what drop rates, how surely and how near the limit. */
#include <errno.h>
#include <string.h>

#include "common/program.h"
#include "eval/args.h"
#include "eval/flowpulse/study.h"
#include "eval/study.h"

#define MIN_SCALE 0.001
#define MAX_SCALE 10
#define MAX_SEED 1000000000
#define RESULTS "flowpulse.json"

struct options {
	struct study_args args;
	struct fp_study study;
};

static const struct argp_option options[] = {
	{ "only", 'e', "NAME,...", 0, "Experiments (default: all)", 0 },
	{ "points", 'p', "PATTERN", 0,
	  "Run only rows that match a shell pattern of FABRIC-SPRAYING-PACKETS, as in \"32x16-adaptive-*\". What does not "
	  "match is not run",
	  0 },
	{ "seed", 'S', "N", 0, "Seed of links that drop, and of the runs (default 1)", 0 },
	{ "trials", 'n', "N", 0, "Trials of each point (default 100)", 0 },
	{ "scale", 'x', "X", 0, "Multiply packets per port, and so the duration of runs, by X (default 1)", 0 },
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
			args_error(state, "no experiment \"%s\": rocelab eval flowpulse --help lists them", name);
		for (uint32_t i = 0; i < study->nexperiments; i++)
			if (study->experiments[i] == experiment)
				args_error(state, "experiment \"%s\" is named twice", name);
		study->experiments[study->nexperiments++] = experiment;
	}
	if (study->nexperiments == 0)
		args_error(state, "--only: name one");
}

static error_t
parse(int key, char *arg, struct argp_state *state, void *options_of)
{
	struct options *opts = options_of;

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
		return ARGP_ERR_UNKNOWN;
	}
}

static void
list_experiments(FILE *to)
{
	fputs("Experiments:\n", to);
	for (const struct fp_experiment *experiment = fp_experiments; experiment->name != NULL; experiment++)
		fprintf(to, "  %-11s %s\n", experiment->name, experiment->doc);
}

/* @return as fp_study_run() */
static int
run(void *options_of, struct err *err)
{
	struct options *opts = options_of;
	struct fp_study *study = &opts->study;
	int ret;

	study->jobs = opts->args.jobs;
	study->dir = opts->args.dir;
	study->shard = &opts->args.shard;
	ret = fp_study_run(study, err);

	if (ret == 0 && !shard_is_part(study->shard))
		ret = eval_args_report(fp_json(study), study->dir, RESULTS, opts->args.json, err);
	if (ret == 0 && !shard_is_part(study->shard) && !opts->args.json)
		fp_print(study, stdout);
	fp_study_fini(study);
	return ret;
}

static void
init(void *options_of)
{
	struct options *opts = options_of;
	struct fp_study *study = &opts->study;

	*study = (struct fp_study){ .seed = 1, .trials = 100, .scale = 1 };
	for (; fp_experiments[study->nexperiments].name != NULL; study->nexperiments++)
		study->experiments[study->nexperiments] = &fp_experiments[study->nexperiments];
}
const struct study study_flowpulse = {
	.name = "flowpulse",
	.doc = "silent faults found by volumes: at what drop rates, and how near the limit",
	.help = "Runs a sprayed ring AllGather without faults and with links that drop, and reports what the tests of leaf "
		"switches find by their counts: the figures of FlowPulse, and their distance to the limit of any "
		"test.\vDIR/NAME/case.cfg is a run, counts.bin beside it the counts of its leaves; experiments share runs. "
		"DIR/" RESULTS " has all rows. The same command resumes an interrupted evaluation.",
	.options = options,
	.parse = parse,
	.list = list_experiments,
	.size = sizeof(struct options),
	.init = init,
	.kept = "runs and results",
	.out = "out/flowpulse",
	.printed = "tables",
	.run = run,
};
