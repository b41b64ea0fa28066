/* SPDX-License-Identifier: BSD-3-Clause */
/* rocelab eval counterfactual: do verdicts blame the causes that really cost time? */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/program.h"
#include "eval/args.h"
#include "eval/counterfactual.h"
#include "eval/study.h"

struct options {
	struct study_args args;
	struct counterfactual study;
	bool gate;
};

static const struct argp_option options[] = {
	{ "seeds", 'S', "N,A-B,...", 0, "Seeds, each with different cases (default 1-3)", 0 },
	{ "cases", 'n', "N", 0, "Cases of each seed (default 100)", 0 },
	{ "draws", 'd', "N", 0, "Draws of packets' chance over which the truth is a mean (default 8)", 0 },
	{ "truth", 't', "FILE", 0, "Take the truth from what an earlier --json printed, instead of reruns", 0 },
	{ "gate", 'G', NULL, 0,
	  "Fail where fewer than 90 % of first causes are right, tau is below 0.8, shares err by more than 5 points, or "
	  "more "
	  "than 10 % of the causes without effect are named",
	  0 },
	{ "estimates-alone", 'E', NULL, 0, "Make no twins", 0 },
	{ 0 },
};

static error_t
parse(int key, char *arg, struct argp_state *state, void *options_of)
{
	struct options *opts = options_of;

	switch (key) {
	case 'S':
		opts->study.nseeds = eval_args_seeds(state, arg, opts->study.seeds, COUNTERFACTUAL_MAX_SEEDS);
		return 0;
	case 'n':
		opts->study.cases = (uint32_t)args_number(state, "--cases", arg, 1, 10000);
		return 0;
	case 'd':
		opts->study.draws = (uint32_t)args_number(state, "--draws", arg, 1, 1000);
		return 0;
	case 't':
		opts->study.truth = arg;
		return 0;
	case 'G':
		opts->gate = true;
		return 0;
	case 'E':
		opts->study.estimates_alone = true;
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

/* @return 0, or negative errno with err set: gates are missed */
static int
hold(const struct counterfactual *study, struct err *err)
{
	int missed = counterfactual_gate(study, stderr, err);

	return missed > 0 ? err_set(err, -ERANGE, "verdicts miss %d of 4 gates", missed) : missed;
}

/* @return how many runs broke, or negative errno with err set */
static int
run(void *options_of, struct err *err)
{
	struct options *opts = options_of;
	struct counterfactual *study = &opts->study;
	char path[PATH_MAX];
	int ret;

	study->jobs = opts->args.jobs;
	study->dir = opts->args.dir;
	study->shard = &opts->args.shard;
	snprintf(path, sizeof(path), "%s/eval.sqlite", study->dir);
	study->store = rerun_store_open(path, " counterfactual cases", err);
	ret = study->store != NULL ? counterfactual_make(study, err) : -errno;
	if (ret == 0)
		ret = reruns_run(
			&(struct reruns){ study->store, study->reruns, study->nmade, study->jobs, study->shard, true },
			err);
	if (ret == 0 && !study->estimates_alone)
		ret = counterfactual_twins(study, err);
	if (ret == 0 && !shard_is_part(study->shard))
		ret = opts->args.json ? counterfactual_print_json(study, stdout, err)
				      : counterfactual_print(study, stdout, err);
	if (ret == 0 && !shard_is_part(study->shard) && opts->gate)
		ret = hold(study, err);
	counterfactual_fini(study);
	rerun_store_close(study->store);
	return ret;
}

static void
init(void *options_of)
{
	struct options *opts = options_of;

	opts->study = (struct counterfactual){ .seeds = { 1, 2, 3 }, .nseeds = 3, .cases = 100, .draws = 8 };
}
const struct study study_counterfactual = {
	.name = "counterfactual",
	.doc = "the time that verdicts blame on causes, and the time regained without each cause",
	.help = "Makes random cases of three or four causes each, on a fat-tree, a leaf-spine and a rail fabric in turn; "
		"runs each without every set of them, which shows the cost of each; and compares it with the verdict, by "
		"estimate "
		"and by the twin, whose chance is another.\vDIR then holds SEED/NNN/case.cfg, for `rocelab blame`, "
		"SEED/NNN/run-0 with the verdict, SEED/NNN/by-twin with the one by the twin, and eval.sqlite with the "
		"times "
		"of all runs. The same command resumes an interrupted evaluation.",
	.options = options,
	.parse = parse,
	.size = sizeof(struct options),
	.init = init,
	.kept = "cases and results",
	.out = "out/counterfactual",
	.printed = "a table",
	.run = run,
};
