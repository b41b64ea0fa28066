/* SPDX-License-Identifier: BSD-3-Clause */
/* rocelab eval flowtracer: the imbalance of a fabric by hashes, and by a static placement. */
#include <errno.h>

#include "common/program.h"
#include "eval/args.h"
#include "eval/flowtracer/study.h"
#include "eval/study.h"

#define RESULTS "flowtracer.json"

struct options {
	struct study_args args;
	struct ft_study study;
};

static const struct argp_option options[] = {
	{ "seeds", 'S', "N", 0, "Seeds 1 to N, whose flows are routed (default 1000)", 0 },
	{ "runs", 'n', "N", 0, "Also run the first N of these, with ECMP and with static paths (default 20)", 0 },
	{ 0 },
};

static error_t
parse(int key, char *arg, struct argp_state *state, void *options_of)
{
	struct options *opts = options_of;

	switch (key) {
	case 'S':
		opts->study.seeds = (uint32_t)args_number(state, "--seeds", arg, 1, FT_MAX_SEEDS);
		return 0;
	case 'n':
		opts->study.runs = (uint32_t)args_number(state, "--runs", arg, 0, FT_MAX_RUNS);
		return 0;
	case ARGP_KEY_ARG:
		if (opts->study.scenario != NULL)
			args_error(state, "one scenario at a time: \"%s\" is the second", arg);
		opts->study.scenario = arg;
		return 0;
	case ARGP_KEY_END:
		if (opts->study.scenario == NULL)
			args_error(state, "name a scenario, such as topo/scenarios/flowtracer.cfg");
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

/* @return how many runs broke, or negative errno with err set */
static int
run(void *options_of, struct err *err)
{
	struct options *opts = options_of;
	struct ft_study *study = &opts->study;
	int ret;

	study->jobs = opts->args.jobs;
	study->dir = opts->args.dir;
	study->shard = &opts->args.shard;
	ret = ft_study_run(study, err);

	if (ret == 0 && !shard_is_part(study->shard))
		ret = eval_args_report(ft_json(study), study->dir, RESULTS, opts->args.json, err);
	if (ret == 0 && !shard_is_part(study->shard) && !opts->args.json)
		ft_print(study, stdout);
	if (ret == 0)
		ret = (int)study->broken;
	ft_study_fini(study);
	return ret;
}

static void
init(void *options_of)
{
	struct options *opts = options_of;

	opts->study = (struct ft_study){ .first = 1, .seeds = 1000, .runs = 20 };
}
const struct study study_flowtracer = {
	.name = "flowtracer",
	.doc = "how uneven hashes leave a fabric, and what a static placement makes of it",
	.help = "Routes a scenario's flows with many seeds, and reports the imbalance of links under ECMP (the Flow "
		"Imbalance Metric of FlowTracer), layer by layer, and that of independent choices; runs some of the seeds "
		"with ECMP and with static paths, and reports the throughput of pairs of hosts.\vDIR/ecmp/SEED and "
		"DIR/static/SEED have the runs, DIR/" RESULTS
		" all numbers. The same command resumes an interrupted evaluation.",
	.args_doc = "SCENARIO",
	.options = options,
	.parse = parse,
	.size = sizeof(struct options),
	.init = init,
	.kept = "runs and results",
	.out = "out/flowtracer",
	.printed = "tables",
	.run = run,
};
