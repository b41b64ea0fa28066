/* SPDX-License-Identifier: BSD-3-Clause */
/* rocelab eval pingmesh: problems of known kinds and places, and the verdicts of R-Pingmesh's analyzer. */
#include <errno.h>

#include "common/program.h"
#include "eval/args.h"
#include "eval/pingmesh/study.h"
#include "eval/study.h"

#define MAX_CASES 1000
#define RESULTS "pingmesh.json"

struct options {
	struct study_args args;
	struct pm_study study;
};

static const struct argp_option options[] = {
	{ "seeds", 'S', "N,A-B,...", 0, "Seeds, each with different cases (default 1)", 0 },
	{ "baseline", 'b', NULL, 0, "Judge each recording by the paper's Algorithm 1, too, and print both side by side",
	  0 },
	{ "cases", 'n', "N", 0, "Cases of each seed (default 240)", 0 },
	{ 0 },
};

static error_t
parse(int key, char *arg, struct argp_state *state, void *options_of)
{
	struct options *opts = options_of;

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
		return ARGP_ERR_UNKNOWN;
	}
}

static void
list_kinds(FILE *to)
{
	fputs("Problems:\n", to);
	for (const struct pm_kind *kind = pm_kinds; kind->name != NULL; kind++)
		fprintf(to, "  %-16s %s\n", kind->name, kind->doc);
}

/* @return how many runs broke, or negative errno with err set */
static int
run(void *options_of, struct err *err)
{
	struct options *opts = options_of;
	struct pm_study *study = &opts->study;
	int ret;

	study->jobs = opts->args.jobs;
	study->dir = opts->args.dir;
	study->shard = &opts->args.shard;
	ret = pm_study_run(study, err);

	if (ret == 0 && !shard_is_part(study->shard))
		ret = eval_args_report(pm_json(study), study->dir, RESULTS, opts->args.json, err);
	if (ret == 0 && !shard_is_part(study->shard) && !opts->args.json)
		pm_print(study, stdout);
	if (ret == 0)
		ret = (int)study->broken;
	pm_study_fini(study);
	return ret;
}

static void
init(void *options_of)
{
	struct options *opts = options_of;

	opts->study = (struct pm_study){ .seeds = { 1 }, .nseeds = 1, .cases = PM_CASES };
}
const struct study study_pingmesh = {
	.name = "pingmesh",
	.doc = "problems of switches, RNICs and CPUs, and R-Pingmesh's reports of them",
	.help = "Injects problems of switches, RNICs and CPUs into fabrics of two and three tiers with one and two RNICs a "
		"host, and compares the reports of R-Pingmesh's analyzer with the injected "
		"problems.\vDIR/SEED/NNN/case.cfg is a case, report.txt beside it its report, paper/report.txt that of "
		"Algorithm 1. DIR/" RESULTS " has all of them. The same command resumes an interrupted evaluation.",
	.options = options,
	.parse = parse,
	.list = list_kinds,
	.size = sizeof(struct options),
	.init = init,
	.kept = "cases and verdicts",
	.out = "out/pingmesh",
	.printed = "tables",
	.run = run,
};
