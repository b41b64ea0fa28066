/* SPDX-License-Identifier: BSD-3-Clause */
/* rocelab eval flowtracer: how uneven hashes leave a fabric, and what a static placement makes of it. */
#include <argp.h>
#include <errno.h>

#include "cli/command.h"
#include "cli/eval_args.h"
#include "common/args.h"
#include "eval/flowtracer/study.h"

#define RESULTS "flowtracer.json"

struct options {
	struct ft_study study;
	bool json;
};

static const struct argp_option options[] = {
	{ "seeds", 'S', "N", 0, "Seeds 1 to N, whose flows are routed (default 1000)", 0 },
	{ "runs", 'n', "N", 0, "Of these the first N are run as well, by ECMP and by static paths (default 20)", 0 },
	EVAL_ARGS_JOBS,
	EVAL_ARGS_OUT("runs and results", "out/flowtracer"),
	EVAL_ARGS_JSON("tables"),
	{ 0 },
};

static error_t
parse(int key, char *arg, struct argp_state *state)
{
	struct options *opts = state->input;

	switch (key) {
	case 'S':
		opts->study.seeds = (uint32_t)args_number(state, "--seeds", arg, 1, FT_MAX_SEEDS);
		return 0;
	case 'n':
		opts->study.runs = (uint32_t)args_number(state, "--runs", arg, 0, FT_MAX_RUNS);
		return 0;
	case ARGP_KEY_ARG:
		if (opts->study.scenario != NULL)
			argp_error(state, "one scenario at a time: \"%s\" is the second", arg);
		opts->study.scenario = arg;
		return 0;
	case ARGP_KEY_END:
		if (opts->study.scenario == NULL)
			argp_error(state, "name a scenario, such as topo/scenarios/flowtracer.cfg");
		return 0;
	default:
		return eval_args_parse(
			key, arg, state,
			&(struct eval_args){ .jobs = &opts->study.jobs, .dir = &opts->study.dir, .json = &opts->json });
	}
}

static const struct argp argp = {
	.options = options,
	.parser = parse,
	.args_doc = "SCENARIO",
	.doc = "Routes a scenario's flows with many seeds, and says how uneven ECMP leaves links (the Flow Imbalance "
	       "Metric "
	       "of FlowTracer), layer by layer, beside what independent choices come to; runs some of the seeds so and "
	       "with "
	       "static paths, and says what throughput pairs of hosts had.\v"
	       "DIR/ecmp/SEED and DIR/static/SEED have the runs, DIR/" RESULTS
	       " all numbers. What was interrupted goes on where it was.",
};

/* @return how many runs broke, or negative errno with err set */
static int
run(void *options_of, struct err *err)
{
	struct options *opts = options_of;
	struct ft_study *study = &opts->study;
	int ret = ft_study_run(study, err);

	if (ret == 0)
		ret = eval_args_tell(ft_json(study), study->dir, RESULTS, opts->json, err);
	if (ret == 0 && !opts->json)
		ft_print(study, stdout);
	if (ret == 0)
		ret = (int)study->broken;
	ft_study_fini(study);
	return ret;
}

int
command_eval_flowtracer(int argc, char **argv)
{
	struct options opts = {
		.study = { .first = 1, .seeds = 1000, .runs = 20, .jobs = eval_args_jobs(), .dir = "out/flowtracer" },
	};

	argv[0] = "rocelab eval flowtracer";
	if (args_parse(&argp, argc, argv, 0, &opts) != 0)
		return EXIT_USAGE;
	return eval_args_run(opts.study.dir, run, &opts);
}
